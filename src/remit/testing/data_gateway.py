"""A real gateway with a `data` server over a shop, and callers of every kind with real credentials.

with open_data_gateway(folder) as gateway:
    async with open_callers(gateway) as callers:
        ann = callers.user("ann")
        rows = await ann.does("query", sql="SELECT name FROM customers")
        assert await ann.fails("query", sql="DROP TABLE customers") == "invalid_sql_type"
"""

import json
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio
import httpx2

from remit.admin.keys import make_key
from remit.admin.secret_files import write_secret
from remit.app.data import DataPlace
from remit.client.transport import TRUSTS_NOBODY
from remit.data.datasources import Edit
from remit.data.desk import Stores
from remit.identity.development import KEY_FILE
from remit.identity.development_tokens import make_signing_key, sign_token
from remit.model.data import Datasource, EngineKind
from remit.model.principals import DEFAULT_TENANT
from remit.servers.toolbox import ERROR
from remit.settings import Settings
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.testing.gateway import Caller, Running, start_gateway
from remit.testing.shops import make_shop

MASTER_KEY: Final = "correct horse battery staple"
"""`REMIT_MASTER_KEY` of the gateway."""

SOURCE: Final = "shop"
"""The name of the datasource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataGateway:
    """A running gateway, and where its state is.

    Attributes:
        database_url: Of its own database, which tests look into.
        kind: Of its datasource.
        location: Path or URL of its datasource.
    """

    running: Running
    database_url: str
    kind: EngineKind
    location: str

    @property
    def settings(self) -> Settings:
        """Those that it runs with."""
        return _settings(self.running.config, self.database_url)


@contextmanager
def open_data_gateway(
    folder: Path,
    kind: EngineKind = EngineKind.SQLITE,
    *options: str,
    postgres_url: str = "",
    database_url: str = "",
    edit: Edit | None = None,
    more: Mapping[str, Any] | None = None,
) -> Generator[DataGateway]:
    """Start a gateway with a `data` server over a shop in *folder*, and stop it at the end.

    Args:
        folder: Where it runs.
        kind: Of its datasource.
        options: More of its command line, such as `("--workers", "2")`.
        postgres_url: An empty database, for a datasource in PostgreSQL.
        database_url: The gateway's own; without one a file in *folder*.
        edit: What to say of the datasource beside where it is; it is writable otherwise.
        more: Further keys of the declaration.
    """
    location = make_shop(kind, folder, postgres_url)
    config = folder / "remit.yaml"
    document = {"version": "1.0", "mcp_servers": {"data": {"builtin": "data"}}, **(more or {})}
    config.write_text(json.dumps(document, indent=2))
    own = database_url or default_url(folder / ".remit")
    is_server = kind is EngineKind.POSTGRESQL
    wanted = edit or Edit(is_writable=True, write_url=location if is_server else None)
    anyio.run(_add_source, _settings(config, own), kind, replace(wanted, url=location))
    environ = {"REMIT_DATABASE_URL": own, "REMIT_MASTER_KEY": MASTER_KEY}
    running = start_gateway(folder, config, environ, *options).settle()
    try:
        yield DataGateway(running=running, database_url=own, kind=kind, location=location)
    finally:
        running.stop()


def _settings(config: Path, database_url: str) -> Settings:
    return Settings(config=config, database_url=database_url, master_key=MASTER_KEY)


async def _add_source(settings: Settings, kind: EngineKind, wanted: Edit) -> None:
    settings.state.mkdir(mode=0o700, exist_ok=True)
    write_secret(settings.state / KEY_FILE, make_signing_key() + "\n")
    await add_source(settings, SOURCE, kind, wanted)


async def add_source(
    settings: Settings, name: str, kind: EngineKind, edit: Edit, *, tenant: str = DEFAULT_TENANT
) -> Datasource:
    """Add a datasource to a gateway with these settings, as `remit datasources add` does."""
    async with open_database(settings.database_url or "") as database:
        place = DataPlace(settings, database, lambda _: "refuse")
        return await place.datasources.add(tenant, name, kind, edit, tested=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Makes callers of a gateway, each with a credential of its own.

    Attributes:
        database: The gateway's own, for tests that look past it.
        stores: What is stored, likewise.
    """

    gateway: DataGateway
    database: Database
    stores: Stores
    http: httpx2.AsyncClient

    def person(self, name: str, *user_roles: str, **claims: Any) -> "DataCaller":
        """Return somebody with a token that names these user roles."""
        now = datetime.now(UTC)
        token = sign_token(
            (self.gateway.settings.state / KEY_FILE).read_text(),
            subject=name,
            claims={"user_roles": list(user_roles), "tenant": DEFAULT_TENANT, **claims},
            issued=now,
            expires=now + timedelta(hours=1),
        )
        return self.holder(f"user:{name}", token)

    def user(self, name: str = "uma") -> "DataCaller":
        """Return a business user."""
        return self.person(name, "user")

    def admin(self, name: str = "adam") -> "DataCaller":
        """Return somebody with the user role `admin`."""
        return self.person(name, "admin")

    def analyst(self, name: str = "dana") -> "DataCaller":
        """Return somebody with the user role `data`."""
        return self.person(name, "data")

    def developer(self, name: str = "dev") -> "DataCaller":
        """Return somebody with the user role `developer`."""
        return self.person(name, "developer")

    def nobody(self, name: str = "nora") -> "DataCaller":
        """Return somebody with a token and without any user role."""
        return self.person(name)

    async def service(self, name: str = "", *, queries: Sequence[str] = ()) -> "DataCaller":
        """Return a service key, limited to these queries if there are some (S2.28)."""
        called = name or f"service-{uuid4().hex[:8]}"
        made = await make_key(
            Keys(self.database),
            called,
            tenant=DEFAULT_TENANT,
            now=datetime.now(UTC),
            service=True,
            queries=queries,
            roles={},
        )
        return self.holder(f"key:{called}", made.text)

    def administrator(self) -> "DataCaller":
        """Return the administrator's key, which has no user role."""
        return self.holder("key:admin", self.gateway.running.admin_key)

    def holder(self, subject: str, credential: str, path: str = "/mcp/data") -> "DataCaller":
        """Return whoever holds a credential, at an endpoint."""
        caller = Caller(self.http, f"{self.gateway.running.base}{path}", credential)
        return DataCaller(subject, caller)


@dataclass(frozen=True, slots=True)
class DataCaller:
    """One caller at `/mcp/data`.

    Attributes:
        subject: As rows name it.
        caller: It, as a client of the gateway.
    """

    subject: str
    caller: Caller

    async def does(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds, and return its structured result."""
        answer = await self.caller.call(tool, arguments)
        if "error" in answer or answer["result"].get("isError"):
            raise AssertionError(f"{self.subject} failed at {tool}: {answer}")
        structured: dict[str, Any] = answer["result"]["structuredContent"]
        return structured

    async def fails(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that fails, and return the code; of a protocol error that as text."""
        failure = await self.failure(tool, **arguments)
        return str(failure["code"])

    async def failure(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that fails, and return what it says (S2.45), or the protocol error.

        What is refused for its arguments alone, before the server hears of it, is no JSON; its
        code is `invalid_parameters` here all the same.
        """
        answer = await self.caller.call(tool, arguments)
        if "error" in answer:
            error: dict[str, Any] = answer["error"]
            return error
        result = answer["result"]
        if not result.get("isError"):
            raise AssertionError(f"{self.subject} did not fail at {tool}: {result}")
        text: str = result["content"][0]["text"]
        if ERROR not in result.get("_meta", {}):
            return {"error": True, "code": "invalid_parameters", "message": text}
        told: dict[str, Any] = json.loads(text)
        if told["code"] != result["_meta"][ERROR]["code"]:
            raise AssertionError(f"text and code differ: {result}")
        return told

    async def tools(self) -> Sequence[str]:
        """Return the names of the tools that it is shown, in their order."""
        return [tool["name"] for tool in await self.caller.tools()]


@asynccontextmanager
async def open_callers(gateway: DataGateway) -> AsyncGenerator[Callers]:
    """Open what makes callers of a gateway."""
    async with (
        open_database(gateway.database_url) as database,
        httpx2.AsyncClient(timeout=60, verify=TRUSTS_NOBODY) as http,
    ):
        place = DataPlace(gateway.settings, database, lambda _: "refuse")
        yield Callers(gateway=gateway, database=database, stores=place.stores, http=http)
