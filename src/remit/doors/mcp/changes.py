"""Who is told that a list or a resource has changed: callers that see the change, and no other."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from enum import Enum, StrEnum, auto
from typing import Final, Protocol, Self

import anyio

from remit.calls.item_listing import Listed
from remit.calls.listing import Listing
from remit.doors.mcp.subscriptions import Inbox
from remit.errors import Refused, StorageUnavailable
from remit.identity.clock import utc_now
from remit.model.principals import Principal
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.wire import json_bytes

KEEP_ALIVE: Final = 15.0
"""Seconds after which a silent stream shows that it is alive, and its credential is asked again."""

LEAST_WAIT: Final = 0.05
"""Seconds between two askings at the end of a credential, whatever the clocks say."""

MOST_STREAMS: Final = 1024
"""Open streams of one process."""


class Changes(Protocol):
    """Something that changes what callers see."""

    async def wait(self, seen: int) -> int:
        """Return the number of the current state once it is not *seen*; -1 was never seen."""
        ...


class ChangingCatalogue(Protocol):
    """The tools on offer, as they come and go."""

    async def changed(self, version: int) -> Catalogue:
        """Return the current catalogue once its version is not *version*."""
        ...


class CatalogueChanges:
    """The changes of a catalogue, by its version."""

    def __init__(self, catalogues: ChangingCatalogue) -> None:
        self._catalogues = catalogues

    async def wait(self, seen: int) -> int:
        """Return the version of the catalogue once it is not *seen*."""
        return (await self._catalogues.changed(seen)).version


class Notice(Enum):
    """What a watch says."""

    CHANGED = auto()
    QUIET = auto()
    CLOSED = auto()


class Topic(StrEnum):
    """What there are lists of, by the word in the notifications' names."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"


class Watch:
    """One caller's view of its lists, held against what it saw last.

    Entered by whoever sends its stream; leaving it frees its place.
    """

    def __init__(
        self,
        owner: "ListChanges",
        principal: Principal,
        scope: str | None,
        *,
        legacy: bool,
        topics: Collection[Topic],
        inbox: Inbox | None,
    ) -> None:
        self._owner = owner
        self._scope = scope
        self._legacy = legacy
        self._event = anyio.Event()
        self._closed = False
        self.principal = principal
        self._changed: list[Topic] = []
        self._updated: Sequence[str] = ()
        self._seen = {topic: self._list(topic) for topic in topics}
        self._inbox = inbox
        if inbox is not None:
            inbox.attach(self.wake)

    async def wait(self, again: Callable[[], Awaitable[Principal]] | None = None) -> Notice:
        """Return at the next change, at the end, or after a while of neither.

        The end is the credential's, too: it is asked again as soon as its time is over.

        Args:
            again: Verifies the caller's credential once more; the stream ends when it no longer
                holds, or nobody can say whether it does (R17).
        """
        quiet_at = anyio.current_time() + self._owner.keep_alive
        while True:
            left = math.inf if again is None else self._owner.seconds_left(self.principal)
            deadline = min(quiet_at, anyio.current_time() + left)
            with anyio.CancelScope(deadline=deadline) as waiting:
                await self._event.wait()
            if not waiting.cancelled_caught:
                self._event = anyio.Event()
            await self._verify(again)
            if self._closed:
                return Notice.CLOSED
            if self._look():
                return Notice.CHANGED
            # A change that concerns others only goes unsaid, even as a sign of life.
            if anyio.current_time() >= quiet_at:
                return Notice.QUIET

    def news(self, tag: bytes = b"") -> list[bytes]:
        """Return the notifications of what changed before `wait` returned.

        Args:
            tag: A member of the params of each, or empty.
        """
        params = b',"params":{%b}' % tag if tag else b""
        told = [
            b'{"jsonrpc":"2.0","method":"notifications/%b/list_changed"%b}'
            % (topic.value.encode(), params)
            for topic in self._changed
        ]
        more = b"," + tag if tag else b""
        told += [
            b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%b%b}}'
            % (json_bytes(uri), more)
            for uri in self._updated
        ]
        return told

    def _look(self) -> bool:
        """Take note of what changed; return whether anything did."""
        now = {topic: self._list(topic) for topic in self._seen}
        self._changed = [topic for topic in now if now[topic] != self._seen[topic]]
        self._seen = now
        self._updated = () if self._inbox is None else self._inbox.take(self.principal)
        return bool(self._changed or self._updated)

    async def _verify(self, again: Callable[[], Awaitable[Principal]] | None) -> None:
        if again is None or self._closed:
            return
        try:
            self.principal = await again()
        except (Refused, StorageUnavailable):
            self._closed = True

    def wake(self) -> None:
        """Look again."""
        self._event.set()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._event.set()

    def _list(self, topic: Topic) -> bytes:
        listing, who = self._owner.listing, (self.principal, self._scope)
        match topic:
            case Topic.TOOLS:
                return listing.tools_json(*who, legacy=self._legacy)
            case Topic.PROMPTS:
                return listing.items.list_json(Listed.PROMPTS, *who)
            case Topic.RESOURCES:
                return b"".join(
                    listing.items.list_json(which, *who)
                    for which in (Listed.RESOURCES, Listed.TEMPLATES)
                )

    def __enter__(self) -> Self:
        """Take part."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take part no longer; what only this stream followed is followed no more."""
        self._owner.forget(self)
        if self._inbox is not None:
            self._inbox.detach(self.wake)
            if not self._legacy:
                self._inbox.close()


class ListChanges:
    """The open streams, woken whenever catalogue or policy change."""

    def __init__(
        self,
        listing: Listing,
        sources: Sequence[Changes],
        *,
        most: int = MOST_STREAMS,
        keep_alive: float = KEEP_ALIVE,
    ) -> None:
        self.listing = listing
        self.keep_alive = keep_alive
        self._sources = tuple(sources)
        self._most = most
        self._watches: set[Watch] = set()
        self._closed = False

    @property
    def are_over(self) -> bool:
        """Whether remit is stopping."""
        return self._closed

    def __len__(self) -> int:
        """Return how many streams are open."""
        return len(self._watches)

    def watch(
        self,
        principal: Principal,
        scope: str | None,
        *,
        legacy: bool,
        topics: Collection[Topic] = tuple(Topic),
        inbox: Inbox | None = None,
    ) -> Watch | None:
        """Return a new watch, or None when there are too many or remit is stopping.

        Args:
            principal: Who is told.
            scope: The server of the endpoint, or None.
            legacy: Whether in an older era.
            topics: The lists whose changes are told.
            inbox: The resources that are followed; those of a modern stream end with it.
        """
        if self._closed or len(self._watches) >= self._most:
            return None
        watch = Watch(self, principal, scope, legacy=legacy, topics=topics, inbox=inbox)
        self._watches.add(watch)
        return watch

    def seconds_left(self, principal: Principal) -> float:
        """Return in how many seconds to ask the credential of *principal* again: at its end."""
        if principal.expires is None:
            return math.inf
        return max((principal.expires - utc_now()).total_seconds(), LEAST_WAIT)

    def forget(self, watch: Watch) -> None:
        """Free the place of *watch*."""
        self._watches.discard(watch)

    def close(self) -> None:
        """End all streams and let none begin: remit is stopping."""
        self._closed = True
        for watch in self._watches:
            watch.close()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Wake the streams at every change while entered."""
        async with anyio.create_task_group() as tasks:
            for source in self._sources:
                tasks.start_soon(self._follow, source)
            try:
                yield
            finally:
                self.close()
                tasks.cancel_scope.cancel()

    async def _follow(self, source: Changes) -> None:
        seen = -1
        while True:
            seen = await source.wait(seen)
            for watch in self._watches:
                watch.wake()
