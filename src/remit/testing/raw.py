"""A server of raw bytes: it answers each request with what a test wrote down, right or wrong."""

import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.lowlevel import checkpoint
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSListener

CLOSE = None
"""A step that closes the connection."""

Step = bytes | anyio.Event | None
"""Bytes to send, something to wait for, or `CLOSE`."""

_LONGEST_HEAD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRequest:
    """A request as it arrived.

    Attributes:
        connection: Which connection it came on, counted from 1.
        line: Its first line.
        fields: Name (in lower case) and value of each field, in order.
    """

    connection: int
    line: str
    fields: Sequence[tuple[str, str]]
    body: bytes

    def values(self, name: str) -> list[str]:
        """Return every value of a field."""
        return [value for found, value in self.fields if found == name]


@dataclass(kw_only=True)
class RawServer:
    """What a test sees of the server.

    Attributes:
        replies: For each request, by the order of arrival, the steps that answer it.
        greeting: Sent on a new connection before anybody asked.
        requests: What arrived.
        opened: How many connections were opened.
        hung_up: Which of them the client closed while the server waited for, or sent, something.
        sent: Bytes of replies that the client's side has taken.
    """

    port: int
    replies: list[Sequence[Step]]
    is_tls: bool = False
    greeting: Sequence[Step] = ()
    requests: list[RawRequest] = field(default_factory=list[RawRequest])
    opened: int = 0
    hung_up: list[int] = field(default_factory=list[int])
    sent: int = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self.is_tls else 'http'}://127.0.0.1:{self.port}/mcp"


@asynccontextmanager
async def open_raw_server(
    *replies: Sequence[Step], tls: ssl.SSLContext | None = None
) -> AsyncGenerator[RawServer]:
    """Give a server that answers with *replies*, in the event loop of the test."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - this is no Django
    server = RawServer(port=port, replies=list(replies), is_tls=tls is not None)
    serving = listener if tls is None else TLSListener(listener, tls, standard_compatible=False)
    async with serving, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(serving.serve, partial(_serve, server)))
        yield server
        tasks.cancel_scope.cancel()


def bytewise(data: bytes) -> list[Step]:
    """Return the steps that send *data* one byte at a time."""
    return [data[at : at + 1] for at in range(len(data))]


async def _serve(server: RawServer, stream: ByteStream) -> None:
    server.opened += 1
    number = server.opened
    received = BufferedByteReceiveStream(stream)
    async with stream:
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            is_open = await _perform(server, stream, server.greeting)
            while is_open:
                server.requests.append(await _request(received, number))
                is_open = await _perform(server, stream, server.replies.pop(0))
            return
        server.hung_up.append(number)


async def _perform(server: RawServer, stream: ByteStream, steps: Sequence[Step]) -> bool:
    """Take the steps; return whether the connection is still open."""
    for step in steps:
        if step is None:  # CLOSE
            return False
        if isinstance(step, anyio.Event):
            await step.wait()
            continue
        for start in range(0, len(step), 1 << 16):
            piece = step[start : start + (1 << 16)]
            await stream.send(piece)
            server.sent += len(piece)
        await checkpoint()
    return True


async def _request(received: BufferedByteReceiveStream, connection: int) -> RawRequest:
    head = await received.receive_until(b"\r\n\r\n", _LONGEST_HEAD)
    line, *rest = head.decode("latin-1").split("\r\n")
    pairs = [text.partition(":") for text in rest]
    fields = [(name.lower(), value.strip()) for name, _, value in pairs]
    length = int(dict(fields).get("content-length", "0"))
    body = await received.receive_exactly(length) if length else b""
    return RawRequest(connection=connection, line=line, fields=fields, body=body)
