"""What an agent may know of itself, and the log of its decisions (S3.17-S3.20)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from tests.crew.work import make_epic, make_task

from remit.admin.agents import notes_on
from remit.model.agents import Agent
from remit.model.crew import Change
from remit.model.principals import AgentType
from remit.testing.crew_gateway import CrewFolk, CrewGateway, open_folk

Name = Callable[[str], str]

STATUS = [
    "createdAt",
    "currentEpicId",
    "currentTaskId",
    "id",
    "lastActiveAt",
    "state",
    "tmuxSessionName",
    "type",
    "updatedAt",
]
TASK = [
    "branchName",
    "createdAt",
    "description",
    "epicId",
    "id",
    "prUrl",
    "state",
    "title",
    "updatedAt",
    "worktreePath",
]
EPIC = [
    "completedAt",
    "createdAt",
    "description",
    "id",
    "linearIssueId",
    "linearIssueUrl",
    "state",
    "title",
    "updatedAt",
]


async def test_an_agent_sees_who_it_is(folk: CrewFolk, name: Name) -> None:
    """S3.17."""
    w1 = await folk.worker(name("w1"), epic="e7")

    first = await w1.does("agent__get_status")
    second = await w1.does("agent__get_status")

    assert sorted(first) == STATUS
    assert (first["id"], first["type"], first["state"]) == (w1.id, "WORKER", "IDLE")
    assert (first["currentEpicId"], first["currentTaskId"]) == ("e7", None)
    assert first["lastActiveAt"] is None
    assert second["lastActiveAt"] >= first["createdAt"]  # the call before this one (S3.11)


async def test_who_is_registered_is_told_of_and_says_where_it_runs(
    crew_gateway: CrewGateway, name: Name
) -> None:
    """S3.17, S3.30, S3.31: whether a command or the API registers it."""
    by_command, by_api = name("w1"), name("w2")
    session = ("--tmux-session", "remit:1")
    async with open_folk(crew_gateway) as folk:
        running = folk.gateway.running
        running.remit("agents", "create", by_command, "--type", "WORKER", *session)
        reply = await folk.http.post(
            f"{running.base}/api/v1/agents",
            json={"id": by_api, "type": "WORKER", "epic": "e7", "tmux_session": "remit:2"},
            headers={"Authorization": f"Bearer {running.admin_key}"},
        )
        assert (reply.status_code, reply.json()["tmux_session"]) == (201, "remit:2")
        w3 = await folk.worker(name("w3"))
        running.remit("agents", "change", w3.id, *session)
        events = await folk.crew.events(after=0, limit=10_000)
        told = [dict(event.payload) for _, event in events if event.topic == "agent.created"]
        status = await w3.does("agent__get_status")
        found = [await folk.crew.find_member("default", each) for each in (by_command, by_api)]

    assert [each for each in told if each["agentId"] in (by_command, by_api)] == [
        {"agentId": by_command, "type": "WORKER", "epicId": None},
        {"agentId": by_api, "type": "WORKER", "epicId": "e7"},
    ]
    assert [each.tmux_session for each in found if each] == ["remit:1", "remit:2"]
    assert status["tmuxSessionName"] == "remit:1"


async def test_sending_mail_is_activity(folk: CrewFolk, name: Name) -> None:
    """S3.14."""
    w1 = await folk.worker(name("w1"))

    await w1.does("mail__send", toHuman=True, subject="s", body="b")

    member = await folk.crew.find_member("default", w1.id)
    assert member is not None
    assert member.last_active is not None


async def test_a_worker_sees_its_task_and_its_epic(folk: CrewFolk, name: Name) -> None:
    """S3.18, S3.19."""
    boss = await folk.supervisor(name("s1"))
    w1 = await folk.worker(name("w1"))
    epic = await boss.does(
        "epic__create",
        title="Shop",
        description="d",
        linearIssueId=name("SHOP"),
        linearIssueUrl="u",
    )
    task = await boss.does("task__create", title="T", description="d", epicId=epic["epicId"])
    await boss.does("task__assign", taskId=task["taskId"], agentId=w1.id)

    own = await w1.does("agent__get_task")
    over = await w1.does("agent__get_epic")

    assert sorted(own) == TASK
    assert (own["id"], own["state"], own["epicId"]) == (
        task["taskId"],
        "ASSIGNED",
        epic["epicId"],
    )
    assert sorted(over) == EPIC
    assert (over["id"], over["title"], over["linearIssueId"]) == (
        epic["epicId"],
        "Shop",
        name("SHOP"),
    )


async def test_an_agent_without_task_or_epic_is_told_so(folk: CrewFolk, name: Name) -> None:
    """S3.10, S3.18, S3.19."""
    boss, o1 = await folk.supervisor(name("s1")), await folk.orchestrator(name("o1"))
    w1 = await folk.worker(name("w1"))

    for agent in (boss, o1, w1):
        assert await agent.fails("agent__get_task") == "INVALID_AGENT_STATE"
        assert await agent.fails("agent__get_epic") == "INVALID_AGENT_STATE"


async def test_a_task_that_an_agents_new_type_cannot_work_on_is_noted(
    folk: CrewFolk, name: Name
) -> None:
    boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    epic = await make_epic(boss)
    task = await make_task(boss, epic, w1)
    now = datetime.now(UTC)
    agent = Agent(id=w1.id, tenant="default", type=AgentType.WORKER, epic="none", created=now)

    assert await notes_on(folk.crew, agent) == ()
    (note,) = await notes_on(folk.crew, replace(agent, type=AgentType.SUPERVISOR, epic=epic))
    assert f"still has the task {task!r}" in note


async def test_an_epic_or_task_that_is_gone_is_not_found(folk: CrewFolk, name: Name) -> None:
    """S3.18, S3.19."""
    o1 = await folk.orchestrator(name("o1"), epic=name("gone"))
    w1 = await folk.worker(name("w1"))
    member = await folk.crew.find_member("default", w1.id)
    assert member is not None
    await folk.crew.apply(Change(members=(replace(member, task="gone"),)))

    assert await o1.fails("agent__get_epic") == "RESOURCE_NOT_FOUND"
    assert await w1.fails("agent__get_task") == "RESOURCE_NOT_FOUND"
    assert await w1.fails("agent__get_epic") == "RESOURCE_NOT_FOUND"


async def test_a_decision_is_logged_by_its_call(folk: CrewFolk, name: Name) -> None:
    """S3.20, R28."""
    w1 = await folk.worker(name("w1"))

    logged = await w1.does("system__log_decision", title=name("Use SQL"), body="It is there")

    assert sorted(logged) == ["logId", "timestamp"]
    assert await w1.fails("system__log_decision", title="", body="b") == "INVALID_INPUT"
    assert await w1.fails("system__log_decision", title="t", body=" ") == "INVALID_INPUT"
    rows = folk.gateway.running.audit("--text", name("Use SQL"))
    assert [(row["tool"], row["outcome"]) for row in rows] == [("log_decision", "ok")]
