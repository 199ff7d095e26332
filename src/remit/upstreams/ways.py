"""Which of several connections to one server a call takes: one that is like its caller.

modern caller ──▶ the server's newest era
older caller  ──▶ the older era, opened with what the caller can be asked, if the server speaks it
                  and can ask there what the caller can be asked; else the newest, bridged
                  (`bridge.py`)
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Final, Protocol

import anyio
import msgspec
from anyio.abc import TaskGroup

from remit.errors import (
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from remit.model.conversation import Abilities, Conversation
from remit.model.principals import Principal
from remit.model.servers import ServerConfig, Transport
from remit.upstreams.bridge import call_in_rounds
from remit.upstreams.connection import Connection
from remit.upstreams.deadline import Deadline, PausableDeadline, TimeLimits
from remit.upstreams.dialogue import Dialogue
from remit.upstreams.era import Era
from remit.upstreams.pool import Key, Pool
from remit.upstreams.result_types import carried
from remit.upstreams.session import Confirm, Session, Signals, ToolCall
from remit.upstreams.surroundings import Pace
from remit.upstreams.updates import Owner, Subscription, Updates


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """What distinguishes one connection to a server from another; calls with equal ones share it.

    Attributes:
        owner: Tenant, subject and issuer, if it has one, where callers do not share connections
            (R27), else nothing.
        is_legacy: Whether it begins with a handshake although the server is modern, too.
        abilities: What the handshake says that we can be asked.
    """

    owner: tuple[str, ...] = ()
    is_legacy: bool = False
    abilities: Abilities = Abilities.NONE


MOST_OWN: Final = 10_000
"""Callers who may each follow something of a server in this process, which costs no child."""

PLAIN: Final = Way()
"""The way of the connection that lists what the server offers."""


class Shared(Protocol):
    """The connection that a server's supervisor keeps, and that lists what it offers."""

    async def turn(self) -> AbstractContextManager[Session]:
        """Take a turn on it.

        Raises:
            UpstreamUnavailable: There is none.
        """
        ...

    def connected(self) -> Connection | None:
        """Return it while it is open."""
        ...


class Ways:
    """The connections to one server that its calls take, opened as they are wanted.

    Attributes:
        updates: What is followed on them.

    Args:
        config: The server's entry.
        shared: What most calls take where callers share a connection.
        connect: Opens one more connection.
        tasks: Owns the connections.
        pace: When an unused one is closed, and how many failures of one are too many.
    """

    def __init__(
        self,
        config: ServerConfig,
        shared: Shared,
        connect: Callable[[Way, Signals], AbstractAsyncContextManager[Connection]],
        *,
        tasks: TaskGroup,
        pace: Pace,
    ) -> None:
        self.updates = Updates(config.name, self._hold, tasks)
        self._config = config
        self._is_shared = config.is_shared
        self._is_ours = config.transport is Transport.BUILTIN
        self._shared = shared
        self._connect = connect
        self._time_limits = TimeLimits()
        self._era: Era | None = None
        self._refuses_handshake = False
        self._asks_nothing = False
        self._pool = Pool(
            config.name,
            self._open,
            tasks=tasks,
            # The connection that lists the tools is one of the server's children.
            most=MOST_OWN if self._is_ours else max(1, config.max_children - 1),
            pace=pace,
        )

    @property
    def quarantined(self) -> int:
        """How many connections of callers failed too often."""
        return self._pool.quarantined

    def speaks(self, era: Era) -> None:
        """Take note of what the server speaks, now that it is connected to anew."""
        self._era = era
        self._refuses_handshake = self._is_ours
        self._asks_nothing = False

    def close(self) -> None:
        """Close every connection, and follow nothing more."""
        self.updates.close()
        self._pool.close()

    def follow(self, uri: str, principal: Principal, told: Callable[[str], None]) -> Subscription:
        """Begin to follow a resource on the connections that the caller uses.

        Raises:
            UpstreamUnavailable: They are closed for good.
        """
        # what is ours differs by who reads it, so that its updates do as well
        owner = _identity(principal) if self._is_ours else self._owner(principal)
        return self.updates.follow(owner, uri, told)

    def _owner(self, principal: Principal) -> Owner:
        return () if self._is_shared else _identity(principal)

    async def _hold(self, owner: Owner) -> None:
        """Keep a connection of *owner* open, until it is lost.

        Raises:
            UpstreamUnavailable: It cannot be opened.
        """
        if owner:
            await self._pool.hold(Way(owner=owner))
        else:
            await anyio.sleep_forever()  # the shared one is open anyway

    async def call(
        self,
        call: ToolCall,
        principal: Principal,
        seconds: float,
        confirm: Confirm | None = None,
    ) -> bytes:
        """Run a tool for a caller that wants to hear of nothing but the result.

        A call that had to wait is confirmed just before it is sent: what that raises ends it.

        Raises:
            UpstreamError: There is none.
        """
        way = PLAIN if self._is_shared else Way(owner=self._owner(principal))
        if self._is_ours:
            call = msgspec.structs.replace(call, principal=principal)
        sent = False
        try:
            with (
                Deadline(self._time_limits, seconds),
                (free := self._at_once(way)) or await self._turn(way) as session,
            ):
                if free is None and confirm is not None:
                    await confirm()
                sent = True
                return carried(await session.call(call))
        except TimeoutError:
            raise UpstreamTimeout(self._why_late(way, seconds, sent=sent), sent=sent) from None

    async def converse(
        self,
        call: ToolCall,
        principal: Principal,
        conversation: Conversation,
        seconds: float,
        confirm: Confirm | None = None,
    ) -> bytes:
        """Run a tool, and meanwhile bring what the server says to the caller.

        A call that had to wait is confirmed as `call` does it, and before every later round.

        Raises:
            UpstreamError: There is no result.
        """
        way = self._way_of(principal, conversation)
        sent = False
        try:
            with (
                PausableDeadline(self._time_limits, seconds) as deadline,
                (free := self._at_once(way))
                or await self._mirroring_turn(way, principal, conversation) as session,
            ):
                if free is None and confirm is not None:
                    await confirm()
                sent = True
                dialogue = Dialogue(conversation, deadline)
                whose = principal if self._is_ours else None
                call = msgspec.structs.replace(call, dialogue=dialogue, principal=whose)
                if session.era.is_modern and not conversation.is_modern:
                    return await call_in_rounds(session, call, dialogue, confirm)
                return carried(await session.call(call))
        except TimeoutError:
            raise UpstreamTimeout(self._why_late(way, seconds, sent=sent), sent=sent) from None

    def _way_of(self, principal: Principal, conversation: Conversation) -> Way:
        owner = self._owner(principal)
        if conversation.is_modern or self._era is None:
            return Way(owner=owner)
        if not self._era.is_modern:
            abilities = Abilities.NONE if self._asks_nothing else conversation.abilities
            return Way(owner=owner, abilities=abilities)
        if self._refuses_handshake or (self._asks_nothing and conversation.abilities):
            return Way(owner=owner)  # which is bridged
        return Way(owner=owner, is_legacy=True, abilities=conversation.abilities)

    async def _mirroring_turn(
        self, way: Way, principal: Principal, conversation: Conversation
    ) -> AbstractContextManager[Session]:
        """Take a turn on a connection of the caller's era, if the server speaks it."""
        try:
            return await self._turn(way)
        except UpstreamUnavailable:
            other = self._way_of(principal, conversation)
            if other == way:
                raise
        return await self._turn(other)

    def _at_once(self, way: Way) -> AbstractContextManager[Session] | None:
        """Take a turn on the connection that the caller uses, if nobody has to wait for it."""
        if way != PLAIN:
            return self._pool.at_once(way)
        connection = self._shared.connected()
        return connection and connection.at_once()

    async def _turn(self, way: Way) -> AbstractContextManager[Session]:
        """Take a turn on the connection that the caller uses (R27)."""
        return await (self._shared.turn() if way == PLAIN else self._pool.turn(way))

    @asynccontextmanager
    async def _open(self, key: Key, signals: Signals) -> AsyncGenerator[Connection]:
        way = key if isinstance(key, Way) else PLAIN
        is_open = False
        try:
            async with (
                self._connect(way, signals) as connection,
                self.updates.accompanied(way.owner, connection.session, signals),
            ):
                is_open = True
                if way.is_legacy and way.abilities and not connection.session.era.may_ask:
                    self._asks_nothing = True  # until it is connected to anew
                    raise UpstreamUnavailable("keeps no session in which it could ask something")
                yield connection
        except UpstreamError as error:
            if not is_open and way.is_legacy:
                self._refuses_handshake = True  # until it is connected to anew
            elif not is_open and way.abilities and isinstance(error, UpstreamProtocolError):
                self._asks_nothing = True  # such as one with a single session for all
            raise

    def _why_late(self, way: Way, seconds: float, *, sent: bool) -> str:
        connection = self._shared.connected() if way == PLAIN else self._pool.find(way)
        late = f"did not answer within {seconds:g} seconds"
        if not sent:
            why = "no connection is open yet" if connection is None else "upstream busy"
            return f"{late}: {why}, the call was not sent"
        others = connection.in_flight if connection is not None else 0
        return f"{late}: upstream busy with {others} more" if others else late


def _identity(principal: Principal) -> Owner:
    """Return what tells a caller from all others: two issuers may know two people by one name."""
    who = (principal.tenant, principal.subject)
    return (*who, principal.issuer) if principal.issuer else who
