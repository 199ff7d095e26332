"""T14 through the door: every token that does not hold, at a gateway and an issuer that run."""

import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc.jwk import RSAKey
from tests.e2e.conftest import Serve
from tests.e2e.processes import resident
from tests.identity.conftest import Setting
from tests.identity.test_token_torture import HELD, REFUSED

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import FakeIssuer
from remit.testing.upstream import executed

pytestmark = pytest.mark.timeout(180)

NO_HEADER = {"5 MB", "5 MB of dots", "a blank before"}
"""What HTTP refuses itself, or takes the blank from; `test_callers.py` sends 5 MB."""

TOO_CLOSE = {"exp = now - leeway + 1"}
"""Over before a busy machine has sent it."""


def document(folder: Path, issuer: FakeIssuer) -> dict[str, Any]:
    return {
        "mcp_servers": {"tools": fixture_entry(["work"], folder / "ran", session="shared")},
        "roles": {"worker": {"allow": ["tools/*"]}},
        "identity": {"jwt": [issuer.trust()]},
    }


@pytest.fixture
def running(tmp_path: Path, serve: Serve, issuer: FakeIssuer) -> Running:
    return serve(document(tmp_path, issuer), REMIT_LOG_LEVEL="DEBUG").settle()


@pytest.fixture(scope="module")
def module_running(module_folder: Path, serve_module: Serve, module_issuer: FakeIssuer) -> Running:
    return serve_module(document(module_folder, module_issuer)).settle()


def now(issuer: FakeIssuer, folder: Path) -> Setting:
    """Return what the unit tests make tokens with, at this moment."""
    return Setting(issuer=issuer, folder=folder, now=datetime.now(UTC))


def token(issuer: FakeIssuer, *, kid: str = "k1", **claims: object) -> str:
    return issuer.token({"exp": time.time() + 600, **claims}, kid=kid)


async def test_t14_only_the_tokens_that_hold_pass_and_the_log_holds_none_of_them(
    running: Running, issuer: FakeIssuer, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    sent: list[str] = []

    async def status(text: str) -> tuple[int, str]:
        sent.append(text)
        reply = await Caller(http, running.url, text).send("tools/list", {})
        return reply.status_code, reply.text

    nonsense = await status("nonsense")
    for name in REFUSED.keys() - NO_HEADER:
        assert await status(REFUSED[name](now(issuer, tmp_path))) == nonsense, name
    for name in HELD.keys() - TOO_CLOSE:
        assert (await status(HELD[name](now(issuer, tmp_path))))[0] == 200, name

    assert nonsense[0] == 401
    assert executed(tmp_path / "ran") == []
    log = running.log.read_text()
    assert "credential refused" in log
    parts = {part for text in sent for part in text.split(".") if len(part) > 8}
    assert [part for part in parts if part in log] == []


@pytest.mark.parametrize(
    ("roles", "opens"),
    [
        ("worker", True),
        (["other", "worker"], True),
        ("no_such_role", False),
        (["no_such_role"], False),
        ({"names": ["worker"]}, False),
        ([["worker"]], False),
        (["worker", 7], False),
        (None, False),
        (7, False),
        ("Worker", False),
        ("*", False),
    ],
)
async def test_t14_a_roles_claim_of_any_shape_opens_what_it_names_and_never_everything(
    module_running: Running,
    module_issuer: FakeIssuer,
    http: httpx2.AsyncClient,
    roles: object,
    *,
    opens: bool,
) -> None:
    caller = Caller(http, module_running.url, token(module_issuer, roles=roles))

    assert {tool["name"] for tool in await caller.tools()} == ({"tools__work"} if opens else set())
    assert ("result" in await caller.call("tools__work")) is opens


async def test_t14_a_rotation_costs_one_fetch_and_no_restart_and_an_outage_stops_nobody_known(
    running: Running, issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    async def status(text: str) -> int:
        return (await Caller(http, running.url, text).send("tools/list", {})).status_code

    old = token(issuer)
    assert await status(old) == 200
    assert issuer.fetches == 1

    issuer.keys["k2"] = RSAKey.generate_key(2048)
    assert await status(token(issuer, kid="k2")) == 200
    assert issuer.fetches == 2

    random = [
        issuer.token({"exp": time.time() + 600}, header={"kid": secrets.token_hex(8)})
        for _ in range(100)
    ]
    assert {await status(text) for text in random} == {401}
    assert issuer.fetches <= 4  # at most two more for a hundred random ids

    issuer.stop()
    assert await status(token(issuer, sub="bob")) == 200
    assert await status(token(issuer, kid="k2", sub="bob")) == 200


async def test_t14_ten_thousand_random_keys_leave_memory_flat_and_the_door_open(
    module_running: Running, http: httpx2.AsyncClient
) -> None:
    # Over the wire a tenth of them; ten thousand are tried on the authenticator itself.
    running = module_running

    async def guess(count: int) -> set[bytes]:
        found: set[bytes] = set()
        for _ in range(count):
            key = f"rmt_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"
            reply = await http.post(running.url, headers={"X-API-Key": key}, json={})
            found.add(reply.content)
            assert reply.status_code == 401
        return found

    await guess(300)
    before = resident(running.process.pid)
    answers = await guess(1000)

    assert len(answers) == 1
    assert resident(running.process.pid) - before < 8 * 1024 * 1024
