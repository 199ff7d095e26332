"""A declaration changes while servers run: each is started, kept or retired by itself (R18)."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from remit.errors import UpstreamTimeout, UpstreamUnavailable
from remit.model.servers import ServerConfig, ServerState, Session, ToolSettings
from remit.testing.fleets import call_tool, eventually, open_servers, status_of
from remit.testing.upstream import executed, fixture_server_config, received
from remit.upstreams.fleet import Fleet

SLOW = {"name": "slow", "x-fixture": {"delay": 1.0}}
ENDLESS = {"name": "endless", "x-fixture": {"delay": 600.0}}


def _reconfigure(fleet: Fleet, *servers: ServerConfig) -> None:
    fleet.reconfigure({server.name: server for server in servers})


async def test_a_new_server_is_started_beside_those_that_run(tmp_path: Path) -> None:
    one = fixture_server_config("one", ["t"], tmp_path / "one")
    two = fixture_server_config("two", ["t"], tmp_path / "two")
    async with open_servers(one) as fleet:
        _reconfigure(fleet, two, one)
        await fleet.settled()

        assert list(fleet.catalogue.by_server) == ["two", "one"]
        assert [status.name for status in fleet.statuses()] == ["two", "one"]
        assert b"content" in await call_tool(fleet, "two", "t")
        assert len(received(tmp_path / "one", "tools/list")) == 1


async def test_a_server_that_is_gone_offers_nothing_at_once_and_its_process_ends(
    tmp_path: Path,
) -> None:
    one = fixture_server_config("one", ["t"], tmp_path / "one", session=Session.SHARED)
    two = fixture_server_config("two", ["t"], tmp_path / "two")
    async with open_servers(one, two) as fleet:
        retired = fleet.upstreams["one"]
        version = fleet.catalogue.version
        _reconfigure(fleet, two)

        assert fleet.catalogue.version > version
        assert list(fleet.catalogue.by_server) == ["two"]
        with pytest.raises(UpstreamUnavailable, match="no server 'one'"):
            await call_tool(fleet, "one", "t")
        await eventually(lambda: retired.status().state is ServerState.STOPPED)
        assert b"content" in await call_tool(fleet, "two", "t")
        assert len(received(tmp_path / "two", "tools/list")) == 1


@pytest.mark.parametrize("session", [Session.SHARED, Session.PRINCIPAL])
async def test_a_call_under_way_on_a_server_that_is_retired_ends(
    tmp_path: Path, session: Session
) -> None:
    one = fixture_server_config("one", [SLOW], tmp_path / "one", session=session)
    answers: list[bytes] = []
    async with open_servers(one) as fleet:

        async def ask() -> None:
            answers.append(await call_tool(fleet, "one", "slow"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await eventually(lambda: executed(tmp_path / "one"))
            _reconfigure(fleet)

        assert b"content" in answers[0]


@pytest.mark.parametrize("session", [Session.SHARED, Session.PRINCIPAL])
async def test_a_call_that_does_not_end_fails_plainly_when_its_time_to_part_is_over(
    tmp_path: Path, session: Session
) -> None:
    one = fixture_server_config("one", [ENDLESS], tmp_path / "one", session=session)
    failures: list[UpstreamUnavailable] = []
    async with open_servers(one) as fleet:

        async def ask() -> None:
            with pytest.raises(UpstreamUnavailable) as caught:
                await call_tool(fleet, "one", "endless")
            failures.append(caught.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await eventually(lambda: executed(tmp_path / "one"))
            await fleet.upstreams["one"].retire(0.05)

    assert failures[0].sent


async def test_a_call_that_waits_for_room_starts_no_child_of_a_server_that_was_retired(
    tmp_path: Path,
) -> None:
    one = fixture_server_config("one", [ENDLESS, "t"], tmp_path / "one", max_children=2)
    async with open_servers(one) as fleet:
        retired = fleet.upstreams["one"]

        async def ask(tool: str, caller: str) -> None:
            with pytest.raises(UpstreamUnavailable, match=r"was (stopped|closed)$"):
                await call_tool(fleet, "one", tool, by=caller)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "endless", "ann")
            await eventually(lambda: executed(tmp_path / "one"))
            tasks.start_soon(ask, "t", "ben")
            await eventually(lambda: retired.status().in_flight == 2)
            await retired.retire(0.05)

    assert len(executed(tmp_path / "one")) == 1


async def test_a_server_that_is_started_differently_is_restarted(tmp_path: Path) -> None:
    async with open_servers(fixture_server_config("one", ["old"], tmp_path / "old")) as fleet:
        _reconfigure(fleet, fixture_server_config("one", ["new"], tmp_path / "new"))
        await fleet.settled()

        assert [str(tool) for tool in fleet.catalogue.tools] == ["one/new"]
        assert b"content" in await call_tool(fleet, "one", "new")


@pytest.mark.parametrize("session", [Session.SHARED, Session.PRINCIPAL])
async def test_tools_of_a_server_that_is_reached_anew_stay_and_calls_wait(
    tmp_path: Path, session: Session
) -> None:
    old, new = (
        fixture_server_config("one", ["t"], tmp_path / name, session=session)
        for name in ("old", "new")
    )
    async with open_servers(old) as fleet:
        _reconfigure(fleet, new)

        assert [str(tool) for tool in fleet.catalogue.tools] == ["one/t"]
        assert status_of(fleet, "one").tools == 1
        assert b"content" in await call_tool(fleet, "one", "t")
        assert len(executed(tmp_path / "new")) == 1
        assert not executed(tmp_path / "old")


async def test_a_restart_withdraws_no_tools(tmp_path: Path) -> None:
    async with open_servers(fixture_server_config("one", ["t"], tmp_path / "one")) as fleet:
        fleet.restart("one")
        fleet.restart("one")

        assert [str(tool) for tool in fleet.catalogue.tools] == ["one/t"]
        assert b"content" in await call_tool(fleet, "one", "t")


async def test_what_it_offers_no_longer_goes_when_it_is_reached(tmp_path: Path) -> None:
    async with open_servers(fixture_server_config("one", ["old"], tmp_path / "old")) as fleet:
        _reconfigure(fleet, fixture_server_config("one", ["new"], tmp_path / "new"))

        with pytest.raises(UpstreamUnavailable, match="offers no tool 'old' now"):
            await call_tool(fleet, "one", "old")
        assert [str(tool) for tool in fleet.catalogue.tools] == ["one/new"]


async def test_where_it_cannot_be_reached_anew_the_tools_go_and_calls_are_told_why(
    tmp_path: Path,
) -> None:
    async with open_servers(fixture_server_config("one", ["t"], tmp_path / "one")) as fleet:
        _reconfigure(fleet, ServerConfig(name="one", command="no-such-command"))

        with pytest.raises(UpstreamUnavailable, match="no-such-command") as caught:
            await call_tool(fleet, "one", "t")
        assert not caught.value.sent
        assert not fleet.catalogue.tools


async def test_a_call_waits_no_longer_than_its_time_for_a_server_reached_anew(
    tmp_path: Path,
) -> None:
    async with open_servers(fixture_server_config("one", ["t"], tmp_path / "one")) as fleet:
        _reconfigure(fleet, ServerConfig(name="one", command="sleep", args=("600",)))
        with pytest.raises(UpstreamTimeout, match="not connected to anew within") as caught:
            await call_tool(fleet, "one", "t", within=0.1)
        assert not caught.value.sent


async def test_a_call_that_waits_for_a_server_that_is_retired_is_told_so(tmp_path: Path) -> None:
    failures: list[UpstreamUnavailable] = []
    async with open_servers(fixture_server_config("one", ["t"], tmp_path / "one")) as fleet:
        _reconfigure(fleet, ServerConfig(name="one", command="sleep", args=("600",)))
        waited_for = fleet.upstreams["one"]

        async def ask() -> None:
            with pytest.raises(UpstreamUnavailable, match="no longer declared") as caught:
                await call_tool(fleet, "one", "t")
            failures.append(caught.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await eventually(lambda: waited_for.status().in_flight == 1)
            await waited_for.retire(0.05)

    assert not failures[0].sent


async def test_what_may_not_be_started_offers_nothing(tmp_path: Path) -> None:
    one = fixture_server_config("one", ["t"], tmp_path / "one")
    async with open_servers(one) as fleet:
        _reconfigure(fleet, replace(one, env={"TOKEN": "${NOWHERE_SET}"}))
        await fleet.settled()
        assert status_of(fleet, "one").state is ServerState.STOPPED
        assert not fleet.catalogue.tools


async def test_what_is_only_said_of_a_server_restarts_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "one"
    one = fixture_server_config("one", ["t"], ran)
    said = replace(
        one,
        description="other",
        default_access="deny",
        timeout=1.0,
        tools={"t": ToolSettings(timeout=2.0)},
    )
    async with open_servers(one) as fleet:
        upstream, version = fleet.upstreams["one"], fleet.catalogue.version
        _reconfigure(fleet, said)

        assert fleet.upstreams["one"] is upstream
        assert fleet.catalogue.version == version


async def test_a_server_that_is_switched_off_and_on_again(tmp_path: Path) -> None:
    one = fixture_server_config("one", ["t"], tmp_path / "one")
    async with open_servers(one) as fleet:
        _reconfigure(fleet, replace(one, enabled=False))
        assert not fleet.catalogue.tools
        await fleet.settled()
        assert status_of(fleet, "one").reason == "disabled in the declaration"
        assert not fleet.catalogue.tools

        _reconfigure(fleet, one)
        await fleet.settled()
        assert b"content" in await call_tool(fleet, "one", "t")


async def test_a_server_that_is_retired_before_it_was_up_is_never_up(tmp_path: Path) -> None:
    sleeper = ServerConfig(name="one", command="sleep", args=("600",))
    async with open_servers(sleeper, settle=False) as fleet:
        _reconfigure(fleet)
        _reconfigure(fleet, fixture_server_config("one", ["t"], tmp_path / "one"))
        await fleet.settled()

        assert b"content" in await call_tool(fleet, "one", "t")
