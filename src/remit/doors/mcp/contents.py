"""Prompts, resources, templates and completion: what a server offers beside tools, in both eras.

Every request that reaches a server is a call of the one pipeline (R10, R29).
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

import anyio

from remit.calls.ids import new_id
from remit.calls.item_listing import ItemListing, Listed
from remit.calls.pipeline import Calls
from remit.doors.mcp.caller import Caller, Method, Reply, extras_of
from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.doors.mcp.methods import EMPTY_RESULT, OwnResults
from remit.doors.mcp.problems import Problems
from remit.doors.mcp.results import fitted
from remit.doors.mcp.subscriptions import Inbox, Subscriptions
from remit.errors import RemitError
from remit.model.calls import Call
from remit.model.contents import Kind
from remit.model.protocol import INVALID_PARAMS
from remit.upstreams.wire import Malformed, joined, members

_REFERENCES: Mapping[str, tuple[Kind, str]] = {
    "ref/prompt": (Kind.PROMPT, "name"),
    "ref/resource": (Kind.RESOURCE, "uri"),
}
LONGEST_REMEMBERED: Final = 256
"""Bytes of a name that is remembered with what it reads as."""

_COMPLETION = ("ref", "argument", "context")


class Contents:
    """Answers the methods about them.

    Attributes:
        methods: By name.
        legacy_methods: Those of the older eras alone.
    """

    def __init__(
        self,
        *,
        pipeline: Calls,
        subscriptions: Subscriptions,
        items: ItemListing,
        results: OwnResults,
        problems: Problems,
    ) -> None:
        self._pipeline = pipeline
        self._subscriptions = subscriptions
        self._items = items
        self._results = results
        self._problems = problems
        self.methods: Mapping[str, Method] = {
            "prompts/list": self._lister(Listed.PROMPTS),
            "prompts/get": self._get_prompt,
            "resources/list": self._lister(Listed.RESOURCES),
            "resources/templates/list": self._lister(Listed.TEMPLATES),
            "resources/read": self._read_resource,
            "completion/complete": self._complete,
        }
        self.legacy_methods: Mapping[str, Method] = {
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }

    async def follow(self, uris: Sequence[str], inbox: Inbox, caller: Caller) -> list[str]:
        """Let *inbox* follow what the caller may read of *uris*; return those that it does."""
        async with anyio.create_task_group() as tasks:
            for uri in dict.fromkeys(uris):
                call = Call(
                    id=new_id(),
                    principal=caller.principal,
                    kind=Kind.RESOURCE,
                    method="subscriptions/listen",
                    requested=uri,
                    scope=caller.scope,
                    arguments=b"{}",
                    started=time.monotonic(),
                )
                tasks.start_soon(self._follow_quietly, inbox, call)
        return [uri for uri in dict.fromkeys(uris) if uri in inbox]

    async def _follow_quietly(self, inbox: Inbox, call: Call) -> None:
        with suppress(RemitError):  # what is not honoured is not in the acknowledgement
            await self._subscriptions.follow(inbox, call)

    async def _subscribe(self, message: Message, caller: Caller, request_id: str) -> Reply:
        uri = text_of(message.param("uri"))
        if uri is None:
            return _invalid("uri must be a string")
        if not caller.session:
            return _invalid("a subscription needs a session; send initialize to begin one")
        call = self._call(message, caller, request_id, kind=Kind.RESOURCE, named=(uri, b"{}"))
        inbox = self._subscriptions.of_session(caller.session, caller.scope)
        try:
            await self._subscriptions.follow(inbox, call)
        except RemitError as error:
            return self._problem(error, call, modern=False)
        return EMPTY_RESULT

    async def _unsubscribe(self, message: Message, caller: Caller, _: str) -> Reply:
        uri = text_of(message.param("uri"))
        if uri is None:
            return _invalid("uri must be a string")
        if caller.session:
            self._subscriptions.unfollow(caller.session, uri)
        return EMPTY_RESULT

    def _lister(self, which: Listed) -> Method:
        async def listing(message: Message, caller: Caller, _: str) -> Reply:
            if message.param("cursor") is not None:
                return _invalid("unknown cursor")
            entries = self._items.list_json(which, caller.principal, caller.scope)
            return self._results.listed(message.id, which.value, entries, modern=caller.modern)

        return listing

    async def _get_prompt(self, message: Message, caller: Caller, request_id: str) -> Reply:
        name = text_of(message.named)
        if name is None:
            return _invalid("name must be a string")
        arguments = message.param("arguments") or b"{}"
        return await self._run(
            self._call(message, caller, request_id, kind=Kind.PROMPT, named=(name, arguments)),
            modern=caller.modern,
        )

    async def _read_resource(self, message: Message, caller: Caller, request_id: str) -> Reply:
        uri = text_of(message.named)
        if uri is None:
            return _invalid("uri must be a string")
        return await self._run(
            self._call(message, caller, request_id, kind=Kind.RESOURCE, named=(uri, b"{}")),
            modern=caller.modern,
            cacheable=True,
        )

    async def _complete(self, message: Message, caller: Caller, request_id: str) -> Reply:
        meant = _referred(message.param("ref"))
        if meant is None:
            return _invalid("ref must be a ref/prompt with a name, or a ref/resource with a uri")
        given = {name: message.param(name) for name in _COMPLETION}
        params = joined({name: raw for name, raw in given.items() if raw is not None})
        kind, name = meant
        return await self._run(
            self._call(message, caller, request_id, kind=kind, named=(name, params)),
            modern=caller.modern,
        )

    def _call(
        self,
        message: Message,
        caller: Caller,
        request_id: str,
        *,
        kind: Kind,
        named: tuple[str, bytes],
    ) -> Call:
        name, arguments = named
        return Call(
            id=request_id,
            principal=caller.principal,
            kind=kind,
            method=message.method,
            requested=name,
            scope=caller.scope,
            arguments=arguments,
            meta=message.meta,
            started=time.monotonic(),
            extras=extras_of(message, caller),
            again=caller.again,
        )

    async def _run(self, call: Call, *, modern: bool, cacheable: bool = False) -> Reply:
        try:
            outcome = await self._pipeline.run(call)
            return fitted(outcome.result, modern=modern, cacheable=cacheable)
        except RemitError as error:
            return self._problem(error, call, modern=modern)

    def _problem(self, error: RemitError, call: Call, *, modern: bool) -> Reply:
        return self._problems(
            error, principal=call.principal, request_id=call.id, modern=modern, kind=call.kind
        )


def text_of(raw: bytes | None) -> str | None:
    """Return the text of a JSON string; a lone surrogate in it stands as its escape.

    No name holds one, and no database stores one.
    """
    if raw is None:
        return None
    return _text_of(raw) if len(raw) <= LONGEST_REMEMBERED else _text_of.__wrapped__(raw)


@lru_cache(1024)  # clients name the same few for ever
def _text_of(raw: bytes) -> str | None:
    value = decoded(raw)
    if not isinstance(value, str):
        return None
    return value.encode(errors="backslashreplace").decode()


def _referred(raw: bytes | None) -> tuple[Kind, str] | None:
    """Return what a completion's `ref` means, or None when it is misshapen."""
    try:
        parts = members(raw or b"null")
    except Malformed:
        return None
    reference = text_of(parts.get("type"))
    found = _REFERENCES.get(reference or "")
    name = None if found is None else text_of(parts.get(found[1]))
    return None if found is None or name is None else (found[0], name)


def _invalid(why: str) -> Fault:
    return Fault(code=INVALID_PARAMS, message=f"Invalid params: {why}")
