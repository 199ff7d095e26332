"""Bodies that a server compressed although nobody asked it to."""

import zlib
from collections.abc import Awaitable, Callable, Iterator

from remit.errors import UnreadableAnswer

_PIECE = 256 * 1024
_ANY_HEADER = 32 + zlib.MAX_WBITS
"""What makes zlib take its own header and that of gzip."""

_DEFLATED = 8
_CODINGS = ("gzip", "x-gzip", "deflate")


def decoder_of(coding: str) -> "Inflater | None":
    """Return what decodes a Content-Encoding, or None when there is nothing to decode.

    Raises:
        UpstreamProtocolError: It is none that remit knows.
    """
    name = coding.strip().lower()
    if name in ("", "identity"):
        return None
    if name not in _CODINGS:
        raise UnreadableAnswer("answered with a Content-Encoding that remit did not ask for")
    return Inflater()


class Inflation:
    """A compressed body that arrives in pieces.

    Args:
        coding: Its Content-Encoding.
        arrived: Returns the next piece as it arrived; nothing when there is none.

    Raises:
        UpstreamProtocolError: The coding is none that remit knows.
    """

    def __init__(self, coding: str, arrived: Callable[[], Awaitable[bytes]]) -> None:
        self._decoder = decoder_of(coding)
        self._arrived = arrived
        self._pieces: Iterator[bytes] = iter(())

    async def piece(self) -> bytes:
        """Return the next decoded piece; nothing when there is none.

        Raises:
            UpstreamProtocolError: It cannot be decoded, or something is missing.
        """
        if self._decoder is None:
            return await self._arrived()
        while True:
            for piece in self._pieces:
                if piece:
                    return piece
            data = await self._arrived()
            if not data:
                self._decoder.finish()
                return b""
            self._pieces = self._decoder.feed(data)


class Inflater:
    """Decodes one compressed body, in pieces of bounded size."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_ANY_HEADER)
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what *data* decodes to.

        Raises:
            UpstreamProtocolError: It cannot be decoded.
        """
        if not self._has_begun and data:
            self._has_begun = True
            if data[0] & 0x0F != _DEFLATED and data[:1] != b"\x1f":
                # Some servers leave out the header that `deflate` has.
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            piece = b"-"
            while data or len(piece) == _PIECE:
                piece = self._inflate.decompress(data, _PIECE)
                data = self._inflate.unconsumed_tail
                yield piece
        except zlib.error as error:
            raise _undecodable() from error

    def finish(self) -> None:
        """Say that nothing more follows.

        Raises:
            UpstreamProtocolError: Something is missing.
        """
        if self._has_begun and not self._inflate.eof:
            raise _undecodable()


def _undecodable() -> UnreadableAnswer:
    return UnreadableAnswer("answered with a compressed body that cannot be decoded")
