"""The spellings of single entries, with small files of our own (issue 4)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from remit.admin.imports.gather import Imported, ImportedServer, gather
from remit.admin.imports.names import distinct, fit
from remit.errors import DeclarationError
from remit.model.servers import Transport, name_problem


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.json"


def read(file: Path, document: object) -> Imported:
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return gather([file])


def one(file: Path, entry: Mapping[str, Any], name: str = "s") -> ImportedServer:
    return read(file, {"mcpServers": {name: entry}}).servers[0]


@pytest.mark.parametrize(
    ("word", "transport"),
    [
        *((word, Transport.HTTP) for word in ("http", "HTTP", "streamable-http", "shttp")),
        *((word, Transport.HTTP) for word in ("streamable_http", "streamableHttp", "remote")),
        *((word, Transport.HTTP) for word in ("streamableHTTP", "STREAMABLEHTTP", "httpStream")),
        *(
            (word, Transport.HTTP)
            for word in ("STREAMABLE_HTTP", "streamablehttp", "StreamableHttp")
        ),
        *((word, Transport.SSE) for word in ("sse", "SSE", "server-sent-events")),
    ],
)
@pytest.mark.parametrize("key", ["type", "transport", "transportType", "transport_type"])
def test_every_spelling_of_a_transport_is_understood(
    file: Path, word: str, transport: Transport, key: str
) -> None:
    entry = {key: word, "url": "https://h.test/mcp"}

    assert one(file, entry).config.transport is transport


@pytest.mark.parametrize(
    "key", ["url", "serverUrl", "server_url", "endpoint", "httpUrl", "uri", "URL"]
)
def test_every_spelling_of_an_address_is_understood(file: Path, key: str) -> None:
    assert one(file, {key: "https://h.test/mcp"}).config.url == "https://h.test/mcp"


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "https://h.test/sse"}, Transport.SSE),
        ({"url": "https://h.test/sse/"}, Transport.SSE),
        ({"url": "https://h.test/sse", "type": "http"}, Transport.HTTP),
        ({"sseUrl": "https://h.test/x"}, Transport.SSE),
        ({"url": "https://h.test/assets"}, Transport.HTTP),
        ({"command": "c"}, Transport.STDIO),
        ({"command": "c", "url": "https://h.test", "type": "stdio"}, Transport.STDIO),
        ({"command": "c", "url": "https://h.test", "type": "http"}, Transport.HTTP),
    ],
)
def test_an_address_or_a_command_says_what_is_meant(
    file: Path, entry: dict[str, str], transport: Transport
) -> None:
    assert one(file, entry).config.transport is transport


@pytest.mark.parametrize(
    ("keys", "timeout", "start"),
    [
        ({"timeout": 60}, 60, 10),
        ({"timeout": 60000}, 60, 10),
        ({"timeout": "45s"}, 45, 10),
        ({"timeout": "1500ms"}, 1.5, 10),
        ({"timeout": "2m"}, 120, 10),
        ({"timeout_ms": 500}, 0.5, 10),
        ({"tool_timeout_sec": 120, "startup_timeout_sec": 20}, 120, 20),
        ({"startup_timeout_ms": 20000}, 30, 20),
        ({"timeout": 3600, "autoApprove": ["x"]}, 600, 10),
        ({"timeout": 500, "trust": True}, 0.5, 10),
        ({"timeout": 0}, 30, 10),
        ({"timeout": "soon"}, 30, 10),
        ({"timeout": True}, 30, 10),
    ],
)
def test_times_are_seconds_in_the_end(
    file: Path, keys: dict[str, Any], timeout: float, start: float
) -> None:
    config = one(file, {"command": "c", **keys}).config

    assert (config.timeout, config.start_timeout) == (timeout, start)


@pytest.mark.parametrize(
    ("kinds", "timeout"), [(("stdio", "http"), 120), (("local", "remote"), 0.12)]
)
def test_a_time_under_mcp_is_in_the_unit_of_the_program_whose_kinds_these_are(
    file: Path, kinds: tuple[str, str], timeout: float
) -> None:
    entries = {
        "a": {"type": kinds[0], "command": ["c"], "timeout": 120},
        "b": {"type": kinds[1], "url": "https://h.test/mcp", "timeout": 120},
    }
    servers = read(file, {"mcp": entries}).servers

    assert [server.config.timeout for server in servers] == [timeout, timeout]


@pytest.mark.parametrize(
    ("keys", "enabled"),
    [
        ({"disabled": True}, False),
        ({"disabled": "true"}, False),
        ({"enabled": False}, False),
        ({"is_active": False}, False),
        ({"isActive": "no"}, False),
        ({"disabled": False}, True),
        ({"enabled": None}, True),
    ],
)
def test_a_server_that_was_off_stays_off(
    file: Path, keys: dict[str, object], enabled: bool
) -> None:
    assert one(file, {"command": "c", **keys}).config.enabled is enabled


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("npx -y @acme/x --flag", ("npx", "-y", "@acme/x", "--flag")),
        (["npx", "-y", "x"], ("npx", "-y", "x")),
        ({"path": "node", "args": ["x.js"]}, ("node", "x.js")),
        ("npx 'a b'", ("npx", "a b")),
        (r"C:\Program Files\x.exe", (r"C:\Program Files\x.exe",)),
        ("/opt/My App/run", ("/opt/My App/run",)),
        ("npx it's", ("npx it's",)),
    ],
)
def test_a_command_is_a_program_and_its_words(
    file: Path, command: object, words: tuple[str, ...]
) -> None:
    config = one(file, {"command": command}).config

    assert (config.command, *config.args) == words


def test_lists_of_pairs_are_mappings_too(file: Path) -> None:
    child = one(file, {"command": "c", "env": ["A=1=2", {"name": "B", "value": 3}]}).config
    remote = one(file, {"url": "https://h.test", "headers": ["X-A: b", "X-C: d"]}).config

    assert child.env == {"A": "1=2", "B": "3"}
    assert remote.headers == {"X-A": "b", "X-C": "d"}


@pytest.mark.parametrize(
    ("args", "url", "headers"),
    [
        (
            ["-y", "mcp-remote@latest", "https://h.test/mcp", "--header", "X-Team: ${TEAM}"],
            "https://h.test/mcp",
            {"X-Team": "${TEAM}"},
        ),
        (["mcp-proxy", "-H", "X-Team", "core", "https://h.test/sse"], "https://h.test/sse", None),
    ],
)
def test_a_bridge_is_seen_through(
    file: Path, args: list[str], url: str, headers: dict[str, str] | None
) -> None:
    config = one(file, {"command": "npx", "args": args}).config

    assert config.transport in (Transport.HTTP, Transport.SSE)
    assert config.url == url
    assert config.headers == (headers or {"X-Team": "core"})


@pytest.mark.parametrize(
    "args",
    [
        ["-y", "mcp-remote", "https://h.test/mcp"],
        ["mcp-remote", "https://h.test/mcp", "--header", "A: b", "--static-oauth-client-info", "x"],
        ["mcp-proxy", "--port", "8080", "uvx", "x"],
    ],
)
def test_a_bridge_that_does_more_stays_a_program(file: Path, args: list[str]) -> None:
    assert one(file, {"command": "npx", "args": args}).config.command == "npx"


SECRET = "8f3c0a61b2d94e57aa01"
PLACES: Mapping[str, tuple[dict[str, Any], str]] = {
    "a variable": ({"command": "c", "env": {"WIKI_KEY": SECRET}}, "WIKI_KEY"),
    "a bare name": ({"command": "c", "env": {"KEY": SECRET}}, "S_KEY"),
    "by randomness": ({"command": "c", "env": {"X": f"{SECRET}{SECRET}"}}, "S_X"),
    "a header": ({"url": "https://h.test", "headers": {"X-Api-Key": SECRET}}, "S_X_API_KEY"),
    "a bearer": (
        {"url": "https://h.test", "headers": {"Authorization": f"Bearer {SECRET}"}},
        "S_TOKEN",
    ),
    "a token": ({"url": "https://h.test", "bearerToken": SECRET}, "S_TOKEN"),
    "an option": ({"command": "c", "args": ["--api-key", SECRET]}, "S_API_KEY"),
    "an option in one": ({"command": "c", "args": [f"--token={SECRET}"]}, "S_TOKEN"),
    "a header in words": (
        {"command": "c", "args": ["--header", f"Authorization: Bearer {SECRET}"]},
        "S_TOKEN",
    ),
    "a query": ({"url": f"https://h.test/mcp?api_key={SECRET}"}, "S_API_KEY"),
    "a path": ({"url": f"https://h.test/s/{SECRET}{SECRET}/mcp"}, "S_URL_KEY"),
    "a path with a UUID": (
        {"url": f"https://h.test/{SECRET[:8]}-0b1c-4d2e-8f3a-{SECRET[:12]}"},
        "S_URL_KEY",
    ),
    "a password": ({"url": f"https://ann:{SECRET}@h.test/mcp"}, "S_PASSWORD"),
    "a default": ({"command": "c", "env": {"WIKI_KEY": f"${{WIKI_KEY:-{SECRET}}}"}}, "WIKI_KEY"),
    "basic": ({"url": "https://h.test", "auth_type": "basic", "auth_value": SECRET}, "S_TOKEN"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_clear_becomes_a_variable_and_is_never_said(file: Path, place: str) -> None:
    entry, variable = PLACES[place]

    found = read(file, {"mcpServers": {"s": entry}})

    (server,) = found.servers
    assert SECRET not in f"{server.entry} {found}"
    assert f"${{{variable}}}" in str(server.entry)
    assert found.variables == {variable: ("s",)}
    told = [note for note in found.notes if note.code == "secret-in-clear"]
    assert len(told) == 1
    assert variable in told[0].remedy


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "c", "env": {"MODE": "fast", "KEY_FILE": "/etc/key", "PORT": "8080"}},
        {"command": "c", "env": {"SSH_KEY": "~/.ssh/id", "A_TOKEN": "${A_TOKEN}"}},
        {"command": "c", "args": ["--keyring", "on", "--max-tokens", "100"]},
        {"url": "https://h.test/mcp?key=${KEY}", "headers": {"X-Team": "core"}},
        {"url": "https://a1b2c3d4e5f6a7b8c9d0e1f2.example.test/my-quite-long-project-2026-11/mcp"},
    ],
)
def test_what_is_no_secret_is_written(file: Path, entry: dict[str, Any]) -> None:
    server = one(file, entry)

    for key, value in entry.items():
        assert server.entry[key] == value


def test_two_values_never_share_a_variable(file: Path) -> None:
    servers = {
        "a": {"command": "c", "env": {"WIKI_KEY": SECRET}},
        "b": {"command": "c", "env": {"WIKI_KEY": f"{SECRET}0"}},
        "c": {"command": "c", "env": {"WIKI_KEY": SECRET}},
        "d": {"command": "c", "env": {"OTHER_KEY": SECRET, "X": "${OTHER_KEY}"}},
    }

    found = read(file, {"mcpServers": servers})

    env = {server.name: server.config.env for server in found.servers}
    assert env["a"] == env["c"] == {"WIKI_KEY": "${WIKI_KEY}"}
    assert env["b"] == {"WIKI_KEY": "${B_WIKI_KEY}"}
    assert env["d"] == {"OTHER_KEY": "${D_OTHER_KEY}", "X": "${OTHER_KEY}"}


def test_variables_of_remit_itself_get_another_name(file: Path) -> None:
    # R21
    found = one(file, {"command": "c", "env": {"A": "${REMIT_MASTER_KEY} ${REMIT_X:-d}"}})

    assert found.config.env == {"A": "${S_REMIT_MASTER_KEY} ${S_REMIT_X:-d}"}


def test_a_text_that_cannot_be_read_is_one_variable(file: Path) -> None:
    found = read(file, {"mcpServers": {"s": {"command": "c", "args": ["x", "a${b"]}}})

    assert found.servers[0].config.args == ("x", "${S_ARGS_1}")
    assert [note.field for note in found.notes] == ["args[1]"]


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("fits", "fits"),
        ("a.b-c_d", "a.b-c_d"),
        ("Straße 5", "Strasse-5"),
        ("工具", "server"),
        ("", "server"),
        ("a__b", "a_b"),
        ("execute", "server-execute"),
        ("6f1c3a52-0000-4000-8000-000000000000", "server-6f1c3a52-0000-4000-8000-000000000000"),
        ("_x", "x"),
        ("x" * 80, "x" * 64),
    ],
)
def test_a_name_that_does_not_fit_gets_the_nearest_that_does(name: str, fitting: str) -> None:
    assert fit(name) == fitting
    assert name_problem(fitting) is None


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert distinct("a", {"a", "a-2"}) == "a-3"
    assert distinct("x" * 64, {"x" * 64}) == "x" * 62 + "-2"


SHAPES: Mapping[str, tuple[str, dict[str, str]]] = {
    "a list of servers": ('[{"name": "a", "command": "c"}]', {"a": "c"}),
    "a bare map": ('{"a": {"command": "c"}, "b": {"url": "http://h.test"}}', {"a": "c", "b": ""}),
    "one server": ('{"name": "a", "command": "c"}', {"a": "c"}),
    "an editor's settings": (
        '{"editor.x": 1, "mcp": {"servers": {"a": {"command": "c"}}}}',
        {"a": "c"},
    ),
    "projects": (
        '{"mcpServers": {}, "projects": {"/p": {"mcpServers": {"a": {"command": "c"}}}}}',
        {"a": "c"},
    ),
    "context servers": (
        '{"context_servers": {"a": {"command": {"path": "c", "args": []}}}}',
        {"a": "c"},
    ),
    "extensions": (
        '{"extensions": {"a": {"type": "stdio", "cmd": "c", "envs": {"B": "1"}}}}',
        {"a": "c"},
    ),
    "a catalogue's remote": (
        '{"registry": {"a": {"remote": {"url": "http://h.test", "transport_type": "sse"}}}}',
        {"a": ""},
    ),
    "a YAML map in flow style": ("{mcpServers: {a: {url: https://h.test/mcp}}}", {"a": ""}),
    "a list under a key": ("mcpServers:\n  - {name: a, command: c}\n", {"a": "c"}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_known_by_its_content(file: Path, shape: str) -> None:
    text, commands = SHAPES[shape]

    found = read(file, text)

    assert {server.name: server.config.command for server in found.servers} == commands


REFUSED: Mapping[str, tuple[str, int, str]] = {
    "nothing of the kind": ('{"theme": "dark"}', 0, "defines no server: it has 'theme'"),
    "an empty map": ('{"mcpServers": {}}', 0, "defines no server: the list of servers is empty"),
    "only one that cannot be reached": (
        '{"mcpServers": {"a": {}}}',
        0,
        "'a' has neither a command nor an address",
    ),
    "another transport": (
        '{"mcpServers": {"a": {"type": "websocket", "url": "wss://h.test"}}}',
        0,
        "'a' has the transport 'websocket'",
    ),
    "no mapping": ('{"mcpServers": {"a": 1}}', 0, "'a' is no mapping of settings"),
    "wrong JSON": ('{\n  "mcpServers": {\n    "a" {}\n', 3, "is not valid JSON"),
    "a declaration of remit": (
        "mcp_servers: {a: {command: c}}\nroles: {r: {allow: [a/b]}}\n",
        0,
        "is a declaration of remit already",
    ),
    "an empty file": ("", 0, "the file is empty"),
    "two ways in two minds": (
        '{"mcpServers": {"a": {"command": "c", "url": "http://h.test"}}}',
        0,
        "both a command and an address",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_defines_no_server_is_refused_with_file_line_and_remedy(file: Path, case: str) -> None:
    text, line, reason = REFUSED[case]

    with pytest.raises(DeclarationError) as refused:
        read(file, text)

    (problem,) = refused.value.problems
    assert reason in problem.message
    assert problem.file == str(file)
    assert problem.line == line
    assert problem.remedy


def test_wrong_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[mcp_servers.a]\ncommand = "c\n')

    with pytest.raises(DeclarationError) as refused:
        gather([file])

    (problem,) = refused.value.problems
    assert (problem.code, problem.line) == ("not-toml", 2)


def test_toml_knows_the_line_of_a_key(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('x = 1\n\n[mcp_servers."db.main"]\ncommand = "c"\nfoo_bar = 2\n')

    found = gather([file])

    assert [(note.field, note.line) for note in found.notes] == [("", 1), ("foo_bar", 5)]
    assert found.servers[0].line == 3


def test_keys_given_twice_are_said(file: Path) -> None:
    found = read(file, '{"mcpServers": {"a": {"command": "c"},\n "a": {"command": "d"}}}')

    assert [note.code for note in found.notes] == ["duplicate-key"]
    assert found.notes[0].line == 2


def test_of_keys_given_twice_the_last_counts_in_json(file: Path) -> None:
    entry = '{"command": "c", "disabled": false, "disabled": true, "disabled": true}'

    found = read(file, f'// mine\n{{"mcpServers": {{"a": {{"command": "d"}}, "a": {entry},}}}}')

    assert (found.servers[0].config.command, found.servers[0].config.enabled) == ("c", False)
    assert [note.code for note in found.notes] == ["duplicate-key"] * 3
    assert all("the last counts here" in note.message for note in found.notes)


def test_of_keys_given_twice_the_first_counts_in_yaml(file: Path) -> None:
    found = read(file, "mcpServers:\n  a: {command: c}\n  a: {command: d}\n")

    assert found.servers[0].config.command == "c"
    assert "the first counts here" in found.notes[0].message


def test_a_server_that_would_be_remit_itself_stays_off(file: Path) -> None:
    found = read(file, {"mcpServers": {"me": {"url": "http://localhost:8400/mcp"}}})

    assert found.servers[0].config.enabled is False
    assert [note.code for note in found.notes] == ["careful"]


def test_the_same_server_in_two_files_is_kept_once(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        path.write_text('{"mcpServers": {"a": {"command": "c"}}}')

    found = gather(files)

    assert [server.name for server in found.servers] == ["a"]
    assert [note.code for note in found.notes] == ["same-server"]
    assert str(files[0]) in found.notes[0].message


@pytest.mark.parametrize("key", ["includeTools", "enabled_tools", "available_tools", "tools"])
def test_tools_that_alone_were_open_are_known_by_every_spelling(file: Path, key: str) -> None:
    assert one(file, {"command": "x", key: ["a", "b"]}).only == ("a", "b")
    assert one(file, {"command": "x", key: ["*"]}).only is None
    assert one(file, {"command": "x", key: []}).only is None


@pytest.mark.parametrize("tools", [{"a": {"enabled": True}}, [{"name": "a"}], []])
def test_tools_that_are_no_choice_are_left_out(file: Path, tools: object) -> None:
    found = read(file, {"mcpServers": {"s": {"command": "x", "tools": tools}}})

    assert found.servers[0].only is None
    assert ("key-left-out", "tools") in [(note.code, note.field) for note in found.notes]


def test_a_command_that_another_program_would_run_is_no_value(file: Path) -> None:
    entry = {"url": "https://h.test/mcp", "headers": {"Authorization": "Bearer $(gh auth token)"}}
    command = {"command": "sh", "args": ["-c", "x $(date)"], "env": {"A": "$(cat /run/a)"}}
    found = read(file, {"mcp": {"h": {**entry, "type": "http"}, "c": {**command, "type": "stdio"}}})

    by_http, by_pipe = (dict(server.entry) for server in found.servers)
    assert by_http["headers"] == {"Authorization": "${H_HEADERS_AUTHORIZATION}"}
    assert by_pipe["env"] == {"A": "${C_ENV_A}"}
    assert by_pipe["args"] == ["-c", "x $(date)"]
    assert set(found.variables) == {"H_HEADERS_AUTHORIZATION", "C_ENV_A"}


@pytest.mark.parametrize(
    ("choice", "on"),
    [
        ({"excluded": ["a"]}, ["b"]),
        ({"allowed": ["a"]}, ["a"]),
        ({"allowed": ["a"], "excluded": ["a"]}, []),
        ({"allowed": []}, ["a", "b"]),
        ({"serverCommand": "x"}, ["a", "b"]),
    ],
)
def test_servers_that_are_switched_off_by_name_stay_so(
    file: Path, choice: Mapping[str, Any], on: list[str]
) -> None:
    servers = {name: {"command": "x", "args": [name]} for name in ("a", "b")}
    found = read(file, {"mcpServers": servers, "mcp": choice}).servers

    assert [server.name for server in found if server.config.enabled] == on
    assert len(found) == 2
