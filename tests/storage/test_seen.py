"""What a server offered when it was last connected is known without starting it."""

import json
from datetime import UTC, datetime

from remit.model.contents import Item, Kind
from remit.model.tools import Hints, Tool, ToolId
from remit.storage.database import Database
from remit.storage.seen import SeenTools

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


def _tool(server: str, name: str, **more: object) -> Tool:
    return Tool(id=ToolId(server, name), wire=json.dumps({"name": name, **more}).encode())


async def test_a_tool_comes_back_with_all_that_its_server_said(database: Database) -> None:
    seen = SeenTools(database)
    wire = (
        '{"name": "工具/a", "title": "T", "description": "reads\\u0000 all", "inputSchema":'
        ' {"type": "object",  "x-big": 9007199254740993}, "annotations": {"readOnlyHint": true,'
        ' "destructiveHint": false, "title": "t"}, "_meta": {"a.b/c": null}}'
    ).encode()
    tool = Tool(
        id=ToolId("wiki", "工具/a"),
        wire=wire,
        input_schema=b'{"type": "object",  "x-big": 9007199254740993}',
        description="reads\0 all",
        hints=Hints(read_only=True, destructive=False),
    )

    await seen.replace("default", "wiki", [tool], NOW)

    assert await seen.all_tools("default") == [tool]


async def test_a_server_is_seen_as_it_was_last_and_others_stay(database: Database) -> None:
    seen = SeenTools(database)
    await seen.replace("default", "wiki", [_tool("wiki", "b"), _tool("wiki", "a")], NOW)
    await seen.replace("default", "git", [_tool("git", "c")], NOW)
    await seen.replace("other", "wiki", [_tool("wiki", "z")], NOW)

    await seen.replace("default", "wiki", [_tool("wiki", "d"), _tool("wiki", "a")], NOW)

    names = [str(tool.id) for tool in await seen.all_tools("default")]
    assert names == ["git/c", "wiki/a", "wiki/d"]


async def test_a_server_that_offers_nothing_any_more_is_forgotten(database: Database) -> None:
    seen = SeenTools(database)
    await seen.replace("default", "wiki", [_tool("wiki", "a")], NOW)

    await seen.replace("default", "wiki", [], NOW)

    assert await seen.all_tools("default") == []


async def test_strange_tools_are_kept_as_far_as_they_go(database: Database) -> None:
    seen = SeenTools(database)
    odd = _tool("wiki", "odd", description=7, annotations={"readOnlyHint": "yes"}, inputSchema=[])
    nul = _tool("wiki", "nul\0")
    broken = Tool(id=ToolId("wiki", "broken\ud800"), wire=b'{"name": "broken\\ud800"}\xff')

    await seen.replace("default", "wiki", [odd, nul, broken, odd], NOW)

    tools = {tool.id.name: tool for tool in await seen.all_tools("default")}
    assert set(tools) == {"odd", "nul\0", "broken\\ud800"}
    assert (tools["odd"].description, tools["odd"].hints) == ("", Hints())
    assert tools["odd"].input_schema == b"[]"


async def test_prompts_and_resources_come_back_as_policy_knows_them(database: Database) -> None:
    seen = SeenTools(database)
    prompt = Item(id=Kind.PROMPT.id("wiki", "greet"), wire=b'{"name":"greet"}')
    page = Item(
        id=Kind.RESOURCE.id("wiki", "wiki://page/1"), wire=b'{"uri":"wiki://page/1","name":"greet"}'
    )

    await seen.replace("default", "wiki", [_tool("wiki", "greet"), prompt, page], NOW)

    names = [str(tool.id) for tool in await seen.all_tools("default")]
    assert names == ["wiki/greet", "wiki/prompt:greet", "wiki/resource:wiki://page/1"]
