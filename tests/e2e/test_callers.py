"""Every kind of caller at a running gateway: users by token, agents, service keys (R5, R17)."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.identity.development_tokens import make_signing_key, sign_token
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import FakeIssuer

pytestmark = pytest.mark.timeout(180)  # gateways and commands in processes of their own

TAKES_EFFECT = 2.0
"""Seconds within which a change must be in force (R17)."""


@pytest.fixture
def running(tmp_path: Path, serve: Serve, issuer: FakeIssuer) -> Running:
    entry = fixture_entry(["work", "rest"], tmp_path / "ran")
    document = {
        "mcp_servers": {"tools": entry},
        "roles": {"worker": {"allow": ["tools/work"]}, "idler": {"allow": ["tools/rest"]}},
        "identity": {"jwt": [issuer.trust()]},
    }
    return serve(document, REMIT_LOG_LEVEL="DEBUG")


def token(issuer: FakeIssuer, **claims: object) -> str:
    return issuer.token({"exp": time.time() + 600, **claims})


async def until(caller: Caller, status: int) -> None:
    with anyio.fail_after(TAKES_EFFECT):
        while True:
            if (await caller.send("tools/list", {})).status_code == status:
                break
            await anyio.sleep(0.05)


async def test_a_users_token_opens_what_its_role_opens_until_the_user_is_disabled(
    running: Running, issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    held = token(issuer, roles=["worker", "no_such_role"])
    caller = Caller(http, running.url, held)
    assert await caller.until_listed({"tools__work"}) == {"tools__work"}
    assert "result" in await caller.call("tools__work")

    text = running.remit("keys", "create", "laptop", "--role", "worker", "--owner", "ann")
    key = Caller(http, running.url, text.splitlines()[0])
    await until(key, 200)

    running.remit("users", "disable", "ann")
    await until(caller, 401)
    await until(key, 401)
    assert json.loads(running.remit("users", "list", "--json"))[0]["name"] == "ann"
    running.remit("users", "enable", "ann")
    running.remit("users", "enable", "ann", expect=1)
    await until(caller, 200)

    assert {row["principal"] for row in running.audit()} == {"user:ann"}
    assert issuer.fetches == 1
    log = running.log.read_text()
    for part in held.split("."):
        assert part not in log


async def test_a_token_that_does_not_hold_is_answered_like_any_other(
    running: Running, issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    expired = issuer.token({"exp": time.time() - 100})
    elsewhere = token(issuer, aud="https://elsewhere.example.test")

    replies = [
        await Caller(http, running.url, text).send("tools/list", {})
        for text in (expired, elsewhere, "a.b.c", "rmt_no_key")
    ]

    assert {reply.status_code for reply in replies} == {401}
    assert len({reply.text for reply in replies}) == 1
    log = running.log.read_text()
    assert '"reason": "expired"' in log
    assert expired.split(".")[1] not in log


async def test_a_token_of_5_mb_is_refused_and_the_gateway_goes_on(
    running: Running, issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    try:
        reply = await Caller(http, running.url, "x" * 5_000_000).send("tools/list", {})
        assert 400 <= reply.status_code < 500
    except httpx2.TransportError:
        pass  # closing the connection is an answer, too

    good = Caller(http, running.url, token(issuer, roles="worker"))
    assert (await good.send("tools/list", {})).status_code == 200


async def test_an_agents_key_follows_its_agent(running: Running, http: httpx2.AsyncClient) -> None:
    running.remit("agents", "create", "w1", "--type", "worker", "--role", "worker", "--epic", "E1")
    made = json.loads(running.remit("keys", "create", "w1-key", "--agent", "w1", "--json"))
    caller = Caller(http, running.url, made["key"])
    await caller.until_listed({"tools__work"})
    await caller.call("tools__work")

    running.remit("agents", "change", "w1", "--role", "idler")

    with anyio.fail_after(TAKES_EFFECT):
        while True:
            if {tool["name"] for tool in await caller.tools()} == {"tools__rest"}:
                break
            await anyio.sleep(0.05)
    assert {row["principal"] for row in running.audit()} == {"agent:w1"}
    listed = json.loads(running.remit("agents", "list", "--json"))
    assert [(a["id"], a["type"], a["role"], a["epic"]) for a in listed] == [
        ("w1", "WORKER", "idler", "E1")
    ]


async def test_a_rotated_key_ends_and_its_successor_opens_the_same(
    running: Running, http: httpx2.AsyncClient
) -> None:
    old = Caller(http, running.url, running.key("worker"))
    await old.until_listed({"tools__work"})

    rotated = json.loads(running.remit("keys", "rotate", "worker-key", "--json"))

    await until(old, 401)
    new = Caller(http, running.url, rotated["key"])
    assert {tool["name"] for tool in await new.tools()} == {"tools__work"}
    listed = json.loads(running.remit("keys", "list", "--json"))
    states = {key["id"]: key["state"] for key in listed}
    assert states[rotated["id"]] == "holds"
    assert sorted(states.values()) == ["holds", "holds", "revoked"]  # and the administrator's
    with anyio.fail_after(20):
        while not await _used(running, rotated["id"]):  # noqa: ASYNC110 - written beside the calls
            await anyio.sleep(0.1)


async def _used(running: Running, key_id: str) -> bool:
    listed = await anyio.to_thread.run_sync(running.remit, "keys", "list", "--json")
    return any(key["last_used"] for key in json.loads(listed) if key["id"] == key_id)


async def test_a_key_comes_in_each_of_the_accepted_headers(
    running: Running, http: httpx2.AsyncClient
) -> None:
    # S2.27
    key = running.admin_key
    for headers in (
        {"Authorization": f"Bearer {key}"},
        {"Authorization": f"bearer {key}"},
        {"Authorization": f"api-key:{key}"},
        {"Authorization": f"API-Key: {key}"},
        {"X-API-Key": key},
    ):
        reply = await http.get(f"{running.base}/readyz", headers=headers)
        assert "servers" in reply.json()


async def test_a_development_token_is_accepted_by_its_own_gateway(
    running: Running, http: httpx2.AsyncClient
) -> None:
    made = running.remit("token", "issue", "--sub", "dev", "--role", "worker", "--expires", "5m")
    path = running.folder / ".remit" / "token-issuer.jwk"
    caller = Caller(http, running.url, made.strip())

    assert await caller.until_listed({"tools__work"}) == {"tools__work"}
    assert path.stat().st_mode & 0o777 == 0o600

    now = datetime.now(UTC)
    foreign = sign_token(
        make_signing_key(),
        subject="dev",
        claims={"roles": ["worker"]},
        issued=now,
        expires=now + timedelta(minutes=5),
    )
    reply = await Caller(http, running.url, foreign).send("tools/list", {})
    assert reply.status_code == 401
