"""The administrator's key, and keys that end (contract, R12, R17)."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import command_lines

from remit.testing.gateway import Caller, Running, environment, fixture_entry, run_remit

ROLES = {"worker": {"allow": ["tools/*"]}}
TAKES_EFFECT = 2.0
"""Seconds within which a revoked key must be refused everywhere (R17)."""


@pytest.fixture
def running(tmp_path: Path, serve: Serve) -> Running:
    entry = fixture_entry(["work"], tmp_path / "ran")
    return serve({"mcp_servers": {"tools": entry}, "roles": ROLES}, REMIT_LOG_LEVEL="DEBUG")


async def test_the_first_start_makes_it_for_its_owner_alone_and_the_second_makes_none(
    running: Running, serve: Serve
) -> None:
    path = running.folder / ".remit" / "admin.key"
    made = path.read_text()
    running.stop()

    again = serve(REMIT_LOG_LEVEL="DEBUG")
    keys = json.loads(again.remit("keys", "list", "--json"))

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == made
    assert [(key["name"], key["admin"]) for key in keys] == [("admin", True)]


async def test_it_administers_and_may_use_no_tool(
    running: Running, http: httpx2.AsyncClient
) -> None:
    # R12: administering never grants use.
    admin = Caller(http, running.url, running.admin_key)
    worker = Caller(http, running.url, running.key("worker"))
    await worker.until_listed({"tools__work"})

    reply = await admin.call("tools__work")

    assert await admin.tools() == []
    assert reply["error"]["code"] == -32602
    assert running.servers()["tools"]["state"] == "ready"


async def test_no_log_no_row_no_output_and_no_command_line_holds_a_key(
    running: Running, http: httpx2.AsyncClient
) -> None:
    keys = {"admin": running.admin_key, "worker": running.key("worker")}
    for key in keys.values():
        caller = Caller(http, running.url, key)
        await caller.until_listed({"tools__work"} if key == keys["worker"] else set())
        await caller.call("tools__work", {"note": f"my key is {key}"})
        await caller.call(key)
    secrets = [key.split("_", 2)[2] for key in keys.values()]

    shown = "\n".join(
        (
            running.remit("audit", "search", "--json"),
            running.remit("audit", "search"),
            running.remit("keys", "list"),
            command_lines(),
            running.log.read_text(),
        )
    )
    stored = b"".join(
        path.read_bytes()
        for path in (running.folder / ".remit").rglob("*")
        if path.is_file() and path.name != "admin.key"
    )

    assert len(running.audit()) == 4
    for secret in secrets:
        assert secret not in shown
        assert secret.encode() not in stored


async def test_a_key_holds_at_once_and_when_revoked_is_refused_within_two_seconds(
    running: Running, http: httpx2.AsyncClient
) -> None:
    made = json.loads(running.remit("keys", "create", "brief", "--role", "worker", "--json"))
    caller = Caller(http, running.url, made["key"])
    await caller.until_listed({"tools__work"})

    running.remit("keys", "revoke", "brief")

    with anyio.fail_after(TAKES_EFFECT):
        while True:
            if (await caller.send("tools/list", {})).status_code == 401:
                break
            await anyio.sleep(0.05)
    assert made.keys() == {"id", "name", "key"}
    assert made["key"].startswith(f"rmt_{made['id']}_")
    assert (await caller.send("tools/call", {"name": "tools__work"})).status_code == 401


def test_the_last_administrators_key_may_end_and_the_log_and_the_command_say_so(
    running: Running,
) -> None:
    told = "no administrator's key holds any more"
    first = running.admin_key
    running.remit("keys", "create", "second", "--admin")

    running.remit("keys", "revoke", "second", "--url", running.base, "--key", first)
    assert told not in running.log.read_text()
    running.remit("keys", "revoke", "admin", "--url", running.base, "--key", first)
    assert running.log.read_text().count(told) == 1

    again = running.remit("keys", "create", "third", "--admin")
    assert again.startswith("rmt_")
    ended = run_remit("keys", "revoke", "third", folder=running.folder)
    assert ended.stderr == f"note: {told}; `remit keys create NAME --admin` makes one\n"


def test_listening_beyond_this_machine_needs_a_further_key(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(json.dumps({"mcp_servers": {}, "roles": ROLES}))

    everywhere = "0.0.0.0"  # noqa: S104 - what must be refused
    done = run_remit("serve", "--host", everywhere, "--port", "0", folder=tmp_path)

    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "`remit keys create NAME --role ROLE`" in done.stderr
    assert not (tmp_path / ".remit" / "admin.key").exists()


def test_a_terminal_is_shown_the_key_that_is_made(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(json.dumps({"mcp_servers": {}, "roles": ROLES}))
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", "serve", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)
    shown = ""
    with os.fdopen(reader, errors="replace") as terminal:
        while "remit serves" not in shown:
            shown += terminal.readline()
        process.terminate()
        assert process.wait(20) == 0

    assert (tmp_path / ".remit" / "admin.key").read_text().strip() in shown
