"""The acceptance criteria AC1-AC20 of the bridge's design document, one test each (S1)."""

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.mcp_client.conftest import MakeEntry

from remit.library.bridge import MCPToolBridge, create_mcp_bridge
from remit.library.client import MCPClient
from remit.library.config import (
    DEFAULT_MCP_SERVERS,
    MCPConfig,
    MCPServerConfig,
    get_default_mcp_config,
)
from remit.library.connection import MCPConnection
from remit.library.line import Line
from remit.testing.upstream import executed, received

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Search repositories",
    "inputSchema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Search query"}},
        "required": ["query"],
    },
}


def is_alive(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    return True


def config(*entries: MCPServerConfig) -> MCPConfig:
    return MCPConfig(servers={entry.name: entry for entry in entries})


def test_ac1_a_server_is_configured_by_name_command_args_env_description_and_enabled() -> None:
    short = MCPServerConfig(name="test", command="uvx")
    full = MCPServerConfig(
        name="test",
        command="uvx",
        args=["mcp-server-test"],
        env={"A": "1"},
        description="A test",
        enabled=False,
    )

    assert (short.args, short.env, short.description, short.enabled) == ([], {}, None, True)
    assert (full.name, full.command, full.args) == ("test", "uvx", ["mcp-server-test"])
    assert (full.env, full.description, full.enabled) == ({"A": "1"}, "A test", False)


def test_ac2_resolve_env_takes_whole_values_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "secret123")
    env = {"TOKEN": "${TEST_TOKEN}", "STATIC": "literal_value"}

    resolved = MCPServerConfig(name="test", command="uvx", env=env).resolve_env()

    assert resolved == {"TOKEN": "secret123", "STATIC": "literal_value"}


def test_ac3_a_configuration_holds_servers_timeout_and_retries() -> None:
    server = MCPServerConfig(name="test", command="uvx")

    assert MCPConfig() == MCPConfig(servers={}, default_timeout=30, max_retries=3)
    assert MCPConfig(servers={"test": server}).servers["test"] == server


def test_ac4_from_dict_makes_a_configuration_of_a_dictionary() -> None:
    github: dict[str, Any] = {
        "command": "uvx",
        "args": ["mcp-server-github"],
        "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
    }

    made = MCPConfig.from_dict(
        {"servers": {"github": github}, "default_timeout": 60, "max_retries": 5}
    )

    assert made.servers == {"github": MCPServerConfig(name="github", **github)}
    assert (made.default_timeout, made.max_retries) == (60, 5)


def test_ac5_there_are_default_servers_for_github_brave_and_filesystem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    packages = {name: entry.args[0] for name, entry in DEFAULT_MCP_SERVERS.items()}

    assert packages == {
        "github": "mcp-server-github",
        "brave": "mcp-server-brave-search",
        "filesystem": "mcp-server-filesystem",
    }
    assert {entry.command for entry in DEFAULT_MCP_SERVERS.values()} == {"uvx"}
    assert get_default_mcp_config().servers == DEFAULT_MCP_SERVERS


async def test_ac6_a_client_manages_connections_to_several_servers(entry: MakeEntry) -> None:
    servers = config(entry("a"), entry("b"), entry("c"))
    client = MCPClient(config=servers)

    for name in servers.servers:
        assert await client.connect(server_name=name) is True

    assert client.config is servers
    assert all(client.is_connected(name) for name in servers.servers)
    assert len({made.pid for made in connections(client)}) == 3
    await client.disconnect_all()


async def test_ac7_connect_starts_the_server_and_caches_its_tools(
    entry: MakeEntry, ran: Path
) -> None:
    async with MCPClient(config(entry(tools=["tool1"]))) as client:
        assert await client.connect("github") is True

        for _ in range(3):
            found = [(t["name"], t["_server"]) for t in client.get_available_tools("github")]
            assert found == [("tool1", "github")]
        assert await client.connect("unknown") is False
    assert len(received(ran, "tools/list")) == 1


async def test_ac8_disconnect_stops_the_server_and_clears_its_tools(entry: MakeEntry) -> None:
    client = MCPClient(config(entry("a"), entry("b")))
    await client.connect("a")
    await client.connect("b")
    first, second = (made.pid for made in connections(client))

    await client.disconnect(server_name="a")

    assert (is_alive(first), is_alive(second)) == (False, True)
    assert client.get_available_tools("a") == []
    assert not client.is_connected("a")
    await client.disconnect_all()


async def test_ac9_disconnect_all_stops_every_server(entry: MakeEntry) -> None:
    client = MCPClient(config(entry("a"), entry("b"), entry("c")))
    await client.connect_all()
    pids = [made.pid for made in connections(client)]
    assert all(is_alive(pid) for pid in pids)

    await client.disconnect_all()

    assert not any(is_alive(pid) for pid in pids)
    assert client.get_available_tools() == []


async def test_ac10_get_available_tools_returns_those_of_one_server_or_of_all(
    entry: MakeEntry,
) -> None:
    # S1.17
    async with MCPClient(
        config(entry("server1", ["tool1"]), entry("server2", ["tool2"]))
    ) as client:
        await client.connect_all()

        assert [tool["name"] for tool in client.get_available_tools()] == ["tool1", "tool2"]
        assert [t["name"] for t in client.get_available_tools(server_name="server1")] == ["tool1"]
        assert client.get_available_tools("unknown") == []


async def test_ac11_call_tool_runs_a_tool_on_the_server_that_is_named(entry: MakeEntry) -> None:
    """S1.18."""
    async with MCPClient(config(entry("a", ["search"]), entry("b", ["search"]))) as client:
        await client.connect("b")

        result = await client.call_tool(
            server_name="b", tool_name="search", arguments={"query": "test"}
        )

        assert result["content"] == [{"type": "text", "text": 'search {"query": "test"}'}]
        with pytest.raises(RuntimeError, match="not connected to server 'a'"):
            await client.call_tool("a", "search", {})


async def test_ac12_a_connection_speaks_json_rpc_with_a_process_of_its_own(
    entry: MakeEntry, ran: Path
) -> None:
    connection = MCPConnection(config=entry())
    await connection.start()
    pid = connection.pid
    await connection.list_tools()
    await connection.call_tool("search", {})

    await connection.stop()

    # S1.10
    said = [json.loads(line) for line in Path(f"{ran}.log").read_text().splitlines()]
    numbers = [message["id"] for message in said if message["method"].startswith("tools/")]
    assert all(message["jsonrpc"] == "2.0" for message in said)
    assert numbers == sorted(set(numbers))
    assert pid == executed(ran)[0].pid
    assert not is_alive(pid)


async def test_ac13_start_launches_the_server_with_its_variables_filled_in(
    entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "secret123")
    monkeypatch.delenv("UNDEFINED_VAR", raising=False)
    env = {"TOKEN": "${TEST_TOKEN}", "STATIC": "prefix_${TEST_TOKEN}", "NONE": "${UNDEFINED_VAR}"}
    look = {"name": "look", "x-fixture": {"environment": True}}
    connection = MCPConnection(entry(tools=[look], env=env))
    await connection.start()

    result = await connection.call_tool(name="look", arguments={})

    seen = json.loads(result["content"][0]["text"])
    assert seen["TOKEN"] == "secret123"
    assert seen["STATIC"] == "prefix_${TEST_TOKEN}"
    assert seen["NONE"] == ""
    assert seen["PATH"] == os.environ["PATH"]
    await connection.stop()


async def test_ac14_list_tools_returns_what_the_server_lists(entry: MakeEntry) -> None:
    """S1.9."""
    connection = MCPConnection(entry(tools=[SEARCH, "other"]))
    await connection.start()

    first, second = await connection.list_tools()

    assert first == SEARCH
    assert second["name"] == "other"
    await connection.stop()


async def test_ac15_call_tool_sends_name_and_arguments_and_returns_the_result(
    entry: MakeEntry, ran: Path
) -> None:
    # S1.9
    own: dict[str, Any] = {"content": [], "structuredContent": {"n": 2**60}, "isError": True}
    connection = MCPConnection(entry(tools=[{**SEARCH, "x-fixture": {"result": own}}]))
    await connection.start()

    result = await connection.call_tool("search", {"query": "ü", "deep": {"n": [1, None]}})

    (sent,) = received(ran, "tools/call")
    assert sent["params"]["name"] == "search"
    assert sent["params"]["arguments"] == {"query": "ü", "deep": {"n": [1, None]}}
    assert result == own
    await connection.stop()


async def test_ac16_a_bridge_turns_schemas_into_parameters(entry: MakeEntry) -> None:
    async with MCPClient(config(entry(tools=[SEARCH]))) as client:
        await client.connect("github")

        (tool,) = MCPToolBridge(mcp_client=client).get_tools_for_agent()

    assert tool["description"] == "Search repositories"
    assert tool["parameters"] == [
        {"name": "query", "type": "string", "description": "Search query", "required": True}
    ]


async def test_ac17_tools_are_named_by_their_server_and_their_own_name(entry: MakeEntry) -> None:
    servers = config(entry("github", ["search_repositories"]), entry("brave", ["search"]))
    async with MCPClient(servers) as client:
        await client.connect_all()

        tools = MCPToolBridge(client).get_tools_for_agent()

    assert [tool["name"] for tool in tools] == [
        "mcp_github_search_repositories",
        "mcp_brave_search",
    ]


async def test_ac18_invoke_tool_finds_the_server_by_the_name(entry: MakeEntry, ran: Path) -> None:
    servers = config(entry("github", ["search_repositories"]), entry("brave", ["search"]))
    async with MCPClient(servers) as client:
        await client.connect_all()
        bridge = MCPToolBridge(client)

        result = await bridge.invoke_tool(
            tool_name="mcp_github_search_repositories", arguments={"query": "test"}
        )

        with pytest.raises(ValueError, match="Invalid MCP tool name"):
            await bridge.invoke_tool("invalid_name", {})
        with pytest.raises(RuntimeError, match="not connected to server 'jira'"):
            await bridge.invoke_tool("mcp_jira_get_issue", {})
    assert result["content"][0]["text"] == 'search_repositories {"query": "test"}'
    assert [call.name for call in executed(ran)] == ["search_repositories"]


async def test_ac19_create_mcp_bridge_connects_the_enabled_servers(entry: MakeEntry) -> None:
    servers = config(entry("a"), entry("b", enabled=False), entry("c"))

    bridge = await create_mcp_bridge(config=servers)
    idle = await create_mcp_bridge(servers, connect_enabled=False)

    assert bridge.mcp_client.config is servers
    assert [bridge.mcp_client.is_connected(name) for name in "abc"] == [True, False, True]
    assert [idle.mcp_client.is_connected(name) for name in "abc"] == [False, False, False]
    await bridge.mcp_client.disconnect_all()


@pytest.mark.timeout(300)
def test_ac20_each_criterion_has_its_test() -> None:
    """S1.26; how much of the modules the tests cover, the whole run measures (`scripts/test`)."""
    named = [
        node.name.split("_")[1]
        for node in ast.parse(Path(__file__).read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "_ac" in node.name
    ]

    assert named == [f"ac{number}" for number in range(1, 21)]


def connections(client: MCPClient) -> list[Line]:
    return list(client._connections.values())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no public way to a process
