"""The same door over stdin and stdout, for one caller: newline-delimited JSON, both eras."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, ByteSendStream, ObjectSendStream, TaskGroup

from remit.doors.mcp.answers import Stream, error_answer, on_one_line
from remit.doors.mcp.caller import Caller
from remit.doors.mcp.changes import Notice
from remit.doors.mcp.conversation import NOTHING, Telling, Turns, Wishes
from remit.doors.mcp.envelope import NULL, Fault, Message, decoded, read_message
from remit.doors.mcp.inbound import modern_caller
from remit.doors.mcp.inflight import InFlight
from remit.doors.mcp.lines import LARGEST_LINE, lines_of
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.questions import Questions
from remit.model.conversation import Abilities
from remit.model.lines import TooLong
from remit.model.principals import Principal
from remit.model.protocol import (
    DEFAULT_NEGOTIATED_VERSION,
    INPUT_REQUIRED_METHODS,
    INTERNAL_ERROR,
    INVALID_REQUEST,
)
from remit.upstreams.wire import salvaged_raw_id

GRACE: Final = 5.0
"""Seconds that calls have to end after the client closed its side."""

STDIO: Final = "stdio"
"""The one session of an older era that there is on a pair of pipes."""

MOST_AT_ONCE: Final = 256
"""Requests answered at the same time; one more is refused."""


async def serve_stdio(
    door: McpDoor,
    principal: Principal,
    stdin: ByteReceiveStream,
    stdout: ByteSendStream,
    *,
    on_end: Callable[[], None] | None = None,
) -> None:
    """Serve *principal* until *stdin* ends, or *stdout* takes nothing more.

    Nothing but JSON-RPC messages, one a line, goes to *stdout*. *on_end* is called once *stdin* has
    ended, before what is under way has its time to end.
    """
    outbox, to_write = anyio.create_memory_object_stream[bytes](16)
    async with door.changes.running(), anyio.create_task_group() as writing:
        writing.start_soon(_write, to_write, stdout, writing.cancel_scope)
        async with outbox, anyio.create_task_group() as calls:
            conversation = _Conversation(door, principal, outbox, calls)
            async with aclosing(lines_of(stdin)) as lines:
                await conversation.follow(lines)
            if on_end is not None:
                on_end()
            door.changes.close()
            calls.cancel_scope.deadline = anyio.current_time() + GRACE


async def _write(
    messages: anyio.abc.ObjectReceiveStream[bytes],
    stdout: ByteSendStream,
    everything: anyio.CancelScope,
) -> None:
    try:
        async with messages:
            async for message in messages:
                await stdout.send(on_one_line(message) + b"\n")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        everything.cancel()


class _Conversation:
    """What one process says and hears; `initialize` makes the rest of it an older era's."""

    def __init__(
        self,
        door: McpDoor,
        principal: Principal,
        outbox: ObjectSendStream[bytes],
        tasks: TaskGroup,
    ) -> None:
        self._door = door
        self._principal = principal
        self._outbox = outbox
        self._tasks = tasks
        self._in_flight = InFlight()
        self._questions = Questions()
        self._abilities = Abilities.NONE
        self._version = DEFAULT_NEGOTIATED_VERSION
        self._is_announcing = False

    async def follow(self, lines: AsyncGenerator[bytes | TooLong]) -> None:
        """Take in every message; answers come as they are ready."""
        async for line in lines:
            message = _too_long(line) if isinstance(line, TooLong) else read_message(line)
            if isinstance(message, Fault):
                await self._outbox.send(error_answer(message.id, message).body)
            elif message.id and not message.is_response:
                await self._asked(message)
            else:
                self._noted(message)

    async def _asked(self, message: Message) -> None:
        if len(self._in_flight) >= MOST_AT_ONCE:
            fault = Fault(code=INTERNAL_ERROR, message="Too many requests at once")
            await self._outbox.send(error_answer(message.id, fault).body)
        elif message.method == "initialize":
            # Answered before the next line is read, since the rest depends on it.
            await self._answer(message, self._in_flight.begin(message.id))
        else:
            # Held before its task runs, so that a cancellation in the next line finds it.
            scope = self._in_flight.begin(message.id)
            self._tasks.start_soon(self._answer, message, scope)

    async def _answer(self, message: Message, scope: anyio.CancelScope) -> None:
        with self._in_flight.tracked(message.id, scope):
            caller = self._caller(message)
            if isinstance(caller, Fault):
                await self._outbox.send(error_answer(message.id, caller).body)
                return
            line = _Line(self._outbox)
            telling = self._telling(message, caller, line)
            try:
                answer = await self._door.answer(
                    message, msgspec.structs.replace(caller, conversation=telling)
                )
            finally:
                await line.end()
                if telling is not None:
                    telling.close()
            if isinstance(answer, Stream):
                await self._tell(answer)
            elif answer is not None:
                if answer.negotiated:
                    self._version = answer.negotiated
                    self._abilities = Abilities.of(decoded(message.param("capabilities")))
                await self._outbox.send(answer.whole)

    def _caller(self, message: Message) -> Caller | Fault:
        if message.is_modern:
            return modern_caller(message, self._principal, None, None)
        return Caller(principal=self._principal, version=self._version, modern=False, session=STDIO)

    def _telling(self, message: Message, caller: Caller, line: "_Line") -> Telling | None:
        """Return who hears what a server says while *message* is answered, if anybody does."""
        if message.method not in INPUT_REQUIRED_METHODS:
            return None
        wishes = Wishes.of(message)
        if caller.modern:
            return None if wishes is NOTHING else Telling(line, wishes, is_modern=True)
        return Telling(
            line,
            wishes,
            key=STDIO,
            abilities=self._abilities,
            questions=self._questions,
            level=self._door.log_levels.of(STDIO),
        )

    def _noted(self, message: Message) -> None:
        if message.is_response:
            self._questions.answered(STDIO, message.id, message.tail)
        elif message.method == "notifications/cancelled":
            request_id = message.param("requestId")
            if request_id is not None:
                self._in_flight.cancel(request_id)
        elif message.method == "notifications/initialized" and not self._is_announcing:
            self._is_announcing = True
            self._tasks.start_soon(self._announce)

    async def _announce(self) -> None:
        inbox = self._door.subscriptions.of_session(STDIO, None)
        watch = self._door.changes.watch(self._principal, None, legacy=True, inbox=inbox)
        if watch is not None:
            await self._tell(Stream(watch=watch))

    async def _tell(self, stream: Stream) -> None:
        with stream.watch:
            if stream.opening:
                await self._outbox.send(stream.opening)
            while (notice := await stream.watch.wait()) is not Notice.CLOSED:
                for message in stream.watch.news(stream.tag) if notice is Notice.CHANGED else ():
                    await self._outbox.send(message)
            if stream.closing:
                await self._outbox.send(stream.closing)


class _Line:
    """Carries what is said about one request, up to its answer."""

    def __init__(self, outbox: ObjectSendStream[bytes]) -> None:
        self._outbox = outbox
        self._turns = Turns()

    async def send(self, message: bytes) -> None:
        """Send a message, unless the request has been answered."""
        await self._turns.send(self._outbox.send, message)

    async def end(self) -> None:
        """Let nothing more through."""
        await self._turns.finish()


def _too_long(line: TooLong) -> Fault:
    # A request that is answered without its id is waited for until its caller's time is over.
    is_request = b'"method"' in line.head + line.tail
    return Fault(
        code=INVALID_REQUEST,
        message=f"Invalid request: the message is longer than {LARGEST_LINE} bytes",
        id=(is_request and salvaged_raw_id(line.head, line.tail)) or NULL,
    )
