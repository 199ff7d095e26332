"""The sign-in of a real gateway with two workers, by key and at an OpenID provider."""

from collections.abc import Generator

import httpx2
import pytest
from tests.console.worlds import csrf_in, next_in

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.authorization_server import FakeAuthorizationServer, open_authorization_server
from remit.testing.gateway import Running, start_gateway

SECRET = "s3cr3t-of-the-client"


@pytest.fixture(scope="module")
def idp() -> Generator[FakeAuthorizationServer]:
    with open_authorization_server() as idp:
        idp.says = {"sub": "00u1", "name": "Ann Audit", "groups": ["audit"]}
        yield idp


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, idp: FakeAuthorizationServer
) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("sign-in")
    config = folder / "remit.yaml"
    config.write_text(
        f"""identity:
  oidc:
    issuer: {idp.name}
    client_id: remit
    client_secret_env: CLIENT_SECRET
    allow_private_url: true
    auditors: [audit]
"""
    )
    environ = {"CLIENT_SECRET": SECRET}
    gateway = start_gateway(folder, config, environ, "--workers", "2")
    yield gateway
    gateway.stop()
    written = gateway.log.read_text()
    assert "Traceback" not in written, written
    assert SECRET not in written


@pytest.fixture
def visitor(running: Running) -> Generator[httpx2.Client]:
    """A browser that follows where it is sent."""
    with httpx2.Client(
        base_url=running.base, follow_redirects=True, timeout=30, verify=TRUSTS_NOBODY
    ) as client:
        yield client


def sign_in(visitor: httpx2.Client, key: str) -> httpx2.Response:
    shown = visitor.get("/console/").text
    fields = {"csrf": csrf_in(shown), "next": next_in(shown), "key": key}
    return visitor.post("/console/sign-in", data=fields)


def test_a_key_signs_in_on_every_worker_until_it_is_revoked(
    running: Running, visitor: httpx2.Client
) -> None:
    # R17: what a session is worth is asked for every request
    key = running.remit("keys", "create", "ann", "--admin").split()[0]

    done = sign_in(visitor, key)
    # each on a connection of its own, so that both workers are asked
    cookies = dict(visitor.cookies)
    shown = [
        httpx2.get(
            f"{running.base}/console/me",
            cookies=cookies,
            follow_redirects=False,
            verify=TRUSTS_NOBODY,
        )
        for _ in range(8)
    ]
    running.remit("keys", "revoke", "ann")
    after = visitor.get("/console/me", follow_redirects=False)

    assert (done.status_code, done.url.path) == (200, "/console/home")
    assert {reply.status_code for reply in shown} == {200}
    assert after.status_code == 303
    assert after.headers["location"].startswith("/console/sign-in")
    assert key not in running.log.read_text()


def test_an_auditor_comes_from_the_provider_and_stays_out_once_disabled(
    running: Running, visitor: httpx2.Client, idp: FakeAuthorizationServer
) -> None:
    sign_in_page = visitor.get("/console/me")
    assert "/console/sign-in/oidc?next=/console/me" in sign_in_page.text

    done = visitor.get("/console/sign-in/oidc", params={"next": "/console/me"})

    assert (done.status_code, done.url.path) == (200, "/console/me")
    assert "Ann Audit" in done.text
    assert idp.proof.startswith("Basic ")
    recorded = running.audit("--tool", "console.sign_in")
    assert "user:00u1" in {event["principal"] for event in recorded}

    running.remit("users", "disable", "00u1")
    assert visitor.get("/console/me").url.path == "/console/sign-in"
    refused = visitor.get("/console/sign-in/oidc")
    assert (refused.status_code, "an administrator keeps you out" in refused.text) == (403, True)


def test_a_page_of_another_site_signs_nobody_in_or_out(
    running: Running, visitor: httpx2.Client
) -> None:
    sign_in(visitor, running.admin_key)
    foreign = {"Origin": "https://evil.example.test"}

    for path in ("sign-in", "sign-out"):
        refused = visitor.post(f"/console/{path}", data={"key": "x"}, headers=foreign)
        assert refused.status_code == 403

    assert visitor.get("/console/me").url.path == "/console/me"
