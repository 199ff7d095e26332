"""A shop's database, the real stores beside it, and desks of those who work with its queries."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Literal

import duckdb
import psycopg
import pytest

from remit.data.desk import Desk, Result, Stores
from remit.data.engines.engine import Engine
from remit.data.engines.opening import open_engine
from remit.data.queries.tools import QUERY_TOOLS
from remit.model.data import Datasource, EngineKind, Execution
from remit.model.keys import Key
from remit.model.principals import Principal, PrincipalKind, UserRole
from remit.servers.arguments import ArgumentCheck, Arguments
from remit.storage.keys import Keys

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)

SHOP = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total DECIMAL(10,2))",
    "CREATE TABLE cards (id INTEGER PRIMARY KEY, number TEXT)",
    "CREATE TABLE secret (id INTEGER PRIMARY KEY)",
    "INSERT INTO orders VALUES (1, 'ann', 10.5), (2, 'bob', 20), (3, 'ann', 30.25)",
    "INSERT INTO cards VALUES (1, '4111')",
)

ANN = Principal(kind=PrincipalKind.USER, name="ann", user_roles=(UserRole.USER,))
BOB = Principal(kind=PrincipalKind.USER, name="bob", user_roles=(UserRole.USER,))
DEA = Principal(kind=PrincipalKind.USER, name="dea", user_roles=(UserRole.DEVELOPER,))
DAN = Principal(kind=PrincipalKind.USER, name="dan", user_roles=(UserRole.DATA,))
KEY = Principal(kind=PrincipalKind.KEY, name="robot", service=True)

CHECKS = {tool.name: ArgumentCheck(tool.name, tool.takes) for tool in QUERY_TOOLS}
GIVES = {tool.name: ArgumentCheck(tool.name, tool.gives) for tool in QUERY_TOOLS}
TOOLS = {tool.name: tool for tool in QUERY_TOOLS}


class OneEngine:
    """Opens each datasource once."""

    def __init__(self) -> None:
        self.engines: dict[str, Engine] = {}

    async def open(self, datasource: Datasource) -> Engine:
        if datasource.id not in self.engines:
            # the URL of PostgreSQL is the location here: there is nothing secret in it
            writer = datasource.location if datasource.engine is EngineKind.POSTGRESQL else ""
            self.engines[datasource.id] = open_engine(datasource, writer=writer)
        return self.engines[datasource.id]


@dataclass
class Office:
    """Where the tests work."""

    stores: Stores
    keys: Keys
    sources: OneEngine
    shop: Datasource
    location: str
    now: datetime = NOW
    screening: Literal["refuse", "alert"] = "refuse"
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def desk(self, principal: Principal, tool: str = "query") -> Desk:
        return Desk(
            principal=principal,
            tenant=principal.tenant,
            tool=tool,
            stores=self.stores,
            sources=self.sources,
            screening=self.screening,
            clock=lambda: self.now,
            new_id=lambda: f"id{next(self.numbers):04}",
        )

    async def call(self, principal: Principal, tool: str, **arguments: object) -> Result:
        """Call a tool with arguments that its schema takes; its result is what it says it gives."""
        CHECKS[tool](arguments)
        result = await TOOLS[tool].run(self.desk(principal, tool), Arguments(arguments))
        GIVES[tool](result)
        return result

    async def key_of(self, owner: str, name: str) -> Principal:
        """Make a developer's key of that user, or of nobody, and return its bearer."""
        key = Key(
            id=f"id-{name}",
            name=name,
            tenant="default",
            secret_hash="0f" * 32,
            user_roles=(UserRole.DEVELOPER,),
            owner=owner,
            created=self.now,
        )
        await self.keys.add(key)
        return Principal(kind=PrincipalKind.KEY, name=name, user_roles=key.user_roles)

    async def ran(self) -> list[Execution]:
        """Return what was kept of what ran, oldest first."""
        return list(reversed(await self.stores.executions.executions("default", limit=100)))

    async def change_shop(self, **fields: object) -> None:
        """Change what the datasource is, and open it anew."""
        seen = await self.stores.datasources.find_datasource("default", "shop")
        assert seen is not None
        self.shop = replace(seen, **fields)
        await self.stores.datasources.write_datasource(self.shop)
        engine = self.sources.engines.pop(self.shop.id, None)
        if engine is not None:
            await engine.aclose()

    def later(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)


def datasource_at(location: str, engine: EngineKind) -> Datasource:
    return Datasource(
        id="d1",
        tenant="default",
        name="shop",
        engine=engine,
        location=location,
        is_writable=True,
        tables=("orders", "cards", "made_*"),
        sensitive=("cards",),
        created=NOW,
        updated=NOW,
    )


def sqlite_shop(folder: Path) -> Datasource:
    path = folder / "shop.db"
    with sqlite3.connect(path) as connection:
        for statement in SHOP:
            connection.execute(statement)
    connection.close()
    return datasource_at(str(path), EngineKind.SQLITE)


def duckdb_shop(folder: Path) -> Datasource:
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        for statement in SHOP:
            connection.execute(statement)
    return datasource_at(str(path), EngineKind.DUCKDB)


def postgresql_shop(url: str) -> Datasource:
    with psycopg.connect(url) as connection:
        for statement in SHOP:
            connection.execute(statement)
    return datasource_at(url, EngineKind.POSTGRESQL)


EVERY_ENGINE = pytest.mark.parametrize("shop", ["sqlite", "postgresql", "duckdb"], indirect=True)

Given = Mapping[str, object]

BY_CUSTOMER: Given = {
    "name": "Orders of a customer",
    "description": "What somebody ordered",
    "sql": "SELECT id, total FROM orders WHERE customer = {{customer}} ORDER BY id",
    "parameters": [{"name": "customer", "type": "string", "example": "ann"}],
    "output_column_descriptions": {"total": "in euro"},
    "tags": ["orders", "daily"],
}
REPRICE: Given = {
    "name": "Reprice",
    "description": "Gives an order another total",
    "sql": "UPDATE orders SET total = {{total}} WHERE id = {{id}}",
    "parameters": [
        {"name": "total", "type": "decimal", "example": "1.00"},
        {"name": "id", "type": "integer", "example": 1},
    ],
}
