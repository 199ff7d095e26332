"""Datasources in DuckDB: a database file, or a folder of CSV and Parquet files.

A database is opened when it is first used and closed soon after the last use, so that other
programs get at its file; each statement has a cursor of its own, in a worker thread. What a
statement may be is read off DuckDB's own tree of it (`duckdb_walls.py`); what it may reach is set
and locked when the database is opened (`duckdb_files.py`). A file that is written is opened by
nobody else meanwhile: DuckDB allows either one who writes or many who read.
"""

import threading
import time
from asyncio import TimerHandle, get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar, cast

import anyio
import duckdb
from duckdb import DuckDBPyConnection, StatementType
from duckdb.sqltypes import DuckDBPyType

from remit.data.engines.duckdb_bounds import bounded
from remit.data.engines.duckdb_errors import failure_of
from remit.data.engines.duckdb_files import (
    Signature,
    data_files,
    open_file,
    open_folder,
    read_tables,
    signature_of,
)
from remit.data.engines.duckdb_own import Own, look_for_builtin_first, prepare_change, read_own
from remit.data.engines.duckdb_schema import read_schema
from remit.data.engines.duckdb_values import Taken, loaded, loads_of, take, type_name
from remit.data.engines.duckdb_walls import (
    CHANGING,
    DEFINING,
    PLANNED,
    READING,
    require_kind,
    require_reading,
)
from remit.data.engines.engine import Allowed, Engine, Prepared
from remit.data.engines.failures import not_writable, unreachable
from remit.data.engines.places import LONGEST_WAIT, Places
from remit.data.engines.stopping import run_in_thread
from remit.data.engines.values import Answer, too_deep
from remit.errors import DataFailure
from remit.model.data import Column, DataCode, Rows
from remit.model.ontology import SchemaTable

T = TypeVar("T")

IDLE: Final = 5.0
"""Seconds that a database stays open which nobody uses."""

LOOK: Final = 30.0
"""Seconds that reading the schema may take."""

AGAIN: Final = 0.05
"""Seconds until a file is tried again that another program holds."""

HELD: Final = ("Could not set lock", "different configuration")
"""What DuckDB says of a file that is in use, by another program or by another datasource here."""


def open_duckdb(
    path: Path,
    *,
    allowed: Allowed,
    schemas: Sequence[str] = ("main",),
    writable: bool = False,
    concurrency: int = 60,
) -> Engine:
    """Return the engine of a database file or of a folder, which has to exist when it is used.

    Args:
        path: Of the file; or of the folder, in which each `.csv` or `.parquet` file is a table.
        allowed: Which tables may be used.
        schemas: That may be used; names without one are looked for in the first alone.
        writable: Whether `write` does anything; a folder never is.
        concurrency: How many statements run at once, each in a thread of its own.
    """
    return _DuckDb(path, allowed, schemas, writable=writable, concurrency=concurrency)


class _DuckDb:
    def __init__(
        self,
        path: Path,
        allowed: Allowed,
        schemas: Sequence[str],
        *,
        writable: bool,
        concurrency: int,
    ) -> None:
        self._path = path
        self._allowed = allowed
        self._usual, *self._others = schemas
        self._writable = writable
        self._places = Places(concurrency)
        self._threads = anyio.CapacityLimiter(concurrency)
        self._running: set[_Run] = set()
        self._open = _Open(path, allowed)
        self._turns = _Turns()

    async def read(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        def work(run: _Run) -> Rows:
            with self._cursor(run, prepared.sql) as cursor:
                columns, how = run.look(cursor, prepared)
                sql = bounded(prepared.sql, columns, how, limit)
                asked = Prepared(sql=sql, values=prepared.values)
                return replace(run.answer(cursor, asked, limit, how=how), columns=columns)

        return await self._reading(work, seconds)

    async def write(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        if not self._writable or self._path.is_dir():
            raise not_writable()

        def work(run: _Run) -> Rows:
            with closing(run.open(lambda: open_file(self._path, read_only=False))) as connection:
                run.use(connection)
                kind = require_kind(connection, prepared.sql, CHANGING)
                self._use_schema(connection)
                prepare_change(connection, prepared, kind, self._usual)
                connection.execute("BEGIN TRANSACTION")
                rows = run.answer(connection, prepared, limit, changes=kind)
                connection.execute("COMMIT")
                return rows

        async with self._places.one(), self._turns.alone():
            self._open.close()
            return await self._run(work, seconds)

    async def explain(self, prepared: Prepared, *, seconds: float) -> Sequence[str]:
        asked = replace(prepared, sql=f"EXPLAIN {prepared.sql}")

        def work(run: _Run) -> Rows | None:
            with self._cursor(run) as cursor:
                if require_kind(cursor, prepared.sql, PLANNED) not in READING:
                    return None
            with self._cursor(run, prepared.sql) as cursor:
                return run.answer(cursor, asked, 100)

        plans = await self._reading(work, seconds)
        if plans is None:  # DuckDB plans no change of what is open to read only
            plans = await self.write(asked, limit=100, seconds=seconds)
        return [line for row in plans.rows for line in str(row[-1]).splitlines()]

    async def describe(self, prepared: Prepared, *, seconds: float) -> Sequence[Column]:
        def work(run: _Run) -> Sequence[Column]:
            with self._cursor(run, prepared.sql) as cursor:
                return run.look(cursor, prepared)[0]

        return await self._reading(work, seconds)

    async def schema(self) -> Sequence[SchemaTable]:
        def work(run: _Run) -> Sequence[SchemaTable]:
            with self._cursor(run) as cursor:
                return read_schema(cursor, self._allowed)

        return await self._reading(work, LOOK)

    async def ping(self) -> None:
        def work(run: _Run) -> None:
            with self._cursor(run) as cursor:
                cursor.execute("SELECT 1")

        await self._reading(work, LOOK)

    async def warnings(self) -> Sequence[str]:
        return ()

    async def aclose(self) -> None:
        for run in self._running:
            run.stop()
        with suppress(DataFailure):  # what does not stop keeps its database, to its end
            async with self._turns.alone():
                self._open.close()

    async def _reading(self, work: "Callable[[_Run], T]", seconds: float) -> T:
        async with self._places.one(), self._turns.together():
            self._open.keep()
            try:
                return await self._run(work, seconds)
            finally:
                self._open.close_later()

    async def _run(self, work: "Callable[[_Run], T]", seconds: float) -> T:
        run = _Run()
        self._running.add(run)
        try:
            return await run_in_thread(
                lambda: work(run), run.stop, seconds=seconds, limiter=self._threads
            )
        except (duckdb.Error, OverflowError, ValueError) as error:
            raise run.failure or failure_of(error) from error
        except RecursionError:
            raise too_deep() from None
        finally:
            self._running.discard(run)

    @contextmanager
    def _cursor(self, run: "_Run", sql: str = "") -> Generator[DuckDBPyConnection]:
        """Give a cursor of the database, if a statement may be run on it."""
        root, tables, own = run.open(self._open.database)
        with closing(root.cursor()) as cursor:
            run.use(cursor)
            if sql:
                # whatever is named without a schema has to be in the first (`require_reading`)
                there = {schema for schema, _ in tables}
                others = [each for each in self._others if each.lower() in there]
                look_for_builtin_first(cursor, self._usual, *others)
                require_reading(
                    cursor, sql, self._allowed, usual=self._usual, tables=tables, own=own
                )
            yield cursor

    def _use_schema(self, cursor: DuckDBPyConnection) -> None:
        if self._usual != "main":
            quoted = self._usual.replace("'", "''")
            cursor.execute(f"SET schema = '{quoted}'")


class _Open:
    """The database while it is open for reading; `database` is called from many threads."""

    def __init__(self, path: Path, allowed: Allowed) -> None:
        self._path = path
        self._allowed = allowed
        self._lock = threading.Lock()
        self._root: DuckDBPyConnection | None = None
        self._tables: frozenset[tuple[str, str]] = frozenset()
        self._own = Own()
        self._signature: Signature = ()
        self._users = 0
        self._timer: TimerHandle | None = None

    def database(self) -> tuple[DuckDBPyConnection, frozenset[tuple[str, str]], Own]:
        """Return the database, opened if need be, with the names of its tables, and its macros.

        A folder is opened anew when a file in it has changed; cursors keep the old one.
        """
        with self._lock:
            if self._path.is_dir():
                files = data_files(self._path, self._allowed)
                signature = signature_of(files)
                if self._root is None or signature != self._signature:
                    self._root, self._signature = open_folder(files), signature
                    self._tables = read_tables(self._root)
            elif self._root is None:
                self._root = open_file(self._path, read_only=True)
                self._tables = read_tables(self._root)
                self._own = read_own(self._root)
            return self._root, self._tables, self._own

    def keep(self) -> None:
        """Have it stay open while it is used."""
        self._users += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close_later(self) -> None:
        """Have it closed when nobody else comes."""
        self._users -= 1
        if self._users == 0:
            self._timer = get_running_loop().call_later(IDLE, self.close)

    def close(self) -> None:
        """Close it, where nobody uses it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        root, self._root = self._root, None
        if root is not None:
            root.close()


class _Turns:
    """Either one who writes, or any number who read; whoever waits too long comes again."""

    def __init__(self) -> None:
        self._readers = 0
        self._gate = anyio.Lock()
        self._none_reads = anyio.Event()
        self._none_reads.set()

    @asynccontextmanager
    async def together(self) -> AsyncGenerator[None]:
        """Read, beside others who do."""
        await self._take(self._gate.acquire)
        self._gate.release()
        self._readers += 1
        if self._readers == 1:
            self._none_reads = anyio.Event()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._none_reads.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Write, when those who read have ended; nobody begins to read meanwhile."""
        await self._take(self._gate.acquire)
        try:
            await self._take(self._none_reads.wait)
            yield
        finally:
            self._gate.release()

    async def _take(self, turn: "Callable[[], Awaitable[object]]") -> None:
        try:
            with anyio.fail_after(LONGEST_WAIT):
                await turn()
        except TimeoutError:
            raise DataFailure(
                DataCode.SERVICE_UNAVAILABLE, "busy: somebody else uses this file; try again"
            ) from None


class _Run:
    """One statement while it runs."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._cursor: DuckDBPyConnection | None = None

    def stop(self) -> None:
        """Have it end; from any thread, and as often as need be."""
        self._stopped.set()
        if self._cursor is not None:
            with suppress(duckdb.Error):  # it has just ended by itself
                self._cursor.interrupt()

    def use(self, cursor: DuckDBPyConnection) -> None:
        """Take note of what is to be interrupted."""
        self._cursor = cursor

    @property
    def failure(self) -> DataFailure | None:
        """Why it had to end, or None."""
        if self._stopped.is_set():
            return DataFailure(DataCode.QUERY_ERROR, "stopped: nobody waits for it any more")
        return None

    def open(self, opened: Callable[[], T]) -> T:
        """Open a file, for a while again and again where another program holds it."""
        end = time.monotonic() + LONGEST_WAIT
        while True:
            try:
                return opened()
            except (duckdb.IOException, duckdb.ConnectionException) as error:
                is_held = any(each in str(error) for each in HELD)
                if not is_held or time.monotonic() > end or self._stopped.wait(AGAIN):
                    raise
            except OSError as error:
                raise unreachable("its folder cannot be read") from error

    def look(
        self, cursor: DuckDBPyConnection, prepared: Prepared
    ) -> tuple[tuple[Column, ...], Sequence[Taken]]:
        """Return the columns of a statement, which is not run, and how their values are taken."""
        asked = Prepared(sql=f"DESCRIBE ({prepared.sql}\n)", values=prepared.values)
        rows = self.answer(cursor, asked, 10_000).rows
        columns = tuple(Column(name=str(row[0]), type=type_name(row[1])) for row in rows)
        return columns, [take(cursor.type(str(row[1]))) for row in rows]

    def answer(
        self,
        cursor: DuckDBPyConnection,
        prepared: Prepared,
        limit: int,
        *,
        how: Sequence[Taken] | None = None,
        changes: StatementType = StatementType.SELECT,
    ) -> Rows:
        """Run a statement; all of it, where it *changes* something.

        What is made as `how` says has been cast as well; of anything else only JSON is read.
        """
        started = time.perf_counter()
        if (failure := self.failure) is not None:
            raise failure
        cursor.execute(prepared.sql, list(prepared.values))
        described = cast("Sequence[tuple[str, DuckDBPyType]]", cursor.description or ())
        columns = tuple(Column(name=each[0], type=type_name(each[1])) for each in described)
        loads = loads_of(how or [take(each[1]) for each in described], is_cast=how is not None)
        answer, count, is_reading = Answer(limit), 0, changes in READING
        while (row := cursor.fetchone()) is not None:
            count += 1
            if not answer.add(loaded(row, loads)) and is_reading:
                break
        changed = cursor.rowcount  # of what returns rows it is not known
        is_count = not is_reading and (changed >= 0 or changes in DEFINING)
        if is_count:
            columns, answer = (), Answer(limit)
        return Rows(
            columns=columns,
            rows=answer.rows,
            truncated=answer.is_truncated,
            rows_affected=None if is_reading else max(changed, 0) if is_count else count,
            ms=(time.perf_counter() - started) * 1000,
        )
