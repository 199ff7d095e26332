"""Databases of both kinds, fresh for every test, and the stores on top of them."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import anyio
import psycopg
import pytest
import structlog

from remit.identity.record_keys import RecordKeys, make_record_key
from remit.storage.agents import Agents
from remit.storage.audit import AuditLog, open_audit
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.storage.revisions import Revisions
from remit.storage.tenants import Tenants
from remit.storage.users import Users
from remit.testing.fakes import (
    InMemoryAgents,
    InMemoryAudit,
    InMemoryKeys,
    InMemoryRevisions,
    InMemoryUsers,
)
from remit.testing.services import open_redis
from remit.testing.tenants import InMemoryTenants

RECORDER = Path(__file__).parent / "record_events.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    audit: AuditLog | InMemoryAudit
    keys: Keys | InMemoryKeys
    agents: Agents | InMemoryAgents
    tenants: Tenants | InMemoryTenants
    users: Users | InMemoryUsers
    revisions: Revisions | InMemoryRevisions


def _absent(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Run a Redis server for the session; tests share it, and use keys of their own."""
    with open_redis(tmp_path_factory.mktemp("redis")) as server:
        if server is None:
            _absent("no redis-server and no valkey-server is installed")
        yield server.url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name a database that does not exist yet, or is empty."""
    if request.param == "sqlite":
        return default_url(tmp_path)
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncGenerator[Database]:
    async with open_database(database_url) as database:
        yield database


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name a database, or nothing for the fakes."""
    if request.param == "memory":
        return ""
    if request.param == "sqlite":
        return default_url(tmp_path)
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def stores(store_url: str, tmp_path: Path) -> AsyncGenerator[Stores]:
    """Open the stores of the contract suite: fakes, SQLite and PostgreSQL in turn."""
    if not store_url:
        yield Stores(
            audit=InMemoryAudit(),
            keys=InMemoryKeys(),
            agents=InMemoryAgents(),
            tenants=InMemoryTenants(),
            users=InMemoryUsers(),
            revisions=InMemoryRevisions(),
        )
        return
    async with (
        open_database(store_url) as database,
        open_audit(
            database,
            tmp_path / ".remit",
            durability="process",
            signer=RecordKeys(make_record_key()),
        ) as audit,
    ):
        yield Stores(
            audit=audit,
            keys=Keys(database),
            agents=Agents(database),
            tenants=Tenants(database),
            users=Users(database),
            revisions=Revisions(database),
        )


@pytest.fixture
def audit(stores: Stores) -> AuditLog | InMemoryAudit:
    return stores.audit


@pytest.fixture
def keys(stores: Stores) -> Keys | InMemoryKeys:
    return stores.keys


@pytest.fixture
def agents(stores: Stores) -> Agents | InMemoryAgents:
    return stores.agents


@pytest.fixture
def tenants(stores: Stores) -> Tenants | InMemoryTenants:
    return stores.tenants


@pytest.fixture
def users(stores: Stores) -> Users | InMemoryUsers:
    return stores.users


@pytest.fixture
def revisions(stores: Stores) -> Revisions | InMemoryRevisions:
    return stores.revisions


@pytest.fixture
def writing_locked(database_url: str) -> Callable[[], AbstractContextManager[None]]:
    """Give a block during which nobody else can write audit events."""

    @contextmanager
    def locked() -> Generator[None]:
        if database_url.startswith("sqlite"):
            other = sqlite3.connect(database_url.removeprefix("sqlite:///"), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                other.execute("ROLLBACK")
                other.close()
            return
        with psycopg.connect(database_url) as other:
            other.execute("LOCK TABLE audit_events IN EXCLUSIVE MODE")
            yield
            other.rollback()

    return locked


@pytest.fixture
def recorder() -> Generator[Callable[..., subprocess.Popen[str]]]:
    """Start processes that record events; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, RECORDER, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture
def logged() -> Generator[Callable[[str], anyio.Event]]:
    """Give, for a log phrase, an event that is set once it was logged."""
    phrases: dict[str, anyio.Event] = {}

    def listen(
        _logger: object, _method: str, entry: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        if entry["event"] in phrases:
            phrases[entry["event"]].set()
        raise structlog.DropEvent

    structlog.configure(processors=[listen])
    yield lambda phrase: phrases.setdefault(phrase, anyio.Event())
    structlog.reset_defaults()
