"""A relay that adds a key to every request, since the suite sends no credential.

suite ──▶ head with one line more ──▶ gateway;   gateway ──▶ bytes as they are ──▶ suite
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from anyio.abc import ByteStream, SocketAttribute

_HEAD_END: Final = b"\r\n\r\n"
_LARGEST_HEAD: Final = 64 * 1024


@asynccontextmanager
async def open_keyed(port: int, key: str) -> AsyncGenerator[int]:
    """Give a port on loopback behind which *port* is asked with *key*."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")

    async def relay(client: ByteStream) -> None:
        async with (
            client,
            await anyio.connect_tcp("127.0.0.1", port) as gateway,
            anyio.create_task_group() as both,
        ):
            both.start_soon(_copy, gateway, client, both.cancel_scope)
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await _requests(client, gateway, key)
            both.cancel_scope.cancel()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, relay)
        yield listener.extra(SocketAttribute.local_port)  # noqa: S610 - no Django
        tasks.cancel_scope.cancel()


async def _copy(source: ByteStream, target: ByteStream, both: anyio.CancelScope) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in source:
            await target.send(chunk)
    both.cancel()


async def _requests(client: ByteStream, gateway: ByteStream, key: str) -> None:
    pending = b""
    while True:
        while _HEAD_END not in pending and len(pending) < _LARGEST_HEAD:
            pending += await client.receive()
        head, _, pending = pending.partition(_HEAD_END)
        await gateway.send(b"%b\r\nX-API-Key: %b%b" % (head, key.encode(), _HEAD_END))
        left = _length(head)
        while left:
            pending = pending or await client.receive()
            part, pending = pending[:left], pending[left:]
            await gateway.send(part)
            left -= len(part)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0
