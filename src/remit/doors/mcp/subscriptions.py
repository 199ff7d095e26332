"""Who follows which resources, and what there is to tell of them: only to callers that may read."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import anyio

from remit.calls.item_listing import ItemListing
from remit.calls.pipeline import Calls
from remit.errors import BadCall, UpstreamTimeout
from remit.model.calls import Call
from remit.model.contents import Kind, own_name
from remit.model.principals import Principal
from remit.model.tools import ToolId

MOST_FOLLOWED: Final = 256
"""Resources that one session or stream follows."""

MOST_SESSIONS: Final = 1024
"""Sessions that follow anything; beyond it the one that began first is forgotten."""

PATIENCE: Final = 600.0
"""Seconds for which a session without a stream keeps what it follows."""

ESTABLISHING: Final = 12.0
"""Seconds that a server has to take a subscription."""


class Following(Protocol):
    """A resource that is followed upstream."""

    async def established(self) -> None:
        """Return once its server was asked.

        Raises:
            UpstreamError: It refuses.
        """
        ...

    def close(self) -> None:
        """Follow it no more."""
        ...


class UpdateSource(Protocol):
    """Where updates come from."""

    def follow(
        self, item: ToolId, principal: Principal, told: Callable[[str], None], /
    ) -> Following:
        """Begin to follow a resource; *told* is called with the server's own URI of each update.

        Raises:
            UpstreamError: Its server tells of no updates.
        """
        ...


class Inbox:
    """What one session, or one stream, follows, and which of it was updated."""

    def __init__(self, items: ItemListing, scope: str | None) -> None:
        self._items = items
        self._scope = scope
        self._followed: dict[str, Following] = {}
        self._updated: dict[tuple[ToolId, str], None] = {}
        self._wake: Callable[[], None] | None = None
        self._idle_since = anyio.current_time()

    def __contains__(self, uri: str) -> bool:
        """Whether *uri*, as the caller spelled it, is followed."""
        return uri in self._followed

    def __len__(self) -> int:
        """Return how many resources are followed."""
        return len(self._followed)

    @property
    def idle(self) -> float:
        """Seconds since it had a stream; 0 while it has one."""
        return 0.0 if self._wake is not None else anyio.current_time() - self._idle_since

    def attach(self, wake: Callable[[], None]) -> None:
        """Let *wake* be called at every update, instead of whoever was told before."""
        self._wake = wake

    def detach(self, wake: Callable[[], None]) -> None:
        """Call *wake* no more, unless a newer stream has taken its place already."""
        if self._wake == wake:
            self._wake = None
            self._idle_since = anyio.current_time()

    def add(self, uri: str, following: Following) -> None:
        """Follow one more."""
        self.drop(uri)
        self._followed[uri] = following

    def drop(self, uri: str) -> None:
        """Follow it no more."""
        following = self._followed.pop(uri, None)
        if following is not None:
            following.close()

    def close(self) -> None:
        """Follow nothing."""
        for uri in list(self._followed):
            self.drop(uri)
        self._updated.clear()

    def told(self, item: ToolId, uri: str, own: str) -> None:
        """Take note of an update.

        Args:
            item: What is followed.
            uri: How the caller calls it.
            own: The server's URI of what was updated: the same, or a part of it.
        """
        if own == own_name(item):
            self._updated[item, uri] = None
        else:
            part = Kind.RESOURCE.id(item.server, own)
            self._updated[part, self._items.published(part, self._scope)] = None
        if self._wake is not None:
            self._wake()

    def take(self, principal: Principal) -> Sequence[str]:
        """Return the URIs of what was updated since the last time and *principal* may read."""
        updated, self._updated = self._updated, {}
        told = (uri for item, uri in updated if self._items.may(principal, item))
        return list(dict.fromkeys(told))


class Subscriptions:
    """The inboxes of a tenant's callers.

    Args:
        pipeline: Decides who may follow what, and records who may not.
        items: Knows names, and who may read.
        updates: Where updates come from.
    """

    def __init__(self, *, pipeline: Calls, items: ItemListing, updates: UpdateSource) -> None:
        self._pipeline = pipeline
        self._items = items
        self._updates = updates
        self._sessions: OrderedDict[str, Inbox] = OrderedDict()

    def open(self, scope: str | None) -> Inbox:
        """Return an inbox that follows nothing yet; whoever has it closes it."""
        return Inbox(self._items, scope)

    def of_session(self, session: str, scope: str | None) -> Inbox:
        """Return the inbox of a session of the older eras, which outlives its streams."""
        inbox = self._sessions.get(session)
        if inbox is None:
            for name in [one for one, held in self._sessions.items() if held.idle > PATIENCE]:
                self.end(name)
            inbox = self._sessions[session] = self.open(scope)
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)[1].close()
        return inbox

    def end(self, session: str) -> None:
        """Forget a session that has ended."""
        inbox = self._sessions.pop(session, None)
        if inbox is not None:
            inbox.close()

    async def follow(self, inbox: Inbox, call: Call) -> None:
        """Let *inbox* follow the resource that *call* asks for.

        Raises:
            CallDenied: The caller may not read it, or there is none.
            BadCall: Too many are followed already, or the URI means several.
            UpstreamError: Its server tells of no updates.
            AuditUnavailable: A refusal cannot be recorded.
        """
        uri = call.requested
        authorized = await self._pipeline.admit(call)
        if uri not in inbox and len(inbox) >= MOST_FOLLOWED:
            raise BadCall(f"at most {MOST_FOLLOWED} resources are followed at once")
        item = authorized.tool_id
        following = self._updates.follow(
            item, call.principal, lambda own: inbox.told(item, uri, own)
        )
        inbox.add(uri, following)
        is_kept = False
        try:
            with anyio.fail_after(ESTABLISHING):
                await following.established()
            is_kept = True
        except TimeoutError:
            raise UpstreamTimeout(
                f"server {item.server!r} did not take the subscription", sent=True
            ) from None
        finally:
            if not is_kept:
                inbox.drop(uri)
