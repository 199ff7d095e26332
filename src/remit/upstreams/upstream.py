"""One server behind us: connected, listed, watched, and connected again when it is lost.

    starting ──────▶ ready ◀─────▶ degraded    its list could not be read again; or it was lost,
        │              ▲  ▲           │        and its tools stay while one attempt is made
        ▼              │  └───────┐   │
    backing off ◀──────┼──────────┼───┘        the tools are gone; each pause is longer, to a bound
        │              │          │
        └──▶ quarantined ─────────┘            too many failures within a window: only a probe now
                                               and then, until one succeeds
    stopped ◀── from anywhere                  by the declaration, or since a variable is missing,
                                               or since nobody has claimed its package (R30)

`restart` and a changed declaration begin anew at starting. What is no longer declared is retired:
calls under way end, and then every connection is closed.
"""

import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from dataclasses import replace
from typing import Final, Never

import anyio
import structlog

from remit.errors import UpstreamError, UpstreamProtocolError, UpstreamTimeout, UpstreamUnavailable
from remit.model.contents import Contents
from remit.model.conversation import Extras
from remit.model.principals import Principal
from remit.model.servers import ServerConfig, ServerState, ServerStatus, ServerTrial, Transport
from remit.model.tools import ToolId
from remit.upstreams.attempts import Attempts
from remit.upstreams.connection import Connection
from remit.upstreams.contents import read_contents
from remit.upstreams.environment import MissingVariable
from remit.upstreams.listing import read_tools
from remit.upstreams.offer import Offer, build_offer
from remit.upstreams.opener import Opener
from remit.upstreams.session import Confirm, Session, Signals
from remit.upstreams.surroundings import Surroundings
from remit.upstreams.transcript import Transcript
from remit.upstreams.trial import try_out
from remit.upstreams.updates import NO_LONGER, Subscription
from remit.upstreams.ways import Way, Ways

log = structlog.get_logger(__name__)

_WORTH_WAITING: Final = (ServerState.STARTING, ServerState.READY, ServerState.DEGRADED)
"""Where a call may wait for a connection: an attempt is made at once, and its end is told."""

PARTING: Final = 30.0
"""Seconds that calls under way have to end when their server is retired."""


class Upstream:
    """A server of the declaration, supervised by the task that runs `run`.

    Args:
        config: Its entry.
        around: What it shares with the others.
        on_change: Called when what is on offer has changed.
        before: What it offered, reached in another way: that stays on offer, and calls wait,
            until the first attempt has ended.

    Attributes:
        settled: Set after the first attempt to connect, however it ended.
        offer: The tools it offers now; None while it is not up.
    """

    def __init__(
        self,
        config: ServerConfig,
        around: Surroundings,
        *,
        on_change: Callable[[], None],
        before: Offer | None = None,
    ) -> None:
        self._config = config
        self._around = around
        self._on_change = on_change
        self._state = ServerState.STARTING
        self._reason = ""
        self._moved = anyio.Event()
        self._connection: Connection | None = None
        self._signals: Signals | None = None
        self._ready_since = math.inf
        self._opener = Opener(config, around)
        self._relist_note = ""
        self._built: tuple[object, Offer] | None = None  # of what, and what came of it
        self._attempts = Attempts(around.pace)
        self._next_attempt: float | None = None
        self._ways = Ways(config, self, self._open_way, tasks=around.tasks, pace=around.pace)
        self._life = anyio.CancelScope()
        self._calls = 0
        self._idle = anyio.Event()
        self._is_retired = False
        self._before = before
        self.settled = anyio.Event()
        self.offer: Offer | None = None

    @property
    def name(self) -> str:
        """What the declaration calls it."""
        return self._config.name

    @property
    def shown(self) -> Offer | None:
        """What callers are shown of it: also while they would have to wait."""
        return self.offer or self._before

    def status(self) -> ServerStatus:
        """Return where the server stands, for people."""
        opener, transcript = self._opener, self._opener.transcript or Transcript()
        offer = self.shown or Offer()
        notes = (*offer.notes, *transcript.notes)
        state, reason = self._state, self._reason
        if state is ServerState.READY and (amiss := self._amiss()):
            state, reason = ServerState.DEGRADED, transcript.redacted(amiss)
        until = self._next_attempt
        return ServerStatus(
            name=self._config.name,
            transport=self._config.transport,
            state=state,
            reason=reason,
            tools=len(offer.tools),
            protocol=opener.era.version if opener.era is not None else "",
            stderr_tail=transcript.tail,
            notes=tuple(transcript.redacted(note) for note in notes),
            failures=self._attempts.failures,
            retry_in=None if until is None else max(0.0, until - anyio.current_time()),
            connections=len(opener.opened),
            processes=tuple(s.process for s in opener.opened if s.process is not None),
            in_flight=self._calls,
        )

    def _amiss(self) -> str:
        """Return what is wrong with a server that is connected, or nothing."""
        count = self._ways.quarantined
        return self._relist_note or (
            f"the connections of {count} of its callers failed too often" if count else ""
        )

    def take(self, config: ServerConfig) -> None:
        """Take the entry as it is declared by now, which is reached as before."""
        self._config = self._opener.config = config

    async def try_out(self) -> ServerTrial:
        """Connect beside what is connected, list the tools, and leave again.

        A server that is disabled is tried, too; one that may not be started (R30) is not.
        """
        trial = await try_out(self._config, self._around, self._opener.open, self._read_offer)
        shown = self._opener.redacted
        return replace(
            trial, reason=shown(trial.reason), notes=tuple(shown(note) for note in trial.notes)
        )

    async def run(self) -> None:
        """Keep the server connected until retired, or until it is clear that it cannot be."""
        with self._life:
            await self._run()

    async def retire(self, parting: float = PARTING) -> None:
        """Take no more calls, let those under way end, and close every connection.

        Args:
            parting: Seconds after which calls still under way fail.
        """
        self._is_retired = True
        if self._calls:
            with anyio.move_on_after(parting):
                await self._idle.wait()
        self._life.cancel()
        self._ways.close()
        self._before = None
        self._move(ServerState.STOPPED, NO_LONGER)
        log.info("server retired", server=self._config.name)

    async def _run(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._move(*refusal)
            self._publish(None)
            return
        while True:
            try:
                await self._live()
            except MissingVariable as error:
                self._move(ServerState.STOPPED, str(error))
                self._publish(None)
                return
            except UpstreamError as error:
                pause = self._lost(str(error))
            except Exception as error:
                # The supervisor of an upstream connection: its fault must not end the others'.
                log.exception("server failed", server=self._config.name)
                pause = self._lost(f"failed in an unforeseen way: {type(error).__name__}")
            self._next_attempt = anyio.current_time() + pause
            await anyio.sleep(pause)
            self._next_attempt = None

    async def invoke(
        self,
        tool: ToolId,
        *,
        arguments: bytes,
        meta: bytes,
        principal: Principal,
        timeout: float,  # noqa: ASYNC109 - what the port asks for
        method: str = "tools/call",
        extras: Extras | None = None,
        confirm: Confirm | None = None,
    ) -> bytes:
        """Run a tool, or ask *method* about another item, and return the raw `result`.

        Raises:
            UpstreamError: There is none; the text names the server.
        """
        self._calls += 1
        try:
            if self._is_retired:
                raise UpstreamUnavailable(NO_LONGER)
            offer = self.offer
            if offer is None:
                offer, timeout = await self._first_offer(timeout)
                if confirm is not None:
                    await confirm()
            call = offer.call(tool, method, arguments, meta)
            if extras is None:
                return await self._ways.call(call, principal, timeout, confirm)
            call = call.along_with(extras)
            if extras.conversation is None:
                return await self._ways.call(call, principal, timeout, confirm)
            return await self._ways.converse(call, principal, extras.conversation, timeout, confirm)
        except UpstreamError as error:
            if isinstance(error, UpstreamUnavailable):
                self._look_again()  # is it still there?
            problem = self._opener.redacted(str(error))
            error.args = (f"server {self._config.name!r} {problem}",)
            raise
        finally:
            self._calls -= 1
            if self._is_retired and not self._calls:
                self._idle.set()

    async def _first_offer(self, seconds: float) -> tuple[Offer, float]:
        """Wait for the end of the attempt that was begun since the server is reached anew.

        Returns:
            What it offers, and how many of the *seconds* are left.

        Raises:
            UpstreamUnavailable: It has failed, or there is none to wait for.
            UpstreamTimeout: It took too long.
        """
        since = anyio.current_time()
        with anyio.move_on_after(seconds if self._before is not None else 0):
            await self.settled.wait()
        if self.offer is not None:
            return self.offer, seconds - (anyio.current_time() - since)
        if self._before is None:
            raise self._absent("offers nothing now")
        late = f"was not connected to anew within {seconds:g} seconds, the call was not sent"
        raise UpstreamTimeout(late, sent=False)

    def follow(self, uri: str, principal: Principal, told: Callable[[str], None]) -> Subscription:
        """Begin to follow a resource; *told* is called with the URI of each update.

        Raises:
            UpstreamError: The server tells of no updates, or is away for longer.
        """
        if self.offer is not None and not self.offer.contents.subscribable:
            raise UpstreamUnavailable(f"server {self._config.name!r} tells of no updates")
        if self._state not in _WORTH_WAITING:
            raise self._absent(NO_LONGER)
        return self._ways.follow(uri, principal, told)

    async def turn(self) -> AbstractContextManager[Session]:
        """Take a turn on the connection that callers share.

        Raises:
            UpstreamUnavailable: There is none, and none will come soon.
        """
        while (connection := self.connected()) is None:
            if self._state not in _WORTH_WAITING:
                raise self._absent(NO_LONGER)
            await self._moved.wait()
        return await connection.turn()

    def _absent(self, otherwise: str) -> UpstreamUnavailable:
        transient = self._state is ServerState.BACKING_OFF
        return UpstreamUnavailable(self._reason or otherwise, transient=transient)

    def connected(self) -> Connection | None:
        """Return the shared connection, unless it is lost and its owner has yet to notice."""
        signals = self._signals
        return self._connection if signals is not None and signals.ended is None else None

    def _refusal(self) -> tuple[ServerState, str] | None:
        if not self._config.enabled:
            return ServerState.STOPPED, "disabled in the declaration"
        if not self._config.allow_unclaimed:
            reason = self._around.unclaimed(self._config)
            if reason is not None:
                return ServerState.STOPPED, reason
        return None

    async def _live(self) -> Never:
        """Connect, and stay so until the connection is lost.

        Raises:
            UpstreamError: Why it was lost, or never came to be.
            MissingVariable: It cannot even be tried.
        """
        signals = Signals()
        offer = Offer()

        async def read(session: Session) -> None:
            nonlocal offer
            offer = await self._read_offer(session)

        async with AsyncExitStack() as slot:
            await slot.enter_async_context(self._around.slots)
            try:
                async with self._opener.open(signals, read) as connection:
                    await slot.aclose()
                    async with self._ways.updates.accompanied((), connection.session, signals):
                        self._ready(connection, signals, offer)
                        try:
                            await self._watch(connection, signals)
                        finally:
                            self._connection = self._signals = None  # closing takes a while
            finally:
                self._opener.take_note_of(signals)
        raise UpstreamUnavailable(signals.ended or "was lost")

    async def _watch(self, connection: Connection, signals: Signals) -> None:
        """Keep the list of tools current until the connection ends.

        Raises:
            UpstreamUnavailable: The list could not be read any more, twice.
        """
        pace = self._around.pace
        interval = pace.relist if self._config.transport is Transport.HTTP else math.inf
        failures = 0
        while signals.ended is None:
            await signals.wait(pace.second_look if failures else interval)
            if signals.ended is not None:
                return
            signals.take_changed()
            try:
                await self._relist(connection.session)
                failures = 0
            except UpstreamUnavailable:
                failures += 1
                if failures > 1:
                    raise
            await signals.wait_end(pace.relist_pause)

    async def _relist(self, session: Session) -> None:
        self._relist_note = ""
        try:
            with anyio.fail_after(self._config.start_timeout):
                offer = await self._read_offer(session)
        except TimeoutError:
            # A busy server is not a dead one.
            self._relist_note = "its tools could not be read again: it did not answer in time"
        except UpstreamProtocolError as error:
            self._relist_note = f"its tools could not be read again: it {error}"
        else:
            self._publish(offer)

    async def _read_offer(self, session: Session) -> Offer:
        listed, notes = await read_tools(session)
        has_headers = self._config.transport is Transport.HTTP and session.era.is_modern
        # A list is read every minute, mostly for nothing, and takes 0.1 ms a tool to look through.
        found = (listed, notes, has_headers)
        if self._built is None or self._built[0] != found:
            made = build_offer(self._config, listed, notes=notes, has_headers=has_headers)
            self._built = found, made
        offer = self._built[1]
        before = self.offer.contents if self.offer is not None else Contents()
        patience = self._config.start_timeout / 2
        contents, more = await read_contents(self._config.name, session, before, patience)
        return replace(offer, contents=contents, notes=(*offer.notes, *more))

    def _look_again(self) -> None:
        if self._signals is not None:
            self._signals.tools_changed()

    def _open_way(self, way: Way, signals: Signals) -> AbstractAsyncContextManager[Connection]:
        signals.elsewhere = self._look_again  # what it keeps outside the process may have changed
        return self._opener.open(signals, _nothing_first, way)

    def _ready(self, connection: Connection, signals: Signals, offer: Offer) -> None:
        self._connection = connection
        self._signals = signals
        self._opener.era = connection.session.era
        self._ways.speaks(connection.session.era)
        self._ready_since = anyio.current_time()
        log.info("server ready", server=self._config.name, tools=len(offer.tools))
        self._publish(offer)
        self._move(ServerState.READY, "")

    def _lost(self, problem: str) -> float:
        """Take note that there is no connection, and return the seconds until the next attempt.

        The tools go when a second attempt failed as well.
        """
        now, since = anyio.current_time(), self._ready_since
        self._ready_since, self._relist_note = math.inf, ""
        if now - since > self._around.pace.steady:
            self._attempts.lasted()
        pause = self._attempts.failed(now)
        reason = self._attempts.told(self._opener.redacted(problem))
        if self._attempts.is_open:
            state, said = ServerState.QUARANTINED, "server quarantined"
        elif math.isfinite(since):
            state, said = ServerState.DEGRADED, "server lost"
        else:
            state, said = ServerState.BACKING_OFF, "server failed"
        # Of what goes on failing it is said once, until it fails for another reason; of what is
        # in quarantine not even that, since nobody is waiting for it.
        is_news = state is not self._state or reason != self._reason
        if is_news and not self._state is state is ServerState.QUARANTINED:
            log.warning(said, server=self._config.name, reason=reason)
        self._move(state, reason)
        if state is not ServerState.DEGRADED:
            self._opener.era = None
            self._publish(None)
        return pause

    def _move(self, state: ServerState, reason: str) -> None:
        self._state, self._reason = state, reason
        if state is not ServerState.STARTING:
            self.settled.set()
        self._moved.set()
        self._moved = anyio.Event()

    def _publish(self, offer: Offer | None) -> None:
        before, self.offer, self._before = self.shown, offer, None
        self._log_notes(before or Offer(), offer or Offer())
        if _on_offer(before) != _on_offer(offer):
            self._on_change()

    def _log_notes(self, before: Offer, after: Offer) -> None:
        """Log what is new in what was left out of the list, or looked odd about it."""
        for note in after.notes:
            if note not in before.notes:
                shown = self._opener.redacted(note)
                log.warning("list of tools", server=self._config.name, note=shown)


async def _nothing_first(session: Session) -> None:
    del session


def _on_offer(offer: Offer | None) -> object:
    return offer and (offer.tools, offer.contents)
