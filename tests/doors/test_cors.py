"""Pages of `server.allowed_origins` may call and read; browsers of others hear nothing."""

import aiohttp
import pytest
from tests.doors.worlds import Reply, Wire, World, initialize, serving

from remit.model.declaration import HttpSettings

PAGE = "https://app.example.test"
ASKED = {
    "Origin": PAGE,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type, Mcp-Param-Path, x-custom",
}

SENT = (
    "accept, authorization, content-type, idempotency-key, if-match, last-event-id, mcp-method,"
    " mcp-name, mcp-protocol-version, mcp-session-id, traceparent, tracestate, x-api-key"
)
"""What clients of `/mcp` and `/api` send that a browser asks about."""
READ = "etag, mcp-session-id, retry-after, www-authenticate, x-request-id"


def listed(world: World) -> World:
    world.http = HttpSettings(
        public_url="https://gateway.example.test", allowed_origins=(PAGE + "/",)
    )
    return world


def granted(reply: Reply) -> list[str]:
    return [name for name in reply.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/files", "/api/v1/me", "/readyz"])
async def test_a_preflight_of_a_listed_page_needs_no_credential(
    files_world: World, wire: Wire, path: str
) -> None:
    listed(files_world)

    reply = await wire.send(verb="OPTIONS", path=path, headers=ASKED | {"Authorization": None})

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert reply.headers["access-control-allow-methods"] == "GET, POST, PUT, PATCH, DELETE"
    assert "access-control-allow-credentials" not in reply.headers
    assert reply.headers["access-control-allow-headers"] == f"{SENT}, mcp-param-path"
    assert reply.headers["access-control-max-age"] == "600"
    assert reply.headers["vary"] == "Origin, Access-Control-Request-Headers"


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        (None, ""),
        ("Mcp-Param-B,mcp-param-a , MCP-PARAM-B", ", mcp-param-a, mcp-param-b"),
        ("mcp-param-" + "a" * 128, ", mcp-param-" + "a" * 128),
        ("mcp-param-" + "a" * 129, ""),
        ("mcp-param-", ""),
        ("mcp-param-a b, x-mcp-param-a, mcp-param-*, *", ""),
    ],
    ids=["nothing", "several", "longest", "too long", "nameless", "odd"],
)
async def test_a_page_may_send_what_clients_send_and_arguments_that_are_mirrored(
    files_world: World, wire: Wire, asked: str | None, more: str
) -> None:
    listed(files_world)

    headers = ASKED | {"Access-Control-Request-Headers": asked, "Authorization": None}
    reply = await wire.send(verb="OPTIONS", headers=headers)

    assert reply.headers["access-control-allow-headers"] == SENT + more


@pytest.mark.parametrize(
    "more",
    [
        {"Origin": "https://evil.example.test"},
        {"Origin": PAGE + ".evil.example.test"},
        {"Origin": "http://app.example.test"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "https://gateway.example.test"},
        {"Host": "evil.example.test"},
        {"Access-Control-Request-Method": None},
    ],
    ids=["other", "longer", "scheme", "null", "loopback", "itself", "host", "no preflight"],
)
async def test_a_preflight_of_anything_else_gets_what_it_always_got(
    files_world: World, wire: Wire, more: dict[str, str | None]
) -> None:
    listed(files_world)

    reply = await wire.send(verb="OPTIONS", headers=ASKED | more | {"Authorization": None})

    assert reply.status in {401, 403, 421}
    assert "access-control-allow-methods" not in reply.headers


async def test_only_options_is_a_preflight(files_world: World, wire: Wire) -> None:
    listed(files_world)

    reply = await wire.send(initialize(), headers=ASKED)

    assert reply.status == 200
    assert "serverInfo" in reply.result


async def test_a_listed_page_may_read_answers_and_refusals(files_world: World, wire: Wire) -> None:
    listed(files_world)

    answer = await wire.send(initialize(), headers={"Origin": PAGE})
    refusal = await wire.send(
        initialize(), headers={"Origin": PAGE, "Authorization": "Bearer wrong"}
    )

    assert (answer.status, refusal.status) == (200, 401)
    for reply in (answer, refusal):
        assert reply.headers["access-control-allow-origin"] == PAGE
        assert reply.headers["access-control-expose-headers"] == READ
        assert reply.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin", [None, "https://evil.example.test", "http://localhost:3000", "null"]
)
async def test_nobody_else_is_told_anything(
    files_world: World, wire: Wire, origin: str | None
) -> None:
    listed(files_world)

    reply = await wire.send(initialize(), headers={"Origin": origin})

    assert granted(reply) == []


async def test_an_origin_that_comes_twice_is_no_page(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    async with serving(listed(files_world)) as url:
        twice = [*ASKED.items(), ("Origin", PAGE)]
        async with http.options(f"{url}/mcp", headers=twice) as response:
            told = response.headers

    assert response.status == 403
    assert "Access-Control-Allow-Origin" not in told
