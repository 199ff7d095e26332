"""Seconds from a change in the store to refusal on another gateway: a test's and a benchmark's."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2

from remit.admin.keys import make_key
from remit.client.transport import TRUSTS_NOBODY
from remit.identity.development import KEY_FILE
from remit.identity.development_tokens import make_signing_key, sign_token
from remit.model.agents import Agent
from remit.model.principals import DEFAULT_TENANT, AgentType
from remit.model.roles import Role
from remit.storage.agents import Agents
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.storage.revisions import Revisions
from remit.storage.users import Users
from remit.testing.gateway import Caller, Running, fixture_entry, start_gateway

KINDS: Final = ("key revoked", "user disabled", "agent changed", "rule removed", "grant ended")
"""What changes, in turn."""

LONGEST: Final = 20.0
"""Seconds after which nothing will change any more."""

_BETWEEN: Final = 0.01
_LASTS: Final = timedelta(seconds=3)
_ROLE: Final = "clerk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One change and how long it took.

    Attributes:
        seconds: From its commit, or the end of the grant, until the slower gateway refused.
    """

    kind: str
    seconds: float


class Reach:
    """Gateways over one store, and changes that somebody else makes in it.

    Attributes:
        gateways: All of them.
    """

    def __init__(
        self, gateways: Sequence[Running], database: Database, http: httpx2.AsyncClient
    ) -> None:
        self.gateways = gateways
        self._database = database
        self._http = http
        self._signing_key = (gateways[0].config.parent / ".remit" / KEY_FILE).read_text()

    async def measure(self, number: int) -> Refusal:
        """Make one change, the kind of which *number* chooses, and wait until all refuse.

        Raises:
            TimeoutError: A gateway never allowed it before, or never refused it afterwards.
        """
        kind = KINDS[number % len(KINDS)]
        makers: Mapping[str, Callable[[str], Awaitable[float]]] = {
            "key revoked": self._key_revoked,
            "user disabled": self._user_disabled,
            "agent changed": self._agent_changed,
            "rule removed": self._rule_removed,
            "grant ended": self._grant_ended,
        }
        return Refusal(kind=kind, seconds=await makers[kind](f"c{number}"))

    async def _key_revoked(self, name: str) -> float:
        key = await self._key(name)
        await self._until(key, "files__read", allowed=True)
        await Keys(self._database).revoke(DEFAULT_TENANT, name, datetime.now(UTC))
        return await self._refused(key, "files__read")

    async def _user_disabled(self, name: str) -> float:
        now = datetime.now(UTC)
        token = sign_token(
            self._signing_key,
            subject=name,
            claims={"roles": [_ROLE], "tenant": DEFAULT_TENANT},
            issued=now,
            expires=now + timedelta(hours=1),
        )
        await self._until(token, "files__read", allowed=True)
        await Users(self._database).disable(DEFAULT_TENANT, name, now)
        return await self._refused(token, "files__read")

    async def _agent_changed(self, name: str) -> float:
        agent = Agent(
            id=name,
            tenant=DEFAULT_TENANT,
            type=AgentType.WORKER,
            role=_ROLE,
            created=datetime.now(UTC),
        )
        await Agents(self._database).add(agent)
        key = await self._key(name, agent)
        await self._until(key, "files__read", allowed=True)
        await Agents(self._database).change(replace(agent, role=""), seen=agent)
        return await self._refused(key, "files__read")

    async def _rule_removed(self, name: str) -> float:
        key = await self._key(name)
        await self._declare(rules={"files": ["read", "write"]})
        await self._until(key, "files__write", allowed=True)
        await self._declare(rules={"files": ["read"]})
        return await self._refused(key, "files__write")

    async def _grant_ended(self, name: str) -> float:
        key = await self._key(name)
        ends = datetime.now(UTC) + _LASTS
        grant = {"role": _ROLE, "effect": "allow", "server": "vault", "until": ends.isoformat()}
        await self._declare(rules={"files": ["read"]}, grants=[grant])
        await self._until(key, "vault__open", allowed=True)
        await anyio.sleep((ends - datetime.now(UTC)).total_seconds())
        return await self._refused(key, "vault__open")

    async def _key(self, name: str, agent: Agent | None = None) -> str:
        made = await make_key(
            Keys(self._database),
            name,
            tenant=DEFAULT_TENANT,
            now=datetime.now(UTC),
            role=None if agent else _ROLE,
            agent=agent,
            roles={_ROLE: Role(name=_ROLE)},
        )
        return made.text

    async def _declare(self, *, rules: Mapping[str, Any], grants: Sequence[Any] = ()) -> None:
        document = json.loads(self.gateways[0].config.read_text())
        document["roles"][_ROLE]["tools"] = rules
        document["grants"] = list(grants)
        await Revisions(self._database).write(
            DEFAULT_TENANT, document, author="user:ann", reason="", now=datetime.now(UTC)
        )

    async def _refused(self, credential: str, tool: str) -> float:
        began = anyio.current_time()
        await self._until(credential, tool, allowed=False)
        return anyio.current_time() - began

    async def _until(self, credential: str, tool: str, *, allowed: bool) -> None:
        with anyio.fail_after(LONGEST):
            async with anyio.create_task_group() as tasks:
                for gateway in self.gateways:
                    caller = Caller(self._http, gateway.url, credential)
                    tasks.start_soon(_until, caller, tool, allowed)


@asynccontextmanager
async def open_reach(folder: Path, postgres_url: str = "") -> AsyncGenerator[Reach]:
    """Run two gateways while entered.

    Args:
        folder: Theirs, empty.
        postgres_url: Their database, each with a state folder of its own as on two machines;
            empty for SQLite, and then both have one folder.
    """
    places = (folder / "one", folder / ("two" if postgres_url else "one"))
    environ = {"REMIT_DATABASE_URL": postgres_url} if postgres_url else {}
    running: list[Running] = []
    signing_key = make_signing_key()
    try:
        for place in places:
            (place / ".remit").mkdir(mode=0o700, parents=True, exist_ok=True)
            config = place / "remit.yaml"
            config.write_text(json.dumps(_document(folder)))
            (place / ".remit" / KEY_FILE).write_text(signing_key)
            running.append(await anyio.to_thread.run_sync(start_gateway, place, config, environ))
        async with (
            open_database(postgres_url or default_url(places[0] / ".remit")) as database,
            httpx2.AsyncClient(timeout=LONGEST, verify=TRUSTS_NOBODY) as http,
        ):
            yield Reach(running, database, http)
    finally:
        for gateway in running:
            gateway.stop()


def _document(folder: Path) -> Mapping[str, Any]:
    vault = fixture_entry(["open"], folder / "vault", session="shared", default_access="deny")
    return {
        "version": "1.0",
        "mcp_servers": {
            "files": fixture_entry(["read", "write"], folder / "files", session="shared"),
            "vault": vault,
        },
        "roles": {_ROLE: {"tools": {"files": ["read"]}, "allow": ["*/open"]}},
        # an agent reaches what is not the crew's by its role alone
        "agent_types": {"WORKER": {"allow": ["mail/*"]}},
    }


async def _until(caller: Caller, tool: str, allowed: bool) -> None:
    while await _may(caller, tool) is not allowed:  # noqa: ASYNC110 - another process changes
        await anyio.sleep(_BETWEEN)


async def _may(caller: Caller, tool: str) -> bool:
    reply = await caller.send("tools/call", {"name": tool, "arguments": {}})
    return reply.is_success and "result" in reply.json()
