"""Arguments mirrored in `Mcp-Param-*` headers (MCP 2026-07-28)."""

from collections.abc import AsyncGenerator

import aiohttp
import pytest
from tests.doors.worlds import Wire, World, build_world, caller, message, serving, tool

from remit.model.roles import Role

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
        "note": {"type": "string"},
    },
}


@pytest.fixture
def world() -> World:
    return build_world(
        {"db": [tool("db", "query", SCHEMA), tool("db", "hidden", SCHEMA), tool("db", "plain")]},
        [Role(name="reader", tools={"db": ("query", "plain")})],
        {"reader-key": caller("r", "reader")},
    )


@pytest.fixture
async def db(world: World, http: aiohttp.ClientSession) -> AsyncGenerator[Wire]:
    async with serving(world) as url:
        yield Wire(http, url)


@pytest.mark.parametrize("name", ["db__query", "mcp__db__query"])
@pytest.mark.parametrize(
    ("arguments", "headers", "is_right"),
    [
        ({"region": "eu", "size": 3}, {"Mcp-Param-Region": "eu", "Mcp-Param-Size": "3"}, True),
        ({"region": "ü"}, {"Mcp-Param-Region": "=?base64?w7w=?="}, True),
        ({"note": "x"}, {}, True),
        ({"region": None}, {}, True),
        ({"region": "eu"}, {}, False),
        ({"region": "eu"}, {"Mcp-Param-Region": "us"}, False),
        ({}, {"Mcp-Param-Region": "eu"}, False),
        ({"region": "eu"}, {"Mcp-Param-Region": "eu", "Mcp-Param-Unknown": "x"}, True),
    ],
)
async def test_header_and_argument_must_agree(
    db: Wire,
    name: str,
    arguments: dict[str, object],
    headers: dict[str, str | None],
    is_right: bool,
) -> None:
    params = {"name": name, "arguments": arguments}

    reply = await db.modern("tools/call", params, headers=headers)

    if is_right:
        assert "result" in reply.json
    else:
        assert (reply.status, reply.error["code"]) == (400, -32020)


async def test_headers_of_a_hidden_tool_are_as_unknown_as_the_tool(world: World, db: Wire) -> None:
    for name in ("db__hidden", "no_such_tool"):
        params = {"name": name, "arguments": {"region": "eu"}}
        reply = await db.modern("tools/call", params)
        assert reply.error["message"] == "Unknown tool"
    assert world.fleet.ran == {}


async def test_a_tool_without_such_headers_is_left_alone(db: Wire) -> None:
    headers: dict[str, str | None] = {"Mcp-Param-Region": "eu"}

    reply = await db.modern("tools/call", {"name": "db__plain"}, headers=headers)

    assert "result" in reply.json


async def test_arguments_that_are_no_object_are_the_validators_business(db: Wire) -> None:
    reply = await db.modern("tools/call", {"name": "db__query", "arguments": [1]})

    assert reply.result["_meta"]["remit/code"] == "INVALID_INPUT"


async def test_a_mirrored_header_that_comes_twice_is_a_mismatch(
    db: Wire, http: aiohttp.ClientSession
) -> None:
    call = {"name": "db__query", "arguments": {"region": "eu"}}
    headers = [
        ("Authorization", "Bearer reader-key"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "db__query"),
        ("Mcp-Param-Region", "eu"),
        ("Mcp-Param-Region", "us"),
    ]

    async with http.post(
        f"{db.url}/mcp", json=message("tools/call", call), headers=headers
    ) as response:
        answer = await response.json()

    assert (response.status, answer["error"]["code"]) == (400, -32020)


async def test_a_tool_that_came_later_is_checked_too(world: World, db: Wire) -> None:
    await db.modern("tools/call", {"name": "db__plain"})
    world.fleet.offer("db", [tool("db", "plain", SCHEMA)])

    reply = await db.modern("tools/call", {"name": "db__plain", "arguments": {"region": "eu"}})

    assert reply.error["code"] == -32020


async def test_the_older_eras_know_no_such_headers(db: Wire) -> None:
    call = {"name": "db__query", "arguments": {"region": "eu"}}

    assert "result" in (await db.send(message("tools/call", call))).json
