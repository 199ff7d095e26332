"""The JSON door of a running gateway: agents with a key each, and a supervisor for all (R26)."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import Running, fixture_entry
from remit.testing.upstream import executed

pytestmark = pytest.mark.timeout(180)  # gateways and commands in processes of their own


@pytest.fixture
def running(tmp_path: Path, serve: Serve) -> Running:
    document = {
        "mcp_servers": {"tools": fixture_entry(["work", "rest"], tmp_path / "ran")},
        "roles": {"worker": {"allow": ["tools/work"]}, "foreman": {"allow": ["tools/*"]}},
    }
    return serve(document)


def key_of(running: Running, agent: str, kind: str, *role: str) -> str:
    running.remit("agents", "create", agent, "--type", kind, *role)
    made = running.remit("keys", "create", f"{agent}-key", "--agent", agent, "--json")
    return json.loads(made)["key"]


async def execute(
    http: httpx2.AsyncClient, running: Running, key: str | None, **body: object
) -> tuple[int, Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    reply = await http.post(f"{running.url}/execute", json=body, headers=headers)
    return reply.status_code, reply.json()


async def test_agents_call_by_json_and_the_record_names_who_acted_for_whom(
    running: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    worker = key_of(running, "w1", "worker", "--role", "worker")
    boss = key_of(running, "boss", "supervisor", "--role", "foreman")
    work = {"agentId": "w1", "toolName": "mcp__tools__work"}

    assert (await execute(http, running, None, **work))[0] == 401
    status, told = await execute(http, running, worker, **work, input={"n": 1})
    assert (status, told["success"]) == (200, True)
    assert (await execute(http, running, boss, **work))[0] == 200
    status, told = await execute(http, running, boss, agentId="w1", toolName="mcp__tools__rest")
    assert (status, told["error"]["code"]) == (400, "PERMISSION_DENIED")
    status, told = await execute(http, running, worker, agentId="boss", toolName="mcp__tools__work")
    assert (status, told["error"]["code"]) == (400, "PERMISSION_DENIED")
    status, told = await execute(http, running, boss, agentId="w9", toolName="mcp__tools__work")
    assert (status, told["error"]["code"]) == (400, "AGENT_NOT_FOUND")

    assert len(executed(tmp_path / "ran")) == 2
    rows = [(row["principal"], row["agent"], row["code"]) for row in running.audit()]
    assert rows == [
        ("agent:boss", "boss", "AGENT_NOT_FOUND"),
        ("agent:w1", "w1", "PERMISSION_DENIED"),
        ("agent:boss", "w1", "PERMISSION_DENIED"),
        ("agent:boss", "w1", ""),
        ("agent:w1", "w1", ""),
    ]
