"""Role x tool, by list and by call, through the real door (S0.8, R10; Must show 3)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.conformance.tables import grants
from tests.e2e.conftest import Serve

from remit.admin.default_roles import default_document
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

ROWS = grants()
ROLES = sorted({role for role, _, _ in ROWS})
TOOLS = sorted({(server, tool) for _, server, tool in ROWS})
ARGUMENTS: dict[str, dict[str, Any]] = {
    "git_checkout": {"branch_name": "main"},
    "git_commit": {"message": "nothing to say"},
    "git_merge": {"branch_name": "main"},
}
"""What the real git tools need; the fixture servers take anything."""

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def squad(module_folder: Path, serve_module: Serve) -> Running:
    """Run the bundled git server for its rows and fixture servers for the others'."""
    repository = module_folder / "repository"
    author = ["-c", "user.name=t", "-c", "user.email=t@example.test"]
    for command in (
        ["init", "--quiet", "--initial-branch=main", "."],
        [*author, "commit", "--quiet", "--allow-empty", "--message", "first"],
    ):
        repository.mkdir(exist_ok=True)
        subprocess.run(["git", *command], cwd=repository, check=True)
    document = default_document()
    document["mcp_servers"] = {
        "git": {"builtin": "git", "args": ["--repository", str(repository)]},
        **{
            server: fixture_entry(
                [tool for s, tool in TOOLS if s == server], module_folder / f"{server}.ran"
            )
            for server in ("github", "jira")
        },
    }
    return serve_module(document)


def granted(role: str) -> set[tuple[str, str]]:
    return {(server, tool) for r, server, tool in ROWS if r == role}


def names_of(role: str) -> set[str]:
    return {f"{server}__{tool}" for server, tool in granted(role)}


def test_the_golden_table_has_nine_roles_and_101_grants() -> None:
    assert len(ROLES) == 9
    assert len(ROWS) == 101


async def test_each_role_lists_exactly_its_rows_and_the_command_line_agrees(
    squad: Running, http: httpx2.AsyncClient
) -> None:
    at_door = {
        role: await Caller(http, squad.url, squad.key(role)).until_listed(names_of(role))
        for role in ROLES
    }
    printed: dict[str, list[dict[str, Any]]] = {}

    async def ask(role: str) -> None:
        async with two_at_once:
            text = await anyio.to_thread.run_sync(
                squad.remit, "tools", "--as", f"role:{role}", "--json"
            )
            printed[role] = json.loads(text)

    two_at_once = anyio.CapacityLimiter(2)
    async with anyio.create_task_group() as tasks:
        for role in ROLES:
            tasks.start_soon(ask, role)

    assert at_door == {role: names_of(role) for role in ROLES}
    for role, entries in printed.items():
        assert {entry["name"] for entry in entries} == names_of(role)
        assert {(entry["server"], entry["tool"]) for entry in entries} == granted(role)
        assert all(entry["tokens"] > 0 for entry in entries)


async def test_each_role_can_call_exactly_its_rows(
    squad: Running, http: httpx2.AsyncClient, module_folder: Path
) -> None:
    for role in ROLES:
        caller = Caller(http, squad.url, squad.key(role))
        await caller.until_listed(names_of(role))
        for server, tool in TOOLS:
            before = ran(module_folder, server)

            reply = await caller.call(f"{server}__{tool}", ARGUMENTS.get(tool))

            may = (server, tool) in granted(role)
            assert ("result" in reply) is may, (role, server, tool, reply)
            if not may:
                assert reply["error"]["code"] == -32602
            if server != "git":
                assert ran(module_folder, server) == before + may
    rows = squad.audit("--decision", "allow")
    assert {(row["role"], row["server"], row["tool"]) for row in rows} == set(ROWS)


def ran(folder: Path, server: str) -> int:
    return 0 if server == "git" else len(executed(folder / f"{server}.ran"))
