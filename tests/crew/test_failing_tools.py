"""A tool that fails for an agent, at a running gateway: retried, recorded, escalated (R23, R25)."""

import json
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from remit.app.bundled import CREW
from remit.model.crew import Mail
from remit.model.principals import AgentType
from remit.testing.crew_gateway import (
    CrewCaller,
    CrewFolk,
    CrewGateway,
    open_crew_gateway,
    open_folk,
)
from remit.testing.gateway import fixture_entry
from remit.testing.upstream import executed

pytestmark = pytest.mark.timeout(180)  # a gateway in a process of its own

FAILED = {"code": -32603, "message": "it broke; password=hunter2secret"}
TOOLS: Sequence[str | dict[str, Any]] = (
    "fine",
    {"name": "flaky", "annotations": {"readOnlyHint": True}, "x-fixture": {"exit": 3}},
    {"name": "broken", "x-fixture": {"error": FAILED}},
    {"name": "vital", "x-fixture": {"error": FAILED}},
    {
        "name": "says_no",
        "x-fixture": {"result": {"content": [{"type": "text", "text": "no"}], "isError": True}},
    },
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A worker with an orchestrator above it, at tools that fail."""

    folk: CrewFolk
    worker: CrewCaller
    chief: str
    count_file: Path

    async def mails(self, to_agent: str = "", *, least: int = 0) -> Sequence[Mail]:
        """Return the mail to an agent or to the human, once there is so much of it."""
        with anyio.fail_after(30):
            while True:
                mails = await self.folk.crew.inbox(
                    "default", to_agent, include_read=True, limit=100
                )
                if len(mails) >= least:
                    return mails
                await anyio.sleep(0.05)

    def ran(self) -> list[str]:
        return [call.name for call in executed(self.count_file)]

    @property
    def database(self) -> Path:
        return Path(self.folk.gateway.database_url.removeprefix("sqlite:///"))

    def sql(self, statement: str) -> None:
        with closing(sqlite3.connect(self.database, timeout=20)) as connection, connection:
            connection.execute(statement)

    async def logged(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of the gateway's log about *event*, once there is one."""
        with anyio.fail_after(30):
            while True:
                lines = self.folk.gateway.running.log.read_text().splitlines()
                read = [json.loads(line) for line in lines if line.startswith("{")]
                if found := [line for line in read if line["event"] == event]:
                    return found
                await anyio.sleep(0.05)


@pytest.fixture
def failing_gateway(tmp_path: Path) -> Generator[CrewGateway]:
    more = {
        "roles": {"hands": {"allow": ["tools/*"]}},
        "mcp_servers": {
            "tools": {
                **fixture_entry(TOOLS, tmp_path / "ran"),
                "tools": {"vital": {"critical": True}},
            },
            **{name: {"builtin": name} for name in CREW},
        },
    }
    with open_crew_gateway(tmp_path, more=more) as gateway:
        yield gateway


@pytest.fixture
async def scene(failing_gateway: CrewGateway, tmp_path: Path) -> AsyncGenerator[Scene]:
    async with open_folk(failing_gateway) as folk:
        worker = await folk.agent("w1", AgentType.WORKER, epic="e1", role="hands")
        await folk.orchestrator("chief", epic="e1")
        await worker.caller.until_listed({f"tools__{name}" for name in ("fine", "flaky")})
        yield Scene(folk=folk, worker=worker, chief="chief", count_file=tmp_path / "ran")


Fail = Callable[[CrewCaller, str], Awaitable[str]]


async def by_mcp(worker: CrewCaller, tool: str) -> str:
    """Return the code that the MCP door tells."""
    answer = await worker.answer(f"mcp__tools__{tool}")
    if "error" in answer:
        return str(answer["error"]["code"])
    assert answer["result"]["isError"], answer
    return str(answer["result"].get("_meta", {}).get("remit/code", ""))


async def by_json(worker: CrewCaller, tool: str) -> str:
    """Return the code that the JSON door tells."""
    told = await worker.executes(f"mcp__tools__{tool}")
    assert not told["success"], told
    return str(told["error"]["code"])


@pytest.mark.parametrize(
    ("door", "transient"), [(by_mcp, "UPSTREAM_UNAVAILABLE"), (by_json, "TRANSIENT_ERROR")]
)
async def test_each_failure_is_tried_recorded_and_told_as_often_as_it_should_be(
    scene: Scene, door: Fail, transient: str
) -> None:
    """Transient: three attempts and one mail; ordinary: one of each; critical: to the human."""
    assert await door(scene.worker, "flaky") == transient
    assert scene.ran() == ["flaky"] * 3
    (mail,) = await scene.mails(scene.chief, least=1)
    assert mail.subject == "Tool failed: mcp__tools__flaky"
    assert "attempts: 3" in mail.body
    assert not await scene.mails()

    await door(scene.worker, "broken")
    mails = await scene.mails(scene.chief, least=2)
    assert mails[0].subject == "Tool failed: mcp__tools__broken"
    assert "hunter2secret" not in mails[0].body
    assert not await scene.mails()

    await door(scene.worker, "vital")
    (mail,) = await scene.mails(least=1)
    assert mail.subject == "⚠️ CRITICAL: Tool failed: mcp__tools__vital"
    assert scene.ran() == ["flaky"] * 3 + ["broken", "vital"]

    await door(scene.worker, "says_no")
    await scene.worker.executes("mcp__tools__nothing")
    await scene.worker.executes("mcp__task__create")
    await scene.worker.executes("mcp__mail__send", subject="s")
    assert len(await scene.mails(scene.chief)) == 2
    assert len(await scene.mails()) == 1

    told = json.loads(
        scene.folk.gateway.running.remit("audit", "decisions", "--agent", "w1", "--json")
    )
    assert [row["decision"].replace("mcp__tools__", "") for row in reversed(told)] == [
        "Invoked tool: flaky",
        "Tool error: flaky",
        "Invoked tool: broken",
        "Tool error: broken",
        "Invoked tool: vital",
        "Tool error: vital",
        "Invoked tool: says_no",
        "Tool result: says_no",
        "Tool error: mcp__mail__send",
    ]
    assert {row["agentId"] for row in told} == {"w1"}
    assert "hunter2secret" not in json.dumps(told)


async def test_attempts_are_a_second_apart(scene: Scene) -> None:
    """S3.25, from the record: not before 1000 ms."""
    await by_json(scene.worker, "flaky")

    running = scene.folk.gateway.running
    running.remit("audit", "search")  # takes in what the gateway has in its journal
    with closing(sqlite3.connect(scene.database)) as connection:
        rows = connection.execute(
            "SELECT kind, ms FROM audit_events WHERE tool = 'flaky' ORDER BY ms"
        ).fetchall()
    attempts = [ms for kind, ms in rows if kind in ("attempted", "finished")]
    assert len(attempts) == 3
    assert all(later - earlier >= 1000 for earlier, later in pairwise(attempts))


async def test_mail_that_fails_is_told_to_the_human_where_that_can_be_written(
    scene: Scene,
) -> None:
    """S3.26, S3.27: the mail about it is written directly."""
    scene.sql("ALTER TABLE crew_keys RENAME TO crew_keys_away")
    try:
        told = await scene.worker.executes(
            "mcp__mail__send", "k1", toHuman=True, subject="s", body="b"
        )
    finally:
        scene.sql("ALTER TABLE crew_keys_away RENAME TO crew_keys")

    assert told["error"]["code"] == "TRANSIENT_ERROR"
    assert told["error"]["details"]["attempts"] == 3
    (mail,) = await scene.mails(least=1)
    assert mail.subject == "⚠️ CRITICAL: Tool failed: mcp__mail__send"
    assert not await scene.mails(scene.chief)


async def test_mail_that_cannot_be_written_at_all_makes_no_loop(scene: Scene) -> None:
    scene.sql("ALTER TABLE crew_mail RENAME TO crew_mail_away")
    try:
        told = await scene.worker.executes("mcp__mail__send", toHuman=True, subject="s", body="b")
        assert told["error"]["code"] == "UPSTREAM_UNAVAILABLE"
        ended = await scene.logged("failure is not escalated")
    finally:
        scene.sql("ALTER TABLE crew_mail_away RENAME TO crew_mail")

    assert [line["call_id"] for line in ended] == [told["error"]["details"]["requestId"]]
    assert not await scene.mails()
    sent = await scene.worker.executes("mcp__mail__send", toHuman=True, subject="s", body="b")
    assert sent["success"]
    assert [mail.subject for mail in await scene.mails(least=1)] == ["s"]
