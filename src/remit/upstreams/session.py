"""One established conversation with a server, whatever it travels on."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

import anyio
import msgspec

from remit.errors import UpstreamError
from remit.model.conversation import Abilities, Extras
from remit.model.members import members_of
from remit.model.principals import Principal
from remit.model.servers import ServerConfig
from remit.upstreams.dialogue import Dialogue
from remit.upstreams.environment import ResolvedServer
from remit.upstreams.era import Era
from remit.upstreams.transcript import Transcript
from remit.upstreams.trust import Trust
from remit.upstreams.warden import Warden
from remit.upstreams.wire import Malformed, members, value_of

LISTS_CHANGED: Final = frozenset(
    f"notifications/{what}/list_changed" for what in ("tools", "prompts", "resources")
)
UPDATED: Final = "notifications/resources/updated"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
"""In `_meta`: the id of the `subscriptions/listen` that a notification belongs to."""

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

ABOUT_CONNECTION: Final = LISTS_CHANGED | {UPDATED, ACKNOWLEDGED}
"""Notifications that concern a connection, and not a request on it."""


Confirm = Callable[[], Awaitable[None]]
"""Looks once more at a call that had to wait, just before it is sent; raises if it must not be."""

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call in the server's own words: of a tool, or of another method that takes turns.

    Attributes:
        method: What is asked; whatever is not about a tool or a prompt has its params whole.
        name: The server's name of the tool or prompt, byte for byte; the URI of a resource.
        arguments: Raw JSON object; all the params of a method that names nothing.
        meta: The caller's `_meta` as a raw JSON object, or empty.
        headers: `Mcp-Param-*`, for transports that have headers.
        more: Raw members of the params beside these, each with a comma before it.
        dialogue: Who hears what the server says meanwhile; None when nobody does.
        principal: Who calls, where the server is a part of this process; None elsewhere.
    """

    name: str
    method: str = "tools/call"
    arguments: bytes
    meta: bytes = b""
    headers: Mapping[str, str] = NO_HEADERS
    more: bytes = b""
    dialogue: Dialogue | None = None
    principal: Principal | None = None

    def __repr__(self) -> str:
        """Name the call without what goes with it."""
        return f"ToolCall(name={self.name!r}, method={self.method!r})"

    def along_with(self, extras: Extras) -> "ToolCall":
        """Return the call with what the caller sent beside its arguments."""
        # Those that the tool's schema explains are made anew, of the arguments.
        ours = {name.lower() for name in self.headers}
        unknown = {name: value for name, value in extras.headers.items() if name not in ours}
        headers = {**unknown, **self.headers} if unknown else self.headers
        return msgspec.structs.replace(self, more=extras.parts, headers=headers)


class Session(Protocol):
    """What every transport offers once a server has answered for the first time.

    `list_page` and `call` return the raw JSON of `result` as it arrived. None of the methods has
    a time limit of its own; when its caller is cancelled, the server is told.
    """

    @property
    def era(self) -> Era:
        """The protocol revision that both sides speak."""
        ...

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        """Return one page of `tools/list`, or of another list; None asks for the first.

        Raises:
            UpstreamError: There is no such page.
        """
        ...

    async def call(self, call: ToolCall, /) -> bytes:
        """Run a tool, or ask what else takes a turn.

        Raises:
            UpstreamError: There is no result.
        """
        ...

    async def watch(self, uris: frozenset[str], /) -> Mapping[str, UpstreamError]:
        """Let the server tell of updates to exactly these resources from now on.

        Returns:
            Those for which it cannot be had, with the reason.

        Raises:
            UpstreamError: The connection is lost.
        """
        ...


class Follower(Protocol):
    """Somebody who follows resources on a connection."""

    def updated(self, uri: str) -> None:
        """Take note that a resource was updated."""
        ...

    def ended(self) -> None:
        """Take note that nothing is subscribed to any more."""
        ...


class BuiltinServer(Protocol):
    """What a bundled server offers; the objects are those of the protocol."""

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return its tools as `tools/list` has them."""
        ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, object], /
    ) -> Mapping[str, object]:
        """Run a tool and return the `result` of `tools/call`."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds."""
        ...


@runtime_checkable
class KnowsCallers(Protocol):
    """A bundled server whose tools depend on who calls."""

    async def call_for(
        self,
        principal: Principal,
        name: str,
        arguments: Mapping[str, object],
        meta: Mapping[str, object],
        /,
    ) -> Mapping[str, object]:
        """Run a tool for a caller and return the `result` of `tools/call`.

        Raises:
            UpstreamError: It cannot now, and may be asked again.
        """
        ...


@runtime_checkable
class HasResources(Protocol):
    """A bundled server with resources that differ by who reads them."""

    def resources(self) -> Sequence[Mapping[str, object]]:
        """Return them as `resources/list` has them."""
        ...

    async def read_for(self, principal: Principal, uri: str, /) -> Mapping[str, object]:
        """Return the `result` of `resources/read` for a caller.

        Raises:
            UpstreamError: It cannot be read, now or by this caller.
        """
        ...

    async def version_for(self, tenant: str, subject: str, uri: str, /) -> object:
        """Return what is another once the resource was updated for that caller.

        Raises:
            UpstreamError: That cannot be known now.
        """
        ...

    async def stirred(self) -> None:
        """Return when something may have been updated, or soon."""
        ...


MakeBuiltin = Callable[[Sequence[str], Mapping[str, str]], BuiltinServer]
"""Makes a bundled server from its arguments and its environment.

It raises ValueError, with a message of one line, if they do not fit.
"""


class Signals:
    """What a connection tells its owner: the tools changed, or the conversation is over.

    Attributes:
        ended: Why the conversation is over, or None while it goes on.
        process: The id of the child process at the other end, and of its group; None without one.
        follower: Who else is told of the end, and of updates to resources.
        elsewhere: Who is told as well that the tools changed; None on the connection that lists.
    """

    def __init__(self) -> None:
        self.process: int | None = None
        self.follower: Follower | None = None
        self.elsewhere: Callable[[], None] | None = None
        self._acknowledgements: dict[int, asyncio.Future[object]] = {}
        self._stirred = anyio.Event()
        self._changed = False
        self.ended: str | None = None

    def tools_changed(self) -> None:
        """Say that the list of tools should be read again."""
        self._changed = True
        self._stirred.set()
        if self.elsewhere is not None:
            self.elsewhere()

    def heard(self, method: str, message: bytes) -> bool:
        """Take a notification; return whether it is one of those that concern a connection."""
        if method in LISTS_CHANGED:
            self.tools_changed()
        elif method == UPDATED:
            uri = _param(message, "uri")
            if isinstance(uri, str) and self.follower is not None:
                self.follower.updated(uri)
        elif method == ACKNOWLEDGED:
            number = members_of(_param(message, "_meta")).get(SUBSCRIPTION_ID)
            awaited = self._acknowledgements.get(number) if isinstance(number, int) else None
            if awaited is not None and not awaited.done():
                awaited.set_result(_param(message, "notifications"))
        else:
            return False
        return True

    def acknowledgement(self, number: int) -> asyncio.Future[object]:
        """Return the future of what the server honours of our `subscriptions/listen` *number*."""
        future = asyncio.get_running_loop().create_future()
        self._acknowledgements[number] = future
        future.add_done_callback(lambda _: self._acknowledgements.pop(number, None))
        return future

    def lapsed(self) -> None:
        """Say that subscriptions to resources stand no longer, although the connection does."""
        if self.follower is not None:
            self.follower.ended()

    def end(self, reason: str) -> None:
        """Say that nothing more will come; the first reason stands."""
        if self.ended is None:
            self.ended = reason
        self._stirred.set()
        self.lapsed()

    def take_changed(self) -> bool:
        """Return whether the tools changed since the last time this was asked."""
        changed, self._changed = self._changed, False
        return changed

    async def wait(self, seconds: float) -> None:
        """Return at the next signal, or after *seconds*."""
        if self._changed or self.ended is not None:
            return
        self._stirred = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._stirred.wait()

    async def wait_end(self, seconds: float) -> bool:
        """Return whether the conversation ended within *seconds*."""
        until = anyio.current_time() + seconds
        while self.ended is None and (left := until - anyio.current_time()) > 0:
            self._stirred = anyio.Event()
            with anyio.move_on_after(left):
                await self._stirred.wait()
        return self.ended is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a transport needs to open one connection.

    Attributes:
        silence: Returns after how many seconds a silent child may count as hung.
        is_legacy: The server is known to speak the handshake, so asking is left out.
        abilities: What we say in the handshake that we can be asked.
        make_builtin: Makes a bundled server from its arguments; None when there is none.
        owner: Tenant, subject and issuer, if any, of the one caller it is for; empty when callers
            share it.
    """

    config: ServerConfig
    resolved: ResolvedServer
    transcript: Transcript
    signals: Signals
    trust: Trust
    warden: Warden
    silence: Callable[[], float]
    is_legacy: bool = False
    abilities: Abilities = Abilities.NONE
    make_builtin: Callable[[], BuiltinServer] | None = None
    owner: tuple[str, ...] = ()


def _param(message: bytes, name: str) -> object:
    try:
        return value_of(members(members(message).get("params", b"{}")).get(name, b"null"))
    except Malformed:
        return None
