"""Datasources in PostgreSQL.

What may not be done is refused by the database: who reads is a role of its own, which should have
no right but SELECT (`warnings` says what it has beyond), in a transaction that is read only, behind
a cursor, which takes no statement but one that reads. Time is limited by `statement_timeout`, and
by cancelling. After each caller its session is made as new.

Rows come in small steps, and no value longer than an answer takes: the database cuts them.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Final, TypeVar

import psycopg
from psycopg import AsyncCursor

from remit.data.engines.engine import Allowed, Engine, Prepared
from remit.data.engines.failures import not_writable, unreachable
from remit.data.engines.places import Places
from remit.data.engines.postgresql_errors import failure_of
from remit.data.engines.postgresql_own import require_builtin
from remit.data.engines.postgresql_schema import read_schema, read_warnings
from remit.data.engines.postgresql_sessions import Connection, Sessions
from remit.data.engines.postgresql_values import (
    TEXTS,
    is_short,
    row_loader,
    type_name,
)
from remit.data.engines.stopping import out_of_time, run_stoppable
from remit.data.engines.values import LARGEST_ROW, MOST_BYTES, MOST_CELL, Answer
from remit.errors import DataFailure
from remit.model.data import Column, Rows
from remit.model.ontology import SchemaTable

T = TypeVar("T")

LOOK: Final = 30.0
"""Seconds that reading the schema may take."""

FIRST_ROWS: Final = 10
MOST_AT_ONCE: Final = 250
"""Rows that are fetched in one step: few at first, until it is known how large they are."""


def open_postgresql(
    read_url: str,
    write_url: str = "",
    *,
    allowed: Allowed,
    schemas: Sequence[str] = ("public",),
    concurrency: int = 60,
) -> Engine:
    """Return the engine of a database.

    Args:
        read_url: As whom it is read, in a URL or connection string of libpq.
        write_url: As whom it is written; empty where nothing may be.
        allowed: Which tables `schema` tells of. What may be read is up to the reading role.
        schemas: That may be used; names without one are looked for in the first alone.
        concurrency: How many statements run at once, each on a connection of its own.
    """
    return _PostgreSql(read_url, write_url, allowed, schemas, concurrency)


class _PostgreSql:
    def __init__(
        self,
        read_url: str,
        write_url: str,
        allowed: Allowed,
        schemas: Sequence[str],
        concurrency: int,
    ) -> None:
        self._allowed = allowed
        self._schemas = schemas
        self._places = Places(concurrency)
        self._readers = Sessions(read_url, schemas, read_only=True)
        self._writers = Sessions(write_url, schemas, read_only=False) if write_url else None

    async def read(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        async def work(connection: Connection) -> Rows:
            await self._require_builtin(connection, prepared)
            return await _read(connection, prepared, limit)

        return await self._reading(work, seconds)

    async def write(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        if self._writers is None:
            raise not_writable()

        async def work(connection: Connection) -> Rows:
            await self._require_builtin(connection, prepared)
            return await _write(connection, prepared, limit)

        async with (
            self._places.one(),
            self._writers.transaction(seconds, read_only=False) as connection,
        ):
            return await self._run(self._writers, connection, lambda: work(connection), seconds)

    async def explain(self, prepared: Prepared, *, seconds: float) -> Sequence[str]:
        async def work(connection: Connection) -> Sequence[str]:
            await self._require_builtin(connection, prepared)
            # With its parentheses the word ANALYZE cannot follow, which would have it run.
            cursor = await _execute(connection, f"EXPLAIN (ANALYZE FALSE) {prepared.sql}", prepared)
            return [str(line) for (line,) in await cursor.fetchall()]

        try:
            return await self._reading(work, seconds)
        except DataFailure as failure:
            # What changes something can be explained to those alone who may do it.
            if self._writers is None or failure.details.get("sqlstate") != "42501":
                raise
        return await self._reading(work, seconds, self._writers)

    async def describe(self, prepared: Prepared, *, seconds: float) -> Sequence[Column]:
        async def work(connection: Connection) -> Sequence[Column]:
            await self._require_builtin(connection, prepared)
            return _columns(await _shape(connection, prepared), connection)

        return await self._reading(work, seconds)

    async def schema(self) -> Sequence[SchemaTable]:
        return await self._reading(
            lambda connection: read_schema(connection, self._schemas, self._allowed), LOOK
        )

    async def ping(self) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute(b"SELECT 1")

        await self._reading(work, LOOK)

    async def warnings(self) -> Sequence[str]:
        return await self._reading(read_warnings, LOOK)

    async def aclose(self) -> None:
        await self._readers.aclose()
        if self._writers is not None:
            await self._writers.aclose()

    async def _require_builtin(self, connection: Connection, prepared: Prepared) -> None:
        if prepared.relied is not None:
            await require_builtin(connection, prepared.relied, self._schemas[0])

    async def _reading(
        self,
        work: Callable[[Connection], Awaitable[T]],
        seconds: float,
        sessions: Sessions | None = None,
    ) -> T:
        """Run what reads, once more where the connection was lost."""
        sessions = sessions or self._readers
        async with self._places.one():
            try:
                return await self._read_once(sessions, work, seconds)
            except psycopg.OperationalError:
                with suppress(psycopg.OperationalError):
                    return await self._read_once(sessions, work, seconds)
                raise failure_of(psycopg.OperationalError()) from None

    async def _read_once(
        self,
        sessions: Sessions,
        work: Callable[[Connection], Awaitable[T]],
        seconds: float,
    ) -> T:
        async with sessions.transaction(seconds) as connection:
            return await self._run(sessions, connection, lambda: work(connection), seconds, True)

    async def _run(
        self,
        sessions: Sessions,
        connection: Connection,
        work: Callable[[], Awaitable[T]],
        seconds: float,
        again: bool = False,
    ) -> T:
        async def translated() -> T:
            try:
                return await work()
            except psycopg.Error as error:
                if again and connection.broken:
                    raise
                if error.sqlstate == "57014" and "statement timeout" in str(error):
                    raise out_of_time(seconds) from error
                raise failure_of(error) from error

        async def stop() -> None:
            await sessions.stop(connection)

        return await run_stoppable(translated, stop, seconds=seconds)


async def _read(connection: Connection, prepared: Prepared, limit: int) -> Rows:
    started = perf_counter()
    shape = await _shape(connection, prepared)
    oids = [each.type_code for each in shape.description or ()]
    most, at_once = _bounds(oids)
    bounded = _bounded(prepared.sql, oids, limit + 1, most)
    await _execute(connection, f"DECLARE remit NO SCROLL CURSOR FOR {bounded}", prepared)
    load = row_loader(oids, connection, most)
    answer = Answer(limit)
    wanted, is_going = min(FIRST_ROWS, answer.wanted, at_once), True
    while is_going:
        cursor = await connection.execute(f"FETCH FORWARD {wanted} FROM remit".encode())
        rows = await cursor.fetchall()
        is_going = len(rows) == wanted
        for row in rows:
            if not answer.add(load(row)):
                is_going = False
                break
        average = max(1, answer.size // max(1, len(answer.rows)))
        wanted = max(1, min(answer.wanted, at_once, MOST_BYTES // average))
    return Rows(
        columns=_columns(shape, connection),
        rows=answer.rows,
        truncated=answer.is_truncated,
        ms=(perf_counter() - started) * 1000,
    )


async def _write(connection: Connection, prepared: Prepared, limit: int) -> Rows:
    started = perf_counter()
    # Prepared, which takes one statement alone, and no COMMIT in it that counts.
    cursor = await connection.execute(prepared.sql.encode(), list(prepared.values), prepare=True)
    columns = _columns(cursor, connection)
    answer = Answer(limit)
    while columns and (row := await cursor.fetchone()) is not None:
        if not answer.add(row):
            break
    try:
        await connection.execute(b"COMMIT")
    except psycopg.OperationalError as error:
        if not connection.broken:
            raise
        raise unreachable(
            "the connection was lost at the very end, and whether the statement changed anything "
            "is not known; look before you try again"
        ) from error
    return Rows(
        columns=columns,
        rows=answer.rows,
        truncated=answer.is_truncated,
        rows_affected=max(cursor.rowcount, 0),
        ms=(perf_counter() - started) * 1000,
    )


async def _execute(
    connection: Connection, text: str, prepared: Prepared
) -> AsyncCursor[tuple[object, ...]]:
    """Run what must be one statement: binary results want the protocol that takes no more."""
    return await connection.execute(text.encode(), list(prepared.values) or None, binary=True)


async def _shape(connection: Connection, prepared: Prepared) -> AsyncCursor[tuple[object, ...]]:
    """Return a cursor that has the columns of a statement, which is not run."""
    await _execute(connection, f"DECLARE remit_shape NO SCROLL CURSOR FOR {prepared.sql}", prepared)
    cursor = await connection.execute(b"FETCH FORWARD 0 FROM remit_shape")
    await connection.execute(b"CLOSE remit_shape")
    return cursor


def _columns(cursor: AsyncCursor[tuple[object, ...]], connection: Connection) -> tuple[Column, ...]:
    return tuple(
        Column(name=each.name, type=type_name(each.type_code, connection))
        for each in cursor.description or ()
    )


def _bounds(oids: Sequence[int]) -> tuple[int, int]:
    """Return how many characters a value may have, and how many rows may come in one step.

    The next rows can be as large as any, however small those were that came before.
    """
    long = sum(not is_short(oid) for oid in oids) or 1
    most = min(MOST_CELL, LARGEST_ROW // long)
    return most, max(1, min(MOST_AT_ONCE, LARGEST_ROW // (long * most)))


def _text(name: str, oid: int, most: int) -> str:
    """Return an expression for the first characters of a value, as PostgreSQL writes it.

    By what writes it and by no cast, which the database could have of its own: but for the types
    of texts, whose casts are PostgreSQL's.
    """
    if oid in TEXTS:
        return f"pg_catalog.left({name}::text, {most})"
    written = f"pg_catalog.left(pg_catalog.concat({name}), {most})"
    return f"CASE WHEN pg_catalog.num_nulls({name}) = 0 THEN {written} END"


def _bounded(statement: str, oids: Sequence[int], limit: int, most: int) -> str:
    """Return a statement of no more rows than are wanted, and values cut where they can be long.

    The limit stands in the statement, so that the database need not sort what nobody sees; values
    that can be long come as text.
    """
    if not oids:
        return statement
    names = [f"c{number}" for number in range(len(oids))]
    picked = ", ".join(
        name if is_short(oid) else _text(name, oid, most + 1)
        for name, oid in zip(names, oids, strict=True)
    )
    source = f"({statement}\n) AS r ({', '.join(names)})"
    return f"SELECT {picked} FROM {source} LIMIT {limit}"  # noqa: S608 - it was parsed alone
