"""Agents as servers: asked as tools, and what they do then is theirs and is told (S1.30)."""

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

PROGRAM = Path(__file__).with_name("agent_program.py")
Ran = Callable[[], list[str]]
AGENTS = ("ann", "bob", "cyd", "dan", "eve")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def running(module_folder: Path, serve_module: Serve) -> Running:
    place = module_folder / "place.json"
    servers = {
        "store": fixture_entry(["read", "write"], module_folder / "store.ran"),
        **{
            name: {
                "command": sys.executable,
                "args": [str(PROGRAM), name, str(place)],
                "session": "shared",
            }
            for name in AGENTS
        },
    }
    roles: dict[str, Any] = {
        name: {"tools": {"store": ["read"], **{other: ["ask"] for other in AGENTS}}}
        for name in AGENTS
    }
    roles["lead"] = {"tools": {"ann": ["ask"]}}
    started = serve_module({"mcp_servers": servers, "roles": roles}).settle()
    keys = {name: started.key(name) for name in AGENTS}
    place.write_text(json.dumps({"url": started.base, "keys": keys}))
    return started


@pytest.fixture
def lead(running: Running, http: httpx2.AsyncClient) -> Caller:
    return Caller(http, running.url, running.key("lead"))


@pytest.fixture
def ran(running: Running) -> Ran:
    """Give what tells the tools of the store that ran since then."""
    count_file = running.folder / "store.ran"
    before = len(executed(count_file))
    return lambda: [one.name for one in executed(count_file)[before:]]


async def ask(lead: Caller, prompt: str) -> dict[str, Any]:
    answer = await lead.call("ann__ask", {"prompt": prompt})
    return answer["result"]


def text_of(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


async def test_an_agent_acts_by_its_own_role_and_the_record_ties_both_together(
    running: Running, lead: Caller, ran: Ran
) -> None:
    [listed] = await lead.tools()

    done = await ask(lead, "use store__read")
    refused = await ask(lead, "use store__write")

    assert (listed["name"], listed["description"]) == ("ann__ask", "Asks ann.")
    assert not done.get("isError"), done
    assert text_of(done).startswith("read ")
    assert text_of(refused).startswith("ann was refused store__write: ")
    assert ran() == ["read"]
    member = done["_meta"]["remit/member"]
    assert UUID(member)
    assert member != refused["_meta"]["remit/member"]
    rows = running.audit("--text", member)
    assert [(row["principal"], row["server"], row["tool"]) for row in rows] == [
        ("key:ann-key", "store", "read")
    ]
    # who asked: the row of the call that had this member in its result
    with closing(sqlite3.connect(running.folder / ".remit" / "remit.db")) as database:
        found = database.execute(
            "SELECT role, server, squad_member_id FROM tool_execution_logs"
            " WHERE instr(result, ?) AND server = 'ann'",
            [member],
        ).fetchall()
    assert found == [("lead", "ann", None)]


async def test_a_member_that_the_caller_names_is_in_every_row_of_the_chain(
    running: Running, lead: Caller
) -> None:
    member = "8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11"
    session = await lead.begin()
    params = {
        "name": "ann__ask",
        "arguments": {"prompt": "ask bob use store__read"},
        "_meta": {"remit/member": member, "traceparent": TRACE},
    }

    reply = await session.send("tools/call", params)

    assert text_of(reply.json()["result"]).startswith("read ")
    rows = running.audit("--text", member)
    assert [(row["principal"], row["server"], row["member"]) for row in rows] == [
        ("key:lead-key", "ann", member),
        ("key:ann-key", "bob", member),
        ("key:bob-key", "store", member),
    ]


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("ask ann use store__read", "ann is at work on this already (ann → ann)"),
        ("ask bob ask ann use store__read", "ann is at work on this already (ann → bob → ann)"),
        (
            "ask bob ask cyd ask dan ask eve use store__read",
            "4 agents ask one another already (ann → bob → cyd → dan → eve), which is the most",
        ),
    ],
)
async def test_agents_are_not_asked_in_a_circle_nor_without_end(
    lead: Caller, ran: Ran, prompt: str, told: str
) -> None:
    result = await ask(lead, prompt)

    assert told in text_of(result)
    assert ran() == []


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("refuse the library is closed", "the library is closed"),
        ("crash", "ann failed (ValueError); what it did until then is done"),
        ("wait /dev/null", "ann was stopped after 3 s; what it did until then is done"),
        ("return null", "ann failed (it returned NoneType, not text); what it did until then"),
        ("return 5", "ann failed (it returned int, not text); what it did until then"),
        ("exit password=hunter2", "ann failed (SystemExit); what it did until then is done"),
        ("fork", "ann failed (BaseExceptionGroup); what it did until then is done"),
        ("panic", "ann failed (Panic); what it did until then is done"),
        ("cancel", "ann failed (CancelledError); what it did until then is done"),
    ],
)
async def test_a_failure_is_told_in_words_and_without_secrets(
    lead: Caller, prompt: str, told: str
) -> None:
    result = await ask(lead, prompt)

    assert result["isError"]
    assert text_of(result).startswith(told)
    assert "hunter2" not in json.dumps(result)
    assert not (await ask(lead, "use store__read")).get("isError")


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (r'return "done \ud83d"', "done ?"),
        (r'refuse "no \ud83d"', "no ?"),
        (r'tell "at work \ud83d"', "at work ?"),
    ],
)
async def test_half_of_an_emoji_ends_no_agent(lead: Caller, prompt: str, told: str) -> None:
    params = {"name": "ann__ask", "arguments": {"prompt": prompt}}

    reply = await lead.send("tools/call", params, meta={"progressToken": "t"})

    assert told in reply.text
    assert not (await ask(lead, "use store__read")).get("isError")


async def test_arguments_that_do_not_fit_are_told(lead: Caller) -> None:
    wrong = (await lead.call("ann__ask", {"promt": "hello"}))["result"]

    assert wrong["isError"]
    assert "prompt" in text_of(wrong)


async def test_a_caller_hears_how_far_it_is_and_who_goes_away_stops_it(
    running: Running, lead: Caller, tmp_path: Path
) -> None:
    heard: list[str] = []
    ended = tmp_path / "ended"
    session = await lead.begin()
    params = {
        "name": "ann__ask",
        "arguments": {"prompt": f"wait {ended}"},
        "_meta": {"progressToken": "t"},
    }
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {lead.key}",
        "Accept": "application/json, text/event-stream",
        **session.era_headers,
    }
    with anyio.fail_after(30):
        async with lead.http.stream("POST", running.url, json=body, headers=headers) as reply:
            async for line in reply.aiter_lines():
                if "notifications/progress" in line:
                    heard.append(line)
                    break
        gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        await lead.http.post(running.url, json=gone, headers=headers)
        await eventually(ended.exists)

    assert '"message":"waiting"' in heard[0].replace(" ", "")
