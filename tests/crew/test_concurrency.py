"""Several processes at once on two workers: nothing is lost, nothing twice, no task has two owners.

The sizes are small here; `REMIT_CREW_SIZE=full` is what the issue asks for.
"""

import json
import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.crew.work import make_epic

from remit.model.crew import TaskState
from remit.testing.crew_gateway import CrewCaller, CrewFolk, open_crew_gateway, open_folk
from remit.testing.gateway import start_gateway

HANDS = Path(__file__).parent / "hands.py"
PROCESSES = 4
WORKERS, MAILS, TASKS = (
    (16, 125, 500) if os.environ.get("REMIT_CREW_SIZE") == "full" else (8, 12, 24)
)
"""Workers of all processes together, mails of each worker, tasks."""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ""
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.mark.timeout(600)
async def test_nothing_is_lost_and_nothing_happens_twice(tmp_path: Path, database_url: str) -> None:
    with open_crew_gateway(tmp_path, database_url, "--workers", "2") as gateway:
        async with open_folk(gateway) as folk:
            await _all_at_once(folk)
    written = gateway.running.log.read_text()
    assert "Traceback" not in written, written


async def _all_at_once(folk: CrewFolk) -> None:
    bosses = [await folk.supervisor(f"s{n}") for n in range(PROCESSES)]
    workers = [await folk.worker(f"w{n}") for n in range(WORKERS)]
    epic = await make_epic(bosses[0])
    tasks = [await _made(bosses[0], epic, number) for number in range(TASKS)]
    before = len(await folk.crew.events(after=0, limit=100_000))
    done: list[dict[str, list[list[str]]]] = []

    async def drive(number: int) -> None:
        mine = [bosses[number], *workers[number::PROCESSES]]
        orders = {
            "url": folk.gateway.running.url,
            "agents": [{"id": each.id, "key": each.caller.key} for each in mine],
            "to": [each.id for each in workers],
            "mails": MAILS,
            "tasks": tasks,
        }
        ended = await anyio.run_process(
            [sys.executable, str(HANDS)], input=json.dumps(orders).encode(), check=False
        )
        assert ended.returncode == 0, ended.stderr.decode()
        done.append(json.loads(ended.stdout))

    began = anyio.current_time()
    with anyio.fail_after(500):
        async with anyio.create_task_group() as group:
            for number in range(PROCESSES):
                group.start_soon(drive, number)
    seconds = anyio.current_time() - began
    print(f"{WORKERS * MAILS} mails, {TASKS} tasks in {seconds:.1f} s")  # noqa: T201 - pytest -s

    sent = [(mail, to) for each in done for mail, to in each["sent"]]
    got = {task: worker for each in done for task, worker in each["got"]}
    assert sum(len(each["got"]) for each in done) == TASKS == len(got)
    await _check_mail(workers, sent)
    stored = await folk.crew.tasks("default", epic=epic)
    assert {task.id: task.assigned for task in stored} == got
    assert {task.state for task in stored} == {TaskState.COMPLETED}
    await _check_events(folk, before, {mail for mail, _ in sent}, set(got))
    members = [await folk.crew.find_member("default", each.id) for each in workers]
    assert {member.task for member in members if member is not None} == {""}


async def _made(boss: CrewCaller, epic: str, number: int) -> str:
    made = await boss.does("task__create", title=f"Task {number}", description="d", epicId=epic)
    return made["taskId"]


async def _check_mail(workers: list[CrewCaller], sent: list[tuple[str, str]]) -> None:
    assert len(sent) == WORKERS * MAILS == len({mail for mail, _ in sent})
    for worker in workers:
        inbox = await worker.does("mail__list_inbox")

        assert {mail["id"] for mail in inbox["mails"]} == {m for m, to in sent if to == worker.id}
        assert inbox["unreadCount"] == inbox["count"]


async def _check_events(folk: CrewFolk, before: int, mails: set[str], tasks: set[str]) -> None:
    events = [event for _, event in await folk.crew.events(after=0, limit=100_000)][before:]
    told = Counter(event.payload["mailId"] for event in events if event.topic == "mail.sent")
    assigned = Counter(e.payload["taskId"] for e in events if e.topic == "task.assigned")
    moved = Counter(e.payload["taskId"] for e in events if e.topic == "task.updated")
    assert told == dict.fromkeys(mails, 1)
    assert assigned == dict.fromkeys(tasks, 1)
    assert moved == dict.fromkeys(tasks, 3)


async def test_mail_that_another_worker_wrote_wakes_who_waits(
    tmp_path: Path, database_url: str
) -> None:
    with open_crew_gateway(tmp_path, database_url) as one:
        first = one.running
        second = start_gateway(tmp_path, first.config, first.environ).settle()
        try:
            async with open_folk(one) as here, open_folk(replace(one, running=second)) as there:
                await _woken(here, there)
        finally:
            second.stop()


async def _woken(here: CrewFolk, there: CrewFolk) -> None:
    w1, w2 = await here.worker("w1"), await there.worker("w2")
    woken: list[dict[str, object]] = []

    async def wait() -> None:
        woken.append(await w2.does("mail__list_inbox", waitSeconds=25))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await w1.does("mail__send", toAgentId="w2", subject="Up", body="b")

    assert woken[0]["unreadCount"] == 1
