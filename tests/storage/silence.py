"""A way to PostgreSQL that falls silent, as a network does that swallows packets."""

import asyncio
import gc
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from sqlalchemy import make_url

_PORT: Final = 5432
_MOST: Final = 65536


class Way:
    """Passes on what clients and server say, as long as it is not silent.

    Attributes:
        url: Of the database, by this way.
        open: How many connections there are.
        swallowed: Set when a client has said something into the silence.
    """

    def __init__(self, url: str) -> None:
        self._parsed = make_url(url)
        self._socket = Path(str(self._parsed.query["host"])) / f".s.PGSQL.{_PORT}"
        self.url = ""
        self.open = 0
        self.swallowed = anyio.Event()
        self._ended = anyio.Event()
        self._is_silent = False
        self._made = self._lost = 0

    def hush(self) -> None:
        """From now on new clients are let in, and nobody hears anything more."""
        self._is_silent, self.swallowed = True, anyio.Event()

    def lose(self) -> None:
        """From now on nothing passes on the connections that there are; new ones are as ever."""
        self._lost = self._made

    def speak(self) -> None:
        """Pass on again what is said."""
        self._is_silent = False

    async def closed(self) -> None:
        """Return when there is no connection."""
        with anyio.fail_after(10):
            while self.open:
                gc.collect()  # errors hold what psycopg wanted to cancel their statements with
                with anyio.move_on_after(0.1):
                    await self._ended.wait()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Listen while entered."""
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            there = self._parsed.set(host="127.0.0.1", port=port, query={"sslmode": "disable"})
            self.url = there.render_as_string(hide_password=False)
            yield
            await self.closed()

    async def _serve(self, client: StreamReader, to_client: StreamWriter) -> None:
        self.open += 1
        self._made += 1
        number = self._made
        server, to_server = await asyncio.open_unix_connection(self._socket)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._answer, server, to_client)
            await self._ask(client, to_server, number)
        self.open -= 1
        self._ended.set()
        self._ended = anyio.Event()

    async def _ask(self, client: StreamReader, to_server: StreamWriter, number: int) -> None:
        is_first = True
        try:
            while data := await client.read(_MOST):
                if number <= self._lost or (self._is_silent and not is_first):
                    self.swallowed.set()
                else:
                    to_server.write(data)
                is_first = False
        except ConnectionError:
            return
        finally:
            to_server.close()  # so the server leaves, and what waits for it

    async def _answer(self, server: StreamReader, to_client: StreamWriter) -> None:
        try:
            while data := await server.read(_MOST):
                to_client.write(data)
        finally:
            to_client.close()


@asynccontextmanager
async def open_way(url: str) -> AsyncGenerator[Way]:
    """Give a way to the database at *url*, which names the folder of a server's socket."""
    way = Way(url)
    async with way.serving():
        yield way
