"""T21, the tools part: a role without tools of a server gets nothing of it by any other method.

remit relays tools and says so: prompts, resources, templates, completion and subscriptions are no
methods of it, in the same words for whoever may use the server's tools and whoever may not.
"""

import json

import pytest
from aiohttp import ClientSession
from tests.doors.worlds import JsonObject, Wire, World, build_world, caller, message, serving, tool

from remit.model.roles import Role

OTHERS: dict[str, JsonObject] = {
    "prompts/list": {},
    "prompts/get": {"name": "greet"},
    "resources/list": {},
    "resources/read": {"uri": "wiki://page/1"},
    "resources/templates/list": {},
    "resources/subscribe": {"uri": "wiki://page/1"},
    "resources/unsubscribe": {"uri": "wiki://page/1"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "who", "value": "a"},
    },
}
"""`wiki://page/1` is known, `wiki://page/{id}` a template; both servers could offer it."""


@pytest.fixture
def wikis() -> World:
    roles = [
        Role(name="outside", tools={"wiki": ()}),
        Role(name="inside", tools={"wiki": ("search",), "mirror": ("search",)}),
    ]
    offers = {"wiki": [tool("wiki", "search")], "mirror": [tool("mirror", "search")]}
    keys = {"outside-key": caller("o", "outside"), "inside-key": caller("i", "inside")}
    return build_world(offers, roles, keys)


async def answers(wire: Wire, era: str, path: str) -> dict[str, tuple[int, JsonObject]]:
    """Return what every method gets, errors whole."""
    session = await wire.begin(path=path) if era == "legacy" else ""
    found: dict[str, tuple[int, JsonObject]] = {}
    for method, params in OTHERS.items():
        if era == "legacy":
            headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
            reply = await wire.send(message(method, params), path=path, headers=headers)
        else:
            # MCP 2026-07-28: what is read is mirrored in a header, as a tool's name is.
            named = {"Mcp-Name": str(params["uri"])} if method == "resources/read" else None
            reply = await wire.modern(method, params, path=path, headers=named)
        found[method] = (reply.status, json.loads(reply.body)["error"])
    return found


@pytest.mark.parametrize("path", ["/mcp", "/mcp/wiki", "/mcp/nowhere"])
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_other_methods_are_refused_alike_with_and_without_a_grant(
    wikis: World, http: ClientSession, era: str, path: str
) -> None:
    async with serving(wikis) as url:
        outside = await answers(Wire(http, url, "outside-key"), era, path)
        inside = await answers(Wire(http, url, "inside-key"), era, path)

    assert outside == inside
    assert [error["code"] for _, error in outside.values()] == [-32601] * len(OTHERS)
    assert "wiki" not in json.dumps([*outside.values()])
    assert wikis.fleet.ran == {}


@pytest.mark.parametrize("key", ["outside-key", "inside-key"])
async def test_what_is_announced_is_what_the_role_may_use(
    wikis: World, http: ClientSession, key: str
) -> None:
    async with serving(wikis) as url:
        wire = Wire(http, url, key)
        discovered = await wire.modern("server/discover")
        listed = await wire.modern("tools/list", path="/mcp/wiki")
        called = await wire.call("search", {"path": "x"}, path="/mcp/wiki")
        unknown = await wire.call("nothing", {"path": "x"}, path="/mcp/wiki")

    assert discovered.result["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
    may = key == "inside-key"
    assert [entry["name"] for entry in listed.result["tools"]] == (["search"] if may else [])
    assert wikis.fleet.ran == ({"wiki/search": 1} if may else {})
    if not may:
        first, second = (json.loads(reply.body)["error"] for reply in (called, unknown))
        assert (first["code"], first["message"]) == (second["code"], second["message"])
        instructions = discovered.result["instructions"]
        assert instructions.startswith("The list of tools is empty by policy")
