"""The era of 2026-07-28 over HTTP: every request stands alone, headers and body agree."""

import anyio
import msgspec

from remit.doors.asgi import HttpRefusal
from remit.doors.mcp.answers import Answer, Stream, error_answer
from remit.doors.mcp.caller import Caller
from remit.doors.mcp.conversation import NOTHING, Telling, Wishes
from remit.doors.mcp.disconnects import Disconnects
from remit.doors.mcp.envelope import NULL, Fault, Message
from remit.doors.mcp.inbound import modern_caller, unsupported_version
from remit.doors.mcp.mirrored import MirroredArguments
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.requests import OK, Request
from remit.doors.mcp.sse import Speech, respond_stream
from remit.model.protocol import (
    ERROR_CODE_HTTP_STATUS,
    HEADER_MISMATCH,
    INPUT_REQUIRED_METHODS,
    INVALID_REQUEST,
    MCP_PROTOCOL_VERSION_HEADER,
)


class ModernEra:
    """Answers the POSTs of the modern era."""

    def __init__(
        self, door: McpDoor, mirrored: MirroredArguments, disconnects: Disconnects
    ) -> None:
        self._door = door
        self._mirrored = mirrored
        self._disconnects = disconnects

    async def post(self, request: Request, message: Message) -> None:
        """Answer *message*."""
        if message.is_response:
            await self._refuse(request, message, _no_response())
            return
        if not message.id:
            await self._acknowledge(request, message)
            return
        caller = self._caller(request, message)
        if isinstance(caller, Fault):
            await self._refuse(request, message, caller)
            return
        takes_events, method = request.approach.accepted.events, message.method
        if method == "subscriptions/listen" and not takes_events:
            raise HttpRefusal(406, "a stream is sent as text/event-stream; accept it")
        if takes_events and method in INPUT_REQUIRED_METHODS:
            wishes = Wishes.of(message)
            if wishes is not NOTHING:
                await self._answer_aloud(request, message, caller, wishes)
                return
        answer: Answer | Stream | None = None
        with self._disconnects.watch(request.exchange):
            answer = await self._door.answer(message, caller)
        if isinstance(answer, Stream):
            await respond_stream(request.exchange, answer, request.again)
        elif answer is not None:
            await request.respond(answer, status=_status_of(answer.code) if answer.code else OK)

    async def _answer_aloud(
        self, request: Request, message: Message, caller: Caller, wishes: Wishes
    ) -> None:
        """Answer a request whose caller wants to hear what the server says meanwhile."""
        speech = Speech(request.exchange)
        telling = Telling(speech, wishes, is_modern=True)
        answer: Answer | Stream | None = None
        try:
            with self._disconnects.watch(request.exchange):
                answer = await self._door.answer(
                    message, msgspec.structs.replace(caller, conversation=telling)
                )
        except anyio.get_cancelled_exc_class():
            # A client whose stream breaks off may go on waiting for its answer.
            if not self._door.changes.are_over or not await speech.cut_off(message.id):
                raise
            return
        if isinstance(answer, Answer) and not await speech.finish(answer.whole):
            await request.respond(answer, status=_status_of(answer.code))

    def _caller(self, request: Request, message: Message) -> Caller | Fault:
        approach = request.approach
        if approach.doubled:
            text = f"{approach.doubled} header appears more than once"
            return Fault(code=HEADER_MISMATCH, message=text)
        caller = modern_caller(
            message, request.principal, approach.scope, approach.routing, request.again
        )
        if isinstance(caller, Fault) or message.method != "tools/call":
            return caller
        fault = self._mirrored.fault(message, caller, request.exchange)
        if fault is not None:
            return fault
        if approach.mirrored:  # an intermediary passes them on, whether it knows them or not
            return msgspec.structs.replace(caller, headers=approach.mirrored)
        return caller

    async def _acknowledge(self, request: Request, message: Message) -> None:
        # The modern era has no notifications from clients over HTTP; those that come are dropped.
        version = request.exchange.text(MCP_PROTOCOL_VERSION_HEADER.encode()) or ""
        unsupported = unsupported_version(version)
        if unsupported is None:
            await request.accept()
        else:
            await self._refuse(request, message, unsupported)

    async def _refuse(self, request: Request, message: Message, fault: Fault) -> None:
        answer = error_answer(message.id or NULL, fault)
        await request.respond(answer, status=_status_of(fault.code))


def _status_of(code: int) -> int:
    return ERROR_CODE_HTTP_STATUS.get(code, OK)


def _no_response() -> Fault:
    return Fault(code=INVALID_REQUEST, message="Invalid request: nothing was asked of the client")
