"""JSON-RPC by POST: one request, and its answer as JSON or at the end of an event stream."""

import itertools
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

import anyio
import msgspec
from anyio.abc import TaskGroup

from remit.errors import UnreadableAnswer, UpstreamError, UpstreamUnavailable
from remit.model.event_stream import EVENT_STREAM, RETRY, Event
from remit.model.lines import BYTE_ORDER_MARK, TooLong
from remit.upstreams.channel import result_of
from remit.upstreams.dialogue import Dialogue, Heard
from remit.upstreams.events import EventStream, is_event_stream
from remit.upstreams.http import HttpAnswer, HttpExchange, HttpRequest, status_error
from remit.upstreams.session import ABOUT_CONNECTION, Setup
from remit.upstreams.wire import (
    Envelope,
    Malformed,
    elements,
    parse_envelope,
    reply_frame,
    salvaged_id,
)

_NO_FIELDS: Mapping[str, str] = MappingProxyType({})
_FIELDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "POST": {
            "Content-Type": "application/json",
            "Accept": f"application/json, {EVENT_STREAM}",
        },
        "GET": {"Accept": EVENT_STREAM, "Cache-Control": "no-store"},
        "DELETE": {},
    }
)
_PAGES = ("text/html", "application/xhtml+xml")
_CREDENTIALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
# To look a member of an enumeration up takes as long as to compare ten numbers.
_OK: Final = HTTPStatus.OK.value
_BAD_REQUEST: Final = HTTPStatus.BAD_REQUEST.value
_POSTING_LATER = 5.0


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a POST was answered with.

    Attributes:
        message: The answer to the request, or None when there was none to be found.
        body: The whole of one that was no event stream.
    """

    status: int
    headers: Mapping[str, str]
    message: Envelope | None = None
    body: bytes = b""

    def __repr__(self) -> str:
        """Name the reply without what it holds."""
        return f"Reply(status={self.status!r})"

    def result(self) -> bytes:
        """Return the raw result.

        Raises:
            UpstreamError: There is none.
        """
        message = self.message
        if message is not None and (self.status < _BAD_REQUEST or self._speaks_for_itself(message)):
            return result_of(message)
        problem = status_error(self.status, self.headers)
        raise problem or UnreadableAnswer(self._why_unreadable())

    def _why_unreadable(self) -> str:
        if not self.body:
            return f"answered HTTP {self.status} without a message"
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in _PAGES:
            return (
                f"answered with a page ({kind}) instead of a message: check its url, and what"
                " stands before it, such as a proxy where one has to sign in"
            )
        return "answered with a message that cannot be read"

    def _speaks_for_itself(self, message: Envelope) -> bool:
        """Whether the message says more than the status does."""
        if self.status in _CREDENTIALS:
            return False
        return self.status < HTTPStatus.INTERNAL_SERVER_ERROR or message.answers is not None


class HttpPeer:
    """The far end of one streamable HTTP connection.

    Attributes:
        next_id: Returns an id that no request before had.
        session: What every request of the session carries beside its own: its id, the revision.
        signals: Where what concerns the whole connection is told.
        heard: The calls under way, for what is said on the stream of the whole session.
    """

    def __init__(self, setup: Setup, exchange: HttpExchange, tasks: TaskGroup) -> None:
        self.next_id: Callable[[], int] = itertools.count(1).__next__
        self.session: Mapping[str, str] = {}
        self._exchange = exchange
        self._tasks = tasks
        self._max_message = setup.config.max_message
        self.signals = setup.signals
        self._transcript = setup.transcript
        self._in_session = self.prepare("POST", {})
        self.heard = Heard()

    def prepare(self, method: str, headers: Mapping[str, str]) -> HttpRequest:
        """Return a request with these fields beside those that every one of its method has.

        Raises:
            UpstreamUnavailable: They cannot be sent.
        """
        return self._exchange.prepare(method, {**_FIELDS[method], **headers})

    def enter(self, session: Mapping[str, str]) -> None:
        """Let all that follows be part of a session.

        Raises:
            UpstreamUnavailable: Its fields cannot be sent.
        """
        self._in_session = self.prepare("POST", session)
        self.session = session

    async def post(
        self,
        frame: bytes,
        *,
        number: int | None = None,
        request: HttpRequest | None = None,
        headers: Mapping[str, str] = _NO_FIELDS,
        dialogue: Dialogue | None = None,
    ) -> Reply:
        """Send a frame and return what came back.

        Args:
            frame: The message.
            number: The id that its answer has; None when there is none.
            request: What carries it, unless it is simply part of the session.
            headers: Fields of this one alone.
            dialogue: Hears what the server says meanwhile.

        Raises:
            UpstreamError: Nothing whole came back.
        """
        if dialogue is not None and number is not None:
            self.heard.begin(number, dialogue)
        try:
            answer = await (request or self._in_session).send(frame, headers)
            body = answer.whole
            if body is None:
                body, message = await self._arriving(answer, number, dialogue)
                if message is not None:
                    return Reply(status=answer.status, headers=answer.headers, message=message)
        finally:
            if dialogue is not None and number is not None:
                self.heard.end(number)
        message = None if number is None else self._answer_in_body(body, number)
        return Reply(status=answer.status, headers=answer.headers, message=message, body=body)

    def post_later(self, frame: bytes) -> None:
        """Send a frame that nobody waits for, and whose failure changes nothing."""
        if not self._tasks.cancel_scope.cancel_called:
            self._tasks.start_soon(self._post_quietly, frame)

    def run(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Let something run for as long as the connection is open."""
        if not self._tasks.cancel_scope.cancel_called:
            self._tasks.start_soon(work)

    async def follow(self, request: HttpRequest, body: bytes = b"") -> int:
        """Read a stream of notifications to its end.

        Returns:
            The status; anything but 200 means that there was no stream.

        Raises:
            UpstreamUnavailable: It broke off.
        """
        with closing(await request.send(body)) as answer:
            if answer.status == HTTPStatus.OK and not is_event_stream(answer.headers):
                return HTTPStatus.METHOD_NOT_ALLOWED
            if answer.status == HTTPStatus.OK:
                events = EventStream(answer, self._max_message)
                while (event := await events.next()) is not None:
                    for data in _messages_of(event):
                        if not await self._is_heard(data, None):
                            self._message(data, None)
            return answer.status

    async def delete(self) -> None:
        """Give the session up, if the server has such a thing."""
        with suppress(UpstreamError):
            (await self.prepare("DELETE", self.session).send()).close()

    async def _post_quietly(self, frame: bytes) -> None:
        with suppress(UpstreamError), anyio.move_on_after(_POSTING_LATER):
            await self.post(frame)

    async def _arriving(
        self, answer: HttpAnswer, number: int | None, dialogue: Dialogue | None
    ) -> tuple[bytes, Envelope | None]:
        """Return the whole body as it arrives; or nothing, and the answer that its stream held."""
        with closing(answer):
            if answer.status != _OK or not is_event_stream(answer.headers):
                return await answer.read(), None
            if number is None:  # nothing is to come on it, though some servers keep it open
                return b"", None
            return b"", await self._answer_in_stream(answer, number, dialogue)

    async def _answer_in_stream(
        self, answer: HttpAnswer, number: int, dialogue: Dialogue | None
    ) -> Envelope:
        place = _Place()
        found = await self._read_on(answer, number, dialogue, place)
        pause = place.retry
        try:
            while found is None and place.position and self.session:
                # In the older eras a server may hang up, and go on where its client wants it to.
                await anyio.sleep(pause)
                since = place.position
                fields = {**self.session, "Last-Event-ID": since}
                with closing(await self.prepare("GET", fields).send()) as resumed:
                    if resumed.status != HTTPStatus.OK or not is_event_stream(resumed.headers):
                        break
                    found = await self._read_on(resumed, number, dialogue, place)
                # What was cut before anything came goes on as well, as long as the call has time.
                pause = place.retry if place.position != since else max(place.retry, RETRY)
        except UpstreamError as error:
            error.sent = True  # the call was: what never left is the request to go on with it (R23)
            raise
        if found is None:
            raise UpstreamUnavailable(
                "ended its event stream without an answer", sent=True, transient=True
            )
        return found

    async def _read_on(
        self, answer: HttpAnswer, number: int, dialogue: Dialogue | None, place: "_Place"
    ) -> Envelope | None:
        """Read a stream until the answer to *number* comes; None when it ends before."""
        try:
            events = EventStream(answer, self._max_message, place.position, place.retry)
            while (event := await events.next()) is not None:
                place.position, place.retry = event.position, event.retry
                for data in _messages_of(event):
                    if dialogue is not None and await self._is_heard(data, (number, dialogue)):
                        continue
                    found = self._message(data, number)
                    if found is not None:
                        return found
        except UpstreamUnavailable:
            if not place.position or not self.session:
                raise
        return None

    async def _is_heard(self, data: bytes | TooLong, call: tuple[int, Dialogue] | None) -> bool:
        """Whether a message is for the caller of a call under way, who then gets it.

        Args:
            data: It may hold anything.
            call: The one whose stream it came on; None on the stream of the whole session.
        """
        if isinstance(data, TooLong) or not self.heard:
            return False
        try:
            message = parse_envelope(data)
        except Malformed:
            return False
        if not message.method or message.method in ABOUT_CONNECTION:
            return False
        meant = call or self.heard.meant(message, data)
        if meant is None:
            return False
        number, dialogue = meant
        await dialogue.take(message, data, number, self.post_later)
        return True

    def _answer_in_body(self, body: bytes, number: int) -> Envelope | None:
        try:
            if body[:1] == b"{":
                return self._take(parse_envelope(body), body, number)
            body = body.removeprefix(BYTE_ORDER_MARK)
            # Revision 2025-03-26 lets a server answer with an array.
            parts = elements(body) if body.lstrip()[:1] == b"[" else [body] if body else []
            found = [self._take(parse_envelope(part), part, number) for part in parts]
        except Malformed:
            return None
        return next((message for message in found if message is not None), None)

    def _message(self, data: bytes | TooLong, number: int | None) -> Envelope | None:
        """Take a message; return it if it answers *number*."""
        if isinstance(data, TooLong):
            if number is not None and salvaged_id(data.head, data.tail) in (number, None):
                raise UnreadableAnswer("answered with more bytes than its max_message")
            self._transcript.noise(data.head)
            return None
        try:
            return self._take(parse_envelope(data), data, number)
        except Malformed as error:
            self._transcript.noise(data)
            if number is not None and salvaged_id(data, data) == number:
                problem = f"answered with a message that cannot be read: {error}"
                raise UnreadableAnswer(problem) from error
            return None

    def _take(self, message: Envelope, data: bytes, number: int | None) -> Envelope | None:
        if number is not None and message.may_answer(number):
            return message
        if not message.method:
            self._transcript.noise(data)
        elif message.is_request:
            self.post_later(reply_frame(message))
        else:
            self.signals.heard(message.method, data)
        return None


def _messages_of(event: Event) -> list[bytes | TooLong]:
    """Return what an event holds: nothing where it only says how its stream can be resumed."""
    data = event.data
    if not data:
        return []
    if isinstance(data, TooLong) or data.lstrip()[:1] != b"[":
        return [data]
    try:
        # Revision 2025-03-26 lets a server put several messages into one array.
        return [*elements(data)] or [data]
    except Malformed:
        return [data]


class _Place:
    """How far a stream has been read."""

    __slots__ = ("position", "retry")

    def __init__(self) -> None:
        self.position = ""
        self.retry = RETRY
