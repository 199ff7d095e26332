"""The door's protocol part: from a message to an answer, whatever carries the two.

    transport → read_message → McpDoor.answer ─tools/call→ Pipeline.run → answer → transport

It does not know HTTP; `http.py` and `stdio.py` serve the same door.
"""

import time
from collections.abc import Callable, Mapping

import structlog

from remit.calls.current import begin
from remit.calls.ids import new_id
from remit.calls.listing import Listing
from remit.calls.pipeline import Calls
from remit.doors.mcp.acting import member_of
from remit.doors.mcp.answers import Answer, Stream, error_answer, result_answer
from remit.doors.mcp.caller import Caller, Method, Reply, extras_of
from remit.doors.mcp.changes import ListChanges
from remit.doors.mcp.contents import Contents, text_of
from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.doors.mcp.levels import LogLevels
from remit.doors.mcp.methods import (
    EMPTY_RESULT,
    OwnResults,
    ServerInfo,
    honoured,
    negotiated_version,
    wanted_of,
)
from remit.doors.mcp.problems import Problems, internal_error
from remit.doors.mcp.results import fitted
from remit.doors.mcp.subscriptions import Subscriptions, UpdateSource
from remit.errors import BadCall, RemitError
from remit.model.calls import Call
from remit.model.conversation import LEVELS
from remit.model.principals import Principal
from remit.model.protocol import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from remit.upstreams.session import SUBSCRIPTION_ID

log = structlog.get_logger(__name__)


class McpDoor:
    """Answers MCP messages for callers that are known already.

    Args:
        updates: Where updates of resources come from.
        info: Who we say we are.
        explains: Whether a role of the caller is set to `denials: explain` (R14).

    Attributes:
        log_levels: What sessions want to hear; put in its place where doors share one.
    """

    def __init__(
        self,
        *,
        pipeline: Calls,
        listing: Listing,
        changes: ListChanges,
        updates: UpdateSource,
        info: ServerInfo,
        explains: Callable[[Principal], bool],
    ) -> None:
        self.changes = changes
        self.log_levels = LogLevels()
        self._pipeline = pipeline
        self._listing = listing
        self._results = OwnResults(info)
        self._problems = Problems(explains, self._results.meta)
        self.subscriptions = Subscriptions(pipeline=pipeline, items=listing.items, updates=updates)
        self._contents = Contents(
            pipeline=pipeline,
            subscriptions=self.subscriptions,
            items=listing.items,
            results=self._results,
            problems=self._problems,
        )
        self._modern: Mapping[str, Method] = {
            "tools/call": self._call_tool,
            "tools/list": self._list_tools,
            "server/discover": self._discover,
            "subscriptions/listen": self._listen,
            **self._contents.methods,
        }
        self._legacy: Mapping[str, Method] = {
            "tools/call": self._call_tool,
            "tools/list": self._list_tools,
            "initialize": self._initialize,
            "ping": self._ping,
            "logging/setLevel": self._set_level,
            **self._contents.methods,
            **self._contents.legacy_methods,
        }

    async def answer(self, message: Message, caller: Caller) -> Answer | Stream | None:
        """Return the answer to *message*; None for one that has none.

        Whatever goes wrong becomes an answer; only cancellation gets through.
        """
        if not message.id or message.is_response:
            return None
        methods = self._modern if caller.modern else self._legacy
        method = methods.get(message.method)
        if method is None:
            return error_answer(
                message.id, Fault(code=METHOD_NOT_FOUND, message="Method not found")
            )
        # Of a modern message that was judged with the rest of its envelope.
        if not caller.modern and message.meta and message.meta.lstrip()[:1] != b"{":
            text = "Invalid params: _meta must be an object"
            return error_answer(message.id, Fault(code=INVALID_PARAMS, message=text))
        request_id = new_id()
        current = begin(request_id, caller.principal)
        try:
            reply = await method(message, caller, request_id)
        except Exception:
            log.exception("request failed", call_id=request_id, method=message.method)
            reply = internal_error(request_id)
        finally:
            current.is_over = True
        if isinstance(reply, bytes):
            return result_answer(message.id, reply)
        return error_answer(message.id, reply) if isinstance(reply, Fault) else reply

    async def _call_tool(self, message: Message, caller: Caller, request_id: str) -> Reply:
        name = text_of(message.named)
        if name is None:
            return Fault(code=INVALID_PARAMS, message="Invalid params: name must be a string")
        try:
            member = member_of(message)
        except BadCall as error:
            return Fault(code=INVALID_PARAMS, message=f"Invalid params: {error}")
        call = Call(
            id=request_id,
            principal=caller.principal,
            requested=name,
            scope=caller.scope,
            arguments=message.param("arguments") or b"{}",
            meta=message.meta,
            started=time.monotonic(),
            extras=extras_of(message, caller),
            again=caller.again,
            member=member,
        )
        try:
            outcome = await self._pipeline.run(call)
            return fitted(outcome.result, modern=caller.modern)
        except RemitError as error:
            return self._problems(
                error, principal=caller.principal, request_id=request_id, modern=caller.modern
            )

    async def _list_tools(self, message: Message, caller: Caller, _: str) -> Reply:
        if message.param("cursor") is not None:
            return Fault(code=INVALID_PARAMS, message="Invalid params: unknown cursor")
        listed = self._listing.tools_json(caller.principal, caller.scope, legacy=not caller.modern)
        return self._results.listed(message.id, "tools", listed, modern=caller.modern)

    async def _discover(self, _: Message, caller: Caller, __: str) -> Reply:
        return self._results.discover(*self._about(caller))

    def _about(self, caller: Caller) -> tuple[str, Mapping[str, object]]:
        """Return the instructions for a caller, and what it may use beside tools."""
        who = (caller.principal, caller.scope)
        return self._listing.instructions(*who), self._listing.items.capabilities(*who)

    async def _initialize(self, message: Message, caller: Caller, _: str) -> Reply:
        version = negotiated_version(message)
        if version is None:
            return Fault(
                code=INVALID_PARAMS, message="Invalid params: protocolVersion must be a string"
            )
        result = self._results.initialize(version, *self._about(caller))
        return result_answer(message.id, result, negotiated=version)

    async def _ping(self, _: Message, __: Caller, ___: str) -> Reply:
        return EMPTY_RESULT

    async def _set_level(self, message: Message, caller: Caller, _: str) -> Reply:
        level = decoded(message.param("level"))
        if not isinstance(level, str) or level not in LEVELS:
            return Fault(
                code=INVALID_PARAMS, message=f"Invalid params: level is one of {', '.join(LEVELS)}"
            )
        if not caller.session:
            return Fault(
                code=INVALID_PARAMS,
                message="Invalid params: a level needs a session; send initialize to begin one",
            )
        self.log_levels.set(caller.session, level)
        return EMPTY_RESULT

    async def _listen(self, message: Message, caller: Caller, _: str) -> Reply:
        wanted = wanted_of(message)
        if wanted is None:
            return Fault(
                code=INVALID_PARAMS,
                message="Invalid params: notifications must be an object of booleans and URIs",
            )
        inbox = self.subscriptions.open(caller.scope)
        watch = self.changes.watch(
            caller.principal, caller.scope, legacy=False, topics=wanted.topics, inbox=inbox
        )
        if watch is None:
            return Fault(code=INTERNAL_ERROR, message="Too many open streams; try again later")
        is_kept = False
        try:
            followed = await self._contents.follow(wanted.resourceSubscriptions, inbox, caller)
            is_kept = True
        finally:
            if not is_kept:
                watch.__exit__()
        tag = b'"_meta":{"%b":%b}' % (SUBSCRIPTION_ID.encode(), message.id)
        return Stream(
            watch=watch,
            opening=(
                b'{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",'
                b'"params":{"notifications":%b,%b}}' % (honoured(wanted.topics, followed), tag)
            ),
            tag=tag,
            closing=result_answer(message.id, b'{"resultType":"complete",%b}' % tag).body,
        )
