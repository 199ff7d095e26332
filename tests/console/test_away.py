"""What the console answers while nobody can say who asks."""

import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NoReturn
from urllib.parse import urlsplit

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from tests.console.visits import Visit, sign_in

from remit.admin.keys import make_key
from remit.app.gateway import open_gateway
from remit.cli.serving import bind, open_server
from remit.client.transport import TRUSTS_NOBODY
from remit.errors import StorageUnavailable
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings
from remit.storage.console_sessions import ConsoleSessions

PLACE = "/var/lib/secret/place"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, str]]:
    """Serve a gateway from a thread of this process; give its address and a key."""
    config = tmp_path_factory.mktemp("away") / "remit.yaml"
    config.write_text("{}")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_serving(Settings(config=config))) as served,
    ):
        yield served


@asynccontextmanager
async def _serving(settings: Settings) -> AsyncGenerator[tuple[str, str]]:
    async with open_gateway(settings, author="serve", everyone=True) as gateway:
        keys, now = gateway.installation.keys, datetime.now(UTC)
        made = await make_key(keys, "boss", tenant=DEFAULT_TENANT, now=now, roles={}, admin=True)
        with bind("127.0.0.1", 0) as listener:
            async with open_server(gateway, listener) as base:
                yield base, made.text


@pytest.fixture
def visit(gateway: tuple[str, str]) -> Generator[Visit]:
    with sign_in(*gateway) as visit:
        yield visit


def test_a_database_that_is_away_is_told_with_a_page_and_without_its_place(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def away(*_: object) -> NoReturn:
        raise StorageUnavailable(f"disk error at {PLACE}")

    monkeypatch.setattr(ConsoleSessions, "find", away)

    replies = [
        visit.get("/me"),
        visit.get("/"),
        visit.post("/theme"),
        visit.get("/sign-in"),
        visit.get("/no-such-page"),
        visit.http.post("/console/theme", json={}),
    ]

    for reply in replies:
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")
        assert "the database is away" in reply.text
        assert PLACE not in reply.text
    assert "Traceback" not in capfd.readouterr().err
    monkeypatch.undo()
    assert visit.get("/me").status_code == 200


def test_what_is_no_form_is_told_with_a_page(
    visit: Visit, gateway: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    path = "/console/theme"
    known = visit.http.post(path, content=b"{}", headers={"Content-Type": "application/json"})
    stranger = httpx2.post(gateway[0] + path, json={}, verify=TRUSTS_NOBODY)

    assert known.status_code == 415
    assert "This form cannot be read" in known.text
    assert (stranger.status_code, stranger.headers["location"]) == (303, "/console/sign-in")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("path", ["/console/theme", "/console/sign-in", "/console/sign-out"])
def test_whoever_leaves_in_the_middle_of_a_form_leaves_no_traceback(
    gateway: tuple[str, str], path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    address = urlsplit(gateway[0])
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 99\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\nkey="
    )
    assert address.hostname is not None

    with socket.create_connection((address.hostname, address.port or 80)) as stranger:
        stranger.sendall(head.encode())
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(4096) == b""

    assert httpx2.get(f"{gateway[0]}/console/sign-in", verify=TRUSTS_NOBODY).status_code == 200
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("path", ["/me/", "/roles/", "/static"])
def test_a_slash_too_many_or_too_few_leads_to_no_host(visit: Visit, path: str) -> None:
    reply = visit.get(path)

    assert (reply.status_code, reply.headers.get("location")) == (404, None)
    assert "There is no such page" in reply.text
