"""`remit stdio`: the gateway of one caller, driven by the protocol library's client (contract)."""

import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import INVALID_PARAMS, TextContent
from tests.e2e.deaf import deaf_entry
from tests.e2e.processes import mentioning

from remit.doors.mcp.stdio import GRACE
from remit.testing.gateway import environment, fixture_entry, run_remit
from remit.testing.upstream import executed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    entry = fixture_entry(["read", "delete"], tmp_path / "ran", options=("--dirty",))
    document = {
        "mcp_servers": {"files": entry, "missing": {"command": "no-such-program-anywhere"}},
        "roles": {"reader": {"tools": {"files": ["read"], "missing": ["gone"]}}},
    }
    (tmp_path / "remit.yaml").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_both_eras_list_call_and_refuse(folder: Path, mode: str, version: str) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "remit", "stdio", "--as", "role:reader"],
        cwd=folder,
        env=environment({"REMIT_LOG_LEVEL": "DEBUG"}),
    )
    async with Client(command, mode=mode, cache=None) as client:
        protocol = client.protocol_version
        listed = {tool.name for tool in (await client.list_tools()).tools}
        while not listed:  # the server behind may still be starting
            listed = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("files__read", {"path": "a"})
        with pytest.raises(MCPError) as refused:
            await client.call_tool("files__delete", {"path": "a"})

    assert protocol == version
    assert listed == {"files__read"}
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == 'read {"path": "a"}'
    assert refused.value.code == INVALID_PARAMS
    assert [call.name for call in executed(folder / "ran")] == ["read"]


def test_standard_output_holds_nothing_but_json_rpc_also_while_debugging(folder: Path) -> None:
    # T5: noise of the child and of the log stay off the wire.
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "files__delete"},
    }
    done = subprocess.run(
        [sys.executable, "-m", "remit", "stdio", "--as", "role:reader"],
        cwd=folder,
        env=environment({"REMIT_LOG_LEVEL": "DEBUG"}),
        input=f"{json.dumps(hello)}\nnonsense\n\n{json.dumps(call)}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert "server failed" in done.stderr  # the log is on, and elsewhere
    assert "Traceback" not in done.stderr
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    answers = {message["id"]: message for message in messages if "id" in message}
    assert answers.keys() == {1, None, 2}
    assert answers[None]["error"]["code"] == -32700
    assert answers[2]["error"]["code"] == INVALID_PARAMS


def test_an_unknown_caller_is_refused_before_anything_is_said(folder: Path) -> None:
    done = run_remit("stdio", "--as", "role:nobody", folder=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("error: no role 'nobody' is declared")


def test_one_grace_is_enough_for_calls_and_deaf_servers_together(tmp_path: Path) -> None:
    # The call outlasts its five seconds, and then the server is deaf to the end of its input and
    # to SIGTERM.
    entry = deaf_entry(tmp_path)
    document = {"mcp_servers": {"s": entry}, "roles": {"worker": {"allow": ["s/*"]}}}
    (tmp_path / "remit.yaml").write_text(json.dumps(document))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "s__endless"}}
    with subprocess.Popen(
        [sys.executable, "-m", "remit", "stdio", "--as", "role:worker"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + 30
        while not executed(tmp_path / "ran"):
            assert time.monotonic() < deadline
            process.stdin.write(json.dumps(call).encode() + b"\n")
            process.stdin.flush()
            if not executed(tmp_path / "ran"):  # until it is listed, the answer comes at once
                _wait_for_a_line_or_a_call(process.stdout, tmp_path / "ran")
        began = time.monotonic()
        process.stdin.close()
        process.wait(30)

    assert time.monotonic() - began < 2 * GRACE - 1
    assert mentioning(entry["args"][0]) == set()


def _wait_for_a_line_or_a_call(stdout: IO[bytes], ran: Path) -> None:
    while not executed(ran):
        if select.select([stdout], [], [], 0.05)[0]:
            stdout.readline()
            return
