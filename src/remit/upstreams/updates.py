"""Who is told of updates to the resources of one server: upstream subscriptions, shared.

first subscription ──▶ keeper of that connection ──▶ the server is asked for all that is wanted
                            ▲        │                 (again after every change, and whenever the
                            └────────┘                 connection was lost), until nothing is
an update ──▶ everybody on that connection who follows the resource, or what it is part of
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Generic, Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from remit.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from remit.model.contents import own_name
from remit.model.principals import Principal
from remit.model.tools import ToolId
from remit.upstreams.session import Held, Session

log = structlog.get_logger(__name__)

PAUSE: Final = 2.0
"""Seconds between two attempts to subscribe on a connection that was lost."""

ASKING: Final = 10.0
"""Seconds that a server has to take a subscription."""

Way = TypeVar("Way")
"""What tells one connection to the server from another."""


class Subscription:
    """One follower of one resource, until it is closed.

    Attributes:
        told: Called with the URI of each update.
        close: Ends it.
    """

    def __init__(
        self, uri: str, told: Callable[[str], None], close: Callable[["Subscription"], None]
    ) -> None:
        self.uri = uri
        self.told = told
        self._close = close
        self._settled = anyio.Event()
        self._refusal: UpstreamError | None = None

    async def established(self) -> None:
        """Return once the server has been asked to tell of updates.

        Raises:
            UpstreamError: It refuses, or cannot be asked; it is asked again all the same.
        """
        await self._settled.wait()
        if self._refusal is not None:
            raise self._refusal

    def settle(self, refusal: UpstreamError | None) -> None:
        """Say what came of asking."""
        self._refusal = refusal
        self._settled.set()

    def close(self) -> None:
        """Follow no more."""
        self._close(self)


class Updates(Generic[Way]):
    """The subscriptions to one server, by the connection that they are on.

    Args:
        server: Its name, for the log.
        hold: Holds the connection of a way, opening it when there is none.
        tasks: Owns one task for each connection that somebody follows something on.
    """

    def __init__(
        self,
        server: str,
        hold: Callable[[Way], AbstractAsyncContextManager[Held]],
        tasks: TaskGroup,
    ) -> None:
        self._server = server
        self._hold = hold
        self._tasks = tasks
        self._keepers: dict[Way, _Keeper[Way]] = {}
        self._is_closed = False

    def follow(self, way: Way, uri: str, told: Callable[[str], None]) -> Subscription:
        """Begin to follow a resource; *told* is called with the URI of each update.

        Raises:
            UpstreamUnavailable: The server is no longer declared.
        """
        if self._is_closed:
            raise UpstreamUnavailable("is no longer declared, or not in this way")
        keeper = self._keepers.get(way)
        if keeper is None:
            keeper = self._keepers[way] = _Keeper(self._server, self._hold, way)
            self._tasks.start_soon(self._run, way, keeper)
        subscription = Subscription(uri, told, keeper.leave)
        keeper.join(subscription)
        return subscription

    def close(self) -> None:
        """Follow nothing more."""
        self._is_closed = True
        for keeper in self._keepers.values():
            keeper.close()

    async def _run(self, way: Way, keeper: "_Keeper[Way]") -> None:
        try:
            await keeper.run()
        finally:
            if self._keepers.get(way) is keeper:
                del self._keepers[way]


class _Keeper(Generic[Way]):
    """Keeps the server told of what is wanted on one connection."""

    def __init__(
        self,
        server: str,
        hold: Callable[[Way], AbstractAsyncContextManager[Held]],
        way: Way,
    ) -> None:
        self._server = server
        self._hold = hold
        self._way = way
        self._followers: dict[str, list[Subscription]] = {}
        self._asked: frozenset[str] = frozenset()
        self._has_lapsed = False
        self._stirred = anyio.Event()

    def join(self, subscription: Subscription) -> None:
        self._followers.setdefault(subscription.uri, []).append(subscription)
        self._stirred.set()

    def leave(self, subscription: Subscription) -> None:
        following = self._followers.get(subscription.uri, [])
        if subscription in following:
            following.remove(subscription)
        if not following:
            self._followers.pop(subscription.uri, None)
            self._stirred.set()

    def close(self) -> None:
        self._is_closed = True
        self._followers.clear()
        self._stirred.set()

    async def run(self) -> None:
        """Keep at it until nobody follows anything any more."""
        while self._followers:
            try:
                async with self._hold(self._way) as held:
                    await self._keep(held)
            except UpstreamError as error:
                self._settle(dict.fromkeys(self._followers, error))
            except Exception:
                # The supervisor of an upstream connection: its fault must not end the others'.
                log.exception("updates cannot be followed", server=self._server)
            if self._followers:
                await anyio.sleep(PAUSE)

    async def _keep(self, held: Held) -> None:
        held.signals.follower = self
        self._has_lapsed, self._asked = False, frozenset()
        try:
            while held.signals.ended is None and (self._followers or self._asked):
                if self._has_lapsed:
                    await anyio.sleep(PAUSE)
                    self._has_lapsed, self._asked = False, frozenset()
                self._stirred = anyio.Event()
                wanted = frozenset(self._followers)
                if wanted == self._asked:
                    self._settle({})  # another follower of what is followed already
                    await self._stirred.wait()
                    continue
                self._asked = wanted
                self._settle(await _ask(held.session, wanted))
        finally:
            held.signals.follower = None

    def updated(self, uri: str) -> None:
        """Tell whoever follows the resource, or what it is part of."""
        for followed, following in list(self._followers.items()):
            if uri == followed or uri.startswith(f"{followed.rstrip('/')}/"):
                for subscription in list(following):
                    subscription.told(uri)

    def ended(self) -> None:
        """Take note that nothing is subscribed to any more."""
        self._has_lapsed = True
        self._stirred.set()

    def _settle(self, refused: Mapping[str, UpstreamError]) -> None:
        for uri in self._asked | refused.keys():
            for subscription in self._followers.get(uri, ()):
                subscription.settle(refused.get(uri))


async def _ask(session: Session, wanted: frozenset[str]) -> Mapping[str, UpstreamError]:
    try:
        with anyio.fail_after(ASKING):
            return await session.watch(wanted)
    except TimeoutError:
        late = UpstreamTimeout(f"did not answer within {ASKING:g} seconds", sent=True)
        return dict.fromkeys(wanted, late)


class Follows(Protocol):
    """A server whose resources can be followed."""

    def follow(self, uri: str, principal: Principal, told: Callable[[str], None]) -> Subscription:
        """Begin to follow one.

        Raises:
            UpstreamError: There is no such thing.
        """
        ...


class Following:
    """Somebody who follows a resource of a server, also when that is started anew.

    Args:
        item: The resource.
        principal: Whose connection tells of it where callers do not share one.
        told: Called with the URI of each update.
        on_close: Called at the end.
    """

    def __init__(
        self,
        item: ToolId,
        principal: Principal,
        told: Callable[[str], None],
        on_close: Callable[["Following"], None],
    ) -> None:
        self.item = item
        self._principal = principal
        self._told = told
        self._on_close = on_close
        self._subscription: Subscription | None = None

    def move(self, server: Follows | None) -> None:
        """Follow the resource of *server* from now on; of None nothing.

        Raises:
            UpstreamError: It cannot be followed there.
        """
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
        if server is not None:
            self._subscription = server.follow(own_name(self.item), self._principal, self._told)

    async def established(self) -> None:
        """Return once the server has been asked to tell of updates.

        Raises:
            UpstreamError: It refuses, or cannot be asked; it is asked again all the same.
        """
        if self._subscription is not None:
            await self._subscription.established()

    def close(self) -> None:
        """Follow no more."""
        self.move(None)
        self._on_close(self)
