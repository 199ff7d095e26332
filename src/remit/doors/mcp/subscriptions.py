"""Who follows which resources, and what there is to tell of them: only to callers that may read."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Protocol

import anyio

from remit.calls.item_listing import ItemListing
from remit.calls.pipeline import Calls
from remit.doors.mcp.siblings import Word
from remit.errors import BadCall, UpstreamTimeout
from remit.model.calls import Call
from remit.model.contents import Kind
from remit.model.principals import Principal
from remit.model.tools import ToolId

MOST_FOLLOWED: Final = 256
"""Resources that one session or stream follows."""

MOST_UPDATED: Final = 1024
"""Updates that wait for a stream; of more, those that come later are lost."""

MOST_SESSIONS: Final = 1024
"""Sessions that follow anything; beyond it the one that began first is forgotten."""

EVERYTHING: Final = "*"
"""In the place of a URI: all that a session follows."""

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

    def __init__(
        self,
        items: ItemListing,
        scope: str | None,
        elsewhere: Callable[[str, str, str], None] | None = None,
    ) -> None:
        """Follow nothing yet.

        Args:
            items: Knows names, and who may read.
            scope: The server of the endpoint, or None.
            elsewhere: Told what `told` was told while there is no stream here.
        """
        self._items = items
        self._scope = scope
        self._elsewhere = elsewhere
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
        """Let *wake* be called at every update, instead of whoever was told before.

        At once as well, if there were any while nobody was told.
        """
        self._wake = wake
        if self._updated:
            wake()

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
        if self._wake is None and self._elsewhere is not None:
            self._elsewhere(uri, item.server, own)
        part = Kind.RESOURCE.id(item.server, own)
        name = uri if part == item else self._items.published(part, self._scope)
        if len(self._updated) < MOST_UPDATED:
            self._updated[part, name] = None
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
        self._outbox = _Outbox()

    def open(self, scope: str | None) -> Inbox:
        """Return an inbox that follows nothing yet; whoever has it closes it."""
        return Inbox(self._items, scope)

    def of_session(self, session: str, scope: str | None) -> Inbox:
        """Return the inbox of a session of the older eras, which outlives its streams."""
        inbox = self._sessions.get(session)
        if inbox is None:
            # Where there are other workers, the stream may be with one of them.
            if not self._outbox.is_read:
                idle = [one for one, held in self._sessions.items() if held.idle > PATIENCE]
                for name in idle:
                    self._forget(name)
            told = partial(self._tell_others, session)
            inbox = self._sessions[session] = Inbox(self._items, scope, told)
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)[1].close()
        return inbox

    def unfollow(self, session: str, uri: str) -> None:
        """Let a session follow *uri* no more, on whichever worker it does."""
        inbox = self._sessions.get(session)
        if inbox is not None:
            inbox.drop(uri)
        self._tell_others(session, uri, "", "")

    def take(self, word: Word) -> None:
        """Take what another worker says of a session."""
        inbox = self._sessions.get(word.session)
        if inbox is None:
            return
        if word.followed == EVERYTHING:
            self._forget(word.session)
        elif not word.own:
            inbox.drop(word.followed)
        elif inbox.idle == 0:
            inbox.told(Kind.RESOURCE.id(word.server, word.own), word.followed, word.own)

    async def relay(self, tell: Callable[[Word], Awaitable[None]]) -> None:
        """Tell the other workers what they have to know, until cancelled."""
        await self._outbox.empty_into(tell)

    def _tell_others(self, session: str, uri: str, server: str, own: str) -> None:
        self._outbox.put(Word(session=session, followed=uri, server=server, own=own))

    def end(self, session: str) -> None:
        """Forget a session that has ended, on every worker."""
        self._forget(session)
        self._tell_others(session, EVERYTHING, "", "")

    def _forget(self, session: str) -> None:
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
        item = authorized.permit.tool_id
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


class _Outbox:
    """What is to be told to the other workers: each thing once, however often it happened."""

    def __init__(self) -> None:
        self._words: dict[Word, None] = {}
        self._stirred = anyio.Event()
        self.is_read = False

    def put(self, word: Word) -> None:
        if self.is_read and len(self._words) < MOST_UPDATED:
            self._words[word] = None
            self._stirred.set()

    async def empty_into(self, tell: Callable[[Word], Awaitable[None]]) -> None:
        self.is_read = True
        while True:
            await self._stirred.wait()
            self._stirred = anyio.Event()
            words, self._words = self._words, {}
            for word in words:
                await tell(word)
