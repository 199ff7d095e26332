"""A caller that goes away: the modern era cancels its call, the older ones do not (T24)."""

import asyncio
import json

import anyio
import anyio.lowlevel
import pytest
from tests.doors.worlds import (
    MODERN,
    JsonObject,
    Wire,
    World,
    envelope,
    message,
    modern_headers,
    serving,
)

from remit.doors.mcp.disconnects import Disconnects


class SlowTool:
    """Runs until told to end, and says how it ended."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.release = anyio.Event()
        self.ended = anyio.Event()
        self.was_cancelled = False

    async def __call__(self, arguments: bytes, meta: bytes) -> bytes:
        del arguments, meta
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        finally:
            self.ended.set()
        return b'{"content":[]}'


async def call_and_leave(wire: Wire, slow: SlowTool, params: JsonObject, **headers: str) -> None:
    """Post a call and break the connection while it runs."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:

            async def post() -> None:
                await wire.send(message("tools/call", params), headers=headers)

            tasks.start_soon(post)
            await slow.started.wait()
            tasks.cancel_scope.cancel()


async def until_finished(world: World) -> str:
    """Wait for the record of how the call ended, and give its outcome."""
    with anyio.fail_after(20):
        while len(world.audit.events) < 2:
            await anyio.lowlevel.checkpoint()
    return world.audit.events[-1].outcome


async def test_a_modern_caller_that_leaves_cancels_its_call(files_world: World, wire: Wire) -> None:
    slow = files_world.fleet.behaviours["files/read"] = SlowTool()
    params: JsonObject = {"name": "files__read", "_meta": envelope()}
    headers = {k: v for k, v in modern_headers("tools/call", params).items() if v is not None}

    await call_and_leave(wire, slow, params, **headers)

    with anyio.fail_after(20):
        await slow.ended.wait()
    assert slow.was_cancelled
    assert await until_finished(files_world) == "unknown"


async def test_a_caller_that_leaves_with_requests_waiting_behind_its_call_is_noticed(
    files_world: World,
) -> None:
    # found by the fuzz: a stream or a call with another request behind it was never ended
    slow = files_world.fleet.behaviours["files/read"] = SlowTool()
    params: JsonObject = {"name": "files__read", "_meta": envelope()}
    body = json.dumps(message("tools/call", params)).encode()
    fields = {
        "Host": "localhost",
        "Authorization": "Bearer reader-key",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **{k: v for k, v in modern_headers("tools/call", params).items() if v is not None},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    request = f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body
    async with serving(files_world) as url:
        with anyio.fail_after(30):
            async with await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2])) as stream:
                await stream.send(request * 4)
                await slow.started.wait()
            await slow.ended.wait()

    assert slow.was_cancelled


async def test_an_older_caller_that_leaves_lets_its_call_finish_and_be_recorded(
    files_world: World, wire: Wire
) -> None:
    slow = files_world.fleet.behaviours["files/read"] = SlowTool()

    await call_and_leave(wire, slow, {"name": "files__read"})
    slow.release.set()

    with anyio.fail_after(20):
        await slow.ended.wait()
    assert not slow.was_cancelled
    assert await until_finished(files_world) == "ok"


class _Silent:
    """A client whose connection does not tell of its end."""

    leaving = None


async def test_a_watch_that_began_ends_with_the_call_that_it_watched() -> None:
    disconnects = Disconnects()
    watched, left = anyio.Event(), anyio.Event()

    class Client(_Silent):
        async def gone(self) -> None:
            watched.set()
            try:
                await anyio.sleep_forever()
            finally:
                left.set()

    with anyio.fail_after(20):
        async with disconnects.running():
            with disconnects.watch(Client()):
                await watched.wait()
            await left.wait()
            finished = True

    assert finished


async def test_a_call_that_is_over_soon_is_never_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.doors.mcp.disconnects.NOTICE_AFTER", 3600.0)
    disconnects = Disconnects()

    class Client(_Silent):
        async def gone(self) -> None:
            raise AssertionError

    async with disconnects.running():
        for _ in range(100):
            with disconnects.watch(Client()):
                await anyio.lowlevel.checkpoint()


async def test_an_older_caller_cancels_by_notification_within_its_own_session_only(
    files_world: World, wire: Wire
) -> None:
    slow = files_world.fleet.behaviours["files/read"] = SlowTool()
    session, other = await wire.begin(), await wire.begin()
    cancel = message("notifications/cancelled", {"requestId": 1})
    del cancel["id"]
    reply = None
    cancelled: list[bool] = []

    async def post() -> None:
        nonlocal reply
        call = message("tools/call", {"name": "files__read"})
        reply = await wire.send(call, headers={"Mcp-Session-Id": session})

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post)
            await slow.started.wait()
            await wire.send(cancel, headers={"Mcp-Session-Id": other})
            await wire.send(cancel)
            cancelled.append(slow.was_cancelled)
            await wire.send(cancel, headers={"Mcp-Session-Id": session})
    cancelled.append(slow.was_cancelled)

    assert cancelled == [False, True]
    assert reply is not None
    assert (reply.status, reply.error["code"]) == (200, -32800)
    assert await until_finished(files_world) == "unknown"


@pytest.mark.parametrize("version", [MODERN, None])
async def test_a_body_that_never_comes_whole_is_nobodys_fault(
    files_world: World, wire: Wire, version: str | None
) -> None:
    host, port = wire.url.removeprefix("http://").split(":")
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer reader-key\r\n"
        + (f"MCP-Protocol-Version: {version}\r\n" if version else "")
        + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(head.encode())

    # The server lives on.
    assert (await wire.send(message("ping"))).status == 200
    assert files_world.audit.events == []
