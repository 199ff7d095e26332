"""The tools of servers in an agent's words: S1.20-S1.24, R1-R4."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcp_client.conftest import MakeEntry

from remit.errors import BadCall, InvalidToolName, MCPConnectionError
from remit.library.bridge import MCPToolBridge, create_mcp_bridge
from remit.library.client import MCPClient
from remit.library.config import MCPConfig, MCPServerConfig
from remit.library.parameters import parameters_of
from remit.testing.fleets import eventually
from remit.testing.upstream import executed, received


def config(*entries: MCPServerConfig, **fields: Any) -> MCPConfig:
    return MCPConfig(servers={entry.name: entry for entry in entries}, **fields)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


async def bridge_to(*entries: MCPServerConfig) -> MCPToolBridge:
    bridge = await create_mcp_bridge(config(*entries))
    assert all(bridge.mcp_client.is_connected(entry.name) for entry in entries)
    return bridge


async def test_the_examples_of_the_design_document_have_the_names_it_gives(
    entry: MakeEntry,
) -> None:
    """S1.23."""
    bridge = await bridge_to(
        entry("github", ["search_repositories", "create_issue"]),
        entry("brave", ["search"]),
        entry("filesystem", ["read_file"]),
    )
    async with bridge.mcp_client:
        tools = bridge.get_tools_for_agent()

    assert [tool["name"] for tool in tools] == [
        "mcp_github_search_repositories",
        "mcp_github_create_issue",
        "mcp_brave_search",
        "mcp_filesystem_read_file",
    ]


async def test_a_tool_keeps_its_own_names_and_its_whole_schema(entry: MakeEntry) -> None:
    own = {
        **schema(query={"$ref": "#/$defs/query"}),
        "$defs": {"query": {"type": "string", "minLength": 3}},
    }
    bridge = await bridge_to(entry(tools=[{"name": "search", "inputSchema": own}]))
    async with bridge.mcp_client:
        (tool,) = bridge.get_tools_for_agent()

    assert tool["metadata"] == {"server": "github", "tool": "search", "input_schema": own}


async def test_a_tool_without_a_description_gets_one_and_one_without_a_name_is_left_out(
    entry: MakeEntry,
) -> None:
    quirk = {"raw": '{"description":"nameless","inputSchema":{"type":"object"}}'}
    tools = [
        {"name": "search"},
        {"name": "hidden", "x-fixture": quirk},
        {"name": "b", "title": "B"},
    ]
    bridge = await bridge_to(entry(tools=tools))
    async with bridge.mcp_client:
        described = {tool["name"]: tool["description"] for tool in bridge.get_tools_for_agent()}

    assert described == {
        "mcp_github_search": "The tool search of the MCP server github",
        "mcp_github_b": "B",
    }


async def test_a_call_reaches_the_tool_whatever_underscores_are_in_the_names(
    entry: MakeEntry, ran: Path
) -> None:
    bridge = await bridge_to(entry("my_files", ["read_all_lines"]), entry(tools=["get_me"]))
    async with bridge.mcp_client:
        for name in (
            "mcp_my_files_read_all_lines",
            "my_files__read_all_lines",
            "mcp__my_files__read_all_lines",
            "my_files/read_all_lines",
            "mcp_github_get_me",
        ):
            await bridge.invoke_tool(name, {"by": name})

    assert [call.name for call in executed(ran)] == ["read_all_lines"] * 4 + ["get_me"]


async def test_a_tool_that_is_not_listed_is_asked_for_by_its_two_parts(
    entry: MakeEntry, ran: Path
) -> None:
    bridge = await bridge_to(entry(tools=["search"]))
    async with bridge.mcp_client:
        bridge.mcp_client._tools_cache.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as if it were hidden

        await bridge.invoke_tool("mcp_github_search", {})

    assert [call.name for call in executed(ran)] == ["search"]


@pytest.mark.parametrize(
    "name",
    ["invalid_name", "mcp_github", "mcp", "", "mcp__search", "mcp_github_", "xmcp_github_search"],
)
async def test_a_name_without_its_parts_is_a_value_error(name: str) -> None:
    bridge = MCPToolBridge(MCPClient(MCPConfig()))

    with pytest.raises(ValueError, match="Invalid MCP tool name") as caught:
        await bridge.invoke_tool(name, {})

    assert isinstance(caught.value, InvalidToolName)
    assert isinstance(caught.value, BadCall)


async def test_a_tool_of_a_server_that_is_not_connected_is_a_runtime_error(
    entry: MakeEntry,
) -> None:
    bridge = await create_mcp_bridge(config(entry()), connect_enabled=False)

    with pytest.raises(RuntimeError, match="not connected to server 'github'") as caught:
        await bridge.invoke_tool("mcp_github_search", {})

    assert isinstance(caught.value, MCPConnectionError)


async def test_names_that_collide_get_a_suffix_each_and_the_bare_one_lists_both(
    entry: MakeEntry, ran: Path
) -> None:
    bridge = await bridge_to(entry("a", ["b_c"]), entry("a_b", ["c"]))
    async with bridge.mcp_client:
        first, second = (tool["name"] for tool in bridge.get_tools_for_agent())
        await bridge.invoke_tool(first, {})
        await bridge.invoke_tool(second, {})
        with pytest.raises(ValueError, match=r"Invalid MCP tool name 'mcp_a_b_c'.*a/b_c, a_b/c"):
            await bridge.invoke_tool("mcp_a_b_c", {})

    assert first != second
    assert {first[:9], second[:9]} == {"mcp_a_b_c"}
    assert [call.name for call in executed(ran)] == ["b_c", "c"]


async def test_a_name_that_no_model_takes_is_given_a_form_that_it_does(
    entry: MakeEntry, ran: Path
) -> None:
    strange = "päge/" + "x" * 80
    bridge = await bridge_to(entry(tools=[strange]))
    async with bridge.mcp_client:
        (tool,) = bridge.get_tools_for_agent()
        await bridge.invoke_tool(tool["name"], {})

    assert len(tool["name"]) <= 64
    assert tool["name"].replace("_", "").isalnum()
    assert tool["name"].isascii()
    assert executed(ran)[0].name == strange


async def test_what_a_client_no_longer_has_the_bridge_no_longer_shows(entry: MakeEntry) -> None:
    bridge = await bridge_to(entry("a"), entry("b"))

    await bridge.mcp_client.disconnect("a")

    assert [tool["name"] for tool in bridge.get_tools_for_agent()] == ["mcp_b_search"]
    await bridge.mcp_client.disconnect_all()
    assert bridge.get_tools_for_agent() == []


async def test_a_server_that_fails_is_a_warning_and_the_bridge_has_the_others(
    entry: MakeEntry, caplog: pytest.LogCaptureFixture
) -> None:
    missing = MCPServerConfig(name="gone", command="no-such-command")
    bridge = await create_mcp_bridge(config(entry(), missing, max_retries=0))
    async with bridge.mcp_client:
        assert [tool["name"] for tool in bridge.get_tools_for_agent()] == ["mcp_github_search"]

    assert [record.levelname for record in caplog.records if "gone" in record.message] == [
        "WARNING"
    ]


async def test_without_a_configuration_the_default_servers_are_meant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    bridge = await create_mcp_bridge()

    health = bridge.mcp_client.health()
    assert list(health) == ["github", "brave", "filesystem"]
    assert all("may not be started" in server.error for server in health.values())
    assert bridge.get_tools_for_agent() == []


async def test_a_bridge_that_is_cancelled_while_it_is_made_leaves_no_process(
    entry: MakeEntry, ran: Path, tmp_path: Path
) -> None:
    noted = tmp_path / "pid"
    code = f"echo $$ > {noted}; exec cat > {noted}.said"
    mute = MCPServerConfig(name="mute", command="sh", args=["-c", code])
    quick = entry("quick")
    made: list[MCPToolBridge] = []

    async def make() -> None:
        made.append(await create_mcp_bridge(config(mute, quick)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(make)
        await eventually(lambda: noted.exists() and received(ran, "tools/list"))
        tasks.cancel_scope.cancel()

    assert made == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_a_parameter_has_name_type_description_and_whether_it_is_required() -> None:
    described = schema(
        query={"type": "string", "description": "Search query"},
        limit={"type": "integer", "default": 10},
        order={"enum": ["asc", "desc"], "description": None},
    )

    assert parameters_of({**described, "required": ["query"]}) == [
        {"name": "query", "type": "string", "description": "Search query", "required": True},
        {
            "name": "limit",
            "type": "integer",
            "description": "",
            "required": False,
            "default": 10,
        },
        {
            "name": "order",
            "type": "string",
            "description": "",
            "required": False,
            "enum": ["asc", "desc"],
        },
    ]


@pytest.mark.parametrize(
    ("entry", "type_"),
    [
        ({"type": "boolean"}, "boolean"),
        ({"type": ["null", "integer"]}, "integer"),
        ({"type": ["null"]}, "null"),
        ({"type": 3}, "string"),
        ({}, "string"),
        (True, "string"),
        ({"anyOf": [{"type": "null"}, {"type": "array"}]}, "array"),
        ({"oneOf": [True, {"$ref": "#/$defs/map"}]}, "object"),
        ({"allOf": "nonsense"}, "string"),
        ({"$ref": "#/$defs/alias"}, "object"),
        ({"$ref": "#/$defs/a%20map"}, "object"),
        ({"$ref": "#/$defs/loop"}, "string"),
        ({"$ref": "#/$defs/absent"}, "string"),
        ({"$ref": "elsewhere.json"}, "string"),
    ],
    ids=str,
)
def test_a_type_is_found_in_alternatives_and_references(entry: object, type_: str) -> None:
    definitions = {
        "map": {"type": "object", "description": "A map"},
        "alias": {"$ref": "#/$defs/map"},
        "a map": {"$ref": "#/$defs/map"},
        "loop": {"$ref": "#/$defs/loop"},
    }

    (parameter,) = parameters_of({**schema(value=entry), "$defs": definitions})

    assert parameter["type"] == type_


def test_what_a_reference_says_counts_where_the_parameter_says_nothing() -> None:
    colour = {"type": "string", "enum": ["red"], "description": "A colour", "default": "red"}
    properties = schema(
        plain={"$ref": "#/$defs/a~1b"}, own={"$ref": "#/$defs/a~1b", "description": "Mine"}
    )

    plain, own = parameters_of({**properties, "$defs": {"a/b": colour}})

    assert plain["description"] == "A colour"
    assert own["description"] == "Mine"
    assert own["enum"] == ["red"]
    assert own["default"] == "red"


@pytest.mark.parametrize("schema_", [None, [], "x", {}, {"properties": []}], ids=str)
def test_a_schema_without_properties_has_no_parameters(schema_: object) -> None:
    assert parameters_of(schema_) == []


async def test_every_tool_of_the_published_servers_is_shown_and_can_be_named() -> None:
    folder = Path(os.environ.get("REMIT_SHARED", "../shared")) / "tools"
    if not folder.is_dir():
        pytest.skip("the published servers' lists of tools are not here: REMIT_SHARED")
    client = MCPClient(MCPConfig())
    listed = {path.stem: _tools_in(path) for path in sorted(folder.glob("*.json"))}
    for server, tools in listed.items():
        client._tools_cache[server] = [{**tool, "_server": server} for tool in tools]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as if connected

    shown = MCPToolBridge(client).get_tools_for_agent()

    originals = [(server, tool) for server, tools in listed.items() for tool in tools]
    assert len(shown) == len(originals) > 400
    assert len({tool["name"] for tool in shown}) == len(shown)
    for tool, (server, original) in zip(shown, originals, strict=True):
        assert len(tool["name"]) <= 64
        assert tool["metadata"] == {
            "server": server,
            "tool": original["name"],
            "input_schema": original["inputSchema"],
        }
        names = [parameter["name"] for parameter in tool["parameters"]]
        assert names == list(original["inputSchema"].get("properties", {}))
        assert all(parameter["type"] in JSON_TYPES for parameter in tool["parameters"])


JSON_TYPES = {"string", "integer", "number", "boolean", "array", "object", "null"}


def _tools_in(path: Path) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = json.loads(path.read_bytes())["tools"]
    return tools
