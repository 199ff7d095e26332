"""Many servers at once: started together, failing one by one."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from remit.errors import UpstreamTimeout, UpstreamUnavailable
from remit.model.servers import ServerConfig, ServerState, Session, Transport
from remit.model.tools import ToolId
from remit.testing.fleets import call_tool, eventually, open_servers, status_of
from remit.testing.upstream import (
    FixtureOptions,
    WebFixture,
    executed,
    fixture_server_config,
    received,
)
from remit.upstreams.fleet import Fleet
from remit.upstreams.names import LONGEST_NAME, Names

LONG_SERVER = "a" * 40
STRANGE = [
    "x" * 66 + "1234",
    "x" * 66 + "5678",
    "with.dot",
    "with/slash",
    "with:colon",
    "with space",
    "naïve_ß",
    "工具",
    "plain",
]


def _closed_port() -> int:
    fixture = WebFixture(FixtureOptions(tools=[], count_file=os.devnull))
    fixture.start()
    fixture.stop()
    return fixture.port


def _sleepers(tag: str) -> list[str]:
    listed = Path("/proc").glob("[0-9]*/cmdline")
    commands = [_read(path) for path in listed]
    return [command for command in commands if tag in command]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # it has just ended


async def test_broken_servers_are_shown_with_their_reasons_and_keep_nobody_waiting(
    ran: Path,
) -> None:
    # T12
    tag = f"1000.{os.getpid()}"
    fixture = WebFixture(FixtureOptions(tools=["late"], count_file=str(ran)), port=_closed_port())
    servers = (
        fixture_server_config("good1", ["t"], ran),
        ServerConfig(name="missing", command="no-such-program"),
        ServerConfig(name="sleeper", command="sleep", args=(tag,)),
        ServerConfig(name="closed", transport=Transport.HTTP, url=fixture.url),
    )
    async with open_servers(*servers, settle=False) as fleet:
        assert fleet.catalogue.version == 0
        assert [status.state for status in fleet.statuses()] == [ServerState.STARTING] * 4
        catalogue = await fleet.changed(0)
        # The good one is up while the sleeper still has most of its ten seconds.
        assert list(catalogue.by_server) == ["good1"]
        assert status_of(fleet, "sleeper").state is ServerState.STARTING
        assert b"content" in await call_tool(fleet, "good1", "t")
        await eventually(lambda: status_of(fleet, "closed").state is ServerState.BACKING_OFF)
        assert "'no-such-program' was not found" in status_of(fleet, "missing").reason
        assert "connection refused" in status_of(fleet, "closed").reason
        await eventually(lambda: _sleepers(tag))
        # What comes up later is found without anybody asking.
        fixture.start()
        catalogue = await fleet.changed(catalogue.version)
        assert list(catalogue.by_server) == ["good1", "closed"]
        assert b"content" in await call_tool(fleet, "closed", "late")
    fixture.stop()
    assert _sleepers(tag) == []


async def test_a_server_that_never_answers_is_given_up_and_tried_again(ran: Path) -> None:
    tag = f"1001.{os.getpid()}"
    sleeper = ServerConfig(name="sleeper", command="sleep", args=(tag,), start_timeout=0.3)
    async with open_servers(sleeper, fixture_server_config("good", ["t"], ran)) as fleet:
        status = status_of(fleet, "sleeper")
        assert status.state is ServerState.BACKING_OFF
        assert status.reason == "did not answer within 0.3 seconds of its start"
        with pytest.raises(UpstreamUnavailable, match="server 'sleeper' did not answer") as caught:
            await call_tool(fleet, "sleeper", "t")
        assert not caught.value.sent
        assert b"content" in await call_tool(fleet, "good", "t")
    assert _sleepers(tag) == []


def _describe(fleet: Fleet) -> dict[ToolId, tuple[str, str]]:
    names = Names.build(fleet.catalogue.tools)
    return {tool: (names.published(tool), names.local(tool)) for tool in fleet.catalogue.tools}


@pytest.mark.parametrize("transport", [Transport.STDIO, Transport.HTTP])
async def test_strange_names_are_published_legally_and_called_as_they_are(
    ran: Path, transport: Transport
) -> None:
    # T3
    listed = [*STRANGE[:4], {"name": "", "description": "nameless"}, *STRANGE[4:]]
    server = fixture_server_config(LONG_SERVER, listed, ran)
    fixture = WebFixture(FixtureOptions(tools=listed, count_file=str(ran)))
    fixture.start()
    if transport is Transport.HTTP:
        server = ServerConfig(name=LONG_SERVER, transport=transport, url=fixture.url)
    async with open_servers(server) as fleet:
        before = _describe(fleet)
        for published, _ in before.values():
            (tool,) = Names.build(fleet.catalogue.tools).find(published, None)
            await call_tool(fleet, tool.server, tool.name)
        notes = " ".join(status_of(fleet, LONG_SERVER).notes)
        descriptions = [tool.description for tool in fleet.catalogue.tools.values()]
    other = fixture_server_config("b", ["plain", "with.dot"], ran)
    async with open_servers(other, server) as fleet:
        after = _describe(fleet)
    fixture.stop()

    assert [call.name for call in executed(ran)] == STRANGE
    assert all(len(published) <= LONGEST_NAME for published, _ in before.values())
    assert len({published for published, _ in before.values()}) == len(STRANGE)
    assert len({local for _, local in before.values()}) == len(STRANGE)
    assert before == {tool: names for tool, names in after.items() if tool.server == LONG_SERVER}
    assert before[ToolId(LONG_SERVER, "plain")][1] == "plain"
    assert descriptions == [f"The tool {name}" for name in STRANGE]
    assert "entry 5" in notes
    assert "it has no name" in notes


async def test_a_slow_tool_holds_nothing_but_its_own_server(ran: Path) -> None:
    # T8: A handles requests one by one, B as they come.
    tools = [{"name": "slow", "x-fixture": {"delay": 1.5}}, "fast"]
    serial = fixture_server_config("a", tools, ran, options=("--serial",), session=Session.SHARED)
    servers = (serial, fixture_server_config("b", tools, ran, session=Session.SHARED))
    async with open_servers(*servers) as fleet:
        answered: list[str] = []

        async def ask(server: str, tool: str) -> None:
            await call_tool(fleet, server, tool)
            answered.append(f"{server}.{tool}")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "a", "slow")
            await eventually(lambda: executed(ran))
            with pytest.raises(UpstreamTimeout, match="upstream busy with 1 more"):
                await call_tool(fleet, "a", "fast", within=0.1)
            tasks.start_soon(ask, "b", "slow")
            await ask("b", "fast")
            assert status_of(fleet, "a").state is ServerState.READY
            assert len(fleet.catalogue.tools) == 4
            assert answered == ["b.fast"]
        assert "a.slow" in answered
        assert status_of(fleet, "a").state is ServerState.READY


async def test_a_missing_variable_disables_its_server_alone(ran: Path) -> None:
    # R20: names server and field, never a value.
    broken = replace(fixture_server_config("s", ["t"], ran), env={"TOKEN": "${NO_SUCH_VARIABLE}"})
    async with open_servers(broken, fixture_server_config("good", ["t"], ran)) as fleet:
        status = status_of(fleet, "s")
        assert status.state is ServerState.STOPPED
        assert "env.TOKEN" in status.reason
        assert "NO_SUCH_VARIABLE" in status.reason
        assert status_of(fleet, "good").state is ServerState.READY


async def test_a_disabled_server_is_not_started(ran: Path) -> None:
    server = fixture_server_config("s", ["t"], ran, enabled=False)
    async with open_servers(server) as fleet:
        assert status_of(fleet, "s").state is ServerState.STOPPED
        with pytest.raises(UpstreamUnavailable, match="disabled in the declaration"):
            await call_tool(fleet, "s", "t")
    assert received(ran, "server/discover") == []


async def test_an_unclaimed_package_is_not_started_unless_allowed(ran: Path) -> None:
    # R30
    async with open_servers(
        fixture_server_config("s", ["t"], ran),
        fixture_server_config("allowed", ["t"], ran, allow_unclaimed=True),
        unclaimed=lambda config: f"nobody has claimed {config.name!r}",
    ) as fleet:
        assert status_of(fleet, "s").state is ServerState.STOPPED
        assert status_of(fleet, "s").reason == "nobody has claimed 's'"
        assert status_of(fleet, "allowed").state is ServerState.READY
    assert len(received(ran, "server/discover")) == 1


async def test_many_servers_are_connected_in_parallel_but_not_all_at_once(tmp_path: Path) -> None:
    # Each says when it starts and when it has been asked for its tools.
    log = tmp_path / "log"
    program = f"""
import json, sys, time
def note(what): open({str(log)!r}, "a").write(what)
note("+")
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "tools/list":
        note("-")
    if "id" in message:
        answers = {{"server/discover": {{"supportedVersions": ["2026-07-28"]}}}}
        result = answers.get(message["method"], {{"tools": []}})
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"""
    servers = [
        ServerConfig(name=f"s{n}", command=sys.executable, args=("-c", program)) for n in range(15)
    ]
    async with open_servers(*servers) as fleet:
        assert {status.state for status in fleet.statuses()} == {ServerState.READY}
    most = starting = 0
    for what in log.read_text():
        starting += 1 if what == "+" else -1
        most = max(most, starting)
    assert 1 < most <= 10


async def test_statuses_and_catalogue_follow_the_declaration(ran: Path) -> None:
    names = ["zeta", "alpha", "mid"]
    servers = [fixture_server_config(name, ["b", "a"], ran) for name in names]
    async with open_servers(*servers) as fleet:
        assert [status.name for status in fleet.statuses()] == names
        assert list(fleet.catalogue.by_server) == names
        assert [str(tool) for tool in fleet.catalogue.tools][:3] == ["zeta/b", "zeta/a", "alpha/b"]
        assert fleet.catalogue.version == 3
        assert await fleet.changed(2) is fleet.catalogue


async def test_what_is_not_there_is_not_called(ran: Path) -> None:
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        with pytest.raises(UpstreamUnavailable, match="no server 'nowhere'"):
            await call_tool(fleet, "nowhere", "t")
        with pytest.raises(UpstreamUnavailable, match="offers no tool 'nothing'"):
            await call_tool(fleet, "s", "nothing")


async def test_an_error_of_the_body_comes_out_as_it_is(ran: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_servers(fixture_server_config("s", ["t"], ran)):
            raise ZeroDivisionError


async def test_a_child_that_closes_its_pipe_and_lives_on_is_given_up() -> None:
    program = "import os, time; os.close(1); time.sleep(600)"
    server = ServerConfig(name="s", command=sys.executable, args=("-c", program))
    async with open_servers(server) as fleet:
        assert status_of(fleet, "s").reason == "closed the pipe to us"


async def test_where_one_server_stands_is_found_by_its_name(ran: Path) -> None:
    servers = [fixture_server_config(name, ["t"], ran) for name in ("one", "two")]
    async with open_servers(*servers) as fleet:
        assert fleet.status("two") == fleet.statuses()[1]
        assert fleet.status("ghost") is None
