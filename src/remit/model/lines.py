"""Bytes that arrive in pieces, cut into lines of bounded length."""

from dataclasses import dataclass

_ENDS_KEPT = 512
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs write before a text in UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLong:
    """A line that was dropped for its length.

    Attributes:
        head: Its first bytes.
        tail: Its last bytes.
        size: All its bytes.
    """

    head: bytes
    tail: bytes
    size: int


class Lines:
    """Cuts what is fed to it at line feeds; a carriage return before one belongs to the ending.

    A byte order mark before the first line is no part of it.

    Args:
        longest: Bytes of a line; a longer one is dropped while it arrives, so that memory stays
            bounded whatever comes in.
    """

    __slots__ = ("_has_begun", "_longest", "_parts", "_size", "_tail")

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._has_begun = False
        self._parts: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that *data* completes, without their endings."""
        *complete, rest = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        for piece in complete:
            if not self._size and len(piece) <= self._longest:
                lines.append(piece.removesuffix(b"\r"))
                continue
            self._add(piece)
            lines.append(self._take())
        if rest:
            self._add(rest)
        if lines and not self._has_begun:
            self._has_begun = True
            if isinstance(first := lines[0], bytes):
                lines[0] = first.removeprefix(BYTE_ORDER_MARK)
        return lines

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._longest:
            self._parts.append(piece)
            return
        if not self._tail:
            self._parts = [b"".join((*self._parts, piece))[:_ENDS_KEPT]]
        self._tail = (self._tail + piece[-_ENDS_KEPT:])[-_ENDS_KEPT:]

    def _take(self) -> bytes | TooLong:
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        size, tail = self._size, self._tail
        self._parts, self._size, self._tail = [], 0, b""
        if tail:
            return TooLong(head=line, tail=tail, size=size)
        return line.removesuffix(b"\r")
