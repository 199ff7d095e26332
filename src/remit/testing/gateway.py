"""A real `remit serve` in a process of its own, and raw callers of it, for tests."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.shared.inbound import encode_header_value

from remit.cli.serving import bind

MODERN = "2026-07-28"
START = 20.0
"""Seconds a gateway has to answer; generous, since CI is slow."""


@dataclass(slots=True, kw_only=True)
class Running:
    """A gateway process on a free port."""

    folder: Path
    config: Path
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    keys: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def url(self) -> str:
        """The endpoint of all servers."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def remit(self, *arguments: str, expect: int = 0) -> str:
        """Run a command on this gateway's declaration and database; return its output."""
        done = subprocess.run(
            [sys.executable, "-m", "remit", *arguments, "--config", str(self.config)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != expect or "Traceback" in done.stderr:
            shown = f"{done.stdout}{done.stderr}"
            raise AssertionError(f"remit {arguments} ended with {done.returncode}\n{shown}")
        return done.stdout

    def key(self, role: str) -> str:
        """Return a key of *role*, made once."""
        if role not in self.keys:
            made = self.remit("keys", "create", f"{role}-key", "--role", role, "--json")
            self.keys[role] = json.loads(made)["key"]
        return self.keys[role]

    def audit(self, *arguments: str) -> list[dict[str, Any]]:
        """Return `remit audit search --json`."""
        return json.loads(self.remit("audit", "search", "--json", *arguments))

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop the gateway and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(20)


def start_gateway(folder: Path, config: Path, environ: Mapping[str, str] | None = None) -> Running:
    """Start a gateway and return when it answers."""
    with bind("127.0.0.1", 0) as probe:
        port = probe.getsockname()[1]
    log = folder / "gateway.log"
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "remit", "serve", "--config", str(config), "--port", str(port)],
            cwd=folder,
            env={**os.environ, **(environ or {})},
            stdout=sink,
            stderr=sink,
        )
    running = Running(folder=folder, config=config, port=port, process=process, log=log)

    async def answers() -> None:
        async with httpx2.AsyncClient() as client:
            while True:
                if process.poll() is not None:
                    raise AssertionError(f"the gateway ended:\n{log.read_text()}")
                try:
                    if (await client.get(f"http://127.0.0.1:{port}/healthz")).is_success:
                        return
                except httpx2.TransportError:
                    await anyio.sleep(0.05)

    async def within_limit() -> None:
        with anyio.fail_after(START):
            await answers()

    anyio.run(within_limit)
    return running


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller over raw HTTP, in the era of 2026-07-28."""

    http: httpx2.AsyncClient
    url: str
    key: str

    async def send(
        self, method: str, params: Mapping[str, Any], number: int = 1
    ) -> httpx2.Response:
        """Send one request and return the HTTP response."""
        meta: dict[str, object] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body: dict[str, object] = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
        }
        if method == "tools/call" and isinstance(params.get("name"), str):
            headers["Mcp-Name"] = encode_header_value(str(params["name"]))
        return await self.http.post(self.url, json=body, headers=headers, timeout=30)

    async def tools(self) -> list[dict[str, Any]]:
        """Return the entries of `tools/list`."""
        return (await self.send("tools/list", {})).json()["result"]["tools"]

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and return the whole JSON-RPC answer."""
        reply = await self.send("tools/call", {"name": name, "arguments": dict(arguments or {})})
        return reply.json()
