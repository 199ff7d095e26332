"""The other workers of a port: what reaches one of them may be meant for another.

    caller ──answer, on another connection──▶ worker 2 ──socket in the workers' folder──▶ worker 1,
                                                                    whose call waits for it

What is passed on was checked by the worker that it came to: the session is its sender's.
"""

import stat
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import msgspec
import structlog
from anyio.abc import SocketStream

log = structlog.get_logger(__name__)

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a word that is taken; an answer comes in a request of half as many."""

PATIENCE: Final = 5.0
"""Seconds that passing a word on may take, until it is taken."""


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker tells another.

    Attributes:
        session: The nonce of the session that it is about.
        number: Raw id of a request: of ours, where *tail* answers it, else of one to be cancelled.
        tail: Of an answer, its raw member `"result":…` or `"error":…`; empty to cancel.
        followed: Of a resource that the session follows: how it calls it. Then *server* and *own*
            say what was updated; empty, they say that it is followed no more.
        level: Of log messages that the session wants to hear.
        is_over: Its client has ended it.
    """

    session: str
    number: str = ""
    tail: str = ""
    followed: str = ""
    server: str = ""
    own: str = ""
    level: str = ""
    is_over: bool = False


class Siblings:
    """This worker among the others.

    Args:
        folder: What the workers share, and nobody else.
        name: This worker's, unlike any other's.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    @asynccontextmanager
    async def running(self, take: Callable[[Word], None]) -> AsyncGenerator[None]:
        """Hand what the others say to *take* while entered."""
        path = self._path(self._name)
        try:
            listener = await anyio.create_unix_listener(path, mode=stat.S_IRUSR | stat.S_IWUSR)
        except OSError as error:
            log.warning("workers cannot tell each other of answers", error=str(error))
            yield
            return

        async def hear(stream: SocketStream) -> None:
            with suppress(anyio.BrokenResourceError, msgspec.MsgspecError, TimeoutError):
                async with stream:  # its end tells the other that the word was taken
                    with anyio.fail_after(PATIENCE):
                        said = await _whole(stream)
                    take(msgspec.json.decode(said, type=Word))

        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, hear)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                path.unlink(missing_ok=True)

    async def tell(self, name: str, word: Word) -> None:
        """Tell one of the others, if it still is there; return when it has taken the word."""
        with suppress(OSError, anyio.BrokenResourceError, anyio.EndOfStream, TimeoutError):
            with anyio.fail_after(PATIENCE):
                async with await anyio.connect_unix(self._path(name)) as stream:
                    await stream.send(msgspec.json.encode(word))
                    await stream.send_eof()
                    await stream.receive()

    async def tell_all(self, word: Word) -> None:
        """Tell all of the others."""
        for path in sorted(self._folder.glob("*.sock")):
            if path.stem != self._name:
                await self.tell(path.stem, word)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sock"


async def _whole(stream: SocketStream) -> bytes:
    said = b""
    with suppress(anyio.EndOfStream):
        while len(said) <= LARGEST:
            said += await stream.receive()
    return said
