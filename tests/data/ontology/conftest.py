"""People at a desk over real stores, whose calls are checked as the server checks them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import duckdb
import jsonschema_rs
import psycopg
import pytest

from remit.data.desk import Desk, Stores
from remit.data.engines.engine import Engine
from remit.data.engines.opening import open_engine
from remit.data.ontology.change_tools import CHANGE_TOOLS
from remit.data.ontology.deletion_tools import DELETION_TOOLS
from remit.data.ontology.question_tools import QUESTION_TOOLS
from remit.data.ontology.statement_tools import STATEMENT_TOOLS
from remit.errors import DataFailure
from remit.model.data import Datasource, EngineKind
from remit.model.ontology import ItemKind, Schema, SchemaColumn, SchemaTable
from remit.model.principals import Principal, PrincipalKind, UserRole
from remit.servers.arguments import ArgumentCheck
from remit.storage.database import Database, default_url, open_database
from remit.storage.datasources import Datasources
from remit.storage.executions import Executions
from remit.storage.keys import Keys
from remit.storage.ontology import Ontology
from remit.storage.queries import Queries
from remit.testing.shops import TABLES, run_on_sqlite

NOW: Final = datetime(2026, 11, 29, 1, 0, 0, tzinfo=UTC)
TOOLS: Final = {
    tool.name: (tool, ArgumentCheck(tool.name, tool.takes), jsonschema_rs.validator_for(tool.gives))
    for tool in (*QUESTION_TOOLS, *STATEMENT_TOOLS, *DELETION_TOOLS, *CHANGE_TOOLS)
}


class Ticking:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self._now = NOW

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


class Numbered:
    """Gives ids that follow one another."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self) -> str:
        self._last += 1
        return f"id{self._last:04}"


@dataclass
class Opened:
    """Engines that are open, by the id of their datasource."""

    engines: dict[str, Engine] = field(default_factory=dict[str, Engine])

    async def open(self, datasource: Datasource) -> Engine:
        return self.engines[datasource.id]


@dataclass(frozen=True, kw_only=True)
class Hand:
    """Somebody who calls tools; the API when *came_by* says so."""

    desk: Desk

    async def calls(self, tool_name: str, **arguments: object) -> Mapping[str, Any]:
        tool, check, gives = TOOLS[tool_name]
        result = await tool.run(self.desk, check(arguments))
        gives.validate(result)
        return result

    async def fails(self, tool_name: str, **arguments: object) -> DataFailure:
        """Call a tool that refuses; return what it says."""
        with pytest.raises(DataFailure) as failed:
            await self.calls(tool_name, **arguments)
        return failed.value


@dataclass(frozen=True, kw_only=True)
class Office:
    """Where everybody's desk stands."""

    ontology: Ontology
    datasources: Datasources
    sources: Opened
    desk: Desk

    def hand(
        self,
        name: str = "ann",
        role: UserRole = UserRole.USER,
        came_by: Literal["mcp", "api"] = "mcp",
        tenant: str = "default",
    ) -> Hand:
        principal = Principal(kind=PrincipalKind.USER, name=name, tenant=tenant, user_roles=(role,))
        return Hand(desk=replace(self.desk, principal=principal, came_by=came_by, tenant=tenant))


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return default_url(tmp_path / ".remit")


@pytest.fixture
async def database(store_url: str) -> AsyncGenerator[Database]:
    async with open_database(store_url) as database:
        yield database


def an_office(database: Database) -> Office:
    datasources, sources, ontology = Datasources(database), Opened(), Ontology(database)
    desk = Desk(
        principal=Principal(kind=PrincipalKind.USER, name="nobody"),
        tenant="default",
        tool="any",
        stores=Stores(
            datasources=datasources,
            queries=Queries(database),
            executions=Executions(database),
            ontology=ontology,
            keys=Keys(database),
        ),
        sources=sources,
        clock=Ticking(),
        new_id=Numbered(),
    )
    return Office(ontology=ontology, datasources=datasources, sources=sources, desk=desk)


@pytest.fixture
def office(database: Database) -> Office:
    return an_office(database)


SHOP: Final = Datasource(
    id="d1",
    tenant="default",
    name="shop",
    engine=EngineKind.POSTGRESQL,
    location="postgresql://db.test/shop",
    schemas=("public",),
    tables=("customers", "orders", "ghosts"),
    created=NOW,
    updated=NOW,
)


def a_table(name: str, *columns: str) -> SchemaTable:
    made = tuple(
        SchemaColumn(name=column, type="integer", is_primary_key=column == "id")
        for column in columns
    )
    return SchemaTable(schema="public", name=name, columns=made)


@pytest.fixture
async def shop(office: Office) -> Office:
    """Declare a datasource whose schema is known, and which nobody opens."""
    await office.datasources.write_datasource(SHOP)
    schema = Schema(
        tenant="default",
        datasource="d1",
        tables=(
            a_table("customers", "id", "state", "Name"),
            a_table("ghosts", "id"),
            a_table("orders", "id", "customer_id"),
            a_table("salaries", "id", "amount"),
        ),
        refreshed=NOW,
    )
    hidden = replace(schema.tables[1], is_selected=False)
    tables = (schema.tables[0], hidden, *schema.tables[2:])
    await office.ontology.write(schema=replace(schema, tables=tables))
    return office


@dataclass(kw_only=True)
class Place:
    """A real database with a desk in front of it, to which anything can be done behind its back."""

    office: Office
    datasource: Datasource

    @property
    def ann(self) -> Hand:
        return self.office.hand()

    @property
    def boss(self) -> Hand:
        """Somebody who writes by hand, over the API."""
        return self.office.hand("boss", UserRole.ADMIN, came_by="api")

    async def run(self, *statements: str) -> None:
        """Change the database, while nobody has it open."""
        await self.close()
        match self.datasource.engine:
            case EngineKind.SQLITE:
                run_on_sqlite(Path(self.datasource.location), statements)
            case EngineKind.DUCKDB:
                with duckdb.connect(self.datasource.location) as connection:
                    for statement in statements:
                        connection.execute(statement)
            case EngineKind.POSTGRESQL:
                with psycopg.connect(self.datasource.location, autocommit=True) as connection:
                    for statement in statements:
                        connection.execute(statement.encode())
        self.office.sources.engines[self.datasource.id] = open_engine(self.datasource)

    async def close(self) -> None:
        engine = self.office.sources.engines.pop(self.datasource.id, None)
        if engine is not None:
            await engine.aclose()

    async def named(self, change_type: str, status: str = "pending") -> Sequence[Mapping[str, Any]]:
        """Return the changes of a type that stand somewhere."""
        listed = await self.ann.calls("list_pending_changes", status=status, limit=500)
        return [each for each in listed["changes"] if each["type"] == change_type]

    async def body(self, kind: ItemKind, key: str) -> Mapping[str, Any] | None:
        """Return what is stored under a key."""
        items = await self.office.ontology.items("default", self.datasource.id, kind)
        return next((item.body for item in items if item.key == key), None)


async def open_place(
    office: Office, kind: EngineKind, folder: Path, postgres_url: str
) -> AsyncGenerator[Place]:
    made = Datasource(
        id="d1",
        tenant="default",
        name="shop",
        engine=kind,
        location=postgres_url or str(folder / f"data.{kind.value}"),
        tables=("customers", "orders", "products", "visits", "extra*"),
        sensitive=("extra_secret",),
        created=NOW,
        updated=NOW,
    )
    await office.datasources.write_datasource(made)
    place = Place(office=office, datasource=made)
    await place.run(*TABLES, "CREATE TABLE salaries (id INTEGER PRIMARY KEY)")
    yield place
    await place.close()


@pytest.fixture(params=list(EngineKind))
async def place(
    office: Office, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncGenerator[Place]:
    """A shop in a real database of each kind, which nobody has looked at yet."""
    kind: EngineKind = request.param
    url = request.getfixturevalue("postgres_url") if kind is EngineKind.POSTGRESQL else ""
    async for made in open_place(office, kind, tmp_path, url):
        yield made


@pytest.fixture
async def sqlite_place(office: Office, tmp_path: Path) -> AsyncGenerator[Place]:
    """One in SQLite, for what is the same whichever database it is."""
    async for made in open_place(office, EngineKind.SQLITE, tmp_path, ""):
        yield made
