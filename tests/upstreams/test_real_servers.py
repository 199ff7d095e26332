"""Programs that others wrote, over every transport that they offer."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from remit.model.servers import ServerConfig, ServerState, Session, Transport
from remit.testing.fleets import call_tool, eventually, open_servers, status_of
from remit.testing.gateway import free_port

SCRIPTS = Path(sys.executable).parent

# A server built with the protocol library, in either of its ways to serve HTTP.
LIBRARY_SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("library")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

server.run(sys.argv[1], port=int(sys.argv[2]))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    author = ("-c", "user.name=T", "-c", "user.email=t@example.test")
    commit = ("commit", "-q", "--allow-empty", "-m", "the first commit")
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), *author, *commit], check=True)
    return folder


@pytest.fixture(params=["streamable-http", "sse"])
def library_server(request: pytest.FixtureRequest) -> Generator[ServerConfig]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", LIBRARY_SERVER, request.param, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    is_sse = request.param == "sse"
    yield ServerConfig(
        name="library",
        transport=Transport.SSE if is_sse else Transport.HTTP,
        url=f"http://127.0.0.1:{port}/{'sse' if is_sse else 'mcp'}",
        session=Session.SHARED,
    )
    process.terminate()
    process.wait(20)


async def test_the_published_time_server_works() -> None:
    server = ServerConfig(name="time", command=str(SCRIPTS / "mcp-server-time"))
    async with open_servers(server) as fleet:
        assert {tool.name for tool in fleet.catalogue.tools} == {"get_current_time", "convert_time"}
        arguments = b'{"timezone":"Europe/Rome"}'
        result = json.loads(await call_tool(fleet, "time", "get_current_time", arguments))
    assert "Europe/Rome" in result["content"][0]["text"]
    assert not result.get("isError")


async def test_the_published_git_server_serves_our_names_as_well(repository: Path) -> None:
    # R30
    server = ServerConfig(
        name="git",
        command=str(SCRIPTS / "mcp-server-git"),
        args=("--repository", str(repository)),
        tool_names={"history": "git_log"},
        tool_args={"history": {"folder": "repo_path"}},
    )
    async with open_servers(server) as fleet:
        offered = {tool.name for tool in fleet.catalogue.tools}
        assert "history" in offered
        assert "git_log" not in offered
        arguments = json.dumps({"folder": str(repository)}).encode()
        result = await call_tool(fleet, "git", "history", arguments)
    assert b"the first commit" in result


async def test_a_server_of_the_protocol_library_works_over_http(
    library_server: ServerConfig,
) -> None:
    async with open_servers(library_server) as fleet:
        await eventually(lambda: status_of(fleet, "library").state is ServerState.READY)
        is_sse = library_server.transport is Transport.SSE
        protocol = status_of(fleet, "library").protocol
        assert protocol == ("2025-11-25" if is_sse else "2026-07-28")
        result = json.loads(await call_tool(fleet, "library", "add", b'{"a":2,"b":3}'))
    assert result["structuredContent"] == {"result": 5}
