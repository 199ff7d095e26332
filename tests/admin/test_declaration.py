"""From a file to a declaration: R8, R15, R16, R18, R19, R36, S0.11, S1.2, S4.6-S4.9."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remit.admin.declaration import Loaded, load_declaration, parse_document
from remit.admin.schema import ServerShape
from remit.admin.yaml_source import read_text
from remit.errors import DeclarationError
from remit.model.servers import ServerConfig, Session, ToolSettings, Transport


def load(tmp_path: Path, text: str) -> Loaded:
    path = tmp_path / "remit.yaml"
    path.write_text(text)
    return load_declaration(path)


def server(**entry: object) -> ServerConfig:
    return parse_document({"mcp_servers": {"s": entry}}).declaration.servers["s"]


def test_the_yaml_of_the_design_document_loads_unchanged(nine_roles_yaml: Path) -> None:
    # S0.11, S0.8
    loaded = load_declaration(nine_roles_yaml)

    assert loaded.warnings == ()
    assert list(loaded.declaration.servers) == ["git", "github", "jira"]
    assert len(loaded.declaration.roles) == 9
    assert sum(role.grants for role in loaded.declaration.roles.values()) == 101
    jira = loaded.declaration.servers["jira"]
    assert jira.transport is Transport.STDIO
    assert jira.env["JIRA_URL"] == "${JIRA_URL}"
    assert loaded.declaration.document == yaml.safe_load(nine_roles_yaml.read_text())


def test_the_same_from_json_is_the_same(nine_roles_yaml: Path, tmp_path: Path) -> None:
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(yaml.safe_load(nine_roles_yaml.read_text()), indent=2))

    loaded = load_declaration(path)

    assert loaded.declaration == load_declaration(nine_roles_yaml).declaration
    assert loaded.positions["roles.designer.tools.github[0]"] > 200


def test_the_example_of_the_contract_loads(example_yaml: Path) -> None:
    loaded = load_declaration(example_yaml)
    declaration = loaded.declaration

    assert list(declaration.servers) == ["git", "github", "time", "wiki"]
    assert declaration.servers["git"].transport is Transport.BUILTIN
    assert declaration.servers["git"].args == ("--repository", ".")
    assert declaration.servers["wiki"].default_access == "deny"
    assert declaration.audit.body_cap == 16 * 1024
    assert declaration.audit.retention_days == 90
    assert declaration.roles["reviewer"].deny == ("*/delete_*",)
    assert loaded.warnings == ()
    assert [limit.rate for limit in declaration.limits] == ["30 calls per minute"]


def test_every_section_of_a_later_release_is_known_and_said_not_to_act_yet() -> None:
    sections: dict[str, object] = {
        "tenants": [{"name": "a"}],
    }

    loaded = parse_document(sections)

    assert [w.code for w in loaded.warnings] == ["not-enforced-yet"] * len(sections)


@pytest.mark.parametrize(
    ("section", "screening"),
    [({}, "refuse"), ({"screening": "refuse"}, "refuse"), ({"screening": " Alert"}, "alert")],
)
def test_what_becomes_of_values_that_look_like_injections_is_declared(
    section: dict[str, object], screening: str
) -> None:
    # R35
    loaded = parse_document({"data": section})

    assert loaded.declaration.data.screening == screening
    assert loaded.warnings == ()


def test_every_key_of_a_tool_acts() -> None:
    entry = {
        "command": "c",
        "tools": {"t": {"retry": "safe", "critical": True, "timeout": 3}},
    }

    assert parse_document({"mcp_servers": {"s": entry}}).warnings == ()


def test_a_legacy_switch_of_a_tool_group_is_ignored_and_that_of_a_server_counts() -> None:
    # R19, S2.15
    groups = {
        "user": {"enabled": False, "customTools": ["query"]},
        "developer": {"enabled": 3},
        "agent_tools": {"enabled": 1},
    }

    parse_document({"toolsets": groups})

    assert server(command="c", enabled=False).enabled is False
    assert server(command="c", enabled="no").enabled is False
    assert server(command="c").enabled is True


def test_every_key_of_a_server_is_taken_over() -> None:
    # S4.6 and the list of the contract
    entry = {
        "transport": "STDIO",
        "command": "c",
        "args": ["--port", 8080],
        "env": {"PORT": 8080, "A": "${A}"},
        "env_passthrough": ["LANG"],
        "env_inherit": "all",
        "cwd": "work",
        "description": "d",
        "enabled": True,
        "default_access": "Deny",
        "session": "shared",
        "timeout": 600,
        "start_timeout": 2.5,
        "max_concurrency": 4,
        "max_message": "1MiB",
        "max_children": 3,
        "tool_names": {"ours": "theirs"},
        "tool_args": {"ours": {"a": "b"}},
        "tools": {"t": {"retry": "never", "timeout": 5, "critical": True}, "u": {}},
        "allow_unclaimed": True,
    }

    assert server(**entry) == ServerConfig(
        name="s",
        command="c",
        args=("--port", "8080"),
        env={"PORT": "8080", "A": "${A}"},
        env_passthrough=("LANG",),
        env_inherit="all",
        cwd="work",
        description="d",
        default_access="deny",
        session=Session.SHARED,
        timeout=600,
        start_timeout=2.5,
        max_concurrency=4,
        max_message=1024 * 1024,
        max_children=3,
        tool_names={"ours": "theirs"},
        tool_args={"ours": {"a": "b"}},
        tools={"t": ToolSettings(retry="never", timeout=5, critical=True), "u": ToolSettings()},
        allow_unclaimed=True,
    )


def test_the_schema_of_a_server_has_the_keys_of_its_model() -> None:
    assert {"name", *ServerShape.model_fields} == {field.name for field in fields(ServerConfig)}


def test_what_is_left_out_has_the_models_defaults() -> None:
    assert server(command="c") == ServerConfig(name="s", command="c")


def test_camel_case_and_endpoint_are_accepted_and_keep_their_lines(tmp_path: Path) -> None:
    # S4.7
    loaded = load(
        tmp_path,
        "mcpServers:\n"
        "  wiki:\n"
        "    endpoint: https://wiki.example.test/mcp\n"
        "    headersFromEnv: {X-Key: WIKI_KEY}\n"
        "    bearerTokenEnvVar: WIKI_TOKEN\n"
        "    defaultAccess: deny\n",
    )

    wiki = loaded.declaration.servers["wiki"]
    assert wiki.transport is Transport.HTTP
    assert wiki.url == "https://wiki.example.test/mcp"
    assert wiki.headers_from_env == {"X-Key": "WIKI_KEY"}
    assert wiki.bearer_token_env_var == "WIKI_TOKEN"
    assert wiki.default_access == "deny"
    assert loaded.positions["mcp_servers.wiki.url"] == 3
    assert loaded.positions["mcp_servers.wiki.bearer_token_env_var"] == 5
    assert "mcp_servers" in loaded.declaration.document


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "c"}, Transport.STDIO),
        ({"url": "https://a.test/mcp"}, Transport.HTTP),
        ({"url": "${BASE}/mcp"}, Transport.HTTP),
        ({"url": "https://a.test/sse", "transport": "sse"}, Transport.SSE),
        ({"builtin": "git"}, Transport.BUILTIN),
        ({"builtin": "git", "transport": "builtin"}, Transport.BUILTIN),
    ],
)
def test_what_is_given_says_how_a_server_is_reached(
    entry: dict[str, object], transport: Transport
) -> None:
    assert server(**entry).transport is transport


@pytest.mark.parametrize("name", ["a", "9", "Executes", "db.main", "a_-.b", "a" * 64])
def test_names_that_a_server_can_have_are_taken(name: str) -> None:
    assert name in parse_document({"mcp_servers": {name: {"command": "c"}}}).declaration.servers


def test_a_version_without_quotes_is_meant() -> None:
    assert parse_document(read_text("version: 1.0").data).declaration.version == "1.0"
    assert parse_document({"version": 1}).declaration.version == "1.0"


@pytest.mark.parametrize(
    ("written", "size"),
    [(0, 0), (4096, 4096), ("16KiB", 16384), ("16 kb", 16000), ("2MiB", 2 * 1024**2), ("7", 7)],
)
def test_sizes_are_numbers_or_texts_with_a_unit(written: object, size: int) -> None:
    assert parse_document({"audit": {"body_cap": written}}).declaration.audit.body_cap == size


WHOLE = {
    "audit: {retention_days: %s}": 365_000,
    "audit: {retention_rows: %s}": 2**31 - 1,
    "audit: {body_cap: %s}": 1024**4,
    "mcp_servers: {git: {builtin: git, max_concurrency: %s}}": 2**31 - 1,
    "mcp_servers: {git: {builtin: git, max_children: %s}}": 2**31 - 1,
    "mcp_servers: {git: {builtin: git, max_message: %s}}": 1024**4,
    "mcp_servers: {git: {builtin: git, timeout: %s}}": 600,
    "limits: [{calls: %s, per: minute}]": 2**31 - 1,
    "alerts: {large_data_export: {rows: %s}}": 1000,
    "alerts: {large_data_export: {rows_per_hour: %s}}": 2**31 - 1,
    "alerts: {new_user_high_volume: {queries: %s}}": 10_000,
}


@pytest.mark.parametrize(("text", "most"), WHOLE.items())
def test_every_number_has_a_largest_and_whoever_writes_more_is_told(
    tmp_path: Path, text: str, most: int
) -> None:
    file = tmp_path / "remit.yaml"
    file.write_text(text % most)
    load_declaration(file)

    for larger in (str(most + 1), "9" * 19, "9" * 5000):
        file.write_text(text % larger)
        with pytest.raises(DeclarationError) as caught:
            load_declaration(file)
        (problem,) = caught.value.problems
        assert f"is too large: it must be less than or equal to {most}" in problem.message


def test_the_way_the_gateway_is_seen_and_how_it_keeps_its_record_are_taken_over() -> None:
    declaration = parse_document(
        {
            "server": {"publicUrl": "https://remit.example.test", "allowed_origins": ["https://a"]},
            "audit": {"durability": "disk"},
        }
    ).declaration

    assert declaration.http.public_url == "https://remit.example.test"
    assert declaration.http.allowed_origins == ("https://a",)
    assert declaration.audit.durability == "disk"
    assert declaration.audit.body_cap == 16 * 1024


def test_a_key_with_nothing_behind_it_counts_as_left_out() -> None:
    loaded = parse_document({"mcp_servers": {"s": {"command": "c", "env": None}}, "roles": None})

    assert loaded.declaration.servers["s"] == ServerConfig(name="s", command="c")
    assert loaded.declaration.roles == {}


def test_keys_that_do_nothing_for_a_server_and_repeated_entries_are_warned_of() -> None:
    loaded = parse_document(
        {
            "mcp_servers": {
                "remote": {"url": "https://a.test", "env": {"A": "b"}},
                "child": {"command": "c", "headers": {"A": "b"}},
            },
            "roles": {"r": {"allow": ["a/*", "a/*"], "tools": {"a": ["t", "t"]}}},
        }
    )

    assert [(w.code, w.message.split("'")[1]) for w in loaded.warnings] == [
        ("no-effect", "mcp_servers.remote.env"),
        ("no-effect", "mcp_servers.child.headers"),
        ("duplicate-entry", "roles.r.allow[1]"),
        ("duplicate-entry", "roles.r.tools.a[1]"),
    ]


WORDS = st.sampled_from(
    [
        *("version", "mcp_servers", "mcpServers", "roles", "agent_types", "toolsets", "identity"),
        *("limits", "audit", "server", "jwt", "claims", "user", "git", "command", "url"),
        *("endpoint", "builtin", "args", "env", "headers", "timeout", "tools", "allow", "deny"),
        *("transport", "enabled", "when", "tool_args", "max_message", "${A}", "${", "git/*"),
        *("a__b", "1.0", "x"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_any_document_loads_or_is_refused(data: dict[str, object]) -> None:
    text = json.dumps(data)
    try:
        loaded = parse_document(read_text(text).data, file="f")
    except DeclarationError as error:
        refused = error.problems
    else:
        json.dumps(loaded.declaration.document)
        refused = ()
    assert all(problem.code and problem.message for problem in refused)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_what_is_loaded_loads_the_same_from_its_document(data: dict[str, object]) -> None:
    # R18: the database holds the document.
    try:
        declaration = parse_document(data).declaration
    except DeclarationError:
        return
    assert parse_document(declaration.document).declaration == declaration
