"""What several callers send to one child in one turn of the event loop leaves together."""

import json
import sys
from pathlib import Path

import anyio
import pytest

from remit.model.servers import ServerConfig, Session, Transport
from remit.testing.fleets import PATIENCE, call_tool, open_servers, status_of
from remit.upstreams.child import TOGETHER

CALLERS = TOGETHER
"""Few enough that their calls fit into what a pipe takes as one (PIPE_BUF)."""

CHILD = """
import json, os
rest = b""
while data := os.read(0, 65536):
    *lines, rest = (rest + data).split(b"\\n")
    calls = sum(b"tools/call" in line for line in lines)
    for line in lines:
        message = json.loads(line)
        if message["method"] == "server/discover":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        elif message["method"] == "tools/call":
            text = json.dumps([calls, message["params"]["arguments"]])
            result = {"content": [{"type": "text", "text": text}]}
        else:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        os.write(1, json.dumps(answer).encode() + b"\\n")
"""
"""A server that says with each answer how many calls it read at once."""


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Child processes are another implementation on the loop that `remit serve` runs on."""
    return "asyncio", {"use_uvloop": request.param}


def _counting(folder: Path) -> ServerConfig:
    program = folder / "counting.py"
    program.write_text(CHILD)
    return ServerConfig(
        name="s",
        transport=Transport.STDIO,
        command=sys.executable,
        args=(str(program),),
        session=Session.SHARED,
    )


async def test_calls_of_one_turn_are_read_by_the_child_at_once_and_answered_each(
    tmp_path: Path,
) -> None:
    async with open_servers(_counting(tmp_path)) as fleet:
        assert status_of(fleet, "s").tools == 1
        for _ in range(10):
            answers: dict[int, list[object]] = {}

            async def call(number: int, into: dict[int, list[object]]) -> None:
                result = json.loads(await call_tool(fleet, "s", "t", b'{"n":%d}' % number))
                into[number] = json.loads(result["content"][0]["text"])

            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    for number in range(CALLERS):
                        tasks.start_soon(call, number, answers)
            assert answers == {number: [CALLERS, {"n": number}] for number in range(CALLERS)}


async def test_a_line_break_between_tokens_does_not_end_a_message(tmp_path: Path) -> None:
    async with open_servers(_counting(tmp_path)) as fleet:
        with anyio.fail_after(PATIENCE):
            result = json.loads(await call_tool(fleet, "s", "t", b'{"n":\r\n[1,\n2]}'))

    assert json.loads(result["content"][0]["text"]) == [1, {"n": [1, 2]}]
