"""A shop that is a datasource, real stores over it, and desks for those who ask."""

import json
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import uuid4

import jsonschema_rs
import pytest
from tests.data.reading.tables import (
    ALLOWED,
)

from remit.data.desk import Desk, Stores
from remit.data.engines.engine import Engine
from remit.data.engines.opening import open_engine
from remit.data.probes.tools import PROBE_TOOLS
from remit.data.reading.tools import READING_TOOLS
from remit.errors import DataFailure
from remit.model.data import Datasource, EngineKind
from remit.model.ontology import (
    Item,
    ItemKind,
    Provenance,
    Schema,
    Source,
)
from remit.model.principals import DEFAULT_TENANT, Principal, PrincipalKind, UserRole
from remit.servers.arguments import ArgumentCheck
from remit.storage.database import default_url, open_database
from remit.storage.datasources import Datasources
from remit.storage.executions import Executions
from remit.storage.keys import Keys
from remit.storage.ontology import Ontology
from remit.storage.queries import Queries

NOW: Final = datetime(2026, 11, 29, 1, 0, tzinfo=UTC)


class Storable(Protocol):
    @property
    def key(self) -> str: ...

    def to_body(self) -> Mapping[str, object]: ...


@dataclass(slots=True)
class Opened:
    """Engines that were opened, by id of the datasource."""

    engines: dict[str, Engine] = field(default_factory=dict[str, Engine])

    async def open(self, datasource: Datasource) -> Engine:
        if datasource.id not in self.engines:
            self.engines[datasource.id] = open_engine(datasource)
        return self.engines[datasource.id]


_BY: Final = Provenance(
    created_source=Source.MANUAL,
    created_by="user:ann",
    created=NOW,
    edited_source=Source.MANUAL,
    edited_by="user:ann",
    edited=NOW,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A shop that is a datasource, and whoever asks about it."""

    datasource: Datasource
    stores: Stores
    sources: Opened

    def desk(self, *roles: UserRole) -> Desk:
        """Return where a person with these roles asks, a `user` without any."""
        return Desk(
            principal=Principal(
                kind=PrincipalKind.USER, name="ann", user_roles=roles or (UserRole.USER,)
            ),
            tenant=DEFAULT_TENANT,
            tool="sample",
            stores=self.stores,
            sources=self.sources,
            clock=lambda: NOW,
            new_id=lambda: uuid4().hex,
        )

    async def refresh(self, *, unselected: Sequence[str] = ()) -> None:
        """Read the schema, as the first look does."""
        engine = await self.sources.open(self.datasource)
        tables = [
            replace(table, is_selected=table.name not in unselected)
            for table in await engine.schema()
        ]
        stored = await self.stores.ontology.find_schema(DEFAULT_TENANT, self.datasource.id)
        await self.stores.ontology.write(
            schema=Schema(
                tenant=DEFAULT_TENANT,
                datasource=self.datasource.id,
                tables=tables,
                refreshed=NOW,
                version=0 if stored is None else stored.version,
            )
        )

    async def know(self, kind: ItemKind, *values: Storable) -> None:
        """State something of the ontology."""
        await self.stores.ontology.write(
            items=[
                Item(
                    tenant=DEFAULT_TENANT,
                    datasource=self.datasource.id,
                    kind=kind,
                    key=value.key,
                    body=value.to_body(),
                    provenance=_BY,
                )
                for value in values
            ]
        )


@asynccontextmanager
async def open_shop(
    template: Path,
    folder: Path,
    kind: EngineKind,
    location: str,
    *,
    sensitive: Sequence[str] = (),
) -> AsyncGenerator[Shop]:
    """Copy an empty database of the gateway's own into *folder*, and add a datasource to it."""
    datasource = Datasource(
        id="d1",
        tenant=DEFAULT_TENANT,
        name="shop",
        engine=kind,
        location=location,
        tables=ALLOWED,
        sensitive=tuple(sensitive),
        created=NOW,
        updated=NOW,
    )
    sources = Opened()
    shutil.copytree(template, folder, dirs_exist_ok=True)
    async with open_database(default_url(folder / ".remit")) as database:
        stores = Stores(
            datasources=Datasources(database),
            queries=Queries(database),
            executions=Executions(database),
            ontology=Ontology(database),
            keys=Keys(database),
        )
        await stores.datasources.write_datasource(datasource)
        yield Shop(datasource=datasource, stores=stores, sources=sources)
        for engine in sources.engines.values():
            await engine.aclose()


_TOOLS: Final = {tool.name: tool for tool in (*PROBE_TOOLS, *READING_TOOLS)}


async def call(desk: Desk, name: str, /, **arguments: object) -> dict[str, Any]:
    """Call a tool with arguments that fit, and return its result, which does, too."""
    tool = _TOOLS[name]
    result = await tool.run(desk, ArgumentCheck(name, tool.takes)(arguments))
    jsonschema_rs.validate(tool.gives, json.loads(json.dumps(result)))
    return result


async def refused(desk: Desk, name: str, /, **arguments: object) -> DataFailure:
    """Call a tool that will not do it, and return what it says."""
    with pytest.raises(DataFailure) as caught:
        await call(desk, name, **arguments)
    return caught.value
