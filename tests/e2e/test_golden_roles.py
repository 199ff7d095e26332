"""Role x tool, by list and by call, through the real door (S0.8, R10; Must show 3)."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from remit.testing.upstream import executed, fixture_server_entry

from remit.admin.default_roles import default_document
from remit.testing.gateway import Caller, Running

GOLDEN = Path(__file__).parents[1] / "conformance" / "golden" / "roles.csv"
ROWS = [tuple(row) for row in list(csv.reader(GOLDEN.open()))[1:]]
ROLES = sorted({role for role, _, _ in ROWS})
TOOLS = sorted({(server, tool) for _, server, tool in ROWS})
ARGUMENTS: dict[str, dict[str, Any]] = {
    "git_checkout": {"branch_name": "main"},
    "git_commit": {"message": "nothing to say"},
    "git_merge": {"branch_name": "main"},
}
"""What the real git tools need; the fixture servers take anything."""


@pytest.fixture
def squad(tmp_path: Path, serve: Callable[..., Running]) -> Running:
    repository = tmp_path / "repository"
    for command in (
        ["git", "init", "--quiet", "--initial-branch=main", str(repository)],
        ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.test",
         "commit", "--quiet", "--allow-empty", "-m", "first"],
    ):  # fmt: skip
        subprocess.run(command, check=True)
    document = default_document()
    document["mcp_servers"] = {
        "git": {"builtin": "git", "args": ["--repository", str(repository)]},
        **{
            server: fixture_server_entry(
                [tool for s, tool in TOOLS if s == server], tmp_path / f"{server}.ran"
            )
            for server in ("github", "jira")
        },
    }
    return serve(document)


def granted(role: str) -> set[tuple[str, str]]:
    return {(server, tool) for r, server, tool in ROWS if r == role}


def test_the_golden_table_has_nine_roles_and_101_grants() -> None:
    assert len(ROLES) == 9
    assert len(ROWS) == 101


async def test_each_role_lists_exactly_its_rows_and_the_command_line_agrees(
    squad: Running, http: httpx2.AsyncClient
) -> None:
    for role in ROLES:
        wanted = {f"{server}__{tool}" for server, tool in granted(role)}
        caller = Caller(http, squad.url, squad.key(role))

        # The fixture servers are still starting when the gateway first answers.
        with_all = await eventually(caller, wanted)
        printed = json.loads(squad.remit("tools", "--as", f"role:{role}", "--json"))

        assert with_all == wanted
        assert {entry["name"] for entry in printed} == wanted
        assert {(entry["server"], entry["tool"]) for entry in printed} == granted(role)
        assert all(entry["tokens"] > 0 for entry in printed)


async def test_each_role_can_call_exactly_its_rows(
    squad: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    for role in ROLES:
        caller = Caller(http, squad.url, squad.key(role))
        await eventually(caller, {f"{server}__{tool}" for server, tool in granted(role)})
        for server, tool in TOOLS:
            before = ran(tmp_path, server)

            reply = await caller.call(f"{server}__{tool}", ARGUMENTS.get(tool))

            may = (server, tool) in granted(role)
            assert ("result" in reply) is may, (role, server, tool, reply)
            if not may:
                assert reply["error"]["code"] == -32602
            if server != "git":
                assert ran(tmp_path, server) == before + may


def ran(folder: Path, server: str) -> int:
    return 0 if server == "git" else len(executed(folder / f"{server}.ran"))


async def eventually(caller: Caller, wanted: set[str]) -> set[str]:
    """Return the caller's names once all that are wanted are there, or at the time limit."""
    names: set[str] = set()
    with anyio.move_on_after(20):
        while not wanted <= names:
            names = {tool["name"] for tool in await caller.tools()}
            await anyio.sleep(0.05)
    return names
