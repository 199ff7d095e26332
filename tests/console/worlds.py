"""Workers of a console over one database, at a time that stands still, and browsers of them."""

import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from remit.admin.change_record import ChangeRecord
from remit.client.transport import TRUSTS_NOBODY
from remit.doors.addresses import Addresses
from remit.doors.console.begun import BegunSeal
from remit.doors.console.guesses import Guesses
from remit.doors.console.provider import ProviderSignIn
from remit.doors.console.rendering import Rendering
from remit.doors.console.sessions import Sessions
from remit.doors.console.sign_in_page import SignInPage
from remit.doors.console.signing_in import AtProvider, SigningIn
from remit.identity.api_keys import KeyText, hash_secret, make_key_text
from remit.identity.authenticate import Authenticator
from remit.identity.oidc import Flows
from remit.identity.sessions import People, SignIns
from remit.model.declaration import HttpSettings
from remit.model.keys import Key
from remit.model.oidc import OidcProvider
from remit.storage.agents import Agents
from remit.storage.console_sessions import ConsoleSessions
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.storage.users import Users
from remit.testing.fakes import InMemoryAudit

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
_CSRF = re.compile(r'name="csrf" value="([^"]*)"')
_NEXT = re.compile(r'name="next" value="([^"]*)"')
_PROBLEM = re.compile(r'role="alert">([^<]*)<')


class Tenants:
    """Which tenants are served."""

    def __init__(self) -> None:
        self.served = {"default", "acme"}

    def name_of(self, text: str) -> str | None:
        return text if text in self.served else None


@dataclass(kw_only=True)
class World:
    """What all workers share, and their clock."""

    database: Database
    audit: InMemoryAudit = field(default_factory=InMemoryAudit)
    http: HttpSettings = field(default_factory=HttpSettings)
    now: datetime = NOON
    oidc: OidcProvider | None = None
    environ: dict[str, str] = field(default_factory=dict[str, str])
    seal_key: bytes = b"k" * 32
    tenants: Tenants = field(default_factory=Tenants)

    @property
    def keys(self) -> Keys:
        return Keys(self.database)

    @property
    def agents(self) -> Agents:
        return Agents(self.database)

    def seconds(self) -> float:
        return self.now.timestamp()

    def pass_time(self, **how_long: float) -> None:
        self.now += timedelta(**how_long)

    async def make_key(self, name: str = "ann", **settings: object) -> KeyText:
        """Store a key and return its text."""
        text = make_key_text()
        given = {"tenant": "default", "created": self.now, **settings}
        await self.keys.add(
            Key(id=text.id, name=name, secret_hash=hash_secret(text.secret), **given)  # pyright: ignore[reportArgumentType] - any of them
        )
        return text

    def worker(self) -> "Worker":
        """Start another worker, which remembers nothing of what the others do."""
        return Worker(self)


class Worker:
    """One process of a gateway, as far as the sign-in goes, with a page behind it."""

    def __init__(self, world: World) -> None:
        keys = Authenticator(
            world.keys,
            agents=world.agents,
            users=Users(world.database),
            tenants=world.tenants,
            now=lambda: world.now,
        )
        people = People(lambda: world.oidc, users=Users(world.database), tenants=world.tenants)
        sign_ins = SignIns(ConsoleSessions(world.database), keys, people, now=lambda: world.now)
        self.sessions = Sessions(
            sign_ins,
            addresses=Addresses(lambda: world.http),
            changes=ChangeRecord(world.audit, now=lambda: world.now),
            revision=lambda _: 7,
        )
        guesses = Guesses(world.seconds)
        page = SignInPage(
            self.sessions,
            Rendering(()),
            has_provider=lambda: world.oidc is not None,
            guesses=guesses,
        )
        at_provider = ProviderSignIn(
            page,
            self.sessions,
            sign_ins,
            flow=Flows(lambda: world.oidc, world.environ, now=lambda: world.now),
            seal=BegunSeal(world.seal_key, now=world.seconds),
        )

        async def give_provider() -> AtProvider:
            return at_provider

        signing_in = SigningIn(page, self.sessions, sign_ins, give_provider)
        shown = Route("/console/me", self._show_visitor)
        self.app = Starlette(routes=[*signing_in.routes(), shown])

    async def _show_visitor(self, request: Request) -> Response:
        found = await self.sessions.find(request, counts="alone" not in request.query_params)
        if found is None:
            return JSONResponse(None)
        return JSONResponse(
            {
                "subject": found.principal.subject,
                "issuer": found.principal.issuer,
                "tenant": found.principal.tenant,
                "admin": found.principal.admin,
                "auditor": found.principal.auditor,
                "user_roles": [role.value for role in found.principal.user_roles],
                "shown": found.shown,
                "csrf": found.csrf,
                "expires": found.expires.isoformat(),
            }
        )

    def browser(self, *, address: str = "192.0.2.7", scheme: str = "http") -> "Browser":
        """Return a browser without cookies."""
        transport = httpx2.ASGITransport(app=self.app, client=(address, 40000))
        client = httpx2.AsyncClient(transport=transport, base_url=f"{scheme}://127.0.0.1:8080")
        return Browser(client)


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser that keeps cookies and follows nothing by itself."""

    client: httpx2.AsyncClient

    async def form(self, wanted: str = "") -> httpx2.Response:
        """Ask for the form of the sign-in."""
        return await self.client.get("/console/sign-in", params={"next": wanted} if wanted else {})

    async def sign_in(self, key: str, wanted: str = "") -> httpx2.Response:
        """Fill in the form and send it."""
        return await self.sign_in_with((await self.form(wanted)).text, key)

    async def sign_in_with(self, page: str, key: str) -> httpx2.Response:
        """Fill in the form of a page that was shown, and send it."""
        return await self.send({"csrf": csrf_in(page), "next": next_in(page), "key": key})

    async def send(self, fields: dict[str, str]) -> httpx2.Response:
        """Send a form of the sign-in."""
        return await self.client.post("/console/sign-in", data=fields)

    async def sign_out(self, csrf: str) -> httpx2.Response:
        """Send the form that a page with *csrf* has."""
        return await self.client.post("/console/sign-out", data={"csrf": csrf})

    async def at_provider(self, wanted: str = "") -> str:
        """Go to the provider and return the address that it sends this browser back to."""
        sent = await self.client.get(
            "/console/sign-in/oidc", params={"next": wanted} if wanted else {}
        )
        assert sent.status_code == 303, sent.text
        async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as outside:
            back = await outside.get(sent.headers["location"])
        return back.headers["location"]

    async def sign_in_at_provider(self, wanted: str = "") -> httpx2.Response:
        """Go to the provider and come back."""
        return await self.client.get(await self.at_provider(wanted))

    async def me(self, *, alone: bool = False) -> dict[str, Any] | None:
        """Return who the page says is signed in; *alone* it asks by itself, and nobody is there."""
        return (await self.client.get("/console/me", params={"alone": ""} if alone else {})).json()


def csrf_in(page: str) -> str:
    return _found(_CSRF, page)


def next_in(page: str) -> str:
    return _found(_NEXT, page)


def problem_in(page: str) -> str:
    return _found(_PROBLEM, page)


def _found(pattern: re.Pattern[str], page: str) -> str:
    found = pattern.search(page)
    assert found is not None, page
    return found[1]


@asynccontextmanager
async def open_world(folder: Path, tables: Path | None = None) -> AsyncGenerator[World]:
    """Give a world over an SQLite database in *folder*.

    Args:
        folder: Empty.
        tables: Another such folder, with a database that nothing was written to.
    """
    if tables is not None:  # making them takes longer than most tests
        shutil.copytree(tables, folder, dirs_exist_ok=True)
    async with open_database(default_url(folder / ".remit")) as database:
        yield World(database=database)
