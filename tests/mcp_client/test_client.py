"""Several servers of a program: S1.15-S1.19, S1.35, and their health."""

import asyncio
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.mcp_client.conftest import MakeEntry

from remit.errors import BadCall, MCPConnectionError
from remit.library.client import RETRY_PAUSE, MCPClient
from remit.library.config import MCPConfig, MCPServerConfig
from remit.library.lines import Lines
from remit.testing.fleets import PATIENCE, eventually
from remit.testing.upstream import executed, received


def config(*entries: MCPServerConfig, **fields: Any) -> MCPConfig:
    return MCPConfig(servers={entry.name: entry for entry in entries}, **fields)


def broken(name: str) -> MCPServerConfig:
    return MCPServerConfig(name=name, command=sys.executable, args=["-c", "raise SystemExit(5)"])


def after(condition: str, server: MCPServerConfig) -> MCPServerConfig:
    """Return the entry of a server that starts only when a Python expression holds."""
    code = (
        "import os, sys, time, pathlib\n"
        f"while not ({condition}): time.sleep(0.01)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    args = ["-c", code, server.command, *server.args]
    return server.model_copy(update={"command": sys.executable, "args": args})


def names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tools]


async def test_every_tool_says_whose_it_is(entry: MakeEntry) -> None:
    async with MCPClient(config(entry("a", ["x", "y"]), entry("b", ["x"]))) as client:
        await client.connect_all()

        found = [(tool["_server"], tool["name"]) for tool in client.get_available_tools()]

    assert found == [("a", "x"), ("a", "y"), ("b", "x")]


async def test_what_cannot_be_connected_is_false_and_holds_nothing(entry: MakeEntry) -> None:
    off = entry("off", enabled=False)
    unlisted = entry("unlisted", options=("--silent", "tools/list"))
    async with MCPClient(config(off, unlisted, broken("broken"), default_timeout=1)) as client:
        for name in ("unknown", "off", "broken", "unlisted"):
            assert await client.connect(name) is False
            assert not client.is_connected(name)
            assert client.get_available_tools(name) == []

        said = {name: health.error for name, health in client.health().items()}

    assert "is disabled" in said["off"]
    assert "exited with code 5" in said["broken"]
    assert "did not answer tools/list" in said["unlisted"]


async def test_connections_and_cached_tools_are_where_the_document_has_them(
    entry: MakeEntry,
) -> None:
    """S1.15, S1.16."""
    async with MCPClient(config(entry("a"), entry("b"))) as client:
        await client.connect_all()
        connections, cached = client._connections, client._tools_cache  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the document's names
        before = {*connections}, {name: names(tools) for name, tools in cached.items()}

        await client.disconnect("a")

        assert before == ({"a", "b"}, {"a": ["search"], "b": ["search"]})
        assert ([*connections], [*cached]) == (["b"], ["b"])


async def test_a_second_connect_keeps_the_connection(entry: MakeEntry, ran: Path) -> None:
    async with MCPClient(config(entry())) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.connect, "github")
            tasks.start_soon(client.connect, "github")
        assert await client.connect("github") is True
        await client.call_tool("github", "search", {})
        await client.call_tool("github", "search", {})

    assert len({call.pid for call in executed(ran)}) == 1


async def test_a_reconnect_reads_the_list_again(entry: MakeEntry) -> None:
    """S1.16; the configuration may have grown meanwhile (S1.28)."""
    changing = entry()
    async with MCPClient(config(changing)) as client:
        await client.connect("github")
        client.config.servers["github"] = entry(tools=["search", "more"])
        client.config.servers["another"] = entry("another")

        before = names(client.get_available_tools())
        await client.disconnect("github")
        between = client.get_available_tools()
        await client.connect("github")

        assert (before, between) == (["search"], [])
        assert names(client.get_available_tools()) == ["search", "more"]
        assert await client.connect("another") is True


async def test_a_list_that_the_server_changes_is_taken_over(entry: MakeEntry) -> None:
    grows = {"name": "grow", "x-fixture": {"adds": "more"}}
    async with MCPClient(config(entry(tools=[grows]))) as client:
        await client.connect("github")

        await client.call_tool("github", "grow", {})

        await eventually(lambda: names(client.get_available_tools("github")) == ["grow", "more"])
        assert client.get_available_tools()[1]["_server"] == "github"


async def test_three_servers_connect_at_the_same_time(entry: MakeEntry, tmp_path: Path) -> None:
    # Each one starts only when all three have been spawned: one after the other never would.
    meet = (
        f"(pathlib.Path({str(tmp_path)!r}) / f'here{{os.getpid()}}').touch()"
        f" or len(list(pathlib.Path({str(tmp_path)!r}).glob('here*'))) == 3"
    )
    servers = [after(meet, entry(name)) for name in ("a", "b", "c")]
    with anyio.fail_after(PATIENCE):
        async with MCPClient(config(*servers)) as client:
            results = await client.connect_all()

    assert [result.server_name for result in results] == ["a", "b", "c"]
    assert all(result.success and result.tools_count == 1 for result in results)


async def test_connecting_to_all_takes_less_than_one_after_the_other(entry: MakeEntry) -> None:
    async with MCPClient(config(entry("a"), entry("b"), entry("c"))) as client:
        began = time.monotonic()
        results = await client.connect_all()
        took = (time.monotonic() - began) * 1000

    each = [result.connect_time_ms for result in results]
    assert max(each) <= took < sum(each)


async def test_each_server_has_a_result_of_its_own(entry: MakeEntry) -> None:
    off = entry("off", enabled=False)
    servers = config(entry("good", ["x", "y"]), broken("bad"), off, max_retries=0)
    async with MCPClient(servers) as client:
        good, bad = await client.connect_all()

        assert (good.server_name, good.success, good.tools_count) == ("good", True, 2)
        assert (good.error, good.retry_scheduled) == ("", False)
        assert (bad.server_name, bad.success, bad.tools_count) == ("bad", False, 0)
        assert "exited with code 5" in bad.error
        assert bad.retry_scheduled is False
        assert bad.connect_time_ms > 0


async def test_only_those_that_are_named_are_connected(entry: MakeEntry) -> None:
    async with MCPClient(config(entry("a"), entry("b"))) as client:
        results = await client.connect_all(["b", "b", "unknown"])

        assert [(result.server_name, result.success) for result in results] == [
            ("b", True),
            ("unknown", False),
        ]
        assert not client.is_connected("a")


async def test_what_failed_is_tried_again_in_the_background(
    entry: MakeEntry, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    server = after(f"pathlib.Path({str(mended)!r}).exists() or sys.exit(6)", entry())
    async with MCPClient(config(server, max_retries=50), retry_pause=0.01) as client:
        (result,) = await client.connect_all()
        assert (result.success, result.retry_scheduled) == (False, True)
        assert client.health()["github"].retry_scheduled

        mended.touch()

        await eventually(lambda: client.is_connected("github"))
        health = client.health()["github"]
        assert (health.status, health.error, health.retry_scheduled) == ("healthy", "", False)


async def test_retries_end_after_as_many_as_are_configured(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    code = f"import sys; open({str(tried)!r}, 'a').write('x'); sys.stdin.readline(); sys.exit(7)"
    server = MCPServerConfig(name="bad", command=sys.executable, args=["-c", code])
    async with MCPClient(config(server, max_retries=2), retry_pause=0.01) as client:
        await client.connect_all()

        await eventually(lambda: not client.health()["bad"].retry_scheduled)

    # Each attempt is two: a server may end since it does not know the newer first message.
    assert len(tried.read_text()) == 2 * (1 + 2)


async def test_each_pause_before_a_retry_is_twice_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S1.35: 1, 2 and 4 seconds unless the program says otherwise."""
    pauses: list[float] = []
    sleep = anyio.sleep

    async def noted(seconds: float) -> None:
        if seconds < 1000:
            await sleep(seconds)
        else:
            pauses.append(seconds)

    monkeypatch.setattr(anyio, "sleep", noted)
    async with MCPClient(config(broken("bad")), retry_pause=1000) as client:
        await client.connect_all()
        await eventually(lambda: not client.health()["bad"].retry_scheduled)

    assert pauses == [1000, 2000, 4000]
    assert RETRY_PAUSE == 1


async def test_what_can_never_connect_is_not_tried_again() -> None:
    unclaimed = MCPServerConfig(name="github", command="uvx", args=["mcp-server-github"])
    async with MCPClient(config(unclaimed)) as client:
        (result,) = await client.connect_all()

    assert "nobody has claimed" in result.error
    assert result.retry_scheduled is False


async def test_a_disconnect_ends_the_retries() -> None:
    async with MCPClient(config(broken("bad")), retry_pause=1000) as client:
        await client.connect_all()
        assert client.health()["bad"].retry_scheduled

        await client.disconnect("bad")

        health = client.health()["bad"]
        assert (health.retry_scheduled, health.status) == (False, "unknown")


async def test_a_disconnect_ends_the_retries_of_a_server_that_was_asked_for_twice() -> None:
    lines = Lines(config(broken("bad")), retry_pause=1000)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                (result,) = await lines.connect_all(tasks, None)
                assert result.retry_scheduled
            await lines.disconnect_all()
        # left, since none of its tasks goes on


async def test_a_disconnect_ends_a_connect_that_is_under_way(tmp_path: Path) -> None:
    here = tmp_path / "here"
    code = f"import sys; open({str(here)!r}, 'w'); sys.stdin.read()"
    mute = MCPServerConfig(name="mute", command=sys.executable, args=["-c", code])
    answers: list[bool] = []

    with anyio.fail_after(PATIENCE):
        async with MCPClient(config(mute)) as client, anyio.create_task_group() as tasks:

            async def connect() -> None:
                answers.append(await client.connect("mute"))

            tasks.start_soon(connect)
            await eventually(here.exists)
            await client.disconnect("mute")

    assert answers == [False]


async def test_health_is_told_for_each_server(entry: MakeEntry) -> None:
    """S1.35, in the four words of S1.31."""
    grows = {"name": "grow", "x-fixture": {"adds": "more"}}
    weak = entry("weak", [grows], ("--lists-once",))
    servers = config(entry("good"), weak, broken("bad"), entry("untried"), default_timeout=2)
    async with MCPClient(servers) as client:
        await client.connect_all(["good", "weak", "bad"])
        await client.call_tool("weak", "grow", {})
        await eventually(lambda: client.health()["weak"].status == "degraded")

        health = client.health()

    assert {name: entry.status for name, entry in health.items()} == {
        "good": "healthy",
        "weak": "degraded",
        "bad": "unhealthy",
        "untried": "unknown",
    }
    assert health["good"].protocol == "2026-07-28"
    assert health["good"].tools_count == 1
    assert "could not be read again" in health["weak"].error


async def test_a_server_that_dies_takes_its_tools_along_and_comes_back_when_asked(
    entry: MakeEntry,
) -> None:
    async with MCPClient(config(entry("a"), entry("b"))) as client:
        await client.connect_all()
        pid = client._connections["a"].pid  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no public way to a process
        assert pid is not None

        os.kill(pid, 9)
        await eventually(lambda: not client.is_connected("a"))

        assert [tool["_server"] for tool in client.get_available_tools()] == ["b"]
        assert client.health()["a"].status == "unhealthy"
        with pytest.raises(MCPConnectionError, match=r"not connected to server 'a'.*SIGKILL"):
            await client.call_tool("a", "search", {})
        assert await client.connect("a") is True
        assert client.health()["a"].status == "healthy"


async def test_to_disconnect_what_is_not_connected_does_nothing(entry: MakeEntry) -> None:
    client = MCPClient(config(entry()))

    await client.disconnect("github")
    await client.disconnect("unknown")
    await client.disconnect_all()


async def test_the_end_of_the_context_ends_every_process_even_when_cancelled(
    entry: MakeEntry,
) -> None:
    pids: list[int] = []

    with anyio.CancelScope() as scope:
        async with MCPClient(config(entry("a"), entry("b"))) as client:
            await client.connect_all()
            pids += [made.pid or 0 for made in client._connections.values()]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no public way to a process
            scope.cancel()
            await anyio.sleep_forever()

    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_disconnection_that_asyncio_cancels_still_ends_every_process(
    entry: MakeEntry,
) -> None:
    client = MCPClient(config(entry("a"), entry("b")))
    await client.connect_all()
    pids = [made.pid or 0 for made in client._connections.values()]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no public way to a process

    ending = asyncio.ensure_future(client.disconnect_all())
    await anyio.lowlevel.checkpoint()
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending

    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not client.is_connected("a")
    assert client.get_available_tools() == []


def test_a_client_is_used_from_several_loops(entry: MakeEntry, ran: Path) -> None:
    client = MCPClient(config(entry("a"), entry("b")))
    asyncio.run(client.connect_all())
    for name in ("a", "b", "a"):
        asyncio.run(client.call_tool(name, "search", {}))
    asyncio.run(client.disconnect("a"))
    assert [tool["_server"] for tool in client.get_available_tools()] == ["b"]
    asyncio.run(client.disconnect_all())

    assert len(executed(ran)) == 3
    assert client.get_available_tools() == []


@pytest.mark.parametrize(
    "value",
    [float("nan"), {1, 2}, b"by", datetime.now(UTC), object()],
    ids=lambda one: type(one).__name__,
)
async def test_arguments_that_are_no_json_are_refused_and_never_altered(
    entry: MakeEntry, ran: Path, value: object
) -> None:
    async with MCPClient(config(entry("github", ["search"]))) as client:
        await client.connect("github")

        with pytest.raises(BadCall, match="cannot be written as JSON"):
            await client.call_tool("github", "search", {"deep": [value]})

        await client.call_tool("github", "search", {"deep": ["ü"]})

    (sent,) = received(ran, "tools/call")
    assert sent["params"]["arguments"] == {"deep": ["ü"]}
