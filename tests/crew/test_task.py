"""The task tools: their states, whose they are, and who may have which (S3.33, S3.35, S3.37)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from tests.crew.work import make_epic, make_task

from remit.crew.listing import MOST_TASKS
from remit.model.crew import TASK_MOVES, Change, Comment, Task, TaskState
from remit.testing.crew_gateway import CrewCaller, CrewFolk

Name = Callable[[str], str]

TO = {
    TaskState.ASSIGNED: [],
    TaskState.IN_PROGRESS: ["IN_PROGRESS"],
    TaskState.REVIEW: ["IN_PROGRESS", "REVIEW"],
    TaskState.BLOCKED: ["IN_PROGRESS", "BLOCKED"],
    TaskState.FAILED: ["IN_PROGRESS", "FAILED"],
    TaskState.COMPLETED: ["IN_PROGRESS", "REVIEW", "COMPLETED"],
}
"""The way of an assigned task to each state."""


async def test_a_task_is_made_assigned_worked_on_and_listed(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    epic = await make_epic(boss)
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    w1 = await folk.worker(name("w1"))

    made = await o1.does("task__create", title="Cart", description="Sell")
    assigned = await o1.does("task__assign", taskId=made["taskId"], agentId=w1.id)
    begun = await w1.does("task__update_status", state="IN_PROGRESS", branchName="cart")
    said = await w1.does("task__add_comment", body="Half way")
    await w1.does(
        "task__update_status", state="REVIEW", worktreePath="/w", prUrl="https://forge.test/1"
    )
    one = await o1.does("task__get", taskId=made["taskId"])
    every = await o1.does("task__list")

    assert (made["epicId"], made["state"]) == (epic, "PENDING")
    assert (assigned["agentId"], assigned["state"]) == (w1.id, "ASSIGNED")
    assert (begun["taskId"], begun["state"]) == (made["taskId"], "IN_PROGRESS")
    assert (one["title"], one["description"], one["state"]) == ("Cart", "Sell", "REVIEW")
    assert (one["branchName"], one["worktreePath"], one["prUrl"]) == (
        "cart",
        "/w",
        "https://forge.test/1",
    )
    assert one["assignedAgentId"] == w1.id
    assert [(c["id"], c["author"], c["body"]) for c in one.pop("comments")] == [
        (said["commentId"], f"agent:{w1.id}", "Half way")
    ]
    assert one.pop("commentCount") == 1
    assert every == {"count": 1, "tasks": [one], "next": None}
    assert (await o1.does("task__list", state="PENDING"))["tasks"] == []
    assert (await boss.does("task__list", epicId=epic))["count"] == 1


async def test_a_long_list_of_tasks_ends_and_goes_on(folk: CrewFolk, name: Name) -> None:
    """Whoever may make tasks must not fill a gateway's memory with the answer to a list."""
    boss = await folk.supervisor(name("s1"))
    epic, other = await make_epic(boss), await make_epic(boss)
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    ids = [name(f"t{number:04}") for number in range(MOST_TASKS + 1)]
    now = datetime.now(UTC)
    await folk.crew.apply(Change(tasks=tuple(_in_review(each, epic, now) for each in ids)))
    foreign = await make_task(boss, other)

    for tool in ("task__list", "epic__list_tasks", "epic__get_review_queue"):
        first = await o1.does(tool)
        rest = await o1.does(tool, after=first["next"])

        assert (first["count"], first["next"]) == (MOST_TASKS, ids[-2])
        assert [task["id"] for task in rest["tasks"]] == ids[-1:]
        assert rest["next"] is None
        for wrong in ("none", foreign):
            assert await o1.fails(tool, after=wrong) == "INVALID_INPUT"


async def test_of_many_comments_the_last_are_told_and_all_are_counted(
    folk: CrewFolk, name: Name
) -> None:
    boss = await folk.supervisor(name("s1"))
    task, now = await make_task(boss, await make_epic(boss)), datetime.now(UTC)
    said = [
        Comment(
            id=name(f"c{number:02}"),
            tenant="default",
            task=task,
            author="agent:w1",
            body="\u20ac" * 65_000,
            created=now,
        )
        for number in range(18)
    ]
    await folk.crew.apply(Change(comments=tuple(said)))

    told = await boss.does("task__get", taskId=task)

    assert told["commentCount"] == 18
    assert [each["id"] for each in told["comments"]] == [each.id for each in said[2:]]


def _in_review(task_id: str, epic: str, now: datetime) -> Task:
    return Task(
        id=task_id,
        tenant="default",
        epic=epic,
        title="Cart",
        description="d",
        state=TaskState.REVIEW,
        submitted=now,
        created=now,
        updated=now,
    )


@pytest.mark.parametrize("start", TO)
async def test_a_task_goes_where_it_may_and_nowhere_else(
    folk: CrewFolk, name: Name, start: TaskState
) -> None:
    """S3.35."""
    boss = await folk.supervisor(name("s1"))
    epic = await make_epic(boss)
    for state in TaskState:
        worker = await folk.worker(name(state.value))
        task = await make_task(boss, epic, worker)
        for step in TO[start]:
            mover = boss if step == "COMPLETED" else worker
            await mover.does("task__update_status", state=step, taskId=task)

        mover = boss if state is TaskState.COMPLETED else worker
        answer = await mover.answer("task__update_status", state=state.value, taskId=task)

        moved = not answer["result"]["isError"]
        assert moved is (state in TASK_MOVES[start]), answer
        if not moved:
            assert answer["result"]["_meta"]["remit/error"] == {"code": "INVALID_INPUT"}
            assert "may follow" in answer["result"]["content"][0]["text"]


async def test_nobody_approves_its_own_work(folk: CrewFolk, name: Name) -> None:
    """S3.8, S3.37: approving is the manager's, by whichever tool."""
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    epic = await make_epic(boss)
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    task = await make_task(boss, epic, w1)
    await w1.does("task__update_status", state="IN_PROGRESS")
    await w1.does("task__update_status", state="REVIEW")

    own = await w1.fails("task__update_status", state="COMPLETED")
    acted = await boss.executes_for(w1.id, "mcp__task__update_status", state="COMPLETED")

    assert (own, acted["error"]["code"]) == ("PERMISSION_DENIED", "PERMISSION_DENIED")
    assert (await boss.does("task__get", taskId=task))["state"] == "REVIEW"
    await w1.does("task__update_status", state="IN_PROGRESS")  # taking it back is its own
    await w1.does("task__update_status", state="REVIEW")
    done = await o1.does("task__update_status", state="COMPLETED", taskId=task)
    assert done["state"] == "COMPLETED"


async def test_nobody_begins_work_on_an_epic_that_has_ended(folk: CrewFolk, name: Name) -> None:
    """What is COMPLETED has no task that is not done, and stays so."""
    boss = await folk.supervisor(name("s1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    epic = await make_epic(boss)
    await boss.does("epic__update_status", state="IN_PROGRESS", epicId=epic)
    failed = await make_task(boss, epic, w1)
    for state in ("IN_PROGRESS", "FAILED"):
        await w1.does("task__update_status", state=state)
    await boss.does("epic__update_status", state="COMPLETED", epicId=epic)
    dropped = await make_epic(boss)
    waiting = await make_task(boss, dropped)
    await boss.does("epic__update_status", state="CANCELLED", epicId=dropped)

    assert [
        await w1.fails("task__update_status", state="IN_PROGRESS", taskId=failed),
        await boss.fails("supervisor__reassign_task", taskId=failed, agentId=w2.id),
        await boss.fails("task__assign", taskId=waiting, agentId=w2.id),
    ] == ["INVALID_INPUT"] * 3
    assert (await boss.does("task__get", taskId=failed))["state"] == "FAILED"
    assert (await w2.does("agent__get_status"))["currentTaskId"] is None


async def test_its_worker_is_at_what_the_task_is(folk: CrewFolk, name: Name) -> None:
    """S3.31."""
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    task = await make_task(boss, await make_epic(boss), w1)
    seen: list[tuple[Any, Any]] = []

    for state in ("IN_PROGRESS", "BLOCKED", "IN_PROGRESS", "REVIEW", "COMPLETED"):
        mover = boss if state == "COMPLETED" else w1
        await mover.does("task__update_status", state=state, taskId=task)
        status = await w1.does("agent__get_status")
        seen.append((status["state"], status["currentTaskId"]))

    assert seen == [
        ("BUSY", task),
        ("WAITING", task),
        ("BUSY", task),
        ("WAITING", task),
        ("IDLE", None),
    ]


async def test_a_failed_task_frees_its_worker_and_can_be_taken_up_again(
    folk: CrewFolk, name: Name
) -> None:
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    epic = await make_epic(boss)
    task = await make_task(boss, epic, w1)
    await w1.does("task__update_status", state="IN_PROGRESS")

    await w1.does("task__update_status", state="FAILED", failureReason="no network")
    failed = await boss.does("task__get", taskId=task)
    assert await w1.fails("task__update_status", state="IN_PROGRESS") == "INVALID_AGENT_STATE"
    other = await make_task(boss, epic, w1)
    again = await w1.fails("task__update_status", state="IN_PROGRESS", taskId=task)
    await w1.does("task__update_status", state="PENDING", taskId=other)
    await w1.does("task__update_status", state="IN_PROGRESS", taskId=task)

    assert (failed["state"], failed["failureReason"]) == ("FAILED", "no network")
    assert again == "INVALID_AGENT_STATE"  # it has another one
    assert (await w1.does("agent__get_task"))["id"] == task
    assert (await boss.does("task__get", taskId=other))["assignedAgentId"] is None
    assert (await boss.does("task__get", taskId=task))["failureReason"] is None


async def test_update_state_is_update_status(folk: CrewFolk, name: Name) -> None:
    """R34, tools.md."""
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    await make_task(boss, await make_epic(boss), w1)

    moved = await w1.does("mcp__task__update_state", state="IN_PROGRESS")

    assert moved["state"] == "IN_PROGRESS"
    assert "task__update_state" not in await w1.tools()


async def test_a_worker_moves_its_own_task_alone(folk: CrewFolk, name: Name) -> None:
    """R9: layer F."""
    boss = await folk.supervisor(name("s1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    epic = await make_epic(boss)
    task = await make_task(boss, epic, w1)
    unassigned = await make_task(boss, epic)
    move = "task__update_status"

    assert await w2.fails(move, state="IN_PROGRESS", taskId=task) == "PERMISSION_DENIED"
    assert await w2.fails(move, state="IN_PROGRESS", taskId=unassigned) == "PERMISSION_DENIED"
    assert await w2.fails("task__add_comment", body="b", taskId=task) == "PERMISSION_DENIED"
    assert await w2.fails(move, state="IN_PROGRESS") == "INVALID_AGENT_STATE"
    assert await w2.fails("task__add_comment", body="b") == "INVALID_AGENT_STATE"
    assert await w2.fails(move, state="IN_PROGRESS", taskId="none") == "RESOURCE_NOT_FOUND"
    assert await w1.fails(move, state="PENDING", failureReason="why") == "INVALID_INPUT"
    assert await w1.fails(move, state="DREAMING") == "INVALID_INPUT"


async def test_an_orchestrator_has_the_tasks_of_its_epic(folk: CrewFolk, name: Name) -> None:
    """R9: layer F, S3.41."""
    boss = await folk.supervisor(name("s1"))
    epic, other = await make_epic(boss), await make_epic(boss)
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    o2 = await folk.orchestrator(name("o2"))
    w1 = await folk.worker(name("w1"))
    w2 = await folk.worker(name("w2"), epic=other)
    task, foreign = await make_task(boss, epic), await make_task(boss, other)

    assert await o1.fails("task__get", taskId=foreign) == "PERMISSION_DENIED"
    assert await o1.fails("task__assign", taskId=foreign, agentId=w1.id) == "PERMISSION_DENIED"
    assert await o1.fails("task__list", epicId=other) == "PERMISSION_DENIED"
    assert (
        await o1.fails("task__create", title="t", description="d", epicId=other)
        == "PERMISSION_DENIED"
    )
    assert await o2.fails("task__create", title="t", description="d") == "INVALID_AGENT_STATE"
    assert await o2.fails("task__list") == "INVALID_AGENT_STATE"
    assert await o1.fails("task__get", taskId="none") == "RESOURCE_NOT_FOUND"
    assert await o1.fails("task__list", epicId="none") == "RESOURCE_NOT_FOUND"
    assert await o1.fails("task__assign", taskId=task, agentId="none") == "AGENT_NOT_FOUND"
    assert await o1.fails("task__assign", taskId=task, agentId=o2.id) == "INVALID_AGENT_STATE"
    assert await o1.fails("task__assign", taskId=task, agentId=w2.id) == "INVALID_AGENT_STATE"
    assert (
        await o1.fails("task__update_status", taskId=task, state="IN_PROGRESS") == "INVALID_INPUT"
    )
    assert await o1.fails("task__update_status", taskId=task, state="ASSIGNED") == "INVALID_INPUT"
    assert await boss.fails("task__create", title="t", description="d") == "INVALID_AGENT_STATE"


async def test_an_assigned_task_stays_whose_it_is(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    epic = await make_epic(boss)
    task, second = await make_task(boss, epic, w1), await make_task(boss, epic)

    again = await boss.does("task__assign", taskId=task, agentId=w1.id)
    late = await boss.fails("task__assign", taskId=task, agentId=w2.id)
    busy = await boss.fails("task__assign", taskId=second, agentId=w1.id)

    assert again["agentId"] == w1.id
    assert (late, busy) == ("INVALID_INPUT", "INVALID_AGENT_STATE")


async def test_of_many_who_assign_one_task_one_does(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    epic = await make_epic(boss)
    task = await make_task(boss, epic)
    workers = [await folk.worker(name(f"w{n}")) for n in range(6)]
    got: list[str] = []

    async def assign(worker: CrewCaller) -> None:
        answer = await boss.answer("task__assign", taskId=task, agentId=worker.id)
        if not answer["result"]["isError"]:
            got.append(worker.id)

    async with anyio.create_task_group() as tasks:
        for worker in workers:
            tasks.start_soon(assign, worker)

    owners = [w.id for w in workers if (await w.does("agent__get_status"))["currentTaskId"] == task]
    assert len(got) == 1
    assert owners == got
    assert (await boss.does("task__get", taskId=task))["assignedAgentId"] == got[0]


async def test_the_same_key_makes_one_task_and_one_comment(folk: CrewFolk, name: Name) -> None:
    """S3.28."""
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    epic = await make_epic(boss)
    about = {"title": "Cart", "description": "d", "epicId": epic}

    made = [await boss.does("task__create", key="k", **about) for _ in range(2)]
    await boss.does("task__assign", taskId=made[0]["taskId"], agentId=w1.id)
    again = await boss.does("task__create", key="k", **about)
    said = [await w1.does("task__add_comment", key="k", body="b") for _ in range(2)]

    assert made[0] == made[1] == again
    assert (await boss.does("task__list", epicId=epic))["count"] == 1
    assert said[0] == said[1]
    assert len((await boss.does("task__get", taskId=again["taskId"]))["comments"]) == 1


async def test_what_happens_to_a_task_is_told(folk: CrewFolk, name: Name) -> None:
    """S3.30."""
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    task = await make_task(boss, await make_epic(boss), w1)
    await w1.does("task__update_status", state="IN_PROGRESS")

    told = [
        (event.topic, dict(event.payload))
        for _, event in await folk.crew.events(after=0, limit=10_000)
        if task in event.payload.values() or w1.id in event.payload.values()
    ]

    assert [topic for topic, _ in told] == [
        "task.created",
        "task.assigned",
        "agent.state.changed",
        "task.updated",
    ]
    assert told[1][1]["agentId"] == w1.id
    assert told[2][1] == {"agentId": w1.id, "state": "BUSY", "previousState": "IDLE"}
    assert told[3][1]["previousState"] == "ASSIGNED"
