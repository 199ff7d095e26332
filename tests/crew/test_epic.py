"""The epic tools: an epic's states, and the review of its tasks (S3.32, S3.37)."""

from collections.abc import Callable

import pytest
from tests.crew.work import make_epic

from remit.model.crew import EPIC_MOVES, EpicState
from remit.testing.crew_gateway import CrewCaller, CrewFolk

Name = Callable[[str], str]

TO = {
    EpicState.PLANNING: [],
    EpicState.IN_PROGRESS: ["IN_PROGRESS"],
    EpicState.BLOCKED: ["IN_PROGRESS", "BLOCKED"],
    EpicState.COMPLETED: ["IN_PROGRESS", "COMPLETED"],
    EpicState.CANCELLED: ["CANCELLED"],
}


async def _review(
    folk: CrewFolk, boss: CrewCaller, epic: str, worker: str
) -> tuple[CrewCaller, str]:
    """Return a worker and its task of *epic*, which is in review."""
    w1 = await folk.worker(worker)
    task = (await boss.does("task__create", title="Cart", description="d", epicId=epic))["taskId"]
    await boss.does("task__assign", taskId=task, agentId=w1.id)
    await w1.does("task__update_status", state="IN_PROGRESS")
    await w1.does("task__update_status", state="REVIEW")
    return w1, task


async def test_an_orchestrator_runs_the_epic_that_it_makes(folk: CrewFolk, name: Name) -> None:
    o1 = await folk.orchestrator(name("o1"))

    made = await o1.does("epic__create", title="Shop", description="d")
    own = await o1.does("agent__get_epic")

    assert (own["id"], own["state"]) == (made["epicId"], "PLANNING")
    assert (await o1.does("agent__get_status"))["currentEpicId"] == made["epicId"]
    assert await o1.fails("epic__create", title="Two", description="d") == "INVALID_AGENT_STATE"
    await o1.does("epic__update_status", state="IN_PROGRESS")
    await o1.does("epic__update_status", state="COMPLETED")
    second = await o1.does("epic__create", title="Two", description="d")
    assert (await o1.does("agent__get_epic"))["id"] == second["epicId"]


@pytest.mark.parametrize("start", TO)
async def test_an_epic_goes_where_it_may_and_nowhere_else(
    folk: CrewFolk, name: Name, start: EpicState
) -> None:
    """S3.36."""
    boss = await folk.supervisor(name("s1"))
    for state in EpicState:
        epic = (await boss.does("epic__create", title="E", description="d"))["epicId"]
        for step in TO[start]:
            await boss.does("epic__update_status", state=step, epicId=epic)

        answer = await boss.answer("epic__update_status", state=state.value, epicId=epic)

        moved = not answer["result"]["isError"]
        assert moved is (state in EPIC_MOVES[start]), answer


async def test_an_issue_has_one_epic(folk: CrewFolk, name: Name) -> None:
    """S3.32."""
    boss = await folk.supervisor(name("s1"))
    about = {"title": "E", "description": "d", "linearIssueId": name("SHOP")}

    made = await boss.does("epic__create", key="k", **about)
    again = await boss.does("epic__create", key="k", **about)

    assert made == again
    assert await boss.fails("epic__create", **about) == "INVALID_INPUT"


async def test_an_epic_is_completed_once_no_task_is_left(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    epic = (await boss.does("epic__create", title="E", description="d"))["epicId"]
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    await o1.does("epic__update_status", state="IN_PROGRESS")
    _, task = await _review(folk, boss, epic, name("w1"))

    early = await o1.fails("epic__update_status", state="COMPLETED")
    await o1.does("epic__approve_task", taskId=task)
    await o1.does("epic__update_status", state="COMPLETED")

    assert early == "INVALID_INPUT"
    assert (await o1.does("agent__get_epic"))["completedAt"] is not None
    assert await o1.fails("task__create", title="t", description="d") == "INVALID_INPUT"
    topics = [
        event.topic
        for _, event in await folk.crew.events(after=0, limit=10_000)
        if event.payload.get("epicId") == epic and event.topic.startswith(("epic", "agent"))
    ]
    assert topics == ["epic.created", "epic.updated", "epic.updated", "agent.completed"]


async def test_what_is_left_of_a_cancelled_epic_is_failed_and_its_workers_are_free(
    folk: CrewFolk, name: Name
) -> None:
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    o1 = await folk.orchestrator(name("o1"))
    epic = await make_epic(o1)
    tasks = [
        (await o1.does("task__create", title=title, description="d"))["taskId"]
        for title in ("Done", "Begun", "Waiting")
    ]
    for task in tasks[:2]:
        await o1.does("task__assign", taskId=task, agentId=w1.id)
        for state in ("IN_PROGRESS", "REVIEW"):
            await w1.does("task__update_status", state=state)
        if task == tasks[0]:
            await o1.does("epic__approve_task", taskId=task)

    await o1.does("epic__update_status", state="CANCELLED")

    found = [await boss.does("task__get", taskId=task) for task in tasks]
    assert [task["state"] for task in found] == ["COMPLETED", "FAILED", "FAILED"]
    assert found[1]["failureReason"] == f"epic {epic} was cancelled"
    status = await w1.does("agent__get_status")
    assert (status["state"], status["currentTaskId"]) == ("IDLE", None)
    (mail,) = (await w1.does("mail__list_inbox"))["mails"]
    assert (mail["fromAgentId"], mail["subject"]) == (o1.id, "Your task was given up: Begun")
    again = (await o1.does("epic__create", title="Next", description="d"))["epicId"]
    task = (await o1.does("task__create", title="Cart", description="d", epicId=again))["taskId"]
    await o1.does("task__assign", taskId=task, agentId=w1.id)


async def test_tasks_in_review_queue_up_and_are_approved(folk: CrewFolk, name: Name) -> None:
    boss = await folk.supervisor(name("s1"))
    epic = (await boss.does("epic__create", title="E", description="d"))["epicId"]
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    w1, first = await _review(folk, boss, epic, name("w1"))
    _, second = await _review(folk, boss, epic, name("w2"))
    await w1.does("task__update_status", state="IN_PROGRESS")
    await w1.does("task__update_status", state="REVIEW")

    queue = await o1.does("epic__get_review_queue")
    done = await o1.does("epic__approve_task", taskId=second)

    assert [task["id"] for task in queue["tasks"]] == [second, first]  # by submission
    assert done["state"] == "COMPLETED"
    assert (await o1.does("epic__list_tasks", state="COMPLETED"))["tasks"][0]["id"] == second
    assert (await o1.does("epic__list_tasks"))["count"] == 2
    assert await o1.fails("epic__approve_task", taskId=second) == "INVALID_INPUT"
    assert (await boss.does("task__get", taskId=second))["completedAt"] is not None


async def test_changes_are_requested_by_mail(folk: CrewFolk, name: Name) -> None:
    """S3.37."""
    boss = await folk.supervisor(name("s1"))
    epic = (await boss.does("epic__create", title="E", description="d"))["epicId"]
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    w1, task = await _review(folk, boss, epic, name("w1"))

    asked = await o1.does("epic__request_changes", taskId=task, feedback="Add a test")
    mail = (await w1.does("mail__list_inbox"))["mails"][0]

    assert asked["state"] == "IN_PROGRESS"
    assert (mail["id"], mail["fromAgentId"]) == (asked["mailId"], o1.id)
    assert (mail["subject"], mail["body"]) == ("Changes wanted: Cart", "Add a test")
    assert (await w1.does("agent__get_task"))["state"] == "IN_PROGRESS"
    code = await o1.fails("epic__request_changes", taskId=task, feedback="More")
    assert code == "INVALID_INPUT"


async def test_an_epic_is_its_orchestrators(folk: CrewFolk, name: Name) -> None:
    """R9: layer F."""
    boss = await folk.supervisor(name("s1"))
    epic = (await boss.does("epic__create", title="E", description="d"))["epicId"]
    other = await folk.orchestrator(name("o2"))
    await other.does("epic__create", title="Theirs", description="d")
    _, task = await _review(folk, boss, epic, name("w1"))
    feedback = {"taskId": task, "feedback": "f"}

    for tool, arguments in (
        ("epic__update_status", {"epicId": epic, "state": "IN_PROGRESS"}),
        ("epic__list_tasks", {"epicId": epic}),
        ("epic__get_review_queue", {"epicId": epic}),
        ("epic__approve_task", {"taskId": task}),
        ("epic__request_changes", feedback),
    ):
        assert await other.fails(tool, **arguments) == "PERMISSION_DENIED"
    assert await other.fails("epic__list_tasks", epicId="none") == "RESOURCE_NOT_FOUND"
    assert await other.fails("epic__approve_task", taskId="none") == "RESOURCE_NOT_FOUND"


async def test_whatever_is_asked_again_under_its_key_is_done_once(
    folk: CrewFolk, name: Name
) -> None:
    """S3.28: the first answer comes again, also where the same would now be wrong."""
    boss = await folk.supervisor(name("s1"))
    epic = (await boss.does("epic__create", title="E", description="d"))["epicId"]
    w1, task = await _review(folk, boss, epic, name("w1"))
    o1 = await folk.orchestrator(name("o1"), epic=epic)
    asks = (
        (o1, "epic__request_changes", {"taskId": task, "feedback": "f"}),
        (w1, "task__update_status", {"state": "REVIEW"}),
        (o1, "epic__approve_task", {"taskId": task}),
        (o1, "epic__update_status", {"state": "IN_PROGRESS"}),
        (boss, "supervisor__pause_agent", {"agentId": w1.id, "reason": "r"}),
        (boss, "orchestrator__recover", {"agentId": o1.id}),
    )

    for caller, tool, arguments in asks:
        first = await caller.does(tool, key="k", **arguments)
        assert await caller.does(tool, key="k", **arguments) == first

    mails = await folk.crew.inbox("default", "", include_read=False, limit=100)
    assert len([mail for mail in mails if o1.id in mail.subject]) == 1
    assert (await w1.does("mail__list_inbox"))["count"] == 1
