"""A worker holds what it uses, and nothing of the calls that are over (issue 5: flat, < 90 MB)."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.processes import resident

from remit.testing.gateway import (
    MODERN,
    START,
    STOP,
    Running,
    environment,
    fixture_entry,
    run_remit,
    start_gateway,
)

UNUSED = (
    "mcp", "mcp_types", "fastapi", "starlette", "aiohttp", "alembic", "mako", "joserfc",
    "cryptography", "opentelemetry", "rich", "pygments", "redis", "limits", "psycopg", "httpx2",
    "sqlalchemy.orm", "sqlalchemy.dialects.postgresql", "remit.doors.api.application",
)  # fmt: skip
"""What a gateway on SQLite whose callers have keys has no use for: 60 MB together."""

WARM, MANY, ROUNDS = 2500, 5000, 3
"""Calls before the first look, and between two looks."""

SERVE = """
import atexit, json, pathlib, sys
modules = pathlib.Path(sys.argv.pop(1))
atexit.register(lambda: modules.write_text(json.dumps(sorted(sys.modules))))
from remit.cli.main import main
main()
"""


def declare(folder: Path) -> Path:
    config = folder / "remit.yaml"
    servers = {"files": fixture_entry(["read"], folder / "ran.jsonl", session="shared")}
    roles = {"reader": {"tools": {"files": ["read"]}}}
    config.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))
    return config


def send(port: int, key: str, count: int) -> int:
    """Send that many calls over one connection; return how many were answered well."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params: dict[str, Any] = {
        "name": "files__read",
        "arguments": {"text": "x" * 200},
        "_meta": meta,
    }
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nAuthorization: Bearer {key}\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\n"
        f"Mcp-Name: files__read\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    answered = 0
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        answers = connection.makefile("rb")
        for _ in range(count):
            connection.sendall(head.encode() + body)
            line, length = answers.readline(), 0
            while (field := answers.readline()).strip():
                name, _, value = field.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            text = answers.read(length)
            answered += b" 200 " in line and b'"isError":true' not in text
    return answered


@contextmanager
def serving(folder: Path, config: Path, modules: Path) -> Generator[int]:
    """Serve until the block ends; gives the port. What was imported is in *modules* then."""
    command = [sys.executable, "-c", SERVE, str(modules), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--config", str(config)], env=environment(), stderr=subprocess.PIPE, cwd=folder
    ) as process:
        try:
            assert process.stderr is not None
            ports = (re.search(rb"serves .*:(\d+)/mcp", line) for line in process.stderr)
            yield next(int(found[1]) for found in ports if found is not None)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=STOP)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("worker")
    running = start_gateway(folder, declare(folder))
    try:
        yield running.settle()
    finally:
        running.stop()


def test_a_worker_that_serves_calls_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    config, modules = declare(tmp_path), tmp_path / "modules.json"
    words = ("keys", "create", "me", "--role", "reader", "--json")
    made = run_remit(*words, folder=tmp_path)  # and the database: its first start imports alembic
    key = json.loads(made.stdout)["key"]

    with serving(tmp_path, config, modules) as port:
        deadline = time.monotonic() + START
        while send(port, key, 1) == 0:  # until its server is up
            assert time.monotonic() < deadline

    imported = set(json.loads(modules.read_text()))
    assert "remit.calls.pipeline" in imported
    assert imported.intersection(UNUSED) == set()


@pytest.mark.timeout(120)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_calls_that_are_over_leave_nothing_in_memory(gateway: Running) -> None:
    key, pid = gateway.key("reader"), gateway.process.pid
    assert send(gateway.port, key, WARM) == WARM

    grown: list[int] = []
    for _ in range(ROUNDS):
        before = resident(pid)
        assert send(gateway.port, key, MANY) == MANY
        grown.append(resident(pid) - before)

    # 200 bytes of each call would be a megabyte in every round; a batch of the record that is
    # under way when one ends is in that one alone
    assert min(grown) < 1_000_000
