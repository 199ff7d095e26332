"""A token's policy for one workspace decides which servers its bearer has (S4.1, S4.3 to S4.5)."""

import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc.jwk import OctKey
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import AUDIENCE, FakeIssuer
from remit.testing.upstream import FixtureOptions, open_web_fixture

SERVERS = ("internal_admin_fs", "files", "research_fs")


@pytest.fixture
def running(tmp_path: Path, serve: Serve, issuer: FakeIssuer) -> Generator[Running]:
    """Start a gateway with two servers over stdio, and one over HTTP that needs an allow."""
    options = FixtureOptions(tools=["read"], count_file=str(tmp_path / "research.ran"))
    with open_web_fixture(options) as web:
        servers = {
            name: fixture_entry(["read"], tmp_path / f"{name}.ran", default_access="allow")
            for name in SERVERS[:2]
        }
        servers["research_fs"] = {"url": web.url, "default_access": "deny"}
        document = {
            "mcp_servers": servers,
            "roles": {"worker": {"allow": ["*/*"]}},
            "identity": {"jwt": [issuer.trust()]},
        }
        yield serve(document).settle()


SECRET = "a secret that backend and agents share"


@pytest.fixture
def shared_secret(tmp_path: Path, serve: Serve) -> tuple[Running, FakeIssuer]:
    """Start a gateway that trusts the backend of workspaces, with whom it shares a secret."""
    backend = FakeIssuer()
    backend.keys = {"k1": OctKey.import_key(SECRET)}
    servers = {
        name: fixture_entry(["read"], tmp_path / f"{name}.ran", default_access=access)
        for name, access in (("files", "allow"), ("research", "deny"))
    }
    trusted = {
        "issuer": backend.name,
        "audience": AUDIENCE,
        "secret_env": "AGENT_JWT_SECRET",
        "claims": {"tenant": "workspaceId"},
    }
    document = {
        "mcp_servers": servers,
        "roles": {"worker": {"allow": ["*/*"]}},
        "identity": {"jwt": [trusted]},
        "grants": [
            {"group": "scientists", "effect": "allow", "server": "research"},
            {"group": "interns", "effect": "deny", "server": "files"},
            {"user": "bob", "effect": "deny", "server": "research"},
        ],
    }
    return serve(document, AGENT_JWT_SECRET=SECRET).settle(), backend


GRANTED: Mapping[str, tuple[Mapping[str, Any], set[str]]] = {
    "nobody's": ({}, {"files"}),
    "allowed to a group": ({"groups": ["scientists"]}, {"files", "research"}),
    "any deny ends it": ({"groups": ["scientists", "interns"]}, {"research"}),
    "denied to the user": ({"sub": "bob", "groups": ["scientists"]}, {"files"}),
    "allowed by the token": ({"mcpServerAllowIds": ["research"]}, {"files", "research"}),
    "administering grants no use": ({"isAdmin": True}, {"files"}),
    "a deny binds administrators": ({"isAdmin": True, "groups": ["interns"]}, set[str]()),
}


async def test_tokens_of_a_shared_secret_and_grants_to_groups_open_servers(
    shared_secret: tuple[Running, FakeIssuer], http: httpx2.AsyncClient
) -> None:
    # S4.16, S4.17; S4.19 and S4.24 as R9 and R12 have them
    running, backend = shared_secret

    def bearer(**claims: Any) -> Caller:
        said = {"sub": "ann", "userId": "ann", "workspaceId": "default", "roles": ["worker"]}
        return Caller(
            http, running.url, backend.token({"exp": time.time() + 300, **said, **claims})
        )

    listed = {
        case: {tool["name"].removesuffix("__read") for tool in await bearer(**claims).tools()}
        for case, (claims, _) in GRANTED.items()
    }
    assert listed == {case: opened for case, (_, opened) in GRANTED.items()}

    for elsewhere in (bearer(workspaceId="none"), bearer(exp=time.time() - 300)):
        assert (await elsewhere.send("tools/list", {})).status_code == 401


@pytest.mark.parametrize(
    ("policy", "opened"),
    [
        ({}, {"internal_admin_fs", "files"}),
        ({"mcpServerDenyIds": ["internal_admin_fs"]}, {"files"}),
        (
            {"mcpServerDenyIds": ["internal_admin_fs"], "mcpServerAllowIds": ["research_fs"]},
            {"files", "research_fs"},
        ),
        ({"mcpServerDenyIds": list(SERVERS), "mcpServerAllowIds": ["research_fs"]}, set[str]()),
    ],
    ids=["none", "a deny", "a deny and an allow", "a deny is stronger"],
)
async def test_a_token_opens_and_closes_servers(
    policy: dict[str, Any],
    opened: set[str],
    running: Running,
    issuer: FakeIssuer,
    http: httpx2.AsyncClient,
) -> None:
    claims = {"exp": time.time() + 600, "roles": ["worker"], **policy}
    worker = Caller(http, running.url, issuer.token(claims))

    listed = {tool["name"] for tool in await worker.tools()}
    answers = {name: await worker.call(f"{name}__read") for name in SERVERS}

    assert listed == {f"{name}__read" for name in opened}
    assert {name for name, answer in answers.items() if "result" in answer} == opened
