"""`python -m remit.servers.git`, alone, with the protocol library's own client (S0.3, R30)."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextContent
from tests.servers.checkouts import Checkout

from remit.servers.git.server import GitServer

MODULE = ["-m", "remit.servers.git"]


@pytest.fixture
def command(project: Checkout) -> StdioServerParameters:
    return _command(["--repository", str(project.path)])


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_both_protocol_eras_list_and_call(
    project: Checkout, command: StdioServerParameters, mode: str, version: str
) -> None:
    async with Client(command, mode=mode) as client:
        listed = (await client.list_tools()).tools
        status = await client.call_tool("git_status", {})

        assert client.protocol_version == version
        assert client.server_info
        assert client.server_info.name == "git"

    assert [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed] == [
        dict(tool) for tool in GitServer(project.path).tools()
    ]
    assert status.is_error is False
    assert status.structured_content["commit"] == project.head()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_unknown_tool_is_a_protocol_error(
    command: StdioServerParameters, mode: str
) -> None:
    async with Client(command, mode=mode) as client:
        with pytest.raises(MCPError, match="unknown tool 'git_bisect'") as caught:
            await client.call_tool("git_bisect", {})

    assert caught.value.code == INVALID_PARAMS


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_bad_arguments_are_a_result_that_names_the_field(
    command: StdioServerParameters, mode: str
) -> None:
    async with Client(command, mode=mode) as client:
        result = await client.call_tool("git_log", {"max_count": "many"})

    assert result.is_error is True
    assert isinstance(result.content[0], TextContent)
    assert "max_count" in result.content[0].text


async def test_without_arguments_the_repository_is_the_working_directory(
    project: Checkout,
) -> None:
    command = _command([]).model_copy(update={"cwd": project.path})

    async with Client(command) as client:
        status = await client.call_tool("git_status", {})

    assert status.structured_content["commit"] == project.head()


async def test_calls_run_side_by_side(project: Checkout, command: StdioServerParameters) -> None:
    commits: list[object] = []

    async with Client(command) as client:

        async def read() -> None:
            status = await client.call_tool("git_status", {})
            commits.append(status.structured_content["commit"])

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(read)

    assert commits == [project.head()] * 8


@pytest.mark.parametrize(
    "arguments", [["--repository", "/nowhere"], ["--unknown"], ["--repository"], ["--repo", "."]]
)
def test_bad_command_lines_end_in_one_line_and_status_2(arguments: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, *MODULE, *arguments], check=False, capture_output=True, text=True
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("git server: ")
    assert ended.stderr.count("\n") == 1
    assert not ended.stdout


@pytest.mark.parametrize("hang_up", [subprocess.Popen[bytes].terminate, None])
def test_no_process_outlives_the_server(
    project: Checkout, tmp_path: Path, hang_up: Callable[[subprocess.Popen[bytes]], None] | None
) -> None:
    pipe = tmp_path / "alive"
    os.mkfifo(pipe)
    project.hook("pre-commit", f"exec > {pipe}; echo here; exec sleep 600")
    project.write("readme.txt", "changed\n")
    request = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        '"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"git_commit",'
        '"arguments":{"message":"m","all":true}}}\n'
    )
    started = [sys.executable, *MODULE, "--repository", str(project.path)]

    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin
        process.stdin.write(request.encode())
        process.stdin.flush()
        with pipe.open() as hook:
            assert hook.readline() == "here\n"
            if hang_up:
                hang_up(process)
            else:
                process.stdin.close()
            assert hook.read() == "", "the hook's end of the pipe closes when the hook dies"
        process.wait(timeout=10)

    assert process.returncode == (143 if hang_up else 0)
    assert project.git("status", "--porcelain") == " M readme.txt\n"


def _command(arguments: list[str]) -> StdioServerParameters:
    isolated = {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}
    return StdioServerParameters(command=sys.executable, args=[*MODULE, *arguments], env=isolated)
