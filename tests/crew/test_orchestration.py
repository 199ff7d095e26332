"""What SUPERVISORs do about orchestrators and other agents (R34, S3.37, S3.38)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
from tests.crew.work import make_epic, make_task

from remit.model.crew import Change
from remit.storage.agents import Agents
from remit.testing.crew_gateway import CrewFolk

Name = Callable[[str], str]


async def test_an_epic_gets_one_orchestrator(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    epic = await make_epic(boss)
    made: list[str] = []

    async def create() -> None:
        answer = await boss.answer("orchestrator__create", epicId=epic)
        if not answer["result"]["isError"]:
            made.append(answer["result"]["structuredContent"]["agentId"])

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(create)

    listed = await boss.does("orchestrator__list")
    mine = [each for each in listed["orchestrators"] if each["epicId"] == epic]
    assert [each["agentId"] for each in mine] == made
    assert len(made) == 1
    assert mine[0]["healthy"] is True
    assert listed["count"] == len(listed["orchestrators"])
    assert await boss.fails("orchestrator__create", epicId=epic) == "INVALID_INPUT"
    assert await boss.fails("orchestrator__create", epicId="none") == "RESOURCE_NOT_FOUND"


async def test_an_epic_whose_orchestrator_went_elsewhere_gets_another(
    folk: CrewFolk, name: Name
) -> None:
    boss = await folk.supervisor(name("s1"))
    epic, other = await make_epic(boss), await make_epic(boss)
    first = (await boss.does("orchestrator__create", epicId=epic))["agentId"]
    agents = Agents(folk.database)
    agent = await agents.find("default", first)
    assert agent is not None
    await agents.change(replace(agent, epic=other), seen=agent)

    second = (await boss.does("orchestrator__create", epicId=epic))["agentId"]

    assert (first, second != first) == (f"orchestrator-{epic}", True)
    assert second.startswith(f"{first}-")


async def test_a_failed_task_that_is_given_to_another_begins_anew(
    folk: CrewFolk, name: Name
) -> None:
    boss = await folk.supervisor(name("s1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    task = await make_task(boss, await make_epic(boss), w1)
    await w1.does("task__update_status", state="IN_PROGRESS")
    await w1.does("task__update_status", state="FAILED", failureReason="lost")
    stored = await folk.crew.find_task("default", task)
    assert stored is not None
    await folk.crew.apply(Change(tasks=(replace(stored, attempts=5),)))

    await boss.does("supervisor__reassign_task", taskId=task, agentId=w2.id)

    stored = await folk.crew.find_task("default", task)
    assert stored is not None
    assert (stored.attempts, stored.failure_reason) == (0, "")


async def test_who_was_not_active_for_long_is_unhealthy(folk: CrewFolk, name: Name) -> None:
    """S3.38."""
    boss = await folk.supervisor(name("s1"))
    o1, w1 = await folk.orchestrator(name("o1")), await folk.worker(name("w1"))
    await o1.does("agent__get_status")

    before = await boss.does("orchestrator__check_health", agentId=o1.id)
    ago = datetime.now(UTC) - timedelta(minutes=7, seconds=5)
    await folk.crew.touch("default", o1.id, ago)
    after = await boss.does("orchestrator__check_health", agentId=o1.id)

    assert (before["healthy"], before["minutesSinceActivity"]) == (True, 0)
    assert (after["healthy"], after["minutesSinceActivity"]) == (False, 7)
    code = await boss.fails("orchestrator__check_health", agentId=w1.id)
    assert code == "INVALID_AGENT_STATE"
    assert await boss.fails("orchestrator__check_health", agentId="none") == "AGENT_NOT_FOUND"


async def test_recovery_begins_an_epics_work_anew(folk: CrewFolk, name: Name) -> None:
    """S3.37: unfinished tasks are PENDING, workers free, the human has mail."""
    boss = await folk.supervisor(name("s1"))
    epic = await make_epic(boss)
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    done, lost = await make_task(boss, epic, w1), ""
    for state in ("IN_PROGRESS", "REVIEW", "COMPLETED"):
        mover = boss if state == "COMPLETED" else w1
        await mover.does("task__update_status", state=state, taskId=done)
    lost = await make_task(boss, epic, w2)
    await w2.does("task__update_status", state="IN_PROGRESS")
    tired = await folk.crew.find_task("default", lost)
    assert tired is not None
    await folk.crew.apply(Change(tasks=(replace(tired, attempts=3),)))
    waiting = await make_task(boss, epic)

    recovered = await boss.does("orchestrator__recover", agentId=o1.id)

    assert (recovered["tasksReset"], recovered["workersFreed"]) == (1, 1)
    tasks = {task["id"]: task for task in (await boss.does("task__list", epicId=epic))["tasks"]}
    assert {key: task["state"] for key, task in tasks.items()} == {
        done: "COMPLETED",
        lost: "PENDING",
        waiting: "PENDING",
    }
    assert (tasks[lost]["assignedAgentId"], tasks[lost]["attempts"]) == (None, 0)  # S3.38
    assert (await w2.does("agent__get_status"))["currentTaskId"] is None
    mails = await folk.crew.inbox("default", "", include_read=False, limit=100)
    assert [mail.from_agent for mail in mails if o1.id in mail.subject] == [boss.id]
    assert await boss.fails("orchestrator__recover", agentId=w1.id) == "INVALID_AGENT_STATE"
    assert await boss.fails("orchestrator__recover", agentId="none") == "AGENT_NOT_FOUND"


async def test_a_paused_agent_rests_until_it_is_resumed(folk: CrewFolk, name: Name) -> None:
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    idle = await folk.worker(name("w2"))
    epic = await make_epic(boss)
    await make_task(boss, epic, w1)
    other = await make_task(boss, epic)

    paused = await boss.does("supervisor__pause_agent", agentId=w1.id, reason="budget")
    again = await boss.does("supervisor__pause_agent", agentId=w1.id, reason="budget")
    await boss.does("supervisor__pause_agent", agentId=idle.id, reason="budget")
    code = await w1.fails("task__update_status", state="IN_PROGRESS")
    given = await boss.fails("task__assign", taskId=other, agentId=idle.id)
    await w1.does("mail__send", toHuman=True, subject="Why", body="b")
    resumed = await boss.does("supervisor__resume_agent", agentId=w1.id)
    await w1.does("task__update_status", state="IN_PROGRESS")

    assert (paused["state"], paused["paused"], paused["reason"]) == ("WAITING", True, "budget")
    assert again == paused
    assert (code, given) == ("INVALID_AGENT_STATE", "INVALID_AGENT_STATE")
    assert (resumed["state"], resumed["paused"]) == ("BUSY", False)
    assert (await boss.does("supervisor__resume_agent", agentId=idle.id))["state"] == "IDLE"
    code = await boss.fails("supervisor__pause_agent", agentId=boss.id, reason="r")
    assert code == "INVALID_INPUT"
    for tool in ("pause_agent", "resume_agent"):
        arguments = {"reason": "r"} if tool == "pause_agent" else {}
        code = await boss.fails(f"supervisor__{tool}", agentId="none", **arguments)
        assert code == "AGENT_NOT_FOUND"


async def test_a_paused_supervisor_changes_nothing_and_resumes_nobody(
    folk: CrewFolk, name: Name
) -> None:
    boss, wild = await folk.supervisor(name("s1")), await folk.supervisor(name("s2"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    epic = await make_epic(boss)
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    other = await make_epic(boss)
    task = await make_task(boss, epic, w1)
    await boss.does("supervisor__pause_agent", agentId=wild.id, reason="runs wild")

    codes = [
        await wild.fails("supervisor__resume_agent", agentId=wild.id),
        await wild.fails("supervisor__pause_agent", agentId=boss.id, reason="revenge"),
        await wild.fails("supervisor__reassign_task", taskId=task, agentId=w2.id),
        await wild.fails("orchestrator__recover", agentId=o1.id),
        await wild.fails("orchestrator__create", epicId=other),
    ]

    assert codes == ["INVALID_AGENT_STATE"] * 5
    assert (await w1.does("agent__get_task"))["id"] == task
    await wild.does("mail__send", toAgentId=boss.id, subject="Sorry", body="b")
    await boss.does("supervisor__resume_agent", agentId=wild.id)
    await wild.does("supervisor__reassign_task", taskId=task, agentId=w2.id)


async def test_a_task_goes_from_one_worker_to_another(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    epic = await make_epic(boss)
    task = await make_task(boss, epic, w1)
    await w1.does("task__update_status", state="IN_PROGRESS")

    moved = await boss.does("supervisor__reassign_task", taskId=task, agentId=w2.id)
    again = await boss.does("supervisor__reassign_task", taskId=task, agentId=w2.id)

    assert (moved["agentId"], moved["previousAgentId"], moved["state"]) == (
        w2.id,
        w1.id,
        "ASSIGNED",
    )
    assert again["agentId"] == w2.id
    assert (await w1.does("agent__get_status"))["state"] == "IDLE"
    assert (await w2.does("agent__get_task"))["id"] == task
    assert await w1.fails("task__update_status", state="REVIEW", taskId=task) == "PERMISSION_DENIED"
    reassign = "supervisor__reassign_task"
    assert await boss.fails(reassign, taskId="none", agentId=w1.id) == "RESOURCE_NOT_FOUND"
    assert await boss.fails(reassign, taskId=task, agentId="none") == "AGENT_NOT_FOUND"
    assert await boss.fails(reassign, taskId=task, agentId=boss.id) == "INVALID_AGENT_STATE"
    for state in ("IN_PROGRESS", "REVIEW", "COMPLETED"):
        mover = boss if state == "COMPLETED" else w2
        await mover.does("task__update_status", state=state, taskId=task)
    assert await boss.fails(reassign, taskId=task, agentId=w1.id) == "INVALID_INPUT"
