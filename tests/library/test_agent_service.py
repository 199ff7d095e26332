import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from remit import AgentMCPService, MCPToolMapper
from remit.errors import BadCall, LimitReached, RemitError, UpstreamUnavailable
from remit.library.connections import EngineConnections, MCPSession
from remit.library.engine import PROGRAM
from remit.settings import Settings
from remit.testing.fleets import eventually
from remit.testing.gateway import environment, fixture_entry, run_remit
from remit.testing.upstream import executed

TOOLS = ("read", "write", "drop")


@pytest.fixture
def count_file(tmp_path: Path) -> Path:
    return tmp_path / "ran.jsonl"


@pytest.fixture
def mapping(tmp_path: Path, count_file: Path) -> Path:
    path = tmp_path / "mapping.yaml"
    document = {
        "version": "1.0",
        "mcp_servers": {
            "store": fixture_entry(TOOLS, count_file),
            "lost": {"command": "no-such-program-of-remit"},
        },
        "roles": {
            "reader": {"mcp_servers": ["store"], "tools": {"store": ["read"]}},
            "writer": {"mcp_servers": ["store", "lost"], "tools": {"store": ["read", "write"]}},
            "keeper": {"allow": ["store/*"], "deny": ["store/drop"]},
        },
        "limits": [{"role": "writer", "tool": "store/write", "calls": 1, "per": "hour"}],
    }
    path.write_text(json.dumps(document))
    return path


def service_of(mapping: Path) -> AgentMCPService:
    return AgentMCPService(mapper=MCPToolMapper(mapping))


def recorded(mapping: Path) -> list[dict[str, Any]]:
    done = run_remit(
        *("audit", "search", "--json", "--config", str(mapping)), folder=mapping.parent
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def execution_logs(mapping: Path) -> list[tuple[str, str, str, str, bool]]:
    columns = "squad_member_id, role, server, tool, success"
    with closing(sqlite3.connect(mapping.parent / ".remit" / "remit.db")) as database:
        rows = database.execute(f"SELECT {columns} FROM tool_execution_logs").fetchall()  # noqa: S608
    return [(*row[:4], bool(row[4])) for row in rows]


async def test_a_role_connects_its_servers_and_calls_its_tools(
    mapping: Path, count_file: Path
) -> None:  # S0.18, S0.19
    async with service_of(mapping) as service:
        sessions = await service.initialize_agent_tools("reader")
        result = await service.execute_tool(
            role="reader", server="store", tool="read", arguments={"of": "shelf"}
        )

    assert list(sessions) == ["store"]
    assert result["content"][0]["type"] == "text"
    assert [(one.name, one.arguments) for one in executed(count_file)] == [
        ("read", {"of": "shelf"})
    ]


async def test_what_a_role_may_not_is_a_permission_error_that_names_all_three(
    mapping: Path, count_file: Path
) -> None:  # S0.19, S0.27
    async with service_of(mapping) as service:
        await service.initialize_agent_tools("reader")
        for role, tool in (("reader", "write"), ("reader", "no_such_tool"), ("nobody", "read")):
            with pytest.raises(PermissionError) as refused:
                await service.execute_tool(role=role, server="store", tool=tool, arguments={})
            assert str(refused.value) == (
                f"Role '{role}' is not allowed to use tool '{tool}' on server 'store'"
            )

    assert executed(count_file) == []


async def test_a_tester_acts_as_the_qa_tester_of_the_mapping(
    mapping: Path, count_file: Path
) -> None:  # S0.33
    document = json.loads(mapping.read_text())
    document["roles"]["qa_tester"] = document["roles"].pop("reader")
    mapping.write_text(json.dumps(document))

    async with service_of(mapping) as service:
        sessions = await service.initialize_agent_tools("tester")
        await service.execute_tool("tester", "store", "read", {"of": "shelf"})
        listed = await sessions["store"].list_tools()
        with pytest.raises(PermissionError):
            await service.execute_tool("tester", "store", "write", {})

    assert [tool["name"] for tool in listed] == ["read"]
    assert len(executed(count_file)) == 1
    assert {row["principal"] for row in recorded(mapping)} == {"role:qa_tester"}


async def test_a_refused_call_starts_no_server(mapping: Path) -> None:
    async with service_of(mapping) as service:
        with pytest.raises(PermissionError):
            await service.execute_tool(role="reader", server="lost", tool="read", arguments={})

    log = mapping.parent / "ran.jsonl.log"
    assert not log.exists()


async def test_calls_and_refusals_are_recorded_with_the_acting_member(
    mapping: Path,
) -> None:  # S0.21, S0.23, S0.30
    member = uuid4()
    async with service_of(mapping) as service:
        await service.execute_tool(
            role="reader", server="store", tool="read", arguments={}, squad_member_id=member
        )
        with pytest.raises(PermissionError):
            await service.execute_tool(
                role="reader",
                server="store",
                tool="drop",
                arguments={},
                squad_member_id=str(member),
            )

    rows = recorded(mapping)
    assert [(row["principal"], row["tool"], row["decision"], row["outcome"]) for row in rows] == [
        ("role:reader", "drop", "deny", "none"),
        ("role:reader", "read", "allow", "ok"),
    ]
    assert sorted(execution_logs(mapping)) == [
        (str(member), "reader", "store", "drop", False),
        (str(member), "reader", "store", "read", True),
    ]


async def test_a_member_that_is_no_uuid_is_refused_before_anything_runs(
    mapping: Path, count_file: Path
) -> None:
    async with service_of(mapping) as service:
        with pytest.raises(ValueError, match="squad_member_id is no UUID") as refused:
            await service.execute_tool(
                role="reader", server="store", tool="read", arguments={}, squad_member_id="ann"
            )

    assert isinstance(refused.value, RemitError)
    assert executed(count_file) == []


async def test_limits_of_the_mapping_bound_a_role(mapping: Path, count_file: Path) -> None:  # S0.21
    async with service_of(mapping) as service:
        await service.execute_tool(role="writer", server="store", tool="write", arguments={})
        with pytest.raises(LimitReached, match=r"at most 1 call.* per hour"):
            await service.execute_tool(role="writer", server="store", tool="write", arguments={})

    assert len(executed(count_file)) == 1


async def test_arguments_that_do_not_fit_are_refused_before_the_server_hears_of_them(
    tmp_path: Path, count_file: Path
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    mapping = tmp_path / "mapping.yaml"
    entry = fixture_entry([{"name": "count", "inputSchema": schema}], count_file)
    roles = {"reader": {"tools": {"store": ["count"]}}}
    mapping.write_text(json.dumps({"mcp_servers": {"store": entry}, "roles": roles}))

    async with service_of(mapping) as service:
        with pytest.raises(BadCall):
            await service.execute_tool(
                role="reader", server="store", tool="count", arguments={"n": "many"}
            )

    assert executed(count_file) == []


async def test_a_server_that_cannot_start_leaves_the_others_to_the_role(
    mapping: Path,
) -> None:  # S0.26
    async with service_of(mapping) as service:
        sessions = await service.initialize_agent_tools("writer")

        assert list(sessions) == ["store"]
        assert list(service.failures) == ["lost"]
        assert "no-such-program-of-remit" in service.failures["lost"]


async def test_a_granted_tool_of_a_server_that_is_away_is_no_matter_of_permission(
    tmp_path: Path,
) -> None:
    mapping = tmp_path / "mapping.yaml"
    servers = {"lost": {"command": "no-such-program-of-remit"}}
    roles = {"reader": {"tools": {"lost": ["read"]}}}
    mapping.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))

    async with service_of(mapping) as service:
        with pytest.raises(UpstreamUnavailable, match="lost"):
            await service.execute_tool(role="reader", server="lost", tool="read", arguments={})


async def test_two_roles_on_one_server_have_a_process_each(
    mapping: Path, count_file: Path
) -> None:  # R27
    async with service_of(mapping) as service, anyio.create_task_group() as tasks:
        for role in ("reader", "writer", "reader", "writer"):
            tasks.start_soon(service.execute_tool, role, "store", "read", {"by": role})

    ran = executed(count_file)
    processes = {
        role: {one.pid for one in ran if one.arguments["by"] == role}
        for role in ("reader", "writer")
    }
    assert len(ran) == 4
    assert len(processes["reader"]) == len(processes["writer"]) == 1
    assert processes["reader"] != processes["writer"]


async def test_patterns_and_denies_of_a_role_count_as_in_the_gateway(mapping: Path) -> None:  # R10
    async with service_of(mapping) as service:
        result = await service.execute_tool(
            role="keeper", server="store", tool="write", arguments={}
        )
        with pytest.raises(PermissionError):
            await service.execute_tool(role="keeper", server="store", tool="drop", arguments={})

    assert not result.get("isError")


async def test_a_session_lists_and_calls_what_its_role_may(mapping: Path) -> None:
    async with service_of(mapping) as service:
        session: MCPSession = (await service.initialize_agent_tools("reader"))["store"]
        listed = await session.list_tools()
        result = await session.call_tool("read", {"of": "shelf"})
        with pytest.raises(PermissionError, match="Role 'reader' is not allowed"):
            await session.call_tool("write")

    assert [tool["name"] for tool in listed] == ["read"]
    assert not result.get("isError")


async def test_available_tools_are_the_map_of_the_role(mapping: Path) -> None:  # S0.20
    service = service_of(mapping)

    assert service.get_available_tools("writer") == {"store": ["read", "write"]}
    assert service.get_available_tools("nobody") == {}


async def test_the_program_connects_servers_of_its_own(
    mapping: Path, tmp_path: Path
) -> None:  # roles.md, exact names
    own = fixture_entry(["ping"], tmp_path / "own.jsonl")
    async with service_of(mapping) as service:
        manager = service.mcp_manager
        assert isinstance(manager, EngineConnections)
        session = await manager.connect_server(
            name="own", command=own["command"], args=own["args"], env={}
        )
        result = await manager.call_tool(server_name="own", tool_name="ping", arguments={})
        with pytest.raises(PermissionError):  # what was not connected there is not the program's
            await manager.call_tool(server_name="store", tool_name="read", arguments={})
        with pytest.raises(UpstreamUnavailable, match="no-such-program-of-remit"):
            await manager.connect_server("gone", "no-such-program-of-remit", [], {})

    assert session.server == "own"
    assert result["content"]
    assert {row["principal"] for row in recorded(mapping)} == {f"role:{PROGRAM}"}
    assert len(executed(tmp_path / "own.jsonl")) == 1


class OwnConnections:
    """A program's own way to servers, which only writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    async def connect_server(
        self, name: str, command: str, args: list[str], env: dict[str, str]
    ) -> object:
        self.asked.append((name, command, args, env))
        return f"session of {name}"

    async def call_tool(
        self, server_name: str, tool_name: str, arguments: Mapping[str, Any]
    ) -> object:
        self.asked.append((server_name, tool_name, arguments))
        return "answer"


async def test_a_program_may_bring_its_own_connections(tmp_path: Path) -> None:  # S0.18, S0.19
    mapping = tmp_path / "mapping.yaml"
    servers = {"git": {"command": "uvx"}, "wiki": {"url": "https://wiki.example.test/mcp"}}
    roles = {
        "reader": {"mcp_servers": ["git", "wiki", "lost"], "tools": {"git": ["git_log"]}},
    }
    mapping.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))
    own = OwnConnections()
    service = AgentMCPService(mapper=MCPToolMapper(mapping), mcp_manager=own)

    assert await service.initialize_agent_tools("reader") == {"git": "session of git"}
    assert sorted(service.failures) == ["lost", "wiki"]
    assert await service.execute_tool("reader", "git", "git_log", {"n": 1}) == "answer"
    with pytest.raises(PermissionError, match="Role 'reader' is not allowed to use tool"):
        await service.execute_tool("reader", "git", "git_push", {})
    await service.close()

    assert own.asked == [("git", "uvx", [], {}), ("git", "git_log", {"n": 1})]


def rewrite(mapping: Path, **tools: list[str]) -> None:
    """Give roles other tools of the store, and one that the mapping did not have."""
    document = json.loads(mapping.read_text())
    document["roles"] |= {
        role: {"mcp_servers": ["store"], "tools": {"store": names}} for role, names in tools.items()
    }
    mapping.write_text(json.dumps(document))


async def test_a_mapping_that_changes_counts_at_the_next_call(
    mapping: Path, count_file: Path
) -> None:  # S0.16 to S0.20
    async with service_of(mapping) as service:
        session: MCPSession = (await service.initialize_agent_tools("reader"))["store"]
        await service.execute_tool("reader", "store", "read", {})
        with pytest.raises(PermissionError):
            await service.execute_tool("reader", "store", "write", {})

        rewrite(mapping, reader=["write"], newcomer=["drop"])

        await service.execute_tool("reader", "store", "write", {})
        await service.execute_tool("newcomer", "store", "drop", {})
        with pytest.raises(PermissionError):
            await service.execute_tool("reader", "store", "read", {})
        assert [tool["name"] for tool in await session.list_tools()] == ["write"]
        assert service.get_available_tools("newcomer") == {"store": ["drop"]}
        assert list(await service.initialize_agent_tools("newcomer")) == ["store"]

    ran = executed(count_file)
    assert [one.name for one in ran] == ["read", "write", "drop"]
    assert ran[0].pid == ran[1].pid  # a server that stays as it was goes on


@pytest.mark.parametrize("wrong", ["roles: {reader: {alow: []}}", "{", None])
async def test_a_mapping_that_becomes_wrong_changes_nothing_and_is_told_once(
    mapping: Path, wrong: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async with service_of(mapping) as service:
        await service.execute_tool("reader", "store", "read", {})
        if wrong is None:
            mapping.unlink()
        else:
            mapping.write_text(wrong)

        for _ in range(2):
            await service.execute_tool("reader", "store", "read", {})
            with pytest.raises(PermissionError):
                await service.execute_tool("reader", "store", "write", {})

    told = [one for one in caplog.records if "changes nothing" in one.getMessage()]
    assert len(told) == 1
    assert str(mapping) in told[0].getMessage()


async def test_a_mapping_that_changes_counts_for_connections_of_the_program_too(
    mapping: Path,
) -> None:
    service = AgentMCPService(mapper=MCPToolMapper(mapping), mcp_manager=OwnConnections())
    with pytest.raises(PermissionError):
        await service.execute_tool("reader", "store", "write", {})

    rewrite(mapping, reader=["write"])

    assert await service.execute_tool("reader", "store", "write", {}) == "answer"


async def test_a_closed_service_begins_anew(mapping: Path, count_file: Path) -> None:
    service = service_of(mapping)
    await service.execute_tool("reader", "store", "read", {})
    await service.close()
    await service.close()
    await service.execute_tool("reader", "store", "read", {})
    await service.close()

    assert len({one.pid for one in executed(count_file)}) == 2


def test_one_service_serves_several_event_loops(mapping: Path, count_file: Path) -> None:
    service = service_of(mapping)
    for _ in range(2):
        asyncio.run(service.execute_tool("reader", "store", "read", {}))
    asyncio.run(service.close())

    assert len({one.pid for one in executed(count_file)}) == 1


async def test_a_cancelled_call_does_not_hold_up_the_next(tmp_path: Path, count_file: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    slow = {"name": "slow", "x-fixture": {"delay": 60}}
    entry = fixture_entry([slow, "read"], count_file)
    roles = {"reader": {"tools": {"store": ["slow", "read"]}}}
    mapping.write_text(json.dumps({"mcp_servers": {"store": entry}, "roles": roles}))

    async with service_of(mapping) as service:
        await service.execute_tool("reader", "store", "read", {})
        with anyio.move_on_after(0.3) as scope:
            await service.execute_tool("reader", "store", "slow", {})
        await service.execute_tool("reader", "store", "read", {})

    assert scope.cancelled_caught
    assert len(executed(count_file)) >= 2


PROGRAM_TEXT = """
import asyncio, sys
from remit import AgentMCPService

async def main():
    service = AgentMCPService()
    sessions = await service.initialize_agent_tools("backend_developer")
    result = await service.execute_tool(
        role="backend_developer", server="git", tool="git_status", arguments={}
    )
    print(sorted(sessions), result["content"][0]["text"][:200])
    try:
        await service.execute_tool(role="designer", server="git", tool="git_commit", arguments={})
    except PermissionError as error:
        print(error)

asyncio.run(main())
"""


def test_backend_developer_can_run_git_status_with_nothing_prepared(tmp_path: Path) -> None:
    """S0.27; and a program that closes nothing ends all the same, with nothing on its output."""
    for command in ("init -q -b main", "commit -q --allow-empty -m First"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True, env=identity())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM_TEXT],
        cwd=tmp_path,
        env=environment() | {"GITHUB_TOKEN": ""} | identity(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "'git'" in lines[0]
    assert lines[-1] == "Role 'designer' is not allowed to use tool 'git_commit' on server 'git'"


def identity() -> dict[str, str]:
    who = {"NAME": "Ann", "EMAIL": "ann@example.test"}
    named = {
        f"GIT_{kind}_{key}": value for kind in ("AUTHOR", "COMMITTER") for key, value in who.items()
    }
    return environment() | named


async def test_settings_say_where_the_record_is(mapping: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    settings = Settings(config=elsewhere / "remit.yaml")

    async with AgentMCPService(mapper=MCPToolMapper(mapping), settings=settings) as service:
        await service.execute_tool("reader", "store", "read", {})

    assert (elsewhere / ".remit" / "remit.db").exists()
    assert not (tmp_path / ".remit").exists()


async def test_arguments_that_are_no_json_are_refused(mapping: Path, count_file: Path) -> None:
    async with service_of(mapping) as service:
        for arguments in ({"n": float("nan")}, {"n": {1, 2}}):
            with pytest.raises(BadCall, match="JSON"):
                await service.execute_tool("reader", "store", "read", arguments)

    assert executed(count_file) == []


UNCLOSED = """
import asyncio
from remit import AgentMCPService

service = AgentMCPService()
asyncio.run(service.execute_tool("reader", "store", "read", {}))
"""


async def test_a_program_that_closes_nothing_leaves_no_process_behind(
    mapping: Path, count_file: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED],
        cwd=mapping.parent,
        env=environment() | {"MCP_CONFIG_PATH": str(mapping)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (ran,) = executed(count_file)
    await eventually(lambda: not Path(f"/proc/{ran.pid}").exists())
