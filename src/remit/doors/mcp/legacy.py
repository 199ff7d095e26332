"""The eras of the handshake over HTTP: sealed sessions, and one stream of changes for each."""

from collections.abc import Callable
from functools import partial
from typing import Final

import anyio
import msgspec

from remit.doors.asgi import HttpRefusal
from remit.doors.mcp.answers import Answer, Stream, error_answer
from remit.doors.mcp.caller import Caller
from remit.doors.mcp.changes import Watch
from remit.doors.mcp.conversation import Telling, Wishes
from remit.doors.mcp.disconnects import Disconnects
from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.requests import Request
from remit.doors.mcp.sessions import Session, Sessions
from remit.doors.mcp.siblings import Word
from remit.doors.mcp.sse import Speech, respond_stream
from remit.doors.mcp.unfinished import Unfinished
from remit.model.conversation import Abilities
from remit.model.protocol import (
    DEFAULT_NEGOTIATED_VERSION,
    INPUT_REQUIRED_METHODS,
    MCP_PROTOCOL_VERSION_HEADER,
)

SESSION_HEADER: Final = b"mcp-session-id"

SET_LEVEL: Final = "logging/setLevel"

REQUEST_CANCELLED: Final = -32800
"""Answers a request that its caller cancelled, since this era ends a POST with a response only."""

SESSION_NOT_FOUND: Final = -32001
"""What the TypeScript library says beside status 404, and some clients begin anew by it alone."""


class LegacyEra:
    """Answers POST, GET and DELETE of the older eras."""

    def __init__(
        self,
        door: McpDoor,
        sessions: Sessions,
        unfinished: Unfinished,
        disconnects: Disconnects,
    ) -> None:
        self._door = door
        self._sessions = sessions
        self._unfinished = unfinished
        self._disconnects = disconnects
        self._streams: dict[str, Watch] = {}
        unfinished.endings.append(self._end_stream)

    async def post(self, request: Request, message: Message) -> None:
        """Answer *message*; a client that goes away does not cancel what it asked for."""
        if message.method == "initialize" and message.id:
            await self._initialize(request, message)
            return
        session = self._session(request)
        if message.is_response or not message.id:
            await self._noted(session, message)
            await request.accept()
            return
        if message.method not in INPUT_REQUIRED_METHODS or not request.accepted.events:
            answer = await self._answer(message, self._caller(request, session))
            if message.method == SET_LEVEL and session is not None:
                await self._unfinished.level_was_set(session.nonce)
            if isinstance(answer, Answer):
                await request.respond(answer)
            return
        await self._answer_aloud(request, message, session)

    async def _answer_aloud(
        self, request: Request, message: Message, session: Session | None
    ) -> None:
        """Answer a request on whose way a server may say, and ask, something."""
        caller = self._caller(request, session)
        speech = Speech(request.exchange)
        telling = Telling(
            speech,
            Wishes.of(message),
            key=None if session is None else session.nonce,
            abilities=Abilities.NONE if session is None else session.abilities,
            questions=None if session is None else self._unfinished.questions,
            level=self._door.log_levels.of(caller.session),
            on_question=partial(self._attend, speech),
        )
        try:
            answer = await self._answer(
                message, msgspec.structs.replace(caller, conversation=telling)
            )
        except anyio.get_cancelled_exc_class():
            # A client whose stream breaks off may go on waiting for its answer.
            if not self._door.changes.are_over or not await speech.cut_off(message.id):
                raise
            return
        finally:
            telling.close()
        if isinstance(answer, Answer) and not await speech.finish(answer.whole):
            await request.respond(answer)

    def _attend(self, speech: Speech, gone: Callable[[], None]) -> None:
        """Watch a client that is asked: it may think for long, and leave meanwhile."""
        self._disconnects.start(partial(speech.attend, gone))

    async def get(self, request: Request) -> None:
        """Stream the changes of the caller's list; a new stream of a session ends its old one."""
        if not request.accepted.events:
            raise HttpRefusal(406, "the stream is sent as text/event-stream; accept it")
        nonce = self._needed_session(request).nonce
        inbox = self._door.subscriptions.of_session(nonce, request.scope)
        watch = self._door.changes.watch(request.principal, request.scope, legacy=True, inbox=inbox)
        if watch is None:
            raise HttpRefusal(503, "too many open streams", [(b"retry-after", b"5")])
        older = self._streams.get(nonce)
        if older is not None:
            older.close()
        self._streams[nonce] = watch
        try:
            await respond_stream(request.exchange, Stream(watch=watch), request.again)
        finally:
            if self._streams.get(nonce) is watch:
                del self._streams[nonce]

    async def delete(self, request: Request) -> None:
        """End the session, its stream, and what it is asked."""
        session = self._needed_session(request)
        self._sessions.end(session.nonce)
        self._unfinished.questions.end(session.nonce)
        self._door.subscriptions.end(session.nonce)
        self._end_stream(session.nonce)
        await self._unfinished.tell_others(Word(session=session.nonce, is_over=True))
        await request.exchange.respond(200)

    def _end_stream(self, nonce: str) -> None:
        stream = self._streams.get(nonce)
        if stream is not None:
            stream.close()

    async def _initialize(self, request: Request, message: Message) -> None:
        answer = await self._door.answer(message, self._caller(request, None))
        if isinstance(answer, Answer):
            headers: list[tuple[bytes, bytes]] = []
            if answer.negotiated:
                abilities = Abilities.of(decoded(message.param("capabilities")))
                session_id = self._sessions.issue(
                    request.principal, request.scope, answer.negotiated, abilities
                )
                headers.append((SESSION_HEADER, session_id.encode()))
            await request.respond(answer, headers=headers)

    async def _answer(self, message: Message, caller: Caller) -> Answer | Stream | None:
        if not caller.session:
            return await self._door.answer(message, caller)
        key = (caller.session, message.id)
        in_flight = self._unfinished.in_flight
        with in_flight.tracked(key, in_flight.begin(key)):
            return await self._door.answer(message, caller)
        return error_answer(message.id, Fault(code=REQUEST_CANCELLED, message="Request cancelled"))

    async def _noted(self, session: Session | None, message: Message) -> None:
        if session is None:
            return
        if message.is_response:
            await self._unfinished.answered(session.nonce, message.id, message.tail)
        elif message.method == "notifications/cancelled":
            request_id = message.param("requestId")
            if request_id is not None:
                await self._unfinished.cancel(session.nonce, request_id)

    def _caller(self, request: Request, session: Session | None) -> Caller:
        named = request.exchange.text(MCP_PROTOCOL_VERSION_HEADER.encode())
        version = session.version if session is not None else named or DEFAULT_NEGOTIATED_VERSION
        return Caller(
            principal=request.principal,
            scope=request.scope,
            version=version,
            modern=False,
            session="" if session is None else session.nonce,
            again=request.again,
        )

    def _session(self, request: Request) -> Session | None:
        """Return the session that the request names; None when it names none.

        Raises:
            HttpRefusal: It names one that is not this caller's, at this endpoint, now (404).
        """
        session_id = request.exchange.text(SESSION_HEADER)
        if session_id is None:
            return None
        session = None
        if SESSION_HEADER not in request.exchange.repeated:
            session = self._sessions.find(session_id, request.principal, request.scope)
        if session is None:
            raise HttpRefusal(
                404,
                "Session not found; send initialize to begin another",
                rpc_code=SESSION_NOT_FOUND,
            )
        return session

    def _needed_session(self, request: Request) -> Session:
        session = self._session(request)
        if session is None:
            raise HttpRefusal(400, "Mcp-Session-Id is missing; send initialize to get one")
        return session
