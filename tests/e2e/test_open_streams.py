"""Streams end with what opened them, within two seconds, and those of others stay (R17)."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.streams import Stream, both_eras

from remit.admin.keys import make_key, rotate_key
from remit.app.installation import Installation, open_installation
from remit.model.agents import Agent
from remit.model.principals import DEFAULT_TENANT, AgentType
from remit.settings import Settings
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import FakeIssuer

pytestmark = pytest.mark.timeout(180)

WITHIN = 2.0
"""Seconds after which what ended opens nothing any more (R17)."""

LEEWAY = 1.0


@pytest.fixture(scope="module")
def running(module_folder: Path, serve_module: Serve, module_issuer: FakeIssuer) -> Running:
    entry = fixture_entry(["work", "rest"], module_folder / "ran", session="shared")
    document: dict[str, Any] = {
        "mcp_servers": {"tools": entry},
        "roles": {"worker": {"allow": ["tools/work"]}, "idler": {"allow": ["tools/rest"]}},
        "identity": {"jwt": [{**module_issuer.trust(), "leeway": LEEWAY}]},
    }
    return serve_module(document).settle()


def token(issuer: FakeIssuer, subject: str, seconds: float = 600) -> str:
    return issuer.token({"exp": time.time() + seconds, "sub": subject, "roles": ["worker"]})


@asynccontextmanager
async def beside(running: Running) -> AsyncGenerator[Installation]:
    """Open the same database as another process would."""
    async with open_installation(Settings(config=running.config), author="") as installation:
        yield installation


async def key_of(running: Running, name: str, seconds: float | None = None) -> str:
    now = datetime.now(UTC)
    async with beside(running) as installation:
        made = await make_key(
            installation.keys,
            name,
            tenant=DEFAULT_TENANT,
            now=now,
            role="worker",
            expires=None if seconds is None else now + timedelta(seconds=seconds),
            roles=installation.policy.declaration.roles,
        )
    return made.text


async def agents_key(running: Running, name: str) -> str:
    now = datetime.now(UTC)
    agent = Agent(id=name, tenant=DEFAULT_TENANT, type=AgentType.WORKER, role="worker", created=now)
    async with beside(running) as installation:
        await installation.agents.add(agent)
        made = await make_key(
            installation.keys, name, tenant=DEFAULT_TENANT, now=now, agent=agent, roles={}
        )
    return made.text


async def change(installation: Installation, what: str, name: str) -> None:
    now = datetime.now(UTC)
    if what == "a disabled user":
        await installation.users.disable(DEFAULT_TENANT, name, now)
    elif what == "a rotated key":
        await rotate_key(installation.keys, name, tenant=DEFAULT_TENANT, now=now)
    else:
        await installation.keys.revoke(DEFAULT_TENANT, name, now)


async def ends_within(streams: tuple[Stream, Stream], seconds: float) -> None:
    with anyio.fail_after(seconds):
        for stream in streams:
            await stream.ended.wait()


@pytest.mark.parametrize("what", ["a revoked key", "a rotated key", "a disabled user"])
async def test_streams_end_with_their_credential_and_others_stay(
    running: Running, module_issuer: FakeIssuer, http: httpx2.AsyncClient, what: str
) -> None:
    held = token(module_issuer, what) if what == "a disabled user" else await key_of(running, what)
    mine = Caller(http, running.url, held)
    idle = await anyio.to_thread.run_sync(running.key, "idler")
    bob = Caller(http, running.url, token(module_issuer, "bob"))
    idler = Caller(http, running.url, idle)
    async with (
        both_eras(mine) as ending,
        both_eras(bob) as bobs,
        both_eras(idler) as idlers,
        beside(running) as installation,
    ):
        await change(installation, what, what)
        await ends_within(ending, WITHIN)
        assert (await mine.send("tools/list", {})).status_code == 401

        for stream in (*bobs, *idlers):
            assert not stream.ended.is_set()
            assert stream.changes == 0
    # The older era has no words for the end; the newer one ends with a result.
    assert ending[0].heard == []
    assert '"resultType":"complete"' in ending[1].heard[-1]


async def test_streams_end_when_the_time_of_a_token_or_a_key_is_over(
    running: Running, module_issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    # Nobody changes anything, and nothing is sent.
    user = Caller(http, running.url, token(module_issuer, "carl", 4 - LEEWAY))
    key = Caller(http, running.url, await key_of(running, "brief", seconds=4))
    other = Caller(http, running.url, token(module_issuer, "dora"))
    async with both_eras(key) as keys, both_eras(user) as users, both_eras(other) as others:
        for streams, caller in ((users, user), (keys, key)):
            await ends_within(streams, 4 + WITHIN)
            assert (await caller.send("tools/list", {})).status_code == 401
        assert not any(stream.ended.is_set() for stream in others)


async def test_only_the_agent_whose_role_changed_is_told(
    running: Running, http: httpx2.AsyncClient
) -> None:
    one, two = [Caller(http, running.url, await agents_key(running, name)) for name in ("a", "b")]
    async with both_eras(one) as told, both_eras(two) as untold, beside(running) as installation:
        agent = await installation.agents.find(DEFAULT_TENANT, "a")
        assert agent is not None
        await installation.agents.change(replace(agent, role="idler"), seen=agent)
        with anyio.fail_after(WITHIN):
            for stream in told:
                await stream.changed.wait()
        assert {tool["name"] for tool in await one.tools()} == {"tools__rest"}
        assert [stream.changes for stream in (*told, *untold)] == [1, 1, 0, 0]
        assert not any(stream.ended.is_set() for stream in (*told, *untold))
