"""The events of an HTTP answer."""

from collections.abc import Iterator, Mapping

from remit.model.event_stream import EVENT_STREAM, RETRY, Event, Events
from remit.upstreams.http import HttpAnswer


class EventStream:
    """The events of an answer.

    Args:
        answer: Whose body is read.
        longest: Bytes of one event's data.
        position: Where a stream that is resumed goes on.
        retry: What the server said of that, in seconds.
    """

    def __init__(
        self, answer: HttpAnswer, longest: int, position: str = "", retry: float = RETRY
    ) -> None:
        self._answer = answer
        self._events = Events(longest, position, retry)
        self._cut: Iterator[Event] = iter(())

    async def next(self) -> Event | None:
        """Return the next event as it arrives; None once the stream is over.

        Raises:
            UpstreamUnavailable: It broke off.
        """
        while (event := next(self._cut, None)) is None:
            piece = await self._answer.piece()
            if not piece:
                return None
            self._cut = iter(self._events.feed(piece))
        return event


def is_event_stream(headers: Mapping[str, str]) -> bool:
    """Whether the body of an answer with these fields is a stream of events."""
    kind = headers.get("content-type", "").lower()
    return EVENT_STREAM in kind and kind.partition(";")[0].strip() == EVENT_STREAM
