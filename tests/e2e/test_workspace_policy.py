"""A token's policy for one workspace decides which servers its bearer has (S4.3 to S4.5, S4.31)."""

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import AUDIENCE, FakeIssuer, open_issuer
from remit.testing.upstream import FixtureOptions, open_web_fixture

SERVERS = ("internal_admin_fs", "files", "research_fs")


@pytest.fixture
def issuer() -> Generator[FakeIssuer]:
    with open_issuer() as issuer:
        yield issuer


@pytest.fixture
def running(tmp_path: Path, serve: Serve, issuer: FakeIssuer) -> Generator[Running]:
    """Start a gateway with two servers over stdio, and one over HTTP that needs an allow."""
    options = FixtureOptions(tools=["read"], count_file=str(tmp_path / "research.ran"))
    trusted = {
        "issuer": issuer.name,
        "audience": AUDIENCE,
        "jwks_url": issuer.url,
        "allow_private_url": True,
    }
    with open_web_fixture(options) as web:
        servers = {
            name: fixture_entry(["read"], tmp_path / f"{name}.ran", default_access="allow")
            for name in SERVERS[:2]
        }
        servers["research_fs"] = {"url": web.url, "default_access": "deny"}
        document = {
            "mcp_servers": servers,
            "roles": {"worker": {"allow": ["*/*"]}},
            "identity": {"jwt": [trusted]},
        }
        yield serve(document).settle()


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
