"""Two tenants behind one port: same names of servers, roles and keys, and nothing in common."""

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import servers_of

from remit.admin.keys import make_key
from remit.admin.tenants import make_tenant
from remit.app.installation import open_installation
from remit.client.transport import TRUSTS_NOBODY
from remit.settings import Settings
from remit.storage.database import default_url, open_database
from remit.storage.keys import Keys
from remit.storage.revisions import Revisions
from remit.storage.tenants import Tenants
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import open_issuer
from remit.testing.upstream import executed

pytestmark = pytest.mark.timeout(180)  # several commands, each a process

REACH = 2.0
"""Seconds within which a change is in force everywhere (R17)."""


def _document(folder: Path, name: str, tools: list[str]) -> dict[str, Any]:
    offered = ["read", "write", f"only_{name}"]
    return {
        "version": "1.0",
        "mcp_servers": {"files": fixture_entry(offered, folder / name, session="shared")},
        "roles": {"clerk": {"tools": {"files": tools}}},
    }


async def _make(folder: Path, name: str, document: Mapping[str, Any] | None = None) -> str:
    """Make a tenant as another process does; return its UUID."""
    now = datetime.now(UTC)
    async with open_database(default_url(folder / ".remit")) as database:
        tenant = await make_tenant(Tenants(database), name, now=now)
        if document is not None:
            await _write(folder, name, document)
    return tenant.uuid


async def _write(folder: Path, name: str, document: Mapping[str, Any]) -> None:
    async with open_database(default_url(folder / ".remit")) as database:
        await Revisions(database).write(
            name, document, author="user:ann", reason="a test", now=datetime.now(UTC)
        )


async def _key(running: Running, tenant: str) -> str:
    settings = Settings(config=running.config, tenant=tenant)
    async with open_installation(settings, author="") as installation:
        made = await make_key(
            installation.keys,
            "ci",
            tenant=installation.tenant.name,
            now=datetime.now(UTC),
            roles=installation.policy.declaration.roles,
            role="clerk",
        )
    return made.text


@asynccontextmanager
async def _caller(running: Running, key: str, path: str = "") -> AsyncGenerator[Caller]:
    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
        yield Caller(http, f"{running.url}{path}", key)


async def _names(caller: Caller) -> set[str]:
    return {tool["name"] for tool in await caller.tools()}


async def _until_known(caller: Caller) -> None:
    """Wait until the gateway serves the caller's tenant, within 2 seconds of its making."""
    with anyio.fail_after(REACH):
        while (await caller.send("tools/list", {})).status_code == 401:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def _may(caller: Caller, tool: str) -> bool:
    return "result" in await caller.call(tool)


async def test_each_tenant_has_its_own_lists_calls_servers_and_record(
    serve: Serve, tmp_path: Path
) -> None:
    # R27: same names of server and role, yet another process behind each
    running = serve(_document(tmp_path, "default", ["read", "only_default"])).settle()
    acme = await _make(tmp_path, "acme", _document(tmp_path, "acme", ["write", "only_acme"]))
    here, there = await _key(running, "default"), await _key(running, "acme")
    async with _caller(running, here) as mine, _caller(running, there) as theirs:
        await _until_known(theirs)
        assert await theirs.until_listed({"files__write", "files__only_acme"}) == {
            "files__write",
            "files__only_acme",
        }
        assert await _names(mine) == {"files__read", "files__only_default"}
        for caller, may, may_not in ((mine, "read", "write"), (theirs, "write", "read")):
            assert await _may(caller, f"files__{may}")
            assert not await _may(caller, f"files__{may_not}")
        async with _caller(running, there, f"/{acme}/files") as own:
            assert await _names(own) == {"write", "only_acme"}
            assert await _may(own, "write")

    ran = [len(executed(tmp_path / tenant)) for tenant in ("default", "acme")]
    assert ran == [1, 2]
    assert len(servers_of(running.process.pid)) == 2
    rows = running.audit("--tenant", acme)
    assert {row["tenant"] for row in rows} == {"acme"}
    assert [row["decision"] for row in rows] == ["allow", "deny", "allow"]
    assert {row["tenant"] for row in running.audit()} == {"default"}
    for tenant, calls in (("default", 2), ("acme", 3)):
        report = json.loads(running.remit("audit", "verify", "--json", "--tenant", tenant))
        assert report["ok"]
        assert report["rows"] >= calls


async def test_the_path_of_another_tenant_tells_nothing(serve: Serve, tmp_path: Path) -> None:
    running = serve(_document(tmp_path, "default", ["read"]))
    acme = await _make(tmp_path, "acme")
    key = await _key(running, "default")
    nowhere = "00000000-0000-4000-8000-000000000001"
    answers: list[tuple[int, str, str]] = []
    for uuid in (acme, nowhere):
        for path in (f"/{uuid}", f"/{uuid}/files"):
            async with _caller(running, key, path) as caller:
                reply = await caller.send("tools/list", {})
                challenge = reply.headers["www-authenticate"].replace(uuid, "")
                answers.append((reply.status_code, reply.text, challenge))

    assert len(set(answers)) == 1
    assert answers[0][0] == 403


async def test_a_tenant_made_while_a_gateway_runs_is_served_within_two_seconds(
    serve: Serve, tmp_path: Path
) -> None:
    # R17
    running = serve(_document(tmp_path, "default", ["read"])).settle()
    await _make(tmp_path, "acme", _document(tmp_path, "acme", ["read"]))
    key = await _key(running, "acme")
    async with _caller(running, key) as caller:
        await _until_known(caller)
        await caller.until_listed({"files__read"})
        await _write(tmp_path, "acme", _document(tmp_path, "acme", ["write"]))
        with anyio.fail_after(REACH):
            while await _may(caller, "files__read"):  # noqa: ASYNC110 - another process changes
                await anyio.sleep(0.02)


async def test_a_tenant_whose_declaration_cannot_be_used_leaves_the_others_alone(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, "default", ["read"]))
    running.stop()
    await _make(tmp_path, "acme", {"roles": {"clerk": {"allow": ["bare"]}}})
    running = serve().settle()
    key, foreign = await _key(running, "default"), await _admin_key(running, "acme")

    async with _caller(running, key) as mine, _caller(running, foreign) as theirs:
        assert await mine.until_listed({"files__read"})
        assert await theirs.tools() == []
    assert "a revision cannot be used" in running.log.read_text()


async def test_administrators_see_the_servers_of_their_own_tenant(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, "default", ["read"])).settle()
    other = _document(tmp_path, "acme", ["read"])
    other["mcp_servers"]["more"] = fixture_entry(["x"], tmp_path / "more")
    await _make(tmp_path, "acme", other)
    key = await _admin_key(running, "acme")
    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"}, verify=TRUSTS_NOBODY
    ) as http:
        with anyio.fail_after(20):
            while not (  # noqa: ASYNC110 - another process changes
                shown := (await http.get(f"{running.base}/readyz")).json().get("servers")
            ):
                await anyio.sleep(0.05)

    assert {server["name"] for server in shown} == {"files", "more"}
    assert set(running.servers()) == {"files"}


async def _admin_key(running: Running, tenant: str) -> str:
    """Make a key without a look at the declaration, which may be one that cannot be used."""
    async with open_database(default_url(running.folder / ".remit")) as database:
        made = await make_key(
            Keys(database),
            "root",
            tenant=tenant,
            now=datetime.now(UTC),
            roles={},
            admin=True,
        )
    return made.text


async def test_a_users_token_picks_its_tenant(serve: Serve, tmp_path: Path) -> None:
    running = serve(_document(tmp_path, "default", ["read"])).settle()
    acme = await _make(tmp_path, "acme", _document(tmp_path, "acme", ["write"]))
    token = ("token", "issue", "--sub", "ann", "--role", "clerk", "--tenant")
    for tenant, wanted in (("default", "read"), (acme, "write")):
        async with _caller(running, running.remit(*token, tenant).strip()) as caller:
            await _until_known(caller)  # the token may be made before the gateway sees the tenant
            assert await caller.until_listed({f"files__{wanted}"}) == {f"files__{wanted}"}


async def test_a_client_of_a_tenant_finds_the_issuer_that_opens_its_endpoint(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, "default", ["read"])).settle()
    with open_issuer() as issuer:
        acme = await _make(tmp_path, "acme")
        document = _document(tmp_path, "acme", ["write"])
        endpoint = f"{running.url}/{acme}"
        document["identity"] = {"jwt": [issuer.trust(endpoint)]}
        await _write(tmp_path, "acme", document)
        async with _caller(running, "", f"/{acme}") as caller:
            with anyio.fail_after(20):
                while not (described := await _issuers(caller, f"/mcp/{acme}/files")):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            bare = await _issuers(caller, "/mcp")
            claims = {"aud": endpoint, "exp": time.time() + 600, "roles": ["clerk"]}
            own = replace(caller, key=issuer.token(claims))
            foreign = replace(caller, key=issuer.token({**claims, "tenant": "default"}))
            listed = await own.until_listed({"files__write"})
            refused = await foreign.send("tools/list", {})
            elsewhere = await replace(own, url=running.url).send("tools/list", {})

    assert (described, bare) == ([issuer.name], [])
    assert listed == {"files__write"}
    assert (refused.status_code, elsewhere.status_code) == (401, 401)


async def _issuers(caller: Caller, path: str) -> list[str]:
    base = caller.url.partition("/mcp")[0]
    reply = await caller.http.get(f"{base}/.well-known/oauth-protected-resource{path}")
    return reply.json().get("authorization_servers", [])
