"""A running gateway with every kind of caller, for tests of the API."""

import json
import logging
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import structlog
from anyio.from_thread import start_blocking_portal

from remit.admin.agents import check_agent
from remit.admin.keys import make_key
from remit.admin.secret_files import write_secret
from remit.admin.tenants import make_tenant
from remit.app.gateway import open_gateway
from remit.app.installation import Installation
from remit.cli.serving import bind, open_server
from remit.identity.development import KEY_FILE
from remit.identity.development_tokens import make_signing_key, sign_token
from remit.model.agents import Agent
from remit.model.crew import Change, Mail
from remit.model.principals import DEFAULT_TENANT, AgentType
from remit.settings import Settings
from remit.storage.crew import Crew
from remit.storage.notices import Notices

V1 = "/api/v1"

ROLE = "developer"
AGENT = "w1"
QUESTION = "q1"
"""A mail from the agent to the human."""
ELSEWHERE = "elsewhere"

CALLERS = (
    "nobody",
    "wrong key",
    "role key",
    "service key",
    "agent",
    "user",
    "administrator of another tenant",
    "administrator",
)


@dataclass(frozen=True, kw_only=True)
class Api:
    """The API of a running gateway.

    Attributes:
        base: The root of every path.
        credentials: Kind of caller to its credential; nobody has none.
    """

    folder: Path
    base: str
    credentials: Mapping[str, str | None] = field(repr=False)

    def send(
        self,
        method: str,
        path: str,
        *,
        by: str = "administrator",
        body: Any = None,
        **more: Any,
    ) -> httpx2.Response:
        """Send a request below `/api/v1`, or to a path of `/api/projects`, as *by*."""
        credential = self.credentials[by]
        headers = {} if credential is None else {"Authorization": f"Bearer {credential}"}
        headers |= more.pop("headers", {})
        if body is not None:
            more["json"] = body
        below = "" if path.startswith("/api/") else V1
        url = f"{self.base}{below}{path}"
        return httpx2.request(method, url, headers=headers, timeout=30, **more)

    def get(self, path: str, **more: Any) -> Any:
        """Read something that is there."""
        reply = self.send("GET", path, **more)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def tag(self, path: str) -> str:
        """Return the `ETag` of what is read at *path*."""
        reply = self.send("GET", path)
        assert reply.status_code == 200, reply.text
        return reply.headers["ETag"]


@contextmanager
def open_api(folder: Path, document: Mapping[str, Any]) -> Generator[Api]:
    """Serve a gateway on a socket from a thread of this process, and give it every caller."""
    config = folder / "remit.yaml"
    config.write_text(json.dumps(document))
    settings = Settings(config=config)
    # As `remit serve` does: what it logs is no part of what commands in this process print.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_serving(settings)) as (base, credentials),
    ):
        yield Api(folder=folder, base=base, credentials=credentials)


@asynccontextmanager
async def _serving(settings: Settings) -> AsyncGenerator[tuple[str, dict[str, str | None]]]:
    async with open_gateway(settings, author="serve", development=True, everyone=True) as gateway:
        await gateway.home.fleet.settled()
        with bind("127.0.0.1", 0) as listener:
            async with open_server(gateway, listener) as base:
                credentials = await _credentials(gateway.installation)
                await gateway.tenants.follow()
                yield base, credentials


async def _credentials(installation: Installation) -> dict[str, str | None]:
    await installation.agents.add(_agent())
    crew = Crew(installation.database, Notices(installation.database))
    await crew.apply(Change(mails=(_question(),)))
    await make_tenant(installation.tenants, ELSEWHERE, now=datetime.now(UTC))
    return {
        "nobody": None,
        "wrong key": "rmt_" + "a" * 12 + "_" + "b" * 43,
        "role key": await _key(installation, "caller-role", role=ROLE),
        "service key": await _key(installation, "caller-service", service=True),
        "agent": await _key(installation, "caller-agent", agent=_agent()),
        "user": _token(installation.settings.state),
        "administrator of another tenant": await _key(
            installation, "caller-other", tenant=ELSEWHERE, admin=True
        ),
        "administrator": await _key(installation, "admin", admin=True),
    }


def _question() -> Mail:
    return Mail(
        id=QUESTION,
        tenant=DEFAULT_TENANT,
        from_agent=AGENT,
        from_type=AgentType.WORKER,
        sender=f"agent:{AGENT}",
        subject="Which port?",
        body="8400 or 8401?",
        created=datetime.now(UTC),
    )


def _agent() -> Agent:
    return check_agent(
        AGENT, tenant=DEFAULT_TENANT, type_name="WORKER", now=datetime.now(UTC), roles={}
    )


async def _key(
    installation: Installation, name: str, *, tenant: str = DEFAULT_TENANT, **purpose: Any
) -> str:
    made = await make_key(
        installation.keys,
        name,
        tenant=tenant,
        now=datetime.now(UTC),
        roles=installation.policy.declaration.roles,
        **purpose,
    )
    return made.text


def _token(state: Path) -> str:
    path = state / KEY_FILE
    write_secret(path, make_signing_key())
    now = datetime.now(UTC)
    return sign_token(
        path.read_text(),
        subject="ann",
        claims={"roles": [ROLE], "tenant": DEFAULT_TENANT},
        issued=now,
        expires=now + timedelta(hours=1),
    )


DOCUMENT: dict[str, Any] = {
    "version": "1.0",
    "roles": {
        ROLE: {"tools": {"tools": ["work"]}},
        "idle": {"allow": ["tools/rest"], "denials": "explain"},
    },
    "grants": [{"user": "eve", "effect": "deny", "server": "tools"}],
}
