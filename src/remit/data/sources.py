"""The datasources that are open in this process: one engine for each, as it is declared now.

    asked for ──▶ open here, as it is now? ──yes──▶ its engine
                        │ no
                        ▼
                  URLs unsealed, engine made; an older one is let go of once what may run on it
                  has ended

Each waits for nobody but those who want the same datasource.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Final, Protocol

import anyio
import structlog
from anyio import to_thread

from remit.data.engines.engine import Engine
from remit.data.places import Premises
from remit.data.sealing import UrlSeal
from remit.errors import DataFailure
from remit.model.data import MOST_SECONDS, DataCode, Datasource, EngineKind

log = structlog.get_logger(__name__)

IDLE: Final = 300.0
"""Seconds that a datasource stays open after somebody last asked for it."""

LINGER: Final = MOST_SECONDS + 5.0
"""Seconds after which nothing can run any more on what nobody asks for."""

_BETWEEN_LOOKS: Final = 15.0


class OpenEngine(Protocol):
    """Makes an engine, which connects when it is first used."""

    def __call__(self, datasource: Datasource, *, reader: str, writer: str) -> Engine:
        """Return the engine of a datasource; empty texts stand for its location, and for none.

        Raises:
            ImportError: What it needs is not installed.
        """
        ...


_NEEDS: Final[Mapping[EngineKind, tuple[str, str]]] = {
    EngineKind.SQLITE: ("sqlite3", "a Python with SQLite"),
    EngineKind.POSTGRESQL: ("psycopg", "remit[data,postgres]"),
    EngineKind.DUCKDB: ("duckdb", "remit[data,duckdb]"),
}
"""The library of an engine, and what has to be installed for it."""


@dataclass(slots=True)
class _Slot:
    """One datasource.

    Attributes:
        engine: As of `version`; None while there is none.
        asked: When somebody last did.
        opening: Held by whoever opens it.
    """

    version: int = 0
    engine: Engine | None = None
    asked: float = 0.0
    opening: anyio.Lock = field(default_factory=anyio.Lock)


class OpenSources:
    """Opens datasources, keeps them open, and lets go of those that changed or are idle.

    Args:
        seal: Opens their URLs.
        premises: What no datasource may be.
        open_engine: Makes an engine.
        clock: Returns seconds that only grow.
    """

    def __init__(
        self,
        seal: UrlSeal,
        premises: Premises,
        open_engine: OpenEngine,
        *,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._seal = seal
        self._premises = premises
        self._open_engine = open_engine
        self._clock = clock
        self._slots: dict[tuple[str, str], _Slot] = {}
        self._leaving: list[tuple[float, Engine]] = []

    async def open(self, datasource: Datasource) -> Engine:
        """Return the engine of a datasource.

        Raises:
            DataFailure: `service_unavailable`, with what to do about it.
        """
        slot = self._slots.setdefault((datasource.tenant, datasource.id), _Slot())
        slot.asked = self._clock()
        if slot.engine is not None and slot.version == datasource.version:
            return slot.engine
        async with slot.opening:
            if slot.engine is None or slot.version < datasource.version:
                engine = await self.open_apart(datasource)
                if slot.engine is not None:
                    self._leaving.append((self._clock() + LINGER, slot.engine))
                slot.engine, slot.version = engine, datasource.version
            return slot.engine

    async def open_apart(self, datasource: Datasource) -> Engine:
        """Return an engine of the caller's own, which it closes.

        Raises:
            DataFailure: As `open` does.
        """
        self._premises.require_foreign(datasource, self._seal)
        reader = self._seal.url_of(datasource, "reader")
        writer = self._seal.url_of(datasource, "writer") if datasource.is_writable else ""
        library, needed = _NEEDS[datasource.engine]
        try:
            await to_thread.run_sync(import_module, library)  # some are slow at that
            return self._open_engine(datasource, reader=reader, writer=writer)
        except ImportError as error:
            raise DataFailure(
                DataCode.SERVICE_UNAVAILABLE,
                f"datasource {datasource.name!r} cannot be opened: {error.name} is not installed;"
                f" install {needed} where the gateway runs",
                details={"datasource": datasource.name},
            ) from error

    async def keep_tidy(self) -> None:
        """Let go of what is not needed, until cancelled."""
        while True:
            await anyio.sleep(_BETWEEN_LOOKS)
            await self.let_go()

    async def let_go(self) -> None:
        """Close what nobody has asked for in a while, and what was replaced a while ago."""
        now = self._clock()
        for place, slot in list(self._slots.items()):
            if now - slot.asked >= IDLE and not slot.opening.locked():
                del self._slots[place]
                if slot.engine is not None:
                    self._leaving.append((now, slot.engine))
        due = [engine for at, engine in self._leaving if at <= now]
        self._leaving = [(at, engine) for at, engine in self._leaving if at > now]
        for engine in due:
            await _close(engine)

    async def aclose(self) -> None:
        """Close everything."""
        slots, leaving = self._slots, self._leaving
        self._slots, self._leaving = {}, []
        for slot in slots.values():
            if slot.engine is not None:
                await _close(slot.engine)
        for _, engine in leaving:
            await _close(engine)


async def _close(engine: Engine) -> None:
    try:
        await engine.aclose()
    except DataFailure as failure:
        log.warning("datasource cannot be closed", error=str(failure))
