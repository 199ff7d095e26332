"""Secrets pass to whom they belong and leave no trace in rows, logs and outputs (R28; T19)."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.issuer import FakeIssuer
from remit.testing.upstream import executed

ARGUMENT = "sentinel-Argument-3e2d1c"
FORGED = "forged.sentinel-host.example.test"
PASSWORD = "sentinel-Password-5f1c77"
NESTED = "sentinel-Nested-9b20aa"
RESULT = "ghp_sentinelResultA1B2C3D4E5F6G7H8I9J0"
FAILURE = "sentinelFailure.8d7e6f5a4b3c2d1e"
IN_ENVIRONMENT = {
    "SENTINEL_ENV": "sentinel-Environment-71c3d9",
    "SENTINEL_HEADER": "sentinel-Header-0a4f6e",
    "SENTINEL_BEARER": "sentinel-Bearer-c4d5e6",
    "SENTINEL_QUERY": "sentinel-Query-11aa22",
    "SENTINEL_LEAKED": "sentinel-Leaked-e5b8f0",
    "SENTINEL_OWN": "sentinel-Own-7d7d7d",
}
SENTINELS = [PASSWORD, NESTED, RESULT, FAILURE, *IN_ENVIRONMENT.values()]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "token",
        "x-fixture": {"result": {"content": [{"type": "text", "text": f"token: {RESULT}"}]}},
    },
    {
        "name": "fail",
        "x-fixture": {
            "result": {
                "isError": True,
                "content": [{"type": "text", "text": f"sent Authorization: Bearer {FAILURE}"}],
            }
        },
    },
    {
        "name": "refuse",
        "x-fixture": {"error": {"code": -32099, "message": f"no such Bearer {FAILURE}"}},
    },
    {"name": "environment", "x-fixture": {"environment": True}},
    {"name": "strict", "inputSchema": {"type": "object", "additionalProperties": False}},
]


@pytest.fixture(scope="module")
def running(module_folder: Path, serve_module: Serve, module_issuer: FakeIssuer) -> Running:
    leak = 'echo "my key is $KEY" >&2; exit 3'
    servers: dict[str, dict[str, Any]] = {
        "tools": fixture_entry(
            TOOLS, module_folder / "ran", env={"API_KEY": "${SENTINEL_ENV}", "MODE": "plain"}
        ),
        "leaky": {"command": "sh", "args": ["-c", leak], "env": {"KEY": "${SENTINEL_LEAKED}"}},
        "away": {
            "url": "http://127.0.0.1:1/mcp?key=${SENTINEL_QUERY}",
            "headers": {"X-Custom": "${SENTINEL_HEADER}"},
            "bearer_token_env_var": "SENTINEL_BEARER",
        },
    }
    # It ends at once, so that its own command line, which it cannot hide, is gone.
    servers["by_argument"] = {"command": "false", "args": ["--token", ARGUMENT]}
    roles = {"worker": {"allow": ["tools/*", "leaky/*", "away/*"]}}
    document = {
        "mcp_servers": servers,
        "roles": roles,
        "identity": {"jwt": [module_issuer.trust()]},
    }
    return serve_module(document, REMIT_LOG_LEVEL="DEBUG", **IN_ENVIRONMENT).settle()


async def test_t19_secrets_reach_whom_they_are_for_and_nobody_else(
    running: Running, http: httpx2.AsyncClient
) -> None:
    caller = Caller(http, running.url, running.key("worker"))

    given = (await caller.call("tools__environment"))["result"]["content"][0]["text"]
    told = (await caller.call("tools__token"))["result"]["content"][0]["text"]
    await caller.call("tools__environment", {"password": PASSWORD})

    child = json.loads(given)
    assert child["API_KEY"] == IN_ENVIRONMENT["SENTINEL_ENV"]
    assert child["MODE"] == "plain"
    # R21: none of the gateway's own variables reaches a child that does not name them.
    assert not set(child) & set(IN_ENVIRONMENT)
    # R28: what passes to the caller is never altered, nor what passes to the tool.
    assert told == f"token: {RESULT}"
    assert executed(running.folder / "ran")[-1].arguments == {"password": PASSWORD}


async def test_t19_no_row_log_file_or_output_holds_a_secret(
    running: Running, http: httpx2.AsyncClient
) -> None:
    caller = Caller(http, running.url, running.key("worker"))
    secrets = {"password": PASSWORD, "deep": {"api_key": NESTED}, "text": f"password={PASSWORD}"}
    for tool in (*(tool["name"] for tool in TOOLS), "hidden"):
        await caller.call(f"tools__{tool}", secrets)
    # Every way in which a call fails: refused, bad arguments, tool error, protocol error.
    rows = running.audit("--principal", "key:worker-key")
    assert {row["code"] for row in rows} >= {"", "PERMISSION_DENIED", "INVALID_INPUT"}
    assert {row["outcome"] for row in rows} >= {"ok", "tool_error", "error", "none"}

    shown = {
        "audit as JSON": json.dumps(rows),
        "audit as a table": running.remit("audit", "search"),
        "audit tail": running.remit("audit", "tail"),
        "check": running.remit("check"),
        "tools": running.remit("tools", "--as", "role:worker", "--json"),
        "explain": running.remit("explain", "--as", "role:worker", "tools/token", "--json"),
        "readyz": json.dumps(running.servers()),
        "log": running.log.read_text(),
    }
    stored = {
        str(path): path.read_bytes().decode("latin-1")
        for path in (running.folder / ".remit").rglob("*")
        if path.is_file()
    }
    # The places are there where secrets would have been.
    assert r"\"password\":\"[redacted]\"" in shown["audit as JSON"]
    assert "exited with code 3: my key is" in shown["readyz"]
    assert "exited with code 3: my key is" in shown["log"]
    found = [
        (place, secret)
        for place, text in {**shown, **stored}.items()
        for secret in SENTINELS
        if secret in text
    ]
    assert found == []


API = (
    "/me", "/servers", "/servers/tools", "/servers/by_argument", "/servers/away", "/keys",
    "/keys/worker-key", "/roles", "/users", "/audit", "/audit/export", "/revisions",
    "/revisions/1", "/declaration", "/servers/absent", "/audit?limit=x",
)  # fmt: skip
"""Lists, single things, exports and errors."""


async def test_t19_no_credential_of_a_caller_or_a_server_is_found_anywhere(
    running: Running, module_issuer: FakeIssuer, http: httpx2.AsyncClient
) -> None:
    # T19
    token = module_issuer.token({"exp": time.time() + 600, "sub": "ann", "roles": ["worker"]})
    expired = module_issuer.token({"exp": time.time() - 600, "sub": "sentinel-Subject-9a8b7c"})
    wrong = "rmt_aaaaaaaaaaaa_sentinelWrongKey0123456789"
    credentials = (running.key("worker"), token, expired, wrong)
    replies: list[str] = []
    for text in credentials:
        caller = Caller(http, running.url, text)
        for reply in (
            await caller.send("tools/list", {}),
            await caller.send("tools/call", {"name": "tools__strict", "arguments": {"a": 1}}),
            await caller.send("tools/call", {"name": "away__any", "arguments": {}}),
            await http.get(f"{running.base}/readyz", headers={"X-API-Key": text}),
            await http.get(f"{running.base}/api/v1/servers", headers={"X-API-Key": text}),
        ):
            replies += [reply.text, repr(reply.headers.raw)]
    twice = {"Authorization": f"Bearer {token}", "X-API-Key": wrong}
    for headers in ({"Host": FORGED}, {"X-Forwarded-Host": FORGED}, twice):
        reply = await http.post(running.url, json={}, headers=headers)
        replies += [reply.text, repr(reply.headers.raw)]
    by = {"Authorization": f"Bearer {running.admin_key}"}
    seen = [await http.get(f"{running.base}/api/v1{path}", headers=by) for path in API]
    assert [reply.status_code for reply in seen] == [200] * (len(API) - 2) + [404, 422]

    places = {
        "replies": "".join(replies),
        "the API": "".join(reply.text for reply in seen),
        "the log": running.log.read_text(),
        "the process list": command_lines(),
        "check": running.remit("check"),
        "export": running.remit("audit", "export"),
    }
    for path in (running.folder / ".remit").rglob("*"):
        if path.is_file() and path.name not in {"admin.key", "admin.secret"}:
            places[path.name] = path.read_bytes().decode("latin-1")
    secrets = {part for text in credentials for part in text.split(".")[1:] or [text]}
    secrets |= {running.admin_key, FORGED, *SENTINELS}
    secrets -= {part for part in secrets if len(part) < 8}
    found = [(place, secret) for place, text in places.items() for secret in secrets
             if secret in text]  # fmt: skip
    assert found == []
    # What the declaration itself holds in clear is kept as it was written, and nowhere shown.
    kept = {place for place, text in places.items() if ARGUMENT in text}
    assert kept <= {"remit.db", "remit.db-wal"}
    assert "not admitted" in places["the log"]


def command_lines() -> str:
    """Return the command line of every process."""
    lines: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                lines.append((entry / "cmdline").read_bytes().decode("latin-1"))
    return "\n".join(lines)
