"""What a request begins with; clients send the same few heads for ever, so each is read once.

bytes up to the empty line ──▶ Heads ──seen before──▶ the same Head, and all that was made of it
└──new──▶ the parser reads it; kept if it is whole and plain
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

Headers = Iterable[tuple[bytes, bytes]]

MOST_HEADS: Final = 1024
"""Heads that are remembered; beyond it the memory starts anew."""

LARGEST_KEPT: Final = 4 * 1024
"""Bytes of a head that is remembered."""

_END: Final = b"\r\n\r\n"
_NONE: Final = frozenset[bytes]()

Made = TypeVar("Made")


class Head:
    """Method, path and headers.

    Attributes:
        path: Without the query.
        lines: The headers as they came, their names in lower case.
        headers: By lower-case name; of a repeated one the last.
        repeated: Names that came more than once.
        passed: The rules by which the guard let it pass, and the headers that this grants.
    """

    __slots__ = ("_made", "headers", "lines", "method", "passed", "path", "repeated")

    def __init__(self, method: str, path: str, lines: Sequence[tuple[bytes, bytes]]) -> None:
        self.method = method
        self.path = path
        self.lines = lines
        self.headers: Mapping[bytes, bytes] = dict(lines)
        self.repeated = _NONE if len(self.headers) == len(lines) else _repeated(lines)
        self.passed: tuple[object, Headers] | None = None
        self._made: dict[Callable[[Head], Any], Any] = {}

    def text(self, name: bytes) -> str | None:
        """Return a header's value."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def made(self, make: Callable[["Head"], Made]) -> Made:
        """Return what *make* makes of this head and of nothing else; it is asked once.

        Raises:
            HttpRefusal: As *make* does, and then every time.
        """
        found: Any = self._made.get(make)
        if found is None:
            found = self._made[make] = make(self)
        return found


class Heads:
    """The heads of whole requests, by their very bytes.

    Equal bytes are read equally, so one that was read by the parser, was plain, and had its body
    right behind it need not be read again; the length of the body is one of its headers.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Head, int]] = {}

    def find(self, data: bytes) -> tuple[Head, bytes] | None:
        """Return head and body if *data* is one whole request whose head is known."""
        lines, end, body = data.partition(_END)
        known = self._known.get(lines)
        if known is None or known[1] != len(body) or not end:
            return None
        return known[0], body

    def keep(self, data: bytes, head: Head, body: bytes) -> None:
        """Remember *head* if *data* is nothing but it and *body*, as it stands."""
        lines, end, rest = data.partition(_END)
        if end and len(rest) == len(body) and len(lines) <= LARGEST_KEPT:
            if len(self._known) >= MOST_HEADS:
                self._known.clear()
            self._known[lines] = (head, len(body))


def _repeated(lines: Sequence[tuple[bytes, bytes]]) -> frozenset[bytes]:
    return frozenset(
        name for name, count in Counter(name for name, _ in lines).items() if count > 1
    )
