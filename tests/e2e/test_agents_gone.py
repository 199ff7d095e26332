"""A worker that falls silent under a running gateway: its task is another one's (S3.38)."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from remit.app.bundled import CREW
from remit.storage.database import default_url
from remit.testing.crew_gateway import CrewGateway, open_folk
from remit.testing.gateway import start_gateway

pytestmark = pytest.mark.timeout(240)


@contextmanager
def _opened(folder: Path, *options: str) -> Generator[CrewGateway]:
    config = folder / "remit.yaml"
    servers = {name: {"builtin": name} for name in CREW}
    config.write_text(json.dumps({"version": "1.0", "mcp_servers": servers}))
    environ = {"REMIT_AGENT_SILENCE": "3"}
    running = start_gateway(folder, config, environ, *options).settle()
    try:
        yield CrewGateway(running=running, database_url=default_url(folder / ".remit"))
    finally:
        running.stop()
    assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_the_task_of_a_worker_that_falls_silent_is_given_to_another(
    tmp_path: Path, workers: str
) -> None:
    with _opened(tmp_path, "--workers", workers) as gateway:
        async with open_folk(gateway) as folk:
            boss, gone, other = [
                await folk.supervisor("s1"), await folk.worker("w1"), await folk.worker("w2"),
            ]  # fmt: skip
            epic = (await boss.does("epic__create", title="Shop", description="d"))["epicId"]
            made = await boss.does("task__create", title="Cart", description="d", epicId=epic)
            task = made["taskId"]
            await boss.does("task__assign", taskId=task, agentId=gone.id)
            await gone.does("task__update_status", state="IN_PROGRESS")

            with anyio.fail_after(60):
                while (seen := await boss.does("task__get", taskId=task))["state"] != "PENDING":
                    await boss.does("mail__list_inbox", waitSeconds=1)
            assert seen["attempts"] == 1
            lead = await folk.orchestrator("o1", epic=epic)
            await folk.crew.touch("default", lead.id, datetime.now(UTC) - timedelta(seconds=4))
            health = await boss.does("orchestrator__check_health", agentId=lead.id)
            assert health["healthy"] is False

            await boss.does("task__assign", taskId=task, agentId=other.id)
            await other.does("task__update_status", state="IN_PROGRESS")
            assert await gone.fails("task__update_status", state="REVIEW") in (
                "INVALID_AGENT_STATE",
                "PERMISSION_DENIED",
            )


async def test_who_waits_for_an_answer_is_not_gone_however_long_that_takes(tmp_path: Path) -> None:
    """R24, S3.38: a call may take longer than an agent may be silent."""
    with _opened(tmp_path) as gateway:
        async with open_folk(gateway) as folk:
            boss, waiting = await folk.supervisor("s1"), await folk.worker("w1")
            epic = (await boss.does("epic__create", title="Shop", description="d"))["epicId"]
            made = await boss.does("task__create", title="Cart", description="d", epicId=epic)
            await boss.does("task__assign", taskId=made["taskId"], agentId=waiting.id)
            await waiting.does("task__update_status", state="IN_PROGRESS")

            with anyio.fail_after(60):
                await waiting.does("mail__list_inbox", waitSeconds=10)

            task = await boss.does("task__get", taskId=made["taskId"])
            assert (task["state"], task["attempts"]) == ("IN_PROGRESS", 0)
