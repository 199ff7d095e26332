"""Open a database, migrate it, and lend transactions.

SQLite through aiosqlite (write-ahead log: readers never wait for the writer), PostgreSQL through
psycopg. Transactions are short and never span a call to an upstream. What writes much does it in
one go (`write`): a statement that is awaited takes some turns of the event loop (own_thread.py).

A transaction is never cancelled half-way, since that would cost its connection (and with aiosqlite
can hang: omnilib/aiosqlite#369). So a time limit around one does nothing. Its bounds are the
database's own: waiting for a lock, running a statement, and for PostgreSQL a last limit in case the
network swallows the answer; whoever cannot wait as long says so `within` how many seconds. Where
that cannot be kept, PostgreSQL's connection is thrown away and SQLite's statement interrupted.
"""

import math
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.connectors.asyncio import AsyncAdapt_dbapi_connection
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    OperationalError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.pool import ConnectionPoolEntry

from remit.errors import StartupError, StorageUnavailable
from remit.storage.asyncio_engine import AsyncConnection, AsyncEngine, create_async_engine
from remit.storage.bounds import LONGEST_STATEMENT, begin_sqlite, set_up_sqlite
from remit.storage.own_thread import OwnThread, at_once
from remit.storage.read_only import is_on_read_only_storage, only_read
from remit.storage.same_file import SameFile
from remit.storage.schema import is_current, migrate

T = TypeVar("T")

PATIENCE: Final = 5.0
"""Seconds to wait for a lock that another process holds, and for a connection."""

LONGEST_TRANSACTION: Final = 60.0
"""Seconds after which a PostgreSQL server that answers nothing is given up."""

LONGEST_LOOK: Final = 5.0
"""Seconds to find out who a caller is; whoever has waited that long is told to come again."""

_BETWEEN_ATTEMPTS: Final = 0.05
_DRIVERS: Final = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_REMEDY: Final = "start it, or point REMIT_DATABASE_URL to a database that can be reached"


def default_url(state: Path) -> str:
    """Return the URL of the SQLite database in the state folder."""
    path = state.absolute() / "remit.db"
    return URL.create("sqlite", database=str(path)).render_as_string()


def database_file(url: str) -> Path | None:
    """Return the file of an SQLite database, which need not be there; None for a server's.

    Raises:
        StartupError: *url* is none that remit can use.
    """
    parsed = _parse(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def is_missing(url: str) -> bool:
    """Whether *url* names a file that is not there yet.

    Raises:
        StartupError: It is none that remit can use.
    """
    file = database_file(url)
    try:
        return file is not None and not file.exists()
    except PermissionError:  # whoever opens it says so
        return False


class Database:
    """An open database whose tables are what this code knows.

    Args:
        engine: What lends connections.
        longest: Seconds after which a transaction is given up; without it the default's.

    Attributes:
        name: For messages; holds no credentials.
    """

    def __init__(self, engine: AsyncEngine, *, longest: float | None = None) -> None:
        self.name = _name(engine.url)
        self.engine = engine
        # a transaction that takes SQLite's write lock only at its first write can find that
        # somebody else wrote since it began, and then no waiting helps
        self._writer = engine.execution_options(remit_begin="BEGIN IMMEDIATE")
        # PostgreSQL would show every statement a state of its own; SQLite reads one anyway
        self._reader = (
            engine
            if engine.dialect.name == "sqlite"
            else engine.execution_options(isolation_level="REPEATABLE READ")
        )
        self._durable = self._writer.execution_options(remit_synchronous="FULL")
        self._is_sqlite = engine.dialect.name == "sqlite"
        default = math.inf if self._is_sqlite else LONGEST_TRANSACTION
        self._longest = default if longest is None else longest
        self._end = math.inf
        self._under_way = set[anyio.CancelScope]()

    def bounded(self, longest: float = math.inf) -> "Database":
        """Return the same database for one user of it, whose transactions may be given up sooner.

        Args:
            longest: Seconds each may take.
        """
        return Database(self.engine, longest=min(longest, self._longest))

    def hurry(self, seconds: float) -> None:
        """Let every transaction end within *seconds* from now: those to come, those under way too.

        For whoever is about to stop. With SQLite, those under way keep the bounds that they had.
        """
        self._end = min(self._end, anyio.current_time() + seconds)
        if not self._is_sqlite:
            for scope in self._under_way:
                scope.deadline = min(scope.deadline, self._end)

    @asynccontextmanager
    async def reading(self, *, within: float = math.inf) -> AsyncGenerator[AsyncConnection]:
        """Lend a connection whose statements see one state.

        Args:
            within: Seconds that all of it may take. With SQLite a place in the pool is waited for
                as long as ever, and the rest is taken off what is left.

        Raises:
            StorageUnavailable: The database cannot be used, or not in that time.
        """
        async with self._transaction(self._reader, within) as connection:
            yield connection

    @asynccontextmanager
    async def writing(
        self, *, durable: bool = False, within: float = math.inf
    ) -> AsyncGenerator[AsyncConnection]:
        """Lend a connection in a write transaction, committed unless the block raises.

        Args:
            durable: Whether the commit must survive the loss of power, not only of the process.
            within: As `reading` says. What was to be committed when it was over may be, or not.

        Raises:
            StorageUnavailable: The database cannot be used, or not in that time.
            sqlalchemy.exc.StatementError: The values do not fit the table.
        """
        engine = self._durable if durable else self._writer
        async with self._transaction(engine, within) as connection:
            yield connection

    async def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> T:
        """Do *work* in a write transaction, committed unless it raises; all of it in one go.

        What has many statements waits less this way: with SQLite they are made in the connection's
        thread one after the other, instead of one for some turns of the event loop each.

        Args:
            work: Makes statements, and may be done in another thread.
            durable: As `writing` says.

        Raises:
            StorageUnavailable: As `writing` does.
            sqlalchemy.exc.StatementError: Likewise.
        """
        engine = self._durable if durable else self._writer
        committed = partial(_committed, work=work)
        async with self._connected(engine, math.inf) as connection:
            if self._is_sqlite:
                return await at_once(connection, committed)
            return await connection.run_sync(committed)

    @asynccontextmanager
    async def _transaction(
        self, engine: AsyncEngine, within: float
    ) -> AsyncGenerator[AsyncConnection]:
        async with self._connected(engine, within) as connection, connection.begin():
            yield connection

    @asynccontextmanager
    async def _connected(
        self, engine: AsyncEngine, within: float
    ) -> AsyncGenerator[AsyncConnection]:
        seconds = min(within, self._longest, self._end - anyio.current_time())
        until = time.monotonic() + seconds
        limit = math.inf if self._is_sqlite else seconds
        with _plainly(self.name), anyio.fail_after(limit, shield=True) as scope:
            self._under_way.add(scope)
            try:
                async with engine.connect() as connection:
                    if self._is_sqlite and until < math.inf:
                        await connection.execution_options(remit_until=until)
                    yield connection
            finally:
                self._under_way.discard(scope)


def _committed(connection: Connection, work: Callable[[Connection], T]) -> T:
    with connection.begin():
        return work(connection)


@asynccontextmanager
async def open_database(
    url: str, *, patience: float = PATIENCE, only_reads: bool = False
) -> AsyncGenerator[Database]:
    """Open the database at *url*, making and migrating it as needed.

    Args:
        url: `sqlite:///path` or `postgresql://user:password@host:port/name`.
        patience: Seconds to wait for another process's lock.
        only_reads: Whether a file on read-only storage will do, if its tables are current; what
            writes to it fails then.

    Raises:
        StartupError: It cannot be opened or is newer than this code; one line with a remedy.
    """
    parsed = _parse(url)
    path = Path(parsed.database or "")
    is_file = parsed.drivername == "sqlite+aiosqlite"
    read_only = is_file and only_reads and is_on_read_only_storage(path)
    if is_file and not read_only:
        _make_private_file(path)
    engine = _engine(parsed, patience, read_only=read_only)
    try:
        with anyio.CancelScope(shield=True):
            await _prepare(engine, patience)
        yield Database(engine)
    finally:
        with anyio.CancelScope(shield=True):
            await engine.dispose()


@asynccontextmanager
async def open_as_it_is(url: str) -> AsyncGenerator[Database]:
    """Give a database that is there already, without looking at its tables or changing them.

    Raises:
        StartupError: *url* is none that remit can use.
        StorageUnavailable: It is a file that may not be written.
    """
    parsed = _parse(url)
    if (file := database_file(url)) is not None:
        _may_be_written(file)
    engine = _engine(parsed, PATIENCE)
    try:
        yield Database(engine)
    finally:
        with anyio.CancelScope(shield=True):
            await engine.dispose()


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StartupError(
            "REMIT_DATABASE_URL is no database URL: "
            "write sqlite:///path/to/file or postgresql://user@host/name"
        ) from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise StartupError(
            f"databases of the kind {parsed.drivername!r} are not supported: "
            "write sqlite:///path/to/file or postgresql://user@host/name"
        )
    if driver == "sqlite+aiosqlite" and parsed.database in (None, "", ":memory:"):
        raise StartupError(
            "an SQLite database in memory cannot be shared: write sqlite:///path/to/file"
        )
    return parsed.set(drivername=driver)


def _make_private_file(path: Path) -> None:
    """Make an empty file for its owner alone; SQLite gives its side files the same mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StartupError(
            f"cannot write the database {str(path)!r}: {error.strerror}; make its folder "
            "writable, or point REMIT_DATABASE_URL elsewhere"
        ) from error


def _may_be_written(file: Path) -> None:
    """Refuse a file that may not be: SQLite would make those beside it in the same mode."""
    needed = {file.parent: os.W_OK | os.X_OK}
    needed |= dict.fromkeys(files_beside(file), os.R_OK | os.W_OK)
    for path, mode in needed.items():
        if os.access(path, os.F_OK) and not os.access(path, mode):
            raise StorageUnavailable(
                f"cannot use the database {str(file)!r}: {str(path)!r} cannot be written"
            )


def _engine(url: URL, patience: float, *, read_only: bool = False) -> AsyncEngine:
    if url.drivername == "sqlite+aiosqlite":
        # isolation_level None: Python begins no transactions of its own, `_begin` below does
        engine = create_async_engine(
            url,
            hide_parameters=True,
            pool_timeout=patience,
            pool_use_lifo=True,  # what the connection used last has read is in its cache
            connect_args={
                "timeout": patience,
                "isolation_level": None,
                "async_creator_fn": OwnThread,
            },
        )
        path = Path(url.database or "")
        if read_only:
            only_read(engine.sync_engine, path)
        set_up_file = partial(set_up_sqlite, patience, read_only=read_only)
        event.listen(engine.sync_engine, "connect", set_up_file)
        event.listen(engine.sync_engine, "begin", begin_sqlite)
        SameFile(path).watch(engine.sync_engine)
        return engine
    try:
        engine = create_async_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_timeout=patience,
            connect_args={"connect_timeout": max(1, round(patience))},
        )
    except ModuleNotFoundError as error:
        raise StartupError(
            "PostgreSQL needs the driver psycopg: install remit[postgres]"
        ) from error

    def set_up(connection: AsyncAdapt_dbapi_connection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {max(1, round(patience * 1000))}")
        cursor.execute(f"SET statement_timeout = {round(LONGEST_STATEMENT * 1000)}")
        cursor.close()
        connection.commit()

    event.listen(engine.sync_engine, "connect", set_up)
    return engine


async def _prepare(engine: AsyncEngine, patience: float) -> None:
    """Migrate; try again while another process holds the lock, since SQLite does not always."""
    deadline = anyio.current_time() + patience
    while True:
        try:
            await _bring_up_to_date(engine, patience)
        except OperationalError as error:
            locked = engine.dialect.name == "sqlite" and "locked" in str(error.orig)
            if locked and anyio.current_time() < deadline:
                await anyio.sleep(_BETWEEN_ATTEMPTS)
                continue
            raise StartupError(_cannot_open(engine, error, locked=locked)) from error
        except SQLAlchemyError as error:
            raise StartupError(_cannot_open(engine, error, locked=False)) from error
        else:
            return


async def _bring_up_to_date(engine: AsyncEngine, patience: float) -> None:
    async with engine.begin() as connection:
        if await connection.run_sync(is_current):
            return
    writer = engine.execution_options(remit_begin="BEGIN IMMEDIATE")
    async with writer.begin() as connection:
        await connection.run_sync(lambda sync: migrate(sync, patience=patience))


def _cannot_open(engine: AsyncEngine, error: SQLAlchemyError, *, locked: bool) -> str:
    remedy = "stop the process that holds it, or try again" if locked else _REMEDY
    if is_damaged(error):
        remedy = "put a backup in its place, and keep the damaged file"
    elif engine.dialect.name == "sqlite" and not locked:
        remedy = "make file and folder writable, or point REMIT_DATABASE_URL elsewhere"
        if is_on_read_only_storage(Path(engine.url.database or "")):
            remedy = (
                "copy it, with the files `-wal` and `-shm` beside it, to where it can be written"
            )
    return f"cannot open the database {_name(engine.url)}: {_first_line(error)}; {remedy}"


def is_damaged(error: BaseException | None) -> bool:
    """Whether SQLite says that a file is no database, or not a whole one."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    name: str = getattr(cause, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def files_beside(file: Path) -> tuple[Path, ...]:
    """Return an SQLite database's file and those that SQLite makes beside it."""
    return tuple(Path(f"{file}{end}") for end in ("", "-wal", "-shm"))


@contextmanager
def _plainly(name: str) -> Generator[None]:
    """Turn what is wrong with the database, not with the values, into StorageUnavailable."""
    try:
        yield
    except (DataError, IntegrityError):
        raise
    except (DBAPIError, TimeoutError) as error:
        raise StorageUnavailable(f"cannot use the database {name}: {_first_line(error)}") from error
    except StatementError:
        raise
    except SQLAlchemyError as error:
        raise StorageUnavailable(f"cannot use the database {name}: {_first_line(error)}") from error


def _first_line(error: SQLAlchemyError | TimeoutError) -> str:
    """Return the driver's own first line: SQLAlchemy's adds the statement and its values."""
    if isinstance(error, TimeoutError):
        return "it takes too long"
    cause = error.orig if isinstance(error, DBAPIError) else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _name(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return repr(url.database)
    host = url.host or url.query.get("host") or "the local socket"
    return repr(f"{url.database or url.username or 'postgres'} at {host}")
