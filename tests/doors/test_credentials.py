"""Who is let in, and what those hear who are not."""

import aiohttp
import pytest
from tests.doors.worlds import Wire, World, initialize, serving

from remit.model.principals import Principal


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer reader-key"},
        {"Authorization": "bearer reader-key"},
        {"Authorization": "Bearer   reader-key"},
        {"Authorization": "api-key:reader-key"},
        {"Authorization": "api-key: reader-key"},
        {"X-API-Key": "reader-key"},
        {"Authorization": "Bearer reader-key", "X-API-Key": "reader-key"},
    ],
)
async def test_a_key_comes_in_either_header(wire: Wire, headers: dict[str, str]) -> None:
    reply = await wire.send(initialize(), headers={"Authorization": None, **headers})

    assert reply.status == 200


async def test_missing_and_wrong_credentials_hear_the_same_but_for_the_challenge(
    wire: Wire,
) -> None:
    missing = await wire.send(initialize(), headers={"Authorization": None})
    wrong = await wire.send(initialize(), headers={"Authorization": "Bearer rmt_x_y"})
    basic = await wire.send(initialize(), headers={"Authorization": "Basic cmVhZGVy"})
    empty = await wire.send(initialize(), headers={"Authorization": None, "X-API-Key": ""})

    assert missing.status == wrong.status == basic.status == empty.status == 401
    assert missing.body == wrong.body == basic.body == empty.body
    assert missing.headers["www-authenticate"] == empty.headers["www-authenticate"] == "Bearer"
    assert wrong.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert "remit keys create" in missing.error["message"]


async def test_two_credentials_that_differ_are_refused(wire: Wire) -> None:
    reply = await wire.send(initialize(), headers={"X-API-Key": "editor-key"})

    assert reply.status == 400
    assert "different" in reply.error["message"]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("Authorization", "Bearer editor-key", "Bearer reader-key"),
        ("X-API-Key", "editor-key", "reader-key"),
    ],
)
async def test_a_credential_header_that_comes_twice_is_refused(
    http: aiohttp.ClientSession, wire: Wire, name: str, first: str, second: str
) -> None:
    headers = [(name, first), (name, second)]

    async with http.post(f"{wire.url}/mcp", json=initialize(), headers=headers) as response:
        assert response.status == 400


async def test_a_store_that_cannot_be_read_lets_nobody_in(files_world: World, wire: Wire) -> None:
    files_world.is_store_down = True

    reply = await wire.send(initialize())

    assert reply.status == 503
    assert b"secret" not in reply.body


async def test_a_fault_of_our_own_tells_the_log_and_not_the_caller(
    files_world: World, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: str | None) -> Principal:
        raise RuntimeError("secret place")

    monkeypatch.setattr(files_world, "authenticate", broken)
    async with serving(files_world) as url:
        reply = await Wire(http, url).send(initialize())

    assert (reply.status, reply.error["code"]) == (500, -32603)
    assert b"secret" not in reply.body
