"""The protocol library's own client is served in both eras (issue 2)."""

import pytest
from mcp import MCPError
from mcp_types import TextContent
from tests.doors.worlds import JsonObject, Wire, World, initialize, library_client, message


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_a_client_sees_its_tools_calls_one_and_is_refused_another(
    files_world: World, files_url: str, mode: str, version: str
) -> None:
    async with library_client(f"{files_url}/mcp", "reader-key", mode) as client:
        listed = await client.list_tools()
        called = await client.call_tool("files__read", {"path": "x"})
        with pytest.raises(MCPError) as refused:
            await client.call_tool("files__delete", {"path": "x"})

        assert client.protocol_version == version
        assert client.server_info is not None
        assert client.server_info.name == "remit"
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed is True

    assert [tool.name for tool in listed.tools] == ["files__list", "files__read"]
    assert isinstance(called.content[0], TextContent)
    assert called.content[0].text == "done"
    assert (refused.value.error.code, refused.value.error.message) == (-32602, "Unknown tool")
    assert files_world.fleet.ran == {"files/read": 1}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_servers_own_endpoint_has_its_own_names(files_url: str, mode: str) -> None:
    async with library_client(f"{files_url}/mcp/files", "editor-key", mode) as client:
        listed = await client.list_tools()
        await client.call_tool("delete", {})

    assert [tool.name for tool in listed.tools] == ["delete", "list", "read"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_empty_list_is_explained(files_url: str, mode: str) -> None:
    async with library_client(f"{files_url}/mcp", "nobody-key", mode) as client:
        assert client.instructions is not None
        assert "empty by policy" in client.instructions
        assert (await client.list_tools()).tools == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_without_a_key_is_told_what_to_do(files_url: str, mode: str) -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(MCPError, match="remit keys create"),
        allow_unwrapped=True,
        flatten_subgroups=True,
    ):
        async with library_client(f"{files_url}/mcp", "wrong", mode):
            pass


@pytest.mark.parametrize(
    ("asked", "settled"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_the_handshake_settles_on_a_revision_of_its_era(
    wire: Wire, asked: str, settled: str
) -> None:
    reply = await wire.send(initialize(asked))

    assert reply.result["protocolVersion"] == settled
    assert reply.result["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
    assert "resultType" not in reply.result


async def test_a_handshake_that_names_no_revision_is_invalid(wire: Wire) -> None:
    reply = await wire.send(message("initialize", {}))

    assert reply.error["code"] == -32602
    assert "mcp-session-id" not in reply.headers


async def test_what_a_modern_client_discovers_is_private_and_short_lived(wire: Wire) -> None:
    discovered = (await wire.modern("server/discover")).result
    listed = (await wire.modern("tools/list")).result

    assert discovered["supportedVersions"] == ["2026-07-28"]
    for result in (discovered, listed):
        assert result["cacheScope"] == "private"
        assert 0 < result["ttlMs"] <= 2000
        assert result["resultType"] == "complete"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "remit"


async def test_an_older_list_carries_nothing_of_the_modern_era(wire: Wire) -> None:
    assert (await wire.send(message("tools/list"))).result.keys() == {"tools"}


async def test_ping_is_answered_in_the_older_eras(wire: Wire) -> None:
    assert (await wire.send(message("ping"))).result == {}


@pytest.mark.parametrize("meta", [5, "x", [], True])
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "ping"])
async def test_a_meta_that_is_no_object_is_invalid(
    files_world: World, wire: Wire, method: str, meta: object
) -> None:
    reply = await wire.send(message(method, {"name": "files__read", "_meta": meta}))

    assert reply.error == {"code": -32602, "message": "Invalid params: _meta must be an object"}
    assert files_world.fleet.ran == {}


async def test_the_callers_meta_goes_upstream_as_it_came(files_world: World, wire: Wire) -> None:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read",'
        b'"_meta": {"progressToken" : 1.50, "traceparent":"00-x"} }}'
    )

    await wire.send(body)

    assert files_world.fleet.received == [
        (b"{}", b'{"progressToken" : 1.50, "traceparent":"00-x"}')
    ]


async def test_missing_and_null_arguments_are_an_empty_object(
    files_world: World, wire: Wire
) -> None:
    params: list[JsonObject] = [{}, {"arguments": None}]
    for more in params:
        await wire.send(message("tools/call", {"name": "files__read", **more}))

    assert [arguments for arguments, _ in files_world.fleet.received] == [b"{}", b"{}"]
