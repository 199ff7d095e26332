"""This process's own stdin and stdout as byte streams, kept clean of everything else."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_CHUNK: Final = 65_536
_FLUSH_TIME: Final = 5.0


@asynccontextmanager
async def standard_streams() -> AsyncGenerator[tuple[ByteReceiveStream, ByteSendStream]]:
    """Give stdin and stdout; meanwhile what else is printed goes to stderr.

    A stray `print`, or a child that inherits stdout, would break the protocol.
    """
    kept_in, kept_out = os.dup(_STDIN), os.dup(_STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.dup2(_STDERR, _STDOUT)
    os.close(nothing)
    try:
        async with await _reader(kept_in) as stdin, await _writer(kept_out) as stdout:
            yield stdin, stdout
    finally:
        os.dup2(kept_in, _STDIN)
        os.dup2(kept_out, _STDOUT)
        os.close(kept_in)
        os.close(kept_out)


def _is_pipe(fd: int) -> bool:
    # Only these are made non-blocking: a terminal is shared with the shell that started us.
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _reader(fd: int) -> ByteReceiveStream:
    if not _is_pipe(fd):
        return _BlockingReader(fd)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(fd), "rb", buffering=0)
    )
    return _PipeReader(reader, transport)


async def _writer(fd: int) -> ByteSendStream:
    if not _is_pipe(fd):
        return _BlockingWriter(fd)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(os.dup(fd), "wb", buffering=0),
    )
    return _PipeWriter(asyncio.StreamWriter(transport, protocol, None, loop))


class _PipeReader(ByteReceiveStream):
    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self._reader = reader
        self._transport = transport

    async def receive(self, max_bytes: int = _CHUNK) -> bytes:
        chunk = await self._reader.read(max_bytes)
        if not chunk:
            raise anyio.EndOfStream
        return chunk

    async def aclose(self) -> None:
        self._transport.close()


class _PipeWriter(ByteSendStream):
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: bytes) -> None:
        try:
            self._writer.write(item)
            await self._writer.drain()
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        self._writer.close()
        with anyio.move_on_after(_FLUSH_TIME), suppress(OSError):
            await self._writer.wait_closed()


class _BlockingReader(ByteReceiveStream):
    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def receive(self, max_bytes: int = _CHUNK) -> bytes:
        chunk = await anyio.to_thread.run_sync(os.read, self._fd, max_bytes, abandon_on_cancel=True)
        if not chunk:
            raise anyio.EndOfStream
        return chunk

    async def aclose(self) -> None:
        """Leave the descriptor to its owner."""


class _BlockingWriter(ByteSendStream):
    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def send(self, item: bytes) -> None:
        try:
            await anyio.to_thread.run_sync(_write_all, self._fd, item)
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Leave the descriptor to its owner."""


def _write_all(fd: int, item: bytes) -> None:
    rest = memoryview(item)
    while rest:
        rest = rest[os.write(fd, rest) :]
