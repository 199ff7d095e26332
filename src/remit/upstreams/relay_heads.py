"""Heads of answers that are known already, so that those like them need no parser.

A server begins its answers with the same bytes for ever, but for the length of the body and, once
a second, the date. What the parser made of the last head, it would make of the same bytes again.
"""

import re
from collections.abc import Mapping
from typing import Final

from remit.upstreams.events import is_event_stream

_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\n[Cc]ontent-[Ll]ength:[ \t]*([0-9]{1,9})[ \t]*\r\n")
_LENGTH_FIELD: Final = "content-length"
_CODING_FIELD: Final = "content-encoding"
_MOST_DIGITS: Final = 9
_WITHOUT_BODY: Final = (204, 304)
"""Statuses whose answers have none, whatever length they name."""


class KnownHead:
    """The head of the last answer on a connection that came whole, in one piece, as it is.

    That of a stream of events, or of a compressed body, is not known: those take more steps.

    Attributes:
        status: Its status code.
        headers: Its fields by names in lower case, without the length.
    """

    __slots__ = ("_after", "_before", "_length_at", "_window", "headers", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._before = self._after = b""
        self._length_at = self._window = 0

    def body_in(self, data: bytes) -> bytes | None:
        """Return the body of an answer with this head; None if *data* is not exactly such a one."""
        start = self._length_at
        end = data.find(self._after, start, start + self._window)
        if end < 0 or not data.startswith(self._before):
            return None
        length = data[start:end]
        if not length.isdigit():
            return None
        body = data[end + len(self._after) :]
        return body if len(body) == int(length) else None

    def learn(self, data: bytes, status: int, headers: Mapping[str, str]) -> None:
        """Take note of an answer of which the parser says that *data* is the whole of it.

        Args:
            data: Head and body.
            status: What the parser found.
            headers: The same.
        """
        self._window = 0  # in which nothing is found
        if _LENGTH_FIELD not in headers or _CODING_FIELD in headers or is_event_stream(headers):
            return
        if status in _WITHOUT_BODY:
            return
        end = data.find(_END) + len(_END)
        length = _LENGTH.search(data, 0, end)
        if length is None or not 0 < len(data) - end == int(length[1]):
            return
        self._before = data[: length.start(1)]
        self._after = data[length.end(1) : end]
        self._length_at = length.start(1)
        self._window = _MOST_DIGITS + len(self._after)
        self.status = status
        self.headers = {name: text for name, text in headers.items() if name != _LENGTH_FIELD}
