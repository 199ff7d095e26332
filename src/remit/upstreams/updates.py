"""Who is told of updates to the resources of one server: upstream subscriptions, shared.

Whoever follows something follows it on every connection that is open for its owner, since each may
be a process of its own; a connection that is opened later is asked, too, before it is used: what
comes first on it may be the call that updates something. The server is asked once for all that is
followed, again after every change, and for nothing when nobody follows anything.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Protocol

import anyio
import structlog
from anyio.abc import TaskGroup

from remit.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from remit.model.contents import own_name
from remit.model.principals import Principal
from remit.model.tools import ToolId
from remit.upstreams.session import Session, Signals

log = structlog.get_logger(__name__)

NO_LONGER: Final = "is no longer declared, or not in this way"
"""Why a server that was retired does nothing more."""

PAUSE: Final = 2.0
"""Seconds before a connection that lost its subscriptions, or cannot be opened, is tried again."""

ASKING: Final = 10.0
"""Seconds that a server has to take a subscription."""

BEFORE_USE: Final = 2.0
"""Seconds that it has for those with which a connection begins; then calls wait no longer."""

Owner = tuple[str, ...]
"""Tenant and subject of a caller with connections of its own; empty where callers share them."""


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


class Updates:
    """The subscriptions to one server.

    Args:
        server: Its name, for the log.
        hold: Keeps a connection of an owner open until it is lost, opening it if there is none.
        tasks: Owns one task for each owner and for each connection.
    """

    def __init__(
        self,
        server: str,
        hold: Callable[[Owner], Awaitable[None]],
        tasks: TaskGroup,
    ) -> None:
        self._server = server
        self._hold = hold
        self._tasks = tasks
        self._circles: dict[Owner, _Circle] = {}
        self._is_closed = False

    @property
    def owners(self) -> int:
        """How many owners follow something, or have a connection."""
        return len(self._circles)

    def follow(self, owner: Owner, uri: str, told: Callable[[str], None]) -> Subscription:
        """Begin to follow a resource; *told* is called with the URI of each update.

        Raises:
            UpstreamUnavailable: The server is no longer declared.
        """
        if self._is_closed:
            raise UpstreamUnavailable(NO_LONGER)
        circle = self._circle(owner)
        subscription = Subscription(uri, told, lambda ended: self._leave(circle, ended))
        circle.followers.setdefault(uri, []).append(subscription)
        if circle.holding is None:
            scope = circle.holding = anyio.CancelScope()
            self._tasks.start_soon(self._keep_open, circle, scope)
        circle.stir()
        return subscription

    @asynccontextmanager
    async def accompanied(
        self, owner: Owner, session: Session, signals: Signals
    ) -> AsyncGenerator[None]:
        """Follow on a connection what its owner follows, while entered.

        It is entered once the server has been asked, or has had the time for it.
        """
        circle = self._circle(owner)
        companion = _Companion(session, signals, circle.followers, circle.settle)
        circle.companions.add(companion)
        signals.follower = companion
        self._tasks.start_soon(self._run, companion)
        try:
            if circle.followers:
                with anyio.move_on_after(BEFORE_USE):
                    await companion.begun.wait()
            yield
        finally:
            signals.follower = None
            companion.scope.cancel()
            circle.companions.discard(companion)
            circle.settle()
            self._forget(circle)

    def close(self) -> None:
        """Follow nothing more."""
        self._is_closed = True
        for circle in list(self._circles.values()):
            circle.followers.clear()
            circle.stir()
            circle.release()
            self._forget(circle)

    def _circle(self, owner: Owner) -> "_Circle":
        """Return the one of *owner*, which is to be put to use at once."""
        return self._circles.setdefault(owner, _Circle(owner))

    def _forget(self, circle: "_Circle") -> None:
        """Let go of an owner with neither followers nor connections."""
        if not circle.followers and not circle.companions:
            self._circles.pop(circle.owner, None)

    def _leave(self, circle: "_Circle", ended: Subscription) -> None:
        following = circle.followers.get(ended.uri, [])
        if ended not in following:
            return
        following.remove(ended)
        if not following:
            del circle.followers[ended.uri]
            circle.stir()
        if not circle.followers:
            circle.release()
            self._forget(circle)

    async def _keep_open(self, circle: "_Circle", scope: anyio.CancelScope) -> None:
        """Keep one connection of an owner open, again when it was lost, until nobody follows."""
        with scope:
            while True:
                try:
                    await self._hold(circle.owner)
                except UpstreamError as error:
                    circle.refuse(error)
                await anyio.sleep(PAUSE)

    async def _run(self, companion: "_Companion") -> None:
        try:
            await companion.run()
        except Exception:
            # The supervisor of an upstream connection: its fault must not end the others'.
            log.exception("updates cannot be followed", server=self._server)
        finally:
            companion.begun.set()


class _Circle:
    """Who follows what for one owner, and on which connections.

    It is the owner's as long as there is a follower or a connection.

    Attributes:
        followers: By URI; none of the lists is empty.
        companions: One for each connection.
        holding: Ends what keeps a connection open; None while nobody follows anything.
    """

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.followers: dict[str, list[Subscription]] = {}
        self.companions: set[_Companion] = set()
        self.holding: anyio.CancelScope | None = None

    def release(self) -> None:
        """Keep no connection open any more."""
        scope, self.holding = self.holding, None
        if scope is not None:
            scope.cancel()

    def stir(self) -> None:
        """Let every connection be asked anew."""
        for companion in self.companions:
            companion.stirred.set()

    def refuse(self, error: UpstreamError) -> None:
        """Say that there is no connection to ask on."""
        for following in list(self.followers.values()):
            for subscription in list(following):
                subscription.settle(error)

    def settle(self) -> None:
        """Say what came of asking: one connection that tells of a resource is enough."""
        for uri, following in self.followers.items():
            answers = [each.refusal(uri) for each in self.companions if each.has_asked(uri)]
            if None in answers or (answers and len(answers) == len(self.companions)):
                for subscription in list(following):
                    subscription.settle(None if None in answers else answers[0])


class _Companion:
    """Keeps one connection asked for what its owner follows, and hears its updates.

    Attributes:
        begun: Set once the server has answered for what was followed first, or nobody asks it.

    Args:
        session: The connection.
        signals: Where its updates, and its end, are told.
        followers: Who follows what.
        on_answer: Called when the server has answered what it was asked.
    """

    def __init__(
        self,
        session: Session,
        signals: Signals,
        followers: Mapping[str, list[Subscription]],
        on_answer: Callable[[], None],
    ) -> None:
        self.scope = anyio.CancelScope()
        self.begun = anyio.Event()
        self.stirred = anyio.Event()
        self._session = session
        self._signals = signals
        self._followers = followers
        self._on_answer = on_answer
        self._asked = frozenset[str]()
        self._refused: Mapping[str, UpstreamError] = {}
        self._has_lapsed = False

    async def run(self) -> None:
        with self.scope:
            while self._signals.ended is None:
                if self._has_lapsed:
                    await anyio.sleep(PAUSE)
                    self._has_lapsed, self._asked = False, frozenset[str]()
                self.stirred = anyio.Event()
                wanted = frozenset(self._followers)
                if wanted != self._asked:
                    self._refused = await _ask(self._session, wanted)
                    self._asked = wanted
                    self.begun.set()
                else:
                    self._on_answer()
                    await self.stirred.wait()

    def has_asked(self, uri: str) -> bool:
        """Whether the server has answered for a resource."""
        return uri in self._asked

    def refusal(self, uri: str) -> UpstreamError | None:
        """Return why the server does not tell of a resource that it was asked for, if so."""
        return self._refused.get(uri)

    def updated(self, uri: str) -> None:
        """Tell whoever follows the resource, or what it is part of."""
        for followed, following in list(self._followers.items()):
            if uri == followed or uri.startswith(f"{followed.rstrip('/')}/"):
                for subscription in list(following):
                    subscription.told(uri)

    def ended(self) -> None:
        """Take note that nothing is subscribed to any more."""
        self._has_lapsed = True
        self.stirred.set()


async def _ask(session: Session, wanted: frozenset[str]) -> Mapping[str, UpstreamError]:
    """Return what cannot be followed, and why."""
    try:
        with anyio.fail_after(ASKING):
            return await session.watch(wanted)
    except TimeoutError:
        late = UpstreamTimeout(f"did not answer within {ASKING:g} seconds", sent=True)
        return dict.fromkeys(wanted, late)
    except UpstreamError as error:  # the connection is lost, which others notice
        return dict.fromkeys(wanted, error)


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
