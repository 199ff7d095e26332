"""One connection for each caller, where callers do not share (R27)."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from remit.errors import UpstreamTimeout, UpstreamUnavailable
from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig, ServerState, Session, Transport
from remit.model.tools import ToolId
from remit.testing.fleets import BRISK, call_tool, eventually, open_servers, status_of
from remit.testing.upstream import (
    FixtureOptions,
    executed,
    fixture_server_config,
    open_web_fixture,
    received,
)

IDLE = replace(BRISK, idle=0.1)


def _pids(ran: Path) -> list[int]:
    return [call.pid for call in executed(ran)]


def _is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_each_caller_has_a_child_of_its_own_and_keeps_it(ran: Path) -> None:
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        for caller in ("ann", "ben", "ann", "ben"):
            await call_tool(fleet, "s", "t", by=caller)
        ann, ben, ann_again, ben_again = _pids(ran)
    assert ann == ann_again
    assert ben == ben_again
    assert ann != ben


async def test_the_same_subject_of_another_tenant_is_another_caller(ran: Path) -> None:
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        for tenant in ("one", "two"):
            principal = Principal(kind=PrincipalKind.KEY, name="ann", tenant=tenant)
            await fleet.invoke(
                ToolId("s", "t"), arguments=b"{}", meta=b"", principal=principal, timeout=20
            )
    assert len(set(_pids(ran))) == 2


async def test_people_of_one_name_whom_two_issuers_know_are_two_callers(ran: Path) -> None:
    # R27
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        for issuer in ("https://one.test", "https://two.test", "https://one.test"):
            principal = Principal(kind=PrincipalKind.USER, name="sam", issuer=issuer)
            await fleet.invoke(
                ToolId("s", "t"), arguments=b"{}", meta=b"", principal=principal, timeout=20
            )
    first, second, third = _pids(ran)
    assert first == third != second


async def test_first_calls_at_once_open_one_connection(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran)
    async with open_servers(server) as fleet, anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(call_tool, fleet, "s", "t")
    assert len(_pids(ran)) == 10
    assert len(set(_pids(ran))) == 1


async def test_all_callers_share_a_child_that_is_declared_shared(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran, session=Session.SHARED)
    async with open_servers(server) as fleet:
        await call_tool(fleet, "s", "t", by="ann")
        await call_tool(fleet, "s", "t", by="ben")
    assert len(set(_pids(ran))) == 1
    assert len(received(ran, "server/discover")) == 1


async def test_each_caller_has_a_session_of_its_own_over_http_if_so_declared(ran: Path) -> None:
    options = FixtureOptions(tools=["t"], count_file=str(ran), era="legacy")
    with open_web_fixture(options) as fixture:
        server = ServerConfig(
            name="s", transport=Transport.HTTP, url=fixture.url, session=Session.PRINCIPAL
        )
        async with open_servers(server) as fleet:
            await call_tool(fleet, "s", "t", by="ann")
            await call_tool(fleet, "s", "t", by="ben")
            assert len(fixture.sessions) == 3
    used = {call["headers"]["mcp-session-id"] for call in received(ran, "tools/call")}
    assert len(used) == 2


async def test_an_idle_child_is_ended_and_the_next_call_starts_another(ran: Path) -> None:
    async with open_servers(fixture_server_config("s", ["t"], ran), pace=IDLE) as fleet:
        await call_tool(fleet, "s", "t")
        (first,) = _pids(ran)
        await eventually(lambda: not _is_running(first))
        await call_tool(fleet, "s", "t")
        assert len(set(_pids(ran))) == 2
        assert status_of(fleet, "s").state is ServerState.READY


async def test_a_child_at_work_is_not_idle(ran: Path) -> None:
    slow = {"name": "slow", "x-fixture": {"delay": 0.5}}
    async with open_servers(fixture_server_config("s", [slow], ran), pace=IDLE) as fleet:
        assert b"content" in await call_tool(fleet, "s", "slow")


async def test_the_child_that_was_idle_longest_makes_room(ran: Path) -> None:
    # One child lists the tools, two are left for callers.
    server = fixture_server_config("s", ["t"], ran, max_children=3)
    async with open_servers(server) as fleet:
        for caller in ("ann", "ben", "ann", "cid"):
            await call_tool(fleet, "s", "t", by=caller)
        ann, ben, _, _ = _pids(ran)
        assert not _is_running(ben)
        assert _is_running(ann)


async def test_when_all_children_are_at_work_a_caller_waits_within_its_time(ran: Path) -> None:
    slow = {"name": "slow", "x-fixture": {"delay": 1.0}}
    server = fixture_server_config("s", [slow, "t"], ran, max_children=2)
    async with open_servers(server) as fleet, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: call_tool(fleet, "s", "slow", by="ann"))
        await eventually(lambda: executed(ran))
        with pytest.raises(UpstreamTimeout, match="not sent") as caught:
            await call_tool(fleet, "s", "t", by="ben", within=0.1)
        assert not caught.value.sent
        await call_tool(fleet, "s", "t", by="ben")
    assert [call.name for call in executed(ran)] == ["slow", "t"]


async def test_a_child_that_dies_is_replaced_at_the_next_call_of_its_caller(ran: Path) -> None:
    leave = {"name": "leave", "x-fixture": {"exit": 7}}
    async with open_servers(fixture_server_config("s", [leave, "t"], ran)) as fleet:
        await call_tool(fleet, "s", "t", by="ben")
        with pytest.raises(UpstreamUnavailable, match="code 7"):
            await call_tool(fleet, "s", "leave", by="ann")
        await call_tool(fleet, "s", "t", by="ann")
        await call_tool(fleet, "s", "t", by="ben")
    ben, left, ann, ben_again = _pids(ran)
    assert ben == ben_again
    assert left != ann


async def test_a_child_that_cannot_be_started_for_a_caller_is_told_to_it(
    ran: Path, tmp_path: Path
) -> None:
    # The command works once, for the connection that lists the tools.
    inner = fixture_server_config("s", ["t"], ran)
    script = f'test -e {tmp_path}/once && echo "not twice" >&2 && exit 9; touch {tmp_path}/once'
    server = replace(
        inner, command="sh", args=("-c", f'{script}; exec "$@"', "sh", inner.command, *inner.args)
    )
    async with open_servers(server) as fleet:
        for _ in range(2):
            with pytest.raises(UpstreamUnavailable, match="code 9: not twice"):
                await call_tool(fleet, "s", "t")
        (tmp_path / "once").unlink()
        await call_tool(fleet, "s", "t")


async def test_what_a_callers_own_child_says_of_its_list_lets_the_list_be_read_again(
    ran: Path,
) -> None:
    grow = {"name": "grow", "x-fixture": {"adds": "new"}}
    async with open_servers(
        fixture_server_config("s", [grow], ran, options=("--era", "legacy"))
    ) as fleet:
        before = len(received(ran, "tools/list"))
        await call_tool(fleet, "s", "grow")
        await eventually(lambda: len(received(ran, "tools/list")) > before)
        # The list is that of the gateway's own child, which the other one's tool is not in.
        assert [tool.name for tool in fleet.catalogue.by_server["s"]] == ["grow"]
