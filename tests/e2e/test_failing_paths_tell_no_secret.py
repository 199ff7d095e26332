"""T19, the rest: every path fails once, and neither metrics nor traces nor anything else tells."""

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import command_lines
from tests.observability.collector import Collector, open_collector

from remit.testing.gateway import Caller, Running, fixture_entry

PASSWORD = "sentinel-Password-1a2b3c"
RESULT = "ghp_sentinelResultZ9Y8X7W6V5U4T3S2R1Q0"
IN_ENVIRONMENT = {
    "SENTINEL_ENV": "sentinel-Environment-4d5e6f",
    "SENTINEL_HEADER": "sentinel-Header-7a8b9c",
    "SENTINEL_BEARER": "sentinel-Bearer-0d1e2f",
    "SENTINEL_QUERY": "sentinel-Query-3a4b5c",
    "SENTINEL_ARGUMENT": "sentinel-Argument-6d7e8f",
}
TOOLS: list[str | dict[str, Any]] = [
    "hidden",
    {
        "name": "token",
        "x-fixture": {"result": {"content": [{"type": "text", "text": f"token: {RESULT}"}]}},
    },
    {"name": "never", "x-fixture": {"silent": True}},
    {"name": "die", "x-fixture": {"exit": 3}},
    {"name": "strict", "inputSchema": {"type": "object", "additionalProperties": False}},
    {"name": "refuse", "x-fixture": {"error": {"code": -32099, "message": f"bad key {RESULT}"}}},
]
OUTCOMES = {
    "token": ("ok", ""),
    "never": ("unknown", "UPSTREAM_TIMEOUT"),
    "die": ("unknown", "UPSTREAM_UNAVAILABLE"),
    "strict": ("none", "INVALID_INPUT"),
    "hidden": ("none", "PERMISSION_DENIED"),
}
PATHS = (
    *("/servers", "/servers/unauthorized", "/servers/failing", "/servers/absent", "/audit"),
    *("/audit/export", "/declaration", "/revisions/1", "/keys", "/me", "/tools?as=role:worker"),
)

pytestmark = pytest.mark.timeout(180)


class _Echo(BaseHTTPRequestHandler):
    """Refuses with the status that the path begins with, and tells all that it was sent."""

    def do_POST(self) -> None:
        told = f"{self.path}\n{self.headers}".encode()
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Length", str(len(told)))
        self.send_header("X-Told", self.headers.get("X-Custom", ""))
        self.end_headers()
        self.wfile.write(told)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@pytest.fixture
def echo() -> Generator[str]:
    """Give the root of servers that echo."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def collector() -> Generator[Collector]:
    with open_collector() as collector:
        yield collector


def _document(folder: Path, echo: str) -> dict[str, Any]:
    def remote(status: int, transport: str = "http") -> dict[str, Any]:
        return {
            "url": f"{echo}/{status}/mcp?key=${{SENTINEL_QUERY}}",
            "transport": transport,
            "headers": {"X-Custom": "${SENTINEL_HEADER}"},
            "bearer_token_env_var": "SENTINEL_BEARER",
        }

    tools = fixture_entry(TOOLS, folder / "ran", env={"API_KEY": "${SENTINEL_ENV}"}, timeout=1)
    leak = 'echo "cannot use $2" >&2; exit 4'
    servers = {
        "tools": tools,
        "unauthorized": remote(401),
        "failing": remote(500),
        "old": remote(403, "sse"),
        "leaky": {"command": "sh", "args": ["-c", leak, "x", "--token", "${SENTINEL_ARGUMENT}"]},
    }
    return {"mcp_servers": servers, "roles": {"worker": {"allow": ["*/*"], "deny": ["tools/hid*"]}}}


async def test_t19_no_failing_path_tells_a_secret(
    serve: Serve, tmp_path: Path, echo: str, collector: Collector, http: httpx2.AsyncClient
) -> None:
    running = serve(
        _document(tmp_path, echo),
        **IN_ENVIRONMENT,
        REMIT_LOG_LEVEL="DEBUG",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
    ).settle()
    key = running.key("worker")
    caller = Caller(http, running.url, key)
    secrets = {"password": PASSWORD, "text": f"password={PASSWORD}"}
    for tool in (*OUTCOMES, "refuse"):
        await caller.call(f"tools__{tool}", secrets)
    for server in ("unauthorized", "failing", "old", "leaky"):
        await caller.call(f"{server}__any", secrets)
    await Caller(http, running.url, f"{key[:-4]}0000").send("tools/list", {})

    places = await _places(running, http)
    assert "remit_calls_total{" in places["metrics"]
    rows = {row["tool"]: (row["outcome"], row["code"]) for row in running.audit()}
    assert {tool: rows[tool] for tool in OUTCOMES} == OUTCOMES
    states = running.servers()
    assert "401" in states["unauthorized"]["reason"]
    assert "exited with code 4" in states["leaky"]["reason"]
    running.stop()  # then the last spans are out, and every file is written
    places["log"] = running.log.read_text()
    places["traces"] = b"".join(collector.bodies).decode("latin-1")
    assert "tools/call never" in places["traces"]
    for path in (tmp_path / ".remit").rglob("*"):
        if path.is_file() and path.name not in {"admin.key", "admin.secret"}:
            places[path.name] = path.read_bytes().decode("latin-1")
    sentinels = {PASSWORD, RESULT, key, running.admin_key, *IN_ENVIRONMENT.values()}
    found = [
        (place, sentinel)
        for place, text in places.items()
        for sentinel in sentinels
        if sentinel in text
    ]
    assert found == []


async def _places(running: Running, http: httpx2.AsyncClient) -> dict[str, str]:
    """Return where a secret could be shown while the gateway runs."""
    by = {"Authorization": f"Bearer {running.admin_key}"}
    metrics = await http.get(f"{running.base}/metrics", headers=by)
    assert metrics.status_code == 200
    replies = [await http.get(f"{running.base}/api/v1{path}", headers=by) for path in PATHS]
    return {
        "metrics": metrics.text,
        "the API": "".join(reply.text + repr(reply.headers.raw) for reply in replies),
        "readyz": json.dumps(running.servers()),
        "doctor": running.remit("doctor", expect=1),
        "audit": running.remit("audit", "search"),
        "the process list": command_lines(),
    }
