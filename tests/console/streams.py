"""What a page of the console is told by itself, read as a browser does."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.console.visits import CONSOLE, Visit


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        kind: `message` unless it is named.
        id: What a browser that comes back says it has.
    """

    kind: str
    id: str
    data: str


@contextmanager
def watching(visit: Visit, path: str, *, has: str = "") -> Generator[Iterator[Event]]:
    """Open a stream of a page and give its events; they end when the stream does."""
    headers = {"accept": "text/event-stream", "last-event-id": has}
    with visit.http.stream("GET", f"{CONSOLE}{path}", headers=headers, timeout=30) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        yield events_of(reply.iter_lines())


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    """Give the events that some lines are."""
    kind, id_, data = "message", "", list[str]()
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "id":
            id_ = value
        elif name == "data":
            data.append(value)
        elif not line:
            if data:
                yield Event(kind, id_, "\n".join(data))
            kind, id_, data = "message", "", list[str]()
