"""Heads of answers that are known already, so that those like them need no parser.

A server begins its answers with the same bytes for ever, but for the length of the body and, once
a second, the date. What the parser made of the last head, it would make of the same bytes again.
"""

import re
from collections.abc import Mapping
from typing import Final

_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\n[Cc]ontent-[Ll]ength:[ \t]*([0-9]{1,9})[ \t]*\r\n")
_LENGTH_FIELD: Final = "content-length"
_MOST_DIGITS: Final = 9


class KnownHead:
    """The head of the last answer on a connection that came whole, in one piece.

    Attributes:
        status: Its status code.
        headers: Its fields by names in lower case, without the length.
    """

    __slots__ = ("_after", "_before", "headers", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._before = b""
        self._after = b""

    def body_in(self, data: bytes) -> bytes | None:
        """Return the body of an answer with this head; None if *data* is not exactly such a one."""
        before = self._before
        if not before or not data.startswith(before):
            return None
        start = len(before)
        end = data.find(b"\r", start)
        length = data[start:end]
        after = self._after
        if not length.isdigit() or len(length) > _MOST_DIGITS or not data.startswith(after, end):
            return None
        start = end + len(after)
        return data[start:] if len(data) - start == int(length) else None

    def learn(self, data: bytes, status: int, headers: Mapping[str, str]) -> None:
        """Take note of an answer of which the parser says that *data* is the whole of it.

        Args:
            data: Head and body.
            status: What the parser found.
            headers: The same.
        """
        self._before = b""
        if _LENGTH_FIELD not in headers:
            return
        end = data.find(_END) + len(_END)
        length = _LENGTH.search(data, 0, end)
        if length is None or not 0 < len(data) - end == int(length[1]):
            return
        self._before = data[: length.start(1)]
        self._after = data[length.end(1) : end]
        self.status = status
        self.headers = {name: text for name, text in headers.items() if name != _LENGTH_FIELD}
