"""What `remit init` writes is what `remit serve` runs: from nothing, and from a client's file."""

import json
import subprocess
import sys
from pathlib import Path

import httpx2
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, run_remit


async def test_a_gateway_runs_on_the_starter_and_each_role_sees_its_tools(
    serve: Serve, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    made = run_remit("init", folder=tmp_path)
    assert made.returncode == 0, made.stderr

    running = serve().settle()

    counts = {
        role: len(await Caller(http, running.url, running.key(role)).tools())
        for role in ("reader", "writer", "admin")
    }
    assert counts == {"reader": 3, "writer": 8, "admin": 9}
    answer = await Caller(http, running.url, running.key("reader")).call("git__git_status")
    assert not answer["result"].get("isError")


async def test_a_gateway_runs_on_an_imported_file_and_keeps_off_what_was_off(
    serve: Serve, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    clock = str(Path(sys.executable).with_name("mcp-server-time"))
    servers = {
        "my clock": {"command": clock, "disabledTools": ["convert_time"]},
        "off": {"command": clock, "disabled": True},
        "unset": {"url": "https://h.example.test/mcp", "headers": {"X-Api-Key": "8f3c0a61b2d9"}},
    }
    (tmp_path / "client.json").write_text(json.dumps({"mcpServers": servers}))
    made = run_remit("init", "--from", "client.json", folder=tmp_path)
    assert made.returncode == 0, made.stderr

    running = serve().settle()

    for role in ("reader", "admin"):
        tools = await Caller(http, running.url, running.key(role)).tools()
        assert [tool["name"] for tool in tools] == ["my-clock__get_current_time"]
    states = {name: status["state"] for name, status in running.servers().items()}
    assert states["my-clock"] == "ready"
    assert {states["off"], states["unset"]} == {"stopped"}
