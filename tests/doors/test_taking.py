"""What clients leave of an answer does not stay in memory for ever (R24)."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
import uvicorn
from anyio.abc import SocketStream
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remit.doors import taking

SIZE = 32 * 1024 * 1024
"""Bytes of an answer: more than what sockets hold by themselves."""


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(b"x" * SIZE)(scope, receive, send)


@asynccontextmanager
async def asking() -> AsyncGenerator[SocketStream]:
    """Give a connection on which the answer was asked for."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(answer, http=taking.TakingProtocol, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            async with await anyio.connect_tcp(*listening.getsockname()) as stream:
                await stream.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                yield stream
            server.should_exit = True


async def received(stream: SocketStream) -> int:
    """Return how many bytes there are to be had."""
    count = 0
    with anyio.fail_after(30):
        try:
            while count < SIZE:
                count += len(await stream.receive())
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
    return count


async def test_a_client_that_takes_what_it_is_sent_gets_all_of_it() -> None:
    async with asking() as stream:
        assert await received(stream) >= SIZE


async def test_a_client_that_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "SEND_TIME", 0.05)
    gone = anyio.Event()
    lost = taking.TakingProtocol.connection_lost

    def note(protocol: taking.TakingProtocol, error: Exception | None) -> None:
        lost(protocol, error)
        gone.set()

    monkeypatch.setattr(taking.TakingProtocol, "connection_lost", note)
    async with asking() as stream:
        with anyio.fail_after(30):
            await gone.wait()
        assert await received(stream) < SIZE


async def test_a_client_that_takes_some_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "SEND_TIME", 0.001)
    monkeypatch.setattr(taking, "LEAST_TAKEN", 0)
    async with asking() as stream:
        assert await received(stream) >= SIZE
