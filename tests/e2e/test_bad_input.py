"""Whatever is wrong: one clear line with a remedy, the right exit status, nothing left running."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import mentioning

from remit.testing.gateway import Caller, Ended, fixture_entry, run_remit

USABLE = "mcp_servers: {}\nroles: {worker: {allow: ['tools/*']}}\n"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command that must fail.

    Attributes:
        file: What `remit.yaml` holds; None for no such file.
        says: Parts of the one line on standard error, the remedy among them.
    """

    command: str
    status: int
    says: tuple[str, ...]
    file: str | None = USABLE
    environ: Mapping[str, str] = field(default_factory=dict[str, str])


CASES = {
    "no file": Case(
        command="serve --port 0", file=None, status=1, says=("remit.yaml: there is no such file",)
    ),
    "an empty file": Case(command="serve --port 0", file="", status=1, says=("remit.yaml",)),
    "wrong YAML": Case(
        command="tools --as role:worker",
        file="roles: {a: b: c}\n",
        status=1,
        says=("remit.yaml:1: ", "not valid YAML"),
    ),
    "an unknown key": Case(
        command="serve --port 0",
        file="mcp_servers: {}\nrolez: {}\n",
        status=1,
        says=("remit.yaml:2: ", "'rolez'", "'roles'"),
    ),
    "an unknown role": Case(
        command="tools --as role:nobody", status=2, says=("'nobody'", "declared roles: worker")
    ),
    "an unknown role for a key": Case(
        command="keys create k --role nobody", status=2, says=("'nobody'", "worker")
    ),
    "an unknown key's name": Case(
        command="tools --as key:nobody", status=2, says=("'nobody'", "keys that do: none")
    ),
    "an unknown tool": Case(
        command="call --as role:worker no_such_tool",
        status=1,
        says=("denied: no tool by that name", "remit explain"),
    ),
    "arguments that are no JSON": Case(
        command="call --as role:worker tools/work --args {oops",
        status=2,
        says=("--args must be a JSON object, such as",),
    ),
    "an unknown command": Case(command="tolls", status=2, says=("'tolls'", "'tools'", "--help")),
    "a missing option": Case(command="tools", status=2, says=("'--as'", "tools --help")),
    "a database that cannot be written": Case(
        command="tools --as role:worker",
        environ={"REMIT_DATABASE_URL": "sqlite:////dev/null/remit.db"},
        status=3,
        says=("'/dev/null/remit.db'", "REMIT_DATABASE_URL"),
    ),
    "a database that nobody serves": Case(
        command="tools --as role:worker",
        environ={"REMIT_DATABASE_URL": "postgresql://me:s3cr3t@127.0.0.1:1/remit"},
        status=3,
        says=("'remit at 127.0.0.1'", "start it, or point REMIT_DATABASE_URL"),
    ),
    "no database URL": Case(
        command="tools --as role:worker",
        environ={"REMIT_DATABASE_URL": "s3cr3t"},
        status=3,
        says=("REMIT_DATABASE_URL", "postgresql://"),
    ),
}


def the_one_line(done: Ended) -> str:
    """Return the line on standard error, which must be the only one that a command wrote."""
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert "s3cr3t" not in lines[0]
    return lines[0]


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_one_line_with_a_remedy(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if case.file is not None:
        (tmp_path / "remit.yaml").write_text(case.file)

    done = run_remit(*case.command.split(), folder=tmp_path, environ=case.environ)

    line = the_one_line(done)
    assert done.returncode == case.status
    assert all(part in line for part in case.says), line


def test_a_file_in_the_place_of_the_state_folder_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(USABLE)
    (tmp_path / ".remit").touch()

    done = run_remit("serve", "--port", "0", folder=tmp_path)

    assert done.returncode == 3
    assert str(tmp_path / ".remit") in the_one_line(done)


def test_a_port_that_is_taken_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(USABLE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        done = run_remit("serve", "--port", port, folder=tmp_path)

    line = the_one_line(done)
    assert done.returncode == 3
    assert f"127.0.0.1:{port}" in line
    assert "--port" in line


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """Declare one server that works and two that do not; give what the sleeper is known by."""
    nap = f"3000.{os.getpid()}"
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}}
    work = {"name": "work", "inputSchema": schema}
    entry = fixture_entry([work], tmp_path / "ran")
    servers = {
        "tools": entry,
        "missing": {"command": "no-such-program-anywhere"},
        "sleeper": {"command": "sleep", "args": [nap], "start_timeout": 1},
    }
    roles = {
        "worker": {"tools": {"tools": ["work"], "missing": ["gone"], "sleeper": ["snore"]}},
        "lonely": {"tools": {"missing": ["gone"], "sleeper": ["snore"]}},
    }
    (tmp_path / "remit.yaml").write_text(str({"mcp_servers": servers, "roles": roles}))
    return nap


def test_arguments_that_do_not_fit_name_the_field_and_not_the_value(
    tmp_path: Path, broken: str
) -> None:
    done = run_remit(
        "call", "--as", "role:worker", "tools/work", "--args", '{"count": "s3cr3t"}',
        folder=tmp_path,
    )  # fmt: skip

    line = the_one_line(done)
    assert done.returncode == 1
    assert "count: " in line
    assert mentioning(broken) == set()


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("missing/gone", "command 'no-such-program-anywhere' was not found; install it"),
        ("sleeper/snore", "within 1 seconds"),
    ],
)
def test_a_server_that_does_not_start_is_named_with_its_reason(
    tmp_path: Path, broken: str, tool: str, why: str
) -> None:
    done = run_remit("call", "--as", "role:worker", tool, folder=tmp_path)

    assert done.returncode == 3
    assert why in the_one_line(done)
    assert mentioning(broken) == set()


def test_an_empty_list_says_which_servers_are_missing(tmp_path: Path, broken: str) -> None:
    done = run_remit("tools", "--as", "role:lonely", "--json", folder=tmp_path)

    assert (done.returncode, done.stdout) == (0, "[]\n")
    assert "Not connected at the moment: missing, sleeper." in done.stderr
    assert "empty until a server above is back" in done.stderr
    assert "'no-such-program-anywhere' was not found" in done.stderr
    assert "within 1 seconds" in done.stderr
    assert mentioning(broken) == set()


async def test_at_the_door_too_an_empty_list_says_which_servers_are_missing(
    serve: Serve, broken: str, http: httpx2.AsyncClient
) -> None:
    running = serve().settle()
    lonely = Caller(http, running.url, running.key("lonely"))

    discovered = (await lonely.send("server/discover", {})).json()["result"]

    assert await lonely.tools() == []
    assert discovered["instructions"].startswith("Not connected at the moment: missing, sleeper.")
    assert running.stop() == 0
    assert mentioning(broken) == set()


async def test_a_wrong_key_is_told_how_to_get_a_right_one(
    serve: Serve, http: httpx2.AsyncClient
) -> None:
    running = serve({"mcp_servers": {}, "roles": {"worker": {"allow": ["tools/*"]}}})
    right = running.key("worker")
    replies = [
        await Caller(http, running.url, key).send("tools/list", {})
        for key in (right[:-1] + "?", right + "x", "rmt_aaaaaaaaaaaa_" + "b" * 43, "nonsense")
    ]

    assert {reply.status_code for reply in replies} == {401}
    assert len({reply.content for reply in replies}) == 1
    assert replies[0].headers["www-authenticate"].startswith("Bearer")
    assert right not in running.log.read_text()
