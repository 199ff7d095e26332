"""The same door over stdin and stdout (R2, T5)."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import ByteSendStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import MCPError
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification, jsonrpc_message_adapter
from tests.doors.worlds import (
    FILES,
    JsonObject,
    World,
    caller,
    envelope,
    initialize,
    message,
)

from remit.doors.mcp.lines import LARGEST_LINE, lines_of
from remit.doors.mcp.stdio import serve_stdio
from remit.model.lines import TooLong
from remit.model.principals import Principal

READER = caller("r", "reader")


class Terminal:
    """The client's end of a pair of pipes."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._buffered = BufferedByteReceiveStream(stream)

    async def say(self, *messages: JsonObject | bytes) -> None:
        lines = (m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages)
        await self.stream.send(b"".join(line + b"\n" for line in lines))

    async def hear(self) -> JsonObject:
        with anyio.fail_after(20):
            return json.loads(await self._buffered.receive_until(b"\n", 1_000_000))

    async def rest(self) -> list[JsonObject]:
        """Close our side and give all that is still said."""
        await self.stream.send_eof()
        heard: list[JsonObject] = []
        with anyio.fail_after(30):
            while True:
                try:
                    heard.append(await self.hear())
                except anyio.IncompleteRead:
                    return heard


@asynccontextmanager
async def stdio(world: World, principal: Principal = READER) -> AsyncGenerator[Terminal]:
    """Serve *world* over a pair of sockets that stand for the pipes."""
    ours, theirs = socket.socketpair()
    client = await SocketStream.from_socket(ours)
    server = await SocketStream.from_socket(theirs)
    with anyio.fail_after(30):
        async with client, anyio.create_task_group() as tasks:

            async def serve() -> None:
                async with server:
                    await serve_stdio(world.door, principal, server, server)

            tasks.start_soon(serve)
            yield Terminal(client)
            await client.aclose()


@asynccontextmanager
async def library_transport(terminal: Terminal) -> AsyncGenerator[TransportStreams]:
    """Give a terminal as the protocol library wants its transports."""
    to_client, read = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    write, from_client = anyio.create_memory_object_stream[SessionMessage](8)

    async def inwards() -> None:
        async with aclosing(lines_of(terminal.stream)) as lines:
            async for line in lines:
                assert isinstance(line, bytes)
                parsed = jsonrpc_message_adapter.validate_json(line, by_name=False)
                await to_client.send(SessionMessage(parsed))

    async def outwards() -> None:
        async for sent in from_client:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            await terminal.say(text.encode())

    async with to_client, read, write, from_client, anyio.create_task_group() as tasks:
        tasks.start_soon(inwards)
        tasks.start_soon(outwards)
        yield read, write
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_the_librarys_client_is_served_in_both_eras(
    files_world: World, mode: str, version: str
) -> None:
    heard = anyio.Event()

    async def handler(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()
        await anyio.lowlevel.checkpoint()

    async with (
        stdio(files_world, caller("e", "editor")) as terminal,
        Client(
            library_transport(terminal), mode=mode, cache=None, message_handler=handler
        ) as client,
    ):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("files__read", {})
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such_tool", {})
        if mode == "auto":
            async with client.listen(tools_list_changed=True) as subscription:
                files_world.fleet.offer("files", FILES[:1])
                async for event in subscription:
                    assert isinstance(event, ToolsListChanged)
                    break
        else:
            await until_watched(files_world)
            files_world.fleet.offer("files", FILES[:1])
            with anyio.fail_after(20):
                await heard.wait()

        assert client.protocol_version == version

    assert listed == ["files__delete", "files__list", "files__read", "notes__add"]
    assert files_world.fleet.ran == {"files/read": 1}


async def test_one_process_speaks_both_eras(files_world: World) -> None:
    async with stdio(files_world) as terminal:
        await terminal.say(message("tools/list", {"_meta": envelope()}, id="modern"))
        modern = await terminal.hear()
        await terminal.say(initialize())
        settled = await terminal.hear()
        await terminal.say(message("tools/list", id="legacy"))
        legacy = await terminal.hear()
        await terminal.say(message("tools/list", {"_meta": envelope()}, id="modern again"))
        again = await terminal.hear()

    assert modern["result"]["resultType"] == again["result"]["resultType"] == "complete"
    assert settled["result"]["protocolVersion"] == "2025-11-25"
    assert legacy["result"].keys() == {"tools"}


async def test_a_probe_without_its_envelope_is_told_what_is_missing(files_world: World) -> None:
    async with stdio(files_world) as terminal:
        await terminal.say(message("server/discover", {}))
        missing = await terminal.hear()
        wrong = envelope(**{"io.modelcontextprotocol/protocolVersion": "2099-01-01"})
        await terminal.say(message("server/discover", {"_meta": wrong}))
        unsupported = await terminal.hear()

    assert missing["error"]["code"] == -32602
    assert unsupported["error"]["code"] == -32022


async def test_calls_run_side_by_side_and_answers_come_as_they_are_ready(
    files_world: World,
) -> None:
    release = anyio.Event()

    async def slow(_: bytes, __: bytes) -> bytes:
        await release.wait()
        return b'{"content":[]}'

    files_world.fleet.behaviours["files/read"] = slow
    async with stdio(files_world) as terminal:
        await terminal.say(
            message("tools/call", {"name": "files__read"}, id="slow"),
            message("tools/call", {"name": "files__list"}, id="fast"),
        )
        first = await terminal.hear()
        release.set()
        second = await terminal.hear()

    assert (first["id"], second["id"]) == ("fast", "slow")


async def test_a_cancelled_call_ends_and_is_not_answered(files_world: World) -> None:
    ended = anyio.Event()

    async def slow(_: bytes, __: bytes) -> bytes:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return b"{}"

    files_world.fleet.behaviours["files/read"] = slow
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    async with stdio(files_world) as terminal:
        await terminal.say(message("tools/call", {"name": "files__read"}))
        while not files_world.fleet.ran:
            await anyio.lowlevel.checkpoint()
        await terminal.say(cancel)
        await ended.wait()
        # In one breath with its call, it finds the call too.
        await terminal.say(message("tools/call", {"name": "files__read"}), cancel)
        await terminal.say(message("ping", id="after"))
        heard = await terminal.hear()

    assert heard["id"] == "after"
    assert [e.outcome for e in files_world.audit.events if e.kind.value == "finished"] == [
        "unknown"
    ] * (len(files_world.audit.events) // 2)


async def test_a_listener_is_ended_by_its_cancellation(files_world: World) -> None:
    async with stdio(files_world) as terminal:
        params: JsonObject = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
        await terminal.say(message("subscriptions/listen", params, id=7))
        opening = await terminal.hear()
        await terminal.say(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
        )
        await until_watched(files_world, 0)

    assert opening["method"] == "notifications/subscriptions/acknowledged"


async def test_a_listener_is_ended_politely_when_the_client_has_said_all(
    files_world: World,
) -> None:
    async with stdio(files_world) as terminal:
        params: JsonObject = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
        await terminal.say(message("subscriptions/listen", params, id=7))
        await terminal.hear()
        rest = await terminal.rest()

    assert [(said["id"], said["result"]["resultType"]) for said in rest] == [(7, "complete")]


async def test_what_was_asked_before_the_end_is_still_answered(files_world: World) -> None:
    async with stdio(files_world) as terminal:
        calls = [message("tools/call", {"name": "files__read"}, id=n) for n in range(20)]
        await terminal.say(*calls)
        rest = await terminal.rest()

    assert sorted(said["id"] for said in rest) == list(range(20))


async def test_noise_is_answered_and_hurts_nobody(files_world: World) -> None:
    async with stdio(files_world) as terminal:
        await terminal.say(
            b"a banner",
            b"",
            b"42",
            b"null",
            b"[]",
            b"\xff",
            b'{"id":5}',
            b'{"jsonrpc":"2.0","id":99,"result":{}}',
            b'{"jsonrpc":"2.0","method":"notifications/unknown"}',
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r',
        )
        heard = [await terminal.hear() for _ in range(7)]

    assert [said.get("error", {}).get("code") for said in heard] == [
        -32700,
        -32600,
        -32600,
        -32600,
        -32700,
        -32600,
        None,
    ]
    assert heard[-1]["result"] == {}


async def test_a_pretty_printed_result_is_one_line(files_world: World) -> None:
    async def pretty(_: bytes, __: bytes) -> bytes:
        return b'{\n  "content": [\r\n]}'

    files_world.fleet.behaviours["files/read"] = pretty
    async with stdio(files_world) as terminal:
        await terminal.say(message("tools/call", {"name": "files__read"}))
        heard = await terminal.hear()

    assert heard["result"] == {"content": []}


async def test_a_call_that_outlives_its_client_is_cancelled_and_recorded(
    files_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(_: bytes, __: bytes) -> bytes:
        await anyio.sleep_forever()
        return b"{}"

    monkeypatch.setattr("remit.doors.mcp.stdio.GRACE", 0.05)
    files_world.fleet.behaviours["files/read"] = slow
    async with stdio(files_world) as terminal:
        await terminal.say(message("tools/call", {"name": "files__read"}))
        rest = await terminal.rest()

    assert rest == []
    assert [event.outcome for event in files_world.audit.events] == ["unknown", "unknown"]


class NobodyListens(ByteSendStream):
    """A stdout whose other end is closed."""

    async def send(self, item: bytes) -> None:
        del item
        raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()


async def test_serving_ends_when_nobody_takes_the_answers(files_world: World) -> None:
    ours, theirs = socket.socketpair()
    async with (
        await SocketStream.from_socket(ours) as client,
        await SocketStream.from_socket(theirs) as stdin,
    ):
        await client.send(json.dumps(message("ping")).encode() + b"\n")
        with anyio.fail_after(20):
            await serve_stdio(files_world.door, READER, stdin, NobodyListens())


async def test_too_many_calls_at_once_are_refused(
    files_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(_: bytes, __: bytes) -> bytes:
        await anyio.sleep_forever()
        return b"{}"

    monkeypatch.setattr("remit.doors.mcp.stdio.MOST_AT_ONCE", 2)
    files_world.fleet.behaviours["files/read"] = slow
    async with stdio(files_world) as terminal:
        await terminal.say(
            *(message("tools/call", {"name": "files__read"}, id=n) for n in range(3))
        )
        heard = await terminal.hear()

    assert (heard["id"], heard["error"]["code"]) == (2, -32603)


@pytest.mark.parametrize(
    ("start", "end", "answered"),
    [
        ('{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"x": "', '"}}', 7),
        ('{"method":"ping","params":{"x":"', '"},"jsonrpc":"2.0","id":"seven"}', "seven"),
        ('{"method":"ping","params":{"x":"', '","id":7}}', None),
        ('{"jsonrpc":"2.0","id":"remit-1","result":{"x":"', '"}}', None),
    ],
    ids=["first", "last", "within", "answer"],
)
async def test_a_request_that_is_too_long_is_refused_under_its_own_id(
    files_world: World, start: str, end: str, answered: int | str | None
) -> None:
    async with stdio(files_world) as terminal:
        await terminal.say(start.encode() + b"x" * LARGEST_LINE + end.encode())
        refusal = await terminal.hear()
        await terminal.say({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert (await terminal.hear())["id"] == 1
    assert refusal["id"] == answered
    assert "longer than 4194304 bytes" in refusal["error"]["message"]


async def test_a_line_that_is_too_long_is_skipped_to_its_end() -> None:
    ours, theirs = socket.socketpair()
    async with (
        await SocketStream.from_socket(ours) as sender,
        await SocketStream.from_socket(theirs) as receiver,
    ):
        await sender.send(b"short\n" + b"x" * 50 + b"\n\n  \nlast\n" + b"y" * 11 + b"\nunended")
        await sender.send_eof()
        async with aclosing(lines_of(receiver, largest=10)) as lines:
            heard = [line async for line in lines]

    kept = [line for line in heard if isinstance(line, bytes)]
    assert kept == [b"short", b"last", b"unended"]
    assert [line.size for line in heard if isinstance(line, TooLong)] == [50, 11]


async def test_a_long_line_is_not_kept_while_it_grows() -> None:
    ours, theirs = socket.socketpair()
    async with (
        await SocketStream.from_socket(ours) as sender,
        await SocketStream.from_socket(theirs) as receiver,
        aclosing(lines_of(receiver, largest=10)) as lines,
    ):
        for _ in range(5):
            await sender.send(b"x" * 8)
        await sender.send(b"\nnext\n")
        heard = [await anext(lines), await anext(lines)]

    assert isinstance(heard[0], TooLong)
    assert heard[1] == b"next"


async def until_watched(world: World, count: int = 1) -> None:
    """Wait until so many streams are open."""
    while len(world.door.changes) != count:
        await anyio.lowlevel.checkpoint()
