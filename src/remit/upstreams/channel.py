"""JSON-RPC over a connection that carries both directions: standard input and output, or SSE."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from remit.errors import UnreadableAnswer, UpstreamError, UpstreamProtocolError, UpstreamUnavailable
from remit.model.lines import TooLong
from remit.upstreams.dialogue import Dialogue, Heard
from remit.upstreams.era import Era
from remit.upstreams.session import Signals, ToolCall
from remit.upstreams.transcript import Transcript
from remit.upstreams.watching import WatchedByRequests, WatchedOverChannel
from remit.upstreams.wire import (
    Envelope,
    Malformed,
    elements,
    json_bytes,
    members,
    notification_frame,
    parse_envelope,
    reply_frame,
    request_frame,
    salvaged_id,
    value_of,
)

_NAMING = ("tools/call", "prompts/get")
"""Methods whose params are a name and arguments."""

MOST_UNHEARD = 256
"""Messages that may wait for a slow caller."""


class Channel:
    """Matches answers to questions by ids of our own making, and by nothing else.

    Attributes:
        heard: The calls under way, for what the server says meanwhile.
        received: How many lines have come, whatever they are.
        on_left: Called when somebody has left a question without an answer; None for nobody.

    Args:
        send: Sends one frame without waiting and returns whether it may have left; the id is that
            of a request, whose later failure is reported through `reject`.
    """

    def __init__(
        self,
        send: Callable[[bytes, int | None], bool],
        *,
        transcript: Transcript,
        signals: Signals,
    ) -> None:
        self._send = send
        self._transcript = transcript
        self.signals = signals
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._unsent: set[int] = set()
        self.heard = Heard()
        self.received = 0
        self.on_left: Callable[[], None] | None = None
        self._boxes: dict[int, asyncio.Queue[tuple[Envelope, bytes] | None]] = {}
        self._last_id = 0
        self._closed: str | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no answer is awaited."""
        return not self._pending

    def start(self, method: str, params: bytes) -> tuple[int, asyncio.Future[bytes]]:
        """Send a request and return its id with the future of its raw result.

        Raises:
            UpstreamUnavailable: The connection is closed; nothing was sent.
        """
        if self._closed is not None:
            raise UpstreamUnavailable(self._closed, transient=True)
        self._last_id += 1
        number = self._last_id
        future = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        try:
            if not self._send(request_frame(number, method, params), number):
                self._unsent.add(number)
        except UpstreamError:
            self.forget(number)
            raise
        return number, future

    async def ask(self, method: str, params: bytes) -> bytes:
        """Send a request and return the raw JSON of its result.

        Raises:
            UpstreamError: There is no result.
        """
        number, future = self.start(method, params)
        try:
            return await future
        finally:
            self._leave(number)

    async def converse(
        self, method: str, params: Callable[[int], bytes], dialogue: Dialogue
    ) -> bytes:
        """Do as `ask` does, and meanwhile bring what the server says to the caller.

        Args:
            method: What is asked.
            params: Makes the raw params for the id of the request.
            dialogue: Hears what is said.
        """
        number, future = self.start(method, params(self._last_id + 1))
        box = self._boxes[number] = asyncio.Queue[tuple[Envelope, bytes] | None]()
        self.heard.begin(number, dialogue)
        # The end comes behind all that was said before it.
        future.add_done_callback(lambda _: box.put_nowait(None))
        try:
            while (said := await box.get()) is not None:
                await dialogue.take(*said, number, self._post)
            return future.result()
        finally:
            del self._boxes[number]
            self.heard.end(number)
            self._leave(number)

    def _leave(self, number: int) -> None:
        if self.forget(number) and self._closed is None:
            # Nobody waits any longer: the caller was cancelled, or ran out of time.
            reason = b'{"requestId":%d,"reason":"the caller no longer waits"}' % number
            self.notify("notifications/cancelled", reason)
            if self.on_left is not None:
                self.on_left()

    def notify(self, method: str, params: bytes = b"{}") -> None:
        """Send a notification."""
        self._post(notification_frame(method, params))

    def forget(self, number: int) -> bool:
        """Stop waiting for an answer; return whether it was still awaited."""
        future = self._pending.pop(number, None)
        if future is not None:
            future.cancel()
        return future is not None

    def reject(self, number: int | None, error: UpstreamError) -> None:
        """Let the request *number* fail."""
        future = self._pending.pop(number, None) if number is not None else None
        if future is not None and not future.done():
            future.set_exception(error)

    def close(self, reason: str) -> None:
        """Let everything in flight fail, and all that follows."""
        if self._closed is None:
            self._closed = reason
        pending, self._pending = self._pending, {}
        for number, future in pending.items():
            if not future.done():
                sent = number not in self._unsent
                future.set_exception(UpstreamUnavailable(reason, sent=sent, transient=True))

    def receive(self, line: bytes | TooLong) -> None:
        """Take one message from the server."""
        self.received += 1
        if isinstance(line, TooLong):
            self._transcript.noise(line.head)
            problem = f"answered with {line.size} bytes, more than its max_message"
            self.reject(salvaged_id(line.head, line.tail), UnreadableAnswer(problem))
            return
        first = line.lstrip()[:1]
        if first not in (b"{", b"[") and b'"id"' not in line:
            self._transcript.noise(line)
            return
        try:
            if first == b"[":
                self._receive_batch(line)
                return
            message = parse_envelope(line)
        except Malformed as error:
            self._give_up(line, error)
            return
        self._dispatch(message, line)

    def _give_up(self, message: bytes, error: Malformed) -> None:
        self._transcript.noise(message)
        problem = f"answered with a message that cannot be read: {error}"
        self.reject(salvaged_id(message, message), UnreadableAnswer(problem))

    def _post(self, frame: bytes) -> None:
        if self._closed is not None:
            return
        # Nothing waits for it; that the connection is gone, others will notice.
        with suppress(UpstreamUnavailable):
            self._send(frame, None)

    def _receive_batch(self, line: bytes) -> None:
        # Revision 2025-03-26 lets a server put several messages into one array.
        batch = elements(line)
        if not batch:
            raise Malformed("an empty batch")
        for message in batch:
            try:
                self._dispatch(parse_envelope(message), message)
            except Malformed as error:
                self._give_up(message, error)

    def _dispatch(self, message: Envelope, line: bytes) -> None:
        if message.method:
            if not message.is_request and self.signals.heard(message.method, line):
                return
            if not self._is_heard(message, line) and message.is_request:
                self._post(reply_frame(message))
            return
        number = message.answers
        if number is None or not 0 < number <= self._last_id:
            self._transcript.noise(line)
            return
        future = self._pending.pop(number, None)
        if future is None or future.done():
            return  # an answer that came after its caller had left
        try:
            future.set_result(result_of(message))
        except UpstreamError as error:
            future.set_exception(error)

    def _is_heard(self, message: Envelope, line: bytes) -> bool:
        """Whether a message is for the caller of a call under way, who then gets it."""
        meant = self.heard.meant(message, line) if self._boxes else None
        if meant is None:
            return False
        box = self._boxes[meant[0]]
        if box.qsize() >= MOST_UNHEARD:
            return not message.is_request  # of a flood of notices some are lost
        if message.is_request:
            meant[1].expect(bytes(message.id))
        box.put_nowait((message, line))
        return True


class ChannelSession:
    """A session over a channel."""

    def __init__(self, channel: Channel, era: Era) -> None:
        self._channel = channel
        self._era = era
        self._watched = (
            WatchedOverChannel(channel) if era.is_modern else WatchedByRequests(self._ask)
        )

    @property
    def era(self) -> Era:
        """The protocol revision that both sides speak."""
        return self._era

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        """Return one page of a list; None asks for the first."""
        return await self._channel.ask(method, self._era.params(cursor_part(cursor)))

    async def call(self, call: ToolCall, /) -> bytes:
        """Run a tool."""
        if call.dialogue is None:
            heard = self._channel.heard
            heard.unheard += 1
            try:
                return await self._channel.ask(call.method, call_params(self._era, call, 0))
            finally:
                heard.unheard -= 1
        params = partial(call_params, self._era, call)
        return await self._channel.converse(call.method, params, call.dialogue)

    async def watch(self, uris: frozenset[str], /) -> Mapping[str, UpstreamError]:
        """Let the server tell of updates to exactly these resources."""
        return await self._watched.watch(uris)

    async def _ask(self, method: str, parts: bytes) -> bytes:
        return await self._channel.ask(method, self._era.params(parts))


def cursor_part(cursor: str | None) -> bytes:
    """Return the members of a list's params."""
    return b"" if cursor is None else b'"cursor":' + json_bytes(cursor)


def call_params(era: Era, call: ToolCall, number: int) -> bytes:
    """Return the params of a call for a server of *era*; the arguments are those very bytes.

    Args:
        era: What the server speaks.
        call: What is asked.
        number: The request's id.
    """
    if call.method in _NAMING:
        arguments = call.arguments or b"{}"
        parts = b'"name":%s,"arguments":%s%s' % (json_bytes(call.name), arguments, call.more)
    elif call.method == "resources/read":
        parts = b'"uri":%s%s' % (json_bytes(call.name), call.more)
    else:
        parts = call.arguments.strip()[1:-1]
    if call.dialogue is None:
        return era.params(parts, call.meta)
    more, capabilities = call.dialogue.meta(number, era)
    return era.params(parts, call.meta, more=more, capabilities=capabilities)


def result_of(message: Envelope) -> bytes:
    """Return the raw `result` of an answer.

    Raises:
        UpstreamProtocolError: It is an error, or no answer at all.
    """
    error = bytes(message.error)
    if error not in (b"", b"null"):
        raise UpstreamProtocolError(f"answered {described(error)}", rpc_error=error)
    result = bytes(message.result)
    if not result.startswith(b"{"):
        raise UnreadableAnswer("answered with neither a result object nor an error")
    return result


def described(rpc_error: bytes) -> str:
    """Return a JSON-RPC `error` object in words."""
    try:
        parts = members(rpc_error)
        code, text = (value_of(parts.get(key, b"null")) for key in ("code", "message"))
    except Malformed:
        return "with an error that cannot be read"
    return f"with error {code}: {text}"


def error_code(error: UpstreamError) -> int | None:
    """Return the JSON-RPC code that the server's error carries, or None."""
    if not isinstance(error, UpstreamProtocolError) or not error.rpc_error:
        return None
    try:
        code = value_of(members(error.rpc_error).get("code", b"null"))
    except Malformed:
        return None
    return code if isinstance(code, int) else None
