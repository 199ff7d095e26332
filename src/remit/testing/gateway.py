"""A real `remit serve` in a process of its own, the commands beside it, and raw callers of it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from remit.admin.keys import make_key
from remit.app.installation import open_installation
from remit.cli.serving import bind
from remit.client.transport import TRUSTS_NOBODY
from remit.model.header_values import encode_header_value
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings
from remit.testing.forked import Forks
from remit.testing.upstream import fixture_server_config

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
START = 120.0
"""Seconds a gateway has to answer; generous, since CI is slow."""

STOP = 20.0
"""Seconds a gateway has to end when it is asked to."""

LONGEST_CALL = 120.0
"""Seconds an answer may take; generous likewise."""

Ended = subprocess.CompletedProcess[str]

_SERVES = re.compile(rb"remit serves \S+(?: by (\d+) workers)?\n")
"""What a gateway says once callers reach it, and each of its workers."""

_BUILD = re.compile(r'(?m)^remit_build_info\{.*worker="(\d+)"')
_STARTING = re.compile(r'(?m)^remit_server_state\{.*state="starting".*\} 1$')

_forks = Forks()


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without remit's own settings, and *extra*."""
    foreign = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REMIT_", "MCP_")) or name == "REMIT_SHARED"
    }
    return {**foreign, **(extra or {})}


def run_remit(
    *arguments: str, folder: Path, environ: Mapping[str, str] | None = None, within: float = 90
) -> Ended:
    """Run a command in *folder* to its end and return everything about it."""
    variables = environment(environ)
    ended = _forks.run(arguments, folder, variables, within)
    if ended is not None:
        return ended
    return subprocess.run(
        [sys.executable, "-m", "remit", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )


def fixture_entry(
    tools: Sequence[str | Mapping[str, Any]],
    count_file: Path,
    *,
    options: Sequence[str] = (),
    **settings: Any,
) -> dict[str, Any]:
    """Return the entry of `mcp_servers` for a fixture server over stdio.

    Args:
        tools: Names, or tool objects (`remit.testing.behaviour.FixtureOptions`).
        count_file: Where it counts what ran; `remit.testing.upstream.executed` reads it.
        options: More of its command line, such as `("--era", "legacy")`.
        settings: More keys of the entry, such as `session="shared"`.
    """
    config = fixture_server_config("fixture", tools, count_file, options=options)
    return {"command": config.command, "args": list(config.args), **settings}


@dataclass(slots=True, kw_only=True)
class Running:
    """A gateway process on a free port.

    Attributes:
        log: What it wrote on standard output and standard error.
        workers: How many processes serve.
        keys: Role to the text of a key.
    """

    folder: Path
    config: Path
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    environ: Mapping[str, str]
    workers: int = 1
    keys: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def base(self) -> str:
        """The root of every path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The endpoint of all servers."""
        return f"{self.base}/mcp"

    @property
    def admin_key(self) -> str:
        """The administrator's key, as the first start left it."""
        state = Settings.read(self.config, self.environ).state
        return (state / "admin.key").read_text().strip()

    def remit(self, *arguments: str, expect: int = 0) -> str:
        """Run a command on this gateway's declaration and database; return its output."""
        done = run_remit(
            *arguments, "--config", str(self.config), folder=self.folder, environ=self.environ
        )
        if done.returncode != expect or "Traceback" in done.stderr:
            shown = f"{done.stdout}{done.stderr}"
            raise AssertionError(f"remit {arguments} ended with {done.returncode}\n{shown}")
        return done.stdout

    def key(self, role: str) -> str:
        """Return a key of *role*, made once, in this process since that is faster."""
        if role not in self.keys:
            with start_blocking_portal() as portal:
                self.keys[role] = portal.call(self._make_key, role)
        return self.keys[role]

    def audit(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the calls that `remit audit search --json` shows, newest first."""
        return json.loads(self.remit("audit", "search", "--limit", "1000", "--json", *arguments))

    def servers(self) -> dict[str, dict[str, Any]]:
        """Return what `/readyz` tells an administrator, by server; one worker of several."""
        return {status["name"]: status for status in self._look("/readyz").json()["servers"]}

    def settle(self) -> "Running":
        """Wait until the first attempt of each worker at every server has ended, well or not."""
        deadline = time.monotonic() + START
        while not self._is_settled():
            if time.monotonic() > deadline:
                raise AssertionError(f"servers are still starting: {self.servers()}")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)
        return self

    def _is_settled(self) -> bool:
        if self.workers == 1:
            return all(status["state"] != "starting" for status in self.servers().values())
        told = self._look("/metrics").text  # of all workers, whichever is asked
        return len(set(_BUILD.findall(told))) == self.workers and not _STARTING.search(told)

    def _look(self, path: str) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.admin_key}"}
        return httpx2.get(f"{self.base}{path}", headers=headers, verify=TRUSTS_NOBODY)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop the gateway and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"did not stop in time:\n{self.log.read_text()}") from None

    async def _make_key(self, role: str) -> str:
        settings = Settings.read(self.config, self.environ)
        async with open_installation(settings, author="", may_begin=True) as installation:
            made = await make_key(
                installation.keys,
                f"{role}-key",
                tenant=DEFAULT_TENANT,
                now=datetime.now(UTC),
                role=role,
                roles=installation.policy.declaration.roles,
            )
        return made.text


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with bind("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])


def start_gateway(
    folder: Path,
    config: Path,
    environ: Mapping[str, str] | None = None,
    *options: str,
    port: int = 0,
) -> Running:
    """Start a gateway in *folder* and return when it answers, and each of its workers.

    Args:
        folder: Where it runs and logs.
        config: Its declaration.
        environ: More environment.
        options: More of its command line, such as `("--workers", "2")`.
        port: Where it listens; 0 for any that is free.
    """
    port = port or free_port()
    log = folder / "gateway.log"
    with log.open("ab") as sink:
        before = sink.tell() if sink.seekable() else None
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "remit", "serve"),
                *("--config", str(config), "--port", str(port), *options),
            ],
            cwd=folder,
            env=environment(environ),
            stdout=sink,
            stderr=sink,
        )
    running = Running(
        folder=folder, config=config, port=port, process=process, log=log, environ=environ or {}
    )
    deadline = time.monotonic() + START
    while not ((workers := _serving(log, before)) and _answers(running)):
        if time.monotonic() > deadline:
            running.stop(signal.SIGKILL)
        if process.poll() is not None:
            raise AssertionError(f"the gateway ended:\n{log.read_text()}")
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    running.workers = workers
    return running


def _serving(log: Path, before: int | None) -> int:
    """Return how many processes serve, by what the log says behind that place; 0 until they do."""
    if before is None:  # a pipe, which is somebody else's to read
        return 1
    said = _SERVES.search(log.read_bytes(), before)
    return int(said[1] or 1) if said else 0


def _answers(running: Running) -> bool:
    try:
        return httpx2.get(f"{running.base}/healthz", verify=TRUSTS_NOBODY).is_success
    except httpx2.TransportError:
        return False


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller over raw HTTP, in the era of 2026-07-28 until `begin` shakes hands."""

    http: httpx2.AsyncClient
    url: str
    key: str
    session: str = ""

    async def begin(self) -> "Caller":
        """Return the same caller in a session of 2025-11-25."""
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        reply = await self._post("initialize", params, 0, {})
        session = replace(self, session=reply.headers["mcp-session-id"])
        noted = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.http.post(self.url, json=noted, headers=self._headers(session.era_headers))
        return session

    @property
    def era_headers(self) -> dict[str, str]:
        """The headers of every request after the handshake."""
        return {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": self.session}

    async def send(
        self,
        method: str,
        params: Mapping[str, Any],
        number: int = 1,
        *,
        meta: Mapping[str, object] | None = None,
    ) -> httpx2.Response:
        """Send one request, with *meta* beside what the era wants, and return the response."""
        if self.session:
            more = {"_meta": meta} if meta else {}
            return await self._post(method, {**params, **more}, number, self.era_headers)
        meta = {
            **(meta or {}),
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        named = params.get("uri") if method == "resources/read" else params.get("name")
        if method in ("tools/call", "resources/read") and isinstance(named, str):
            headers["Mcp-Name"] = encode_header_value(named)
        return await self._post(method, {**params, "_meta": meta}, number, headers)

    async def tools(self) -> list[dict[str, Any]]:
        """Return the entries of `tools/list`."""
        return (await self.send("tools/list", {})).json()["result"]["tools"]

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and return the whole JSON-RPC answer."""
        reply = await self.send("tools/call", {"name": name, "arguments": dict(arguments or {})})
        return reply.json()

    async def until_listed(self, wanted: set[str], within: float = 20) -> set[str]:
        """Return the names in the caller's list once all that are *wanted* are in it.

        Raises:
            TimeoutError: They did not come within so many seconds.
        """
        with anyio.fail_after(within):
            while True:
                names = {tool["name"] for tool in await self.tools()}
                if wanted <= names:
                    return names
                await anyio.sleep(0.05)

    async def _post(
        self, method: str, params: Mapping[str, Any], number: int, headers: Mapping[str, str]
    ) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
        return await self.http.post(
            self.url, json=body, headers=self._headers(headers), timeout=LONGEST_CALL
        )

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        accept = "application/json, text/event-stream"
        return {"Authorization": f"Bearer {self.key}", "Accept": accept, **more}
