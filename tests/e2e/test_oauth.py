"""The protocol library's client finds its token by itself, from a gateway's refusal (RFC 9728)."""

import json
import signal
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from tests.e2e.conftest import Serve

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.authorization_server import FakeAuthorizationServer, open_authorization_server
from remit.testing.gateway import Caller, Running, fixture_entry

WELL_KNOWN = "/.well-known/oauth-protected-resource"

pytestmark = pytest.mark.timeout(120)


class Storage:
    """Keeps what a client was given."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.fixture(scope="module")
def server() -> Generator[FakeAuthorizationServer]:
    with open_authorization_server() as server:
        server.claims = {"roles": ["worker"]}
        yield server


@pytest.fixture(scope="module")
def running(module_folder: Path, serve_module: Serve, server: FakeAuthorizationServer) -> Running:
    """Serve two servers, and take the tokens that are issued for this very address."""
    servers = {name: fixture_entry(["work"], module_folder / name) for name in ("tools", "others")}
    document: dict[str, Any] = {
        "mcp_servers": servers,
        "roles": {"worker": {"allow": ["tools/*", "others/*"]}},
    }
    running = serve_module(document, REMIT_LOG_LEVEL="DEBUG").settle()
    issuer = {**server.trust(running.url), "scopes": ["remit"]}
    running.config.write_text(json.dumps({**document, "identity": {"jwt": [issuer]}}))
    running.process.send_signal(signal.SIGHUP)
    with httpx2.Client(verify=TRUSTS_NOBODY) as http:
        deadline = time.monotonic() + 20
        while http.get(f"{running.base}{WELL_KNOWN}").status_code != 200:
            assert time.monotonic() < deadline, running.log.read_text()
    return running


async def tools_of(url: str, auth: httpx2.Auth, mode: str = "auto") -> set[str]:
    """Return what the library's client is offered."""
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30, verify=TRUSTS_NOBODY) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client,
    ):
        return {tool.name for tool in (await client.list_tools()).tools}


def machine(url: str, storage: Storage, server: FakeAuthorizationServer) -> httpx2.Auth:
    return ClientCredentialsOAuthProvider(url, storage, "client", "secret", issuer=server.name)


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_a_machine_finds_its_token_for_the_endpoint_that_it_called(
    running: Running, server: FakeAuthorizationServer, mode: str
) -> None:
    server.asked_for.clear()
    storage = Storage()
    url = f"{running.url}/tools"

    assert await tools_of(url, machine(url, storage, server), mode) == {"work"}

    [asked] = server.asked_for
    assert (asked["resource"], asked["scope"]) == (url, "remit")


async def test_a_token_for_one_endpoint_is_refused_by_every_other(
    running: Running, server: FakeAuthorizationServer, http: httpx2.AsyncClient
) -> None:
    storage, url = Storage(), f"{running.url}/tools"
    await tools_of(url, machine(url, storage, server))
    assert storage.tokens is not None
    token = storage.tokens.access_token

    here = await Caller(http, url, token).send("tools/list", {})
    elsewhere = {
        path: await Caller(http, f"{running.base}{path}", token).send("tools/list", {})
        for path in ("/mcp", "/mcp/others", "/mcp/absent", "/api/v1/me")
    }
    wrong = await Caller(http, running.url, "a.b.c").send("tools/list", {})

    assert here.status_code == 200
    assert {reply.status_code for reply in elsewhere.values()} == {401}
    assert elsewhere["/mcp"].text == elsewhere["/mcp/others"].text == wrong.text
    assert token not in running.log.read_text()


async def test_a_person_is_sent_to_the_authorization_server_and_comes_back_with_a_token(
    running: Running,
) -> None:
    back: dict[str, str] = {}

    async def browse(url: str) -> None:
        async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as browser:
            reply = await browser.get(url)
        back.update(parse_qsl(urlsplit(reply.headers["location"]).query))

    async def returned() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=back["code"], state=back["state"], iss=back["iss"])

    metadata = OAuthClientMetadata.model_validate({"redirect_uris": ["http://127.0.0.1/back"]})
    auth = OAuthClientProvider(running.url, metadata, Storage(), browse, returned)

    assert await tools_of(running.url, auth) == {"tools__work", "others__work"}


async def test_a_token_that_lacks_the_scope_is_refused_with_what_it_needs(
    running: Running, server: FakeAuthorizationServer, http: httpx2.AsyncClient
) -> None:
    token = server.token({"aud": running.url, "exp": time.time() + 600, "scope": "openid"})

    reply = await Caller(http, running.url, token).send("tools/list", {})

    assert reply.status_code == 403
    assert reply.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", '
        f'resource_metadata="{running.base}{WELL_KNOWN}/mcp", scope="remit"'
    )


async def test_a_client_with_a_narrow_token_steps_up(
    running: Running, server: FakeAuthorizationServer
) -> None:
    storage = Storage()
    narrow = server.token({"aud": running.url, "exp": time.time() + 600, "scope": "openid"})
    storage.tokens = OAuthToken(access_token=narrow, expires_in=600, scope="openid")
    server.asked_for.clear()

    names = await tools_of(running.url, machine(running.url, storage, server))

    assert names == {"tools__work", "others__work"}
    assert [set(asked["scope"].split()) for asked in server.asked_for] == [{"openid", "remit"}]
