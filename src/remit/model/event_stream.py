"""Server-sent events, cut out of bytes that arrive in pieces."""

from dataclasses import dataclass, field

from remit.model.lines import Lines, TooLong

EVENT_STREAM = "text/event-stream"

RETRY = 1.0
"""Seconds to wait before a stream is resumed, where the server says nothing of it."""

LONGEST_RETRY = 60.0
LONGEST_POSITION = 1024
"""Bytes of a position that is remembered."""

_FIELD_NAME = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event.

    Attributes:
        name: `message` unless the server says otherwise.
        data: Its bytes, or what is left of too many.
        position: Where its stream can be resumed after it (`Last-Event-ID`), or empty.
        retry: Seconds after which that is to be tried, as the server said last.
    """

    name: str
    data: bytes | TooLong = field(repr=False)
    position: str = ""
    retry: float = RETRY


class Events:
    """Cuts what is fed to it into events.

    Args:
        longest: Bytes of one event's data.
        position: Where a stream that is resumed goes on.
        retry: What the server said of that, in seconds.
    """

    def __init__(self, longest: int, position: str = "", retry: float = RETRY) -> None:
        self._longest = longest
        self._lines = Lines(longest + _FIELD_NAME)
        self._name = ""
        self._position = position
        self._retry = retry
        self._data: list[bytes] = []
        self._too_long: TooLong | None = None
        self._is_halfway = False  # behind a carriage return, to which a line feed may belong

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that *data* completes."""
        events: list[Event] = []
        for line in self._lines.feed(self._with_line_feeds(data)):
            if isinstance(line, TooLong):
                self._too_long = TooLong(
                    head=line.head.partition(b":")[2], tail=line.tail, size=line.size
                )
            elif line:
                self._field(line)
            elif (event := self._take()) is not None:
                events.append(event)
        return events

    def _with_line_feeds(self, data: bytes) -> bytes:
        """Return *data* with a line feed for each of the three endings that a line may have."""
        was_halfway = self._is_halfway
        if data:
            self._is_halfway = data.endswith(b"\r")
        if was_halfway and data.startswith(b"\n"):
            data = data[1:]
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._name = value.decode(errors="replace")
        elif name == b"id" and len(value) <= LONGEST_POSITION and b"\0" not in value:
            self._position = value.decode("latin-1")
        elif name == b"retry" and value.isdigit() and len(value) < LONGEST_POSITION:
            self._retry = min(int(value) / 1000, LONGEST_RETRY)
        elif name == b"data":
            self._data.append(value)
            size = sum(map(len, self._data))
            if size > self._longest:
                whole = b"".join(self._data)
                self._too_long = TooLong(head=whole[:512], tail=whole[-512:], size=size)
                self._data = []

    def _take(self) -> Event | None:
        name, data, too_long = self._name or "message", self._data, self._too_long
        self._name, self._data, self._too_long = "", [], None
        if too_long is None and not data:
            return None
        whole = b"\n".join(data) if too_long is None else too_long
        return Event(name=name, data=whole, position=self._position, retry=self._retry)
