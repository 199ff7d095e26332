"""Connections to one server, one for each caller (R27).

first call ──▶ opening ──▶ open ──▶ idle for long, or the room is needed ──▶ closed
                  └── failed: those who wait are told, the next call tries again; after too many
                      failures that caller is refused at once, but for a probe now and then
"""

import math
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from types import TracebackType

import anyio
import structlog
from anyio.abc import TaskGroup

from remit.errors import UpstreamError, UpstreamUnavailable
from remit.upstreams.attempts import Attempts
from remit.upstreams.connection import Connection
from remit.upstreams.session import Session, Signals
from remit.upstreams.surroundings import Pace

log = structlog.get_logger(__name__)

Key = Hashable
"""Which connection is meant; equal keys share one."""


MOST_PASTS = 1024
"""Callers whose failures are remembered; beyond it the oldest are forgotten."""

_CLOSED = "was closed"
_OURS = ("was idle", "made room", _CLOSED)


class _Past:
    """What failed of one caller's connections.

    Attributes:
        problem: What the last one failed for.
    """

    def __init__(self, attempts: Attempts) -> None:
        self.attempts = attempts
        self.problem = ""


class _Entry:
    """One caller's connection, from the moment it is asked for until it is closed."""

    def __init__(self) -> None:
        self.ready = anyio.Event()
        self.gone = anyio.Event()
        self.signals = Signals()
        self.connection: Connection | None = None
        self.problem = _CLOSED
        self.is_transient = True
        self.users = 0

    @property
    def is_closing(self) -> bool:
        """Whether nobody may use it any more."""
        return self.signals.ended is not None

    @property
    def idle_since(self) -> float | None:
        """When it was last used, or None while it is in use or not open yet."""
        busy = self.connection is None or self.users
        return None if self.connection is None or busy else self.connection.last_used


class _Turn:
    """A call on one caller's connection."""

    def __init__(self, turn: AbstractContextManager[Session], on_exit: Callable[[], None]) -> None:
        self._turn = turn
        self._on_exit = on_exit

    def __enter__(self) -> Session:
        return self._turn.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._turn.__exit__(kind, error, trace)
        self._on_exit()


class Pool:
    """Opens, reuses and closes the connections.

    Args:
        server: The server's name, for the log.
        connect: Opens the connection of a key, which reports to the signals it is given.
        tasks: Owns one task for each connection.
        most: Connections at once; the one that was idle longest makes room.
        pace: When an unused connection is closed, and how many failures of one are too many.
    """

    def __init__(
        self,
        server: str,
        connect: Callable[[Key, Signals], AbstractAsyncContextManager[Connection]],
        *,
        tasks: TaskGroup,
        most: int,
        pace: Pace,
    ) -> None:
        self._server = server
        self._connect = connect
        self._tasks = tasks
        self._most = most
        self._pace = pace
        self._pasts: dict[Key, _Past] = {}
        self._entries: dict[Key, _Entry] = {}
        self._stirred = anyio.Event()
        self._is_closed = False

    @property
    def quarantined(self) -> int:
        """How many callers are refused, since their connections failed too often."""
        return sum(past.attempts.is_open for past in self._pasts.values())

    def at_once(self, key: Key) -> AbstractContextManager[Session] | None:
        """Take a turn as `turn` does, if nobody has to wait for it."""
        entry = self._entries.get(key)
        if entry is None or entry.connection is None or entry.signals.ended is not None:
            return None
        turn = entry.connection.at_once()
        if turn is None:
            return None
        entry.users += 1
        return _Turn(turn, partial(self._leave, entry))

    async def turn(self, key: Key) -> AbstractContextManager[Session]:
        """Take a turn on the caller's connection, opening it when there is none.

        The context must be entered at once.

        Raises:
            UpstreamUnavailable: It cannot be opened; nothing was sent.
        """
        entry = await self._entry(key)
        is_taken = False
        try:
            if entry.connection is None:
                await entry.ready.wait()
            if entry.connection is None:
                raise UpstreamUnavailable(entry.problem, transient=entry.is_transient)
            turn = await entry.connection.turn()
            is_taken = True
        finally:
            if not is_taken:
                self._leave(entry)
        return _Turn(turn, partial(self._leave, entry))

    async def hold(self, key: Key) -> None:
        """Keep the connection of *key* open, until it is lost, without a turn on it.

        Raises:
            UpstreamUnavailable: It cannot be opened.
        """
        entry = await self._entry(key)
        try:
            await entry.ready.wait()
            if entry.connection is None:
                raise UpstreamUnavailable(entry.problem, transient=entry.is_transient)
            await entry.gone.wait()
        finally:
            self._leave(entry)

    def find(self, key: Key) -> Connection | None:
        """Return a caller's connection if it is open."""
        entry = self._entries.get(key)
        return entry.connection if entry is not None else None

    def close(self) -> None:
        """Close every connection, one that is being opened as soon as it is; open no more."""
        self._is_closed = True
        for entry in self._entries.values():
            entry.signals.end(_CLOSED)

    async def _entry(self, key: Key) -> _Entry:
        """Return the caller's entry, which is then waited for and so cannot be closed.

        Raises:
            UpstreamUnavailable: It failed too often, or none is opened any more.
        """
        while True:
            if self._is_closed:
                raise UpstreamUnavailable(_CLOSED, transient=True)
            entry = self._entries.get(key)
            if entry is not None and not entry.is_closing:
                entry.users += 1
                return entry
            if entry is None:
                self._refuse_if_quarantined(key)
            if entry is None and len(self._entries) < self._most:
                entry = self._entries[key] = _Entry()
                entry.users += 1
                self._tasks.start_soon(self._own, key, entry)
                return entry
            if entry is None:
                self._make_room()
            stirred = self._stirred
            await stirred.wait()

    def _refuse_if_quarantined(self, key: Key) -> None:
        past = self._pasts.get(key)
        if past is None or not past.attempts.is_open or anyio.current_time() >= past.attempts.due:
            return
        raise UpstreamUnavailable(past.attempts.told(past.problem))

    def _take_note(self, key: Key, entry: _Entry, lasted: float) -> None:
        """Count a connection that failed, or died young; forget failures before one that lasted."""
        if lasted > self._pace.steady:
            self._pasts.pop(key, None)
        problem = entry.signals.ended or entry.problem
        if problem in _OURS:
            return
        past = self._pasts.setdefault(key, _Past(Attempts(self._pace)))
        was_open, past.problem = past.attempts.is_open, problem
        past.attempts.failed(anyio.current_time())
        if past.attempts.is_open and not was_open:
            log.warning("connection of a caller quarantined", server=self._server)
        if len(self._pasts) > MOST_PASTS:
            del self._pasts[next(iter(self._pasts))]

    def _leave(self, entry: _Entry) -> None:
        entry.users -= 1
        self._stir()

    def _make_room(self) -> None:
        idle = [
            (entry.idle_since, entry)
            for entry in self._entries.values()
            if entry.idle_since is not None
        ]
        if idle and not any(entry.is_closing for entry in self._entries.values()):
            _, longest = min(idle, key=lambda pair: pair[0])
            longest.signals.end("made room")

    async def _own(self, key: Key, entry: _Entry) -> None:
        """Own one connection from its opening to its end."""
        opened = math.inf
        try:
            async with self._connect(key, entry.signals) as connection:
                opened = anyio.current_time()
                entry.connection = connection
                entry.ready.set()
                await self._wait_for_end(entry)
        except UpstreamError as error:
            entry.problem, entry.is_transient = str(error), error.transient
        except Exception:
            # The supervisor of an upstream connection: its fault must not end the others'.
            log.exception("connection failed", server=self._server)
            entry.problem = "failed in an unforeseen way; the log tells more"
            entry.is_transient = False
        finally:
            entry.connection = None
            self._take_note(key, entry, anyio.current_time() - opened)
            entry.gone.set()
            self._entries.pop(key, None)
            entry.ready.set()
            self._stir()

    async def _wait_for_end(self, entry: _Entry) -> None:
        while not entry.is_closing:
            since = entry.idle_since
            left = (
                self._pace.idle if since is None else since + self._pace.idle - anyio.current_time()
            )
            if left <= 0:
                entry.signals.end("was idle")
            await entry.signals.wait_end(left)

    def _stir(self) -> None:
        self._stirred.set()
        self._stirred = anyio.Event()
