"""Datasources in SQLite files.

Every statement has a connection of its own, in a worker thread, for as long as it runs: none leaves
anything behind for the next, and a file that changes is seen. A statement that reads gets one that
is opened to read only; SQLite's authorizer lets nothing through but reading what is allowed
(`sqlite_walls.py`), its limits bound what a value takes, and its progress handler ends what runs
too long or what nobody waits for any more.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote
from uuid import UUID

import anyio
import msgspec

from remit.data.engines.engine import Allowed, Engine, Prepared
from remit.data.engines.failures import not_reading, not_writable, said, unreachable
from remit.data.engines.places import Places
from remit.data.engines.sqlite_errors import failure_of
from remit.data.engines.sqlite_functions import bounded_functions
from remit.data.engines.sqlite_schema import Names, read_names, read_schema, read_types
from remit.data.engines.sqlite_walls import LARGEST, LIMITS, MOST_COLUMNS, Wall
from remit.data.engines.stopping import out_of_time, run_in_thread
from remit.data.engines.values import LARGEST_ROW, Answer
from remit.errors import DataFailure
from remit.model.data import Bound, Column, DataCode, Rows
from remit.model.ontology import SchemaTable

T = TypeVar("T")

STEPS: Final = 1000
"""Instructions of SQLite's machine between two looks at the clock."""

LOCKED: Final = 5.0
"""Seconds that a statement waits for another program's lock on the file."""

LOOK: Final = 30.0
"""Seconds that reading the schema may take."""


def open_sqlite(
    path: Path, *, allowed: Allowed, writable: bool = False, concurrency: int = 60
) -> Engine:
    """Return the engine of a file, which has to exist when it is first used.

    Args:
        path: Of the file.
        allowed: Which tables may be used; of a view that may be used, what it shows may be read.
        writable: Whether `write` does anything.
        concurrency: How many statements run at once, each in a thread of its own.
    """
    return _Sqlite(path, allowed, writable=writable, concurrency=concurrency)


class _Sqlite:
    def __init__(self, path: Path, allowed: Allowed, *, writable: bool, concurrency: int) -> None:
        self._path = path
        self._allowed = allowed
        self._writable = writable
        self._places = Places(concurrency)
        self._threads = anyio.CapacityLimiter(concurrency)
        self._running: set[_Run] = set()

    async def read(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        def work(run: _Run) -> Rows:
            with self._open(run) as (connection, names):
                nothing = _without_rows(prepared)
                run.bound_row(connection, nothing, self._wall(nothing.sql, names))
                return run.answer(connection, prepared, self._wall(prepared.sql, names), limit)

        return await self._run(work, seconds)

    async def write(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        if not self._writable:
            raise not_writable()

        def work(run: _Run) -> Rows:
            with self._open(run, "rw") as (connection, names):
                wall = self._wall(prepared.sql, names, changing=True, defining=True)
                return run.answer(connection, prepared, wall, limit)

        return await self._run(work, seconds)

    async def explain(self, prepared: Prepared, *, seconds: float) -> Sequence[str]:
        asked = Prepared(sql=f"EXPLAIN QUERY PLAN {prepared.sql}", values=prepared.values)

        def work(run: _Run) -> Sequence[str]:
            with self._open(run) as (connection, names):
                wall = self._wall(prepared.sql, names, changing=True)
                rows = run.answer(connection, asked, wall, 10_000).rows
            return _indented(rows)

        return await self._run(work, seconds)

    async def describe(self, prepared: Prepared, *, seconds: float) -> Sequence[Column]:
        # Compiled alone first: what is put in parentheses then has its own in order.
        alone = Prepared(sql=f"EXPLAIN {prepared.sql}", values=prepared.values)
        nothing = _without_rows(prepared)

        def work(run: _Run) -> Sequence[Column]:
            with self._open(run) as (connection, names):
                run.answer(connection, alone, self._wall(prepared.sql, names), 0)
                return run.answer(connection, nothing, self._wall(nothing.sql, names), 0).columns

        return await self._run(work, seconds)

    async def schema(self) -> Sequence[SchemaTable]:
        def work(run: _Run) -> Sequence[SchemaTable]:
            with self._open(run) as (connection, _):
                return read_schema(connection, self._allowed)

        return await self._run(work, LOOK)

    async def ping(self) -> None:
        def work(run: _Run) -> None:
            with self._open(run):
                pass

        await self._run(work, LOOK)

    async def warnings(self) -> Sequence[str]:
        return ()

    async def aclose(self) -> None:
        for run in self._running:
            run.stop()

    async def _run(self, work: "Callable[[_Run], T]", seconds: float) -> T:
        async with self._places.one():
            run = _Run(seconds)
            self._running.add(run)
            try:
                return await run_in_thread(
                    lambda: work(run), run.stop, seconds=seconds, limiter=self._threads
                )
            finally:
                self._running.discard(run)

    @contextmanager
    def _open(self, run: "_Run", mode: str = "ro") -> Generator[tuple[sqlite3.Connection, Names]]:
        """Open the file with a snapshot of it, and everything bounded but what a wall refuses."""
        if not self._path.is_file():
            raise unreachable("its file is not there")
        where = f"file:{quote(str(self._path.absolute()))}?mode={mode}"
        try:
            with (
                closing(
                    sqlite3.connect(where, uri=True, isolation_level=None, timeout=LOCKED)
                ) as connection,
                run.on(connection),
                bounded_functions(connection, LARGEST),
            ):
                connection.text_factory = _text
                for limit, value in LIMITS.items():
                    connection.setlimit(limit, value)
                connection.set_progress_handler(run.is_over, STEPS)
                if mode == "rw":
                    connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("BEGIN IMMEDIATE" if mode == "rw" else "BEGIN")
                yield connection, read_names(connection, with_keys=mode == "rw")
                connection.set_authorizer(None)
                connection.execute("COMMIT")
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise run.failure or failure_of(error) from error

    def _wall(
        self, sql: str, names: Names, *, changing: bool = False, defining: bool = False
    ) -> Wall:
        return Wall(
            sql,
            self._allowed,
            objects=names.objects,
            views=names.views,
            triggers=names.triggers,
            modules=names.modules,
            keys=names.keys,
            changing=changing,
            defining=defining,
        )


class _Run:
    """One statement while it runs."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def stop(self) -> None:
        """Have it end; from any thread."""
        self._stopped.set()
        with self._lock:
            if self._connection is not None:
                # what works on large values takes too long until it asks the next time
                self._connection.interrupt()

    @contextmanager
    def on(self, connection: sqlite3.Connection) -> Generator[None]:
        """Take note of the connection that is to be interrupted, until it is closed."""
        with self._lock:
            self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def is_over(self) -> bool:
        """Say whether it has to end, which is what SQLite asks while it works."""
        return self._stopped.is_set() or time.monotonic() > self._end

    @property
    def failure(self) -> DataFailure | None:
        """Why it had to end, or None."""
        if time.monotonic() > self._end:
            return out_of_time(self._seconds)
        if self._stopped.is_set():
            return DataFailure(DataCode.QUERY_ERROR, "stopped: nobody waits for it any more")
        return None

    def bound_row(self, connection: sqlite3.Connection, nothing: Prepared, wall: Wall) -> None:
        """Leave each value its share of a row, since SQLite bounds them one by one alone.

        Args:
            connection: That the statement will run on.
            nothing: The statement without its rows.
            wall: For that.
        """
        connection.set_authorizer(wall)
        columns = MOST_COLUMNS
        with suppress(sqlite3.Error):  # which the statement itself will meet, and tell of
            values = [_bound(each) for each in nothing.values]
            columns = len(connection.execute(nothing.sql, values).description or ()) or 1
        connection.set_authorizer(None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(LARGEST, LARGEST_ROW // columns))

    def answer(
        self, connection: sqlite3.Connection, prepared: Prepared, wall: Wall, limit: int
    ) -> Rows:
        """Run a statement behind its wall, to its end."""
        started = time.perf_counter()
        connection.set_authorizer(wall)
        try:
            cursor = connection.execute(prepared.sql, [_bound(each) for each in prepared.values])
            answer = Answer(limit)
            for row in cursor:
                if not answer.add(row) and cursor.description and not wall.changes:
                    break
        except sqlite3.Error as error:
            if wall.refused and self.failure is None:
                raise _refusal(wall) from error
            raise
        finally:
            connection.set_authorizer(None)
        return Rows(
            columns=_columns(connection, cursor.description, wall, answer),
            rows=answer.rows,
            truncated=answer.is_truncated,
            rows_affected=_changed(connection) if wall.changes else None,
            ms=(time.perf_counter() - started) * 1000,
        )


def _without_rows(prepared: Prepared) -> Prepared:
    return Prepared(
        sql=f"SELECT * FROM ({prepared.sql}\n) LIMIT 0",  # noqa: S608 - it runs by itself, too
        values=prepared.values,
    )


def _changed(connection: sqlite3.Connection) -> int:
    """Return how many rows the connection's one statement changed, triggers left out.

    A cursor counts them only where the text begins with INSERT, UPDATE or DELETE, not with WITH.
    """
    return int(connection.execute("SELECT changes()").fetchone()[0])


def _refusal(wall: Wall) -> DataFailure:
    kind, _, name = wall.refused.partition(" ")
    if kind == "table":  # in SQLite's own words, as of one that is not there
        return said(DataCode.UNDEFINED_TABLE, f"no such table: {name}")
    return not_reading(wall.refused)


def _columns(
    connection: sqlite3.Connection,
    description: Sequence[Sequence[str | None]] | None,
    wall: Wall,
    answer: Answer,
) -> tuple[Column, ...]:
    """Name the columns, with the type that is declared for one of that name, or of its value."""
    names = [str(each[0]) for each in description or ()]
    tables = list(dict.fromkeys(table for table, _ in wall.read))
    types = read_types(connection, tables)
    first = next(iter(answer.rows), [None] * len(names))
    return tuple(
        Column(name=name, type=types.get(name.lower()) or _type_of(value))
        for name, value in zip(names, first, strict=True)
    )


def _type_of(value: object) -> str:
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "real"
    return "text" if isinstance(value, str) else ""


def _bound(value: Bound) -> object:
    """Return a value that SQLite takes: it has no dates, decimals or lists of its own."""
    match value:
        case bool():
            return int(value)
        case Decimal():
            return (
                int(value)
                if value == value.to_integral_value() and abs(value) < 2**63
                else float(value)
            )
        case datetime():
            return _in_utc(value)
        case date():
            return value.isoformat()
        case UUID():
            return str(value)
        case list() | tuple():
            return _listed(value)
        case _:
            return value


def _in_utc(value: datetime) -> str:
    """Return a point in time as SQLite's own functions give it, such as `CURRENT_TIMESTAMP`."""
    try:
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
    except OverflowError:
        raise DataFailure(
            DataCode.INVALID_INPUT, "a time is beyond the calendar in UTC; give another one"
        ) from None


def _listed(values: Sequence[str | int]) -> str:
    """Return a list as JSON, in which SQLite would end a text at its first NUL."""
    if any(isinstance(each, str) and "\0" in each for each in values):
        raise DataFailure(
            DataCode.INVALID_INPUT,
            "a text of a list holds U+0000, at which SQLite would end it; leave that out",
        )
    return msgspec.json.encode(values).decode()


def _text(octets: bytes) -> str:
    return octets.decode(errors="replace")


def _indented(rows: Sequence[Sequence[object]]) -> Sequence[str]:
    """Put the steps of a plan below those that they belong to."""
    depths: dict[object, int] = {0: -1}
    lines: list[str] = []
    for step, parent, _, detail in rows:
        depths[step] = depths.get(parent, -1) + 1
        lines.append(f"{'  ' * depths[step]}{detail}")
    return lines
