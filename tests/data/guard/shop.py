"""A shop in a real database of each kind, of which the salaries are nobody's business."""

import hashlib
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from remit.data.engines.engine import Engine
from remit.data.engines.opening import open_engine
from remit.model.data import Datasource, EngineKind
from remit.testing.services import Postgres

SECRET = "TOP-SECRET-77"
"""What stands in the salaries, and in a file beside the database."""

HERE = Path(__file__).parent
TABLES = (HERE / "shop.sql").read_text().replace("SECRET", SECRET)
NAMES = ("customers", "orders", "salaries")
USED = ("orders", "customers", "moods")


class Shop:
    """A database with a shop, its engine, and a look at it from beside.

    Args:
        kind: What it is.
        where: A path, or the URL of a role that owns everything.
        engine: As it is opened for callers.
        secret: A file with a secret in it.
    """

    def __init__(self, kind: EngineKind, where: str, engine: Engine, secret: Path) -> None:
        self.kind = kind
        self.where = where
        self.engine = engine
        self.secret = secret

    def digest(self) -> str:
        """Return what all tables hold, and which there are; no engine may be open on a file."""
        found: list[object] = []
        match self.kind:
            case EngineKind.SQLITE:
                with closing(sqlite3.connect(self.where)) as database:
                    found += list(database.iterdump())
            case EngineKind.DUCKDB:
                with duckdb.connect(self.where, read_only=True) as connection:
                    found += connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()
                    for name in NAMES:
                        found += connection.table(name).fetchall()
            case EngineKind.POSTGRESQL:
                with psycopg.connect(self.where) as session:
                    found += session.execute(
                        "SELECT relname, relacl::text FROM pg_class"
                        " WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
                    ).fetchall()
                    found += session.execute("SELECT last_value FROM counter").fetchall()
                    for name in NAMES:
                        found += session.execute(
                            SQL("TABLE {}").format(Identifier(name))
                        ).fetchall()
        return hashlib.sha256(repr(found).encode()).hexdigest()


@contextmanager
def open_shop(
    kind: EngineKind, folder: Path, postgres: Postgres, *, own: bool = False
) -> Generator[Shop]:
    """Make a shop and open it for callers who may use all but the salaries.

    With *own* the database has functions and more of its own, and may be written.
    """
    more = (HERE / f"own_{kind}.sql").read_text() if own else ""
    secret = folder / "secret.csv"
    secret.write_text(f"secret\n{SECRET}\n")
    path = folder / f"shop.{kind}"
    match kind:
        case EngineKind.SQLITE:
            with closing(sqlite3.connect(path)) as database:
                database.executescript(TABLES)
            yield Shop(kind, str(path), _open(kind, str(path)), secret)
        case EngineKind.DUCKDB:
            with duckdb.connect(str(path)) as connection:
                connection.execute(TABLES + more)
            yield Shop(kind, str(path), _open(kind, str(path), str(path) if own else ""), secret)
        case EngineKind.POSTGRESQL:
            with postgres.database() as url, _reader(url, more) as reader:
                yield Shop(kind, url, _open(kind, reader, url if own else ""), secret)


@contextmanager
def _reader(url: str, more: str) -> Generator[str]:
    """Fill a database, and lend the URL of a role that may read all but the salaries."""
    role, password = f"reader_{uuid4().hex}", uuid4().hex
    with psycopg.connect(url, autocommit=True) as session:
        session.execute((TABLES + more).encode())
        session.execute("CREATE SEQUENCE counter")
        made = "CREATE ROLE {role} LOGIN PASSWORD {password}"
        names = {"role": Identifier(role), "password": Literal(password)}
        session.execute(SQL(made).format(**names))
        grant = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}; "
        revoke = "REVOKE ALL ON salaries FROM {role}; REVOKE ALL ON counter FROM {role}"
        session.execute(SQL(grant + revoke).format(**names))
        yield make_conninfo(url, user=role, password=password)
        session.execute(SQL("DROP OWNED BY {role}; DROP ROLE {role}").format(**names))


def _open(kind: EngineKind, where: str, writer: str = "") -> Engine:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return open_engine(
        Datasource(
            id="shop",
            tenant="default",
            name="shop",
            engine=kind,
            location=where,
            tables=USED,
            is_writable=bool(writer),
            created=now,
            updated=now,
        ),
        reader=where,
        writer=writer,
    )
