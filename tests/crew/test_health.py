"""Agents that are gone: their work goes on, and somebody hears of it (S3.38, S3.41)."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import anyio
import pytest

from remit.admin.keys import make_key
from remit.crew.health import LOOP, MOST_TAKEN, Health
from remit.errors import NotFound
from remit.model.agents import Agent
from remit.model.crew import AgentState, Change, Epic, EpicState, Mail, Member, Task, TaskState
from remit.model.principals import AgentType
from remit.storage.agents import Agents
from remit.storage.crew import Crew
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.storage.leases import Leases
from remit.storage.notices import Notices
from remit.testing.crew import InMemoryCrew

START = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


def agent(agent_id: str, type_: AgentType, epic: str = "") -> Agent:
    return Agent(id=agent_id, tenant="default", type=type_, epic=epic, created=START)


FOLK = (
    agent("s1", AgentType.SUPERVISOR),
    agent("o1", AgentType.ORCHESTRATOR, "e1"),
    agent("w1", AgentType.WORKER, "e1"),
    agent("w2", AgentType.WORKER, "e1"),
)


@dataclass(slots=True)
class Ward:
    """A crew, its time, and who looks after it."""

    store: Crew | InMemoryCrew
    notices: Notices
    now: datetime = START
    numbers: "count[int]" = field(default_factory=count)
    health: Health = field(init=False)

    def __post_init__(self) -> None:
        self.health = Health(
            self.store,
            self.notices,
            clock=lambda: self.now,
            new_id=lambda: f"id{next(self.numbers)}",
        )

    async def after(self, minutes: float, *active: str) -> None:
        """Let time pass; these are active at its end."""
        self.now += timedelta(minutes=minutes)
        for agent_id in active:
            await self.store.touch("default", agent_id, self.now)
        await self.health.look("default")

    async def member(self, agent_id: str) -> Member:
        member = await self.store.find_member("default", agent_id)
        assert member is not None
        return member

    async def task(self) -> Task:
        task = await self.store.find_task("default", "t1")
        assert task is not None
        return task

    async def give(self, worker: str, state: TaskState = TaskState.IN_PROGRESS) -> None:
        """Let a worker have the task."""
        task, member = await self.task(), await self.member(worker)
        await self.store.apply(
            Change(
                tasks=(replace(task, state=state, assigned=worker, updated=self.now),),
                members=(
                    replace(member, task="t1", state=AgentState.BUSY, updated=self.now, paused=""),
                ),
            )
        )
        await self.store.touch("default", worker, self.now)

    async def mail(self, to_agent: str) -> Sequence[Mail]:
        return await self.store.inbox("default", to_agent, include_read=True, limit=99)

    async def topics(self) -> list[str]:
        return [event.topic for _, event in await self.store.events(after=0, limit=999)]


async def begin(ward: Ward) -> None:
    epic = Epic(
        id="e1",
        tenant="default",
        title="Shop",
        description="d",
        state=EpicState.IN_PROGRESS,
        created=START,
        updated=START,
    )
    task = Task(
        id="t1",
        tenant="default",
        epic="e1",
        title="Cart",
        description="d",
        created=START,
        updated=START,
    )
    await ward.store.apply(Change(epics=(epic,), tasks=(task,)))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    async with open_database(default_url(tmp_path)) as database:
        yield database


@pytest.fixture(params=["memory", "sqlite"])
async def ward(request: pytest.FixtureRequest, database: Database) -> Ward:
    if request.param == "sqlite":
        for each in FOLK:
            await Agents(database).add(each)
        store: Crew | InMemoryCrew = Crew(database, Notices(database))
    else:
        store = InMemoryCrew(*FOLK)
    ward = Ward(store, Notices(database))
    await begin(ward)
    return ward


async def test_the_task_of_a_worker_that_fell_silent_is_somebody_elses(ward: Ward) -> None:
    await ward.give("w1")
    await ward.after(7, "o1", "s1")
    assert (await ward.task()).state is TaskState.IN_PROGRESS

    await ward.after(0.1, "o1", "s1")

    task, worker = await ward.task(), await ward.member("w1")
    assert (task.state, task.attempts, task.assigned) == (TaskState.PENDING, 1, "")
    assert (worker.state, worker.task) == (AgentState.FAILED, "")
    (mail,) = await ward.mail("o1")
    assert "Task PENDING again" in mail.subject
    assert mail.sender == "remit"
    assert await ward.mail("") == []
    assert await ward.topics() == ["task.updated", "agent.state.changed", "mail.sent"]

    await ward.after(9, "o1", "s1")
    assert len(await ward.mail("o1")) == 1


@pytest.mark.parametrize("state", [TaskState.REVIEW, TaskState.BLOCKED])
async def test_of_a_silent_worker_whose_task_waits_its_orchestrator_hears_once(
    ward: Ward, state: TaskState
) -> None:
    """S3.38: unhealthy; what is done is not thrown away, and what blocks it blocks others, too."""
    await ward.give("w1", state)
    await ward.after(7, "o1", "s1")
    assert await ward.mail("o1") == []

    await ward.after(1, "o1", "s1")
    await ward.after(60, "o1", "s1")

    task, worker = await ward.task(), await ward.member("w1")
    assert (task.state, task.attempts, task.assigned) == (state, 0, "w1")
    assert (worker.state, worker.task) == (AgentState.FAILED, "t1")
    (mail,) = await ward.mail("o1")
    assert (mail.sender, mail.subject) == ("remit", "WORKER w1 is unhealthy")
    assert f"Its task t1 (Cart) stays {state.value}." in mail.body
    assert await ward.topics() == ["agent.state.changed", "mail.sent"]

    await ward.after(1, "w1", "o1", "s1")
    assert (await ward.member("w1")).state is AgentState.WAITING


async def test_a_reviewed_task_whose_worker_is_gone_is_somebody_elses(ward: Ward) -> None:
    await ward.give("w1", TaskState.REVIEW)
    await ward.after(8, "o1", "s1")
    await ward.give("w1")  # changes are requested

    await ward.after(8, "o1", "s1")

    task = await ward.task()
    assert (task.state, task.attempts, task.assigned) == (TaskState.PENDING, 1, "")


@pytest.mark.parametrize(("gone", "hears"), [("", "o1"), ("o1", "s1"), ("o1 s1", "")])
async def test_somebody_hears_of_a_crash_while_a_task_waits(
    ward: Ward, gone: str, hears: str
) -> None:
    """R25's order: its orchestrator, a supervisor, the human."""
    for each in gone.split():
        member = await ward.member(each)
        away = replace(member, epic="", state=AgentState.FAILED)
        await ward.store.apply(Change(members=(away,)))
    await ward.give("w1", TaskState.BLOCKED)

    assert await ward.health.crashed("default", "w1") == ""
    assert await ward.health.crashed("default", "w1") == ""

    assert (await ward.task()).state is TaskState.BLOCKED
    (mail,) = await ward.mail(hears)
    assert "is unhealthy: its program has ended. Its task t1" in mail.body


async def test_a_worker_that_was_idle_for_long_has_its_time_once_it_is_given_a_task(
    ward: Ward,
) -> None:
    await ward.after(60, "o1", "s1")
    task, member = await ward.task(), await ward.member("w1")
    await ward.store.apply(
        Change(
            tasks=(replace(task, state=TaskState.ASSIGNED, assigned="w1"),),
            members=(replace(member, task="t1", state=AgentState.BUSY, updated=ward.now),),
        )
    )

    await ward.after(6, "o1", "s1")
    assert (await ward.task()).state is TaskState.ASSIGNED
    await ward.after(2, "o1", "s1")
    assert (await ward.task()).state is TaskState.PENDING


async def test_a_worker_that_comes_back_is_idle_again(ward: Ward) -> None:
    await ward.give("w1")
    await ward.after(8, "o1", "s1")

    await ward.after(1, "w1", "o1", "s1")

    assert (await ward.member("w1")).state is AgentState.IDLE


async def test_the_fifth_worker_that_gives_it_up_is_the_last(ward: Ward) -> None:
    """S3.38: FAILED at 5 attempts, and both hear of it."""
    for attempt in range(1, MOST_TAKEN + 1):
        await ward.give("w1")
        await ward.after(8, "o1", "s1")
        assert (await ward.task()).attempts == attempt

    task = await ward.task()
    assert task.state is TaskState.FAILED
    assert "5 workers gave it up" in task.failure_reason
    assert "Task FAILED" in (await ward.mail("o1"))[0].subject
    assert [mail.subject for mail in await ward.mail("")] == ["Task FAILED: Cart"]
    assert len(await ward.mail("o1")) == MOST_TAKEN


async def test_three_crashes_within_a_minute_pause_a_worker_and_the_human_hears_once(
    ward: Ward,
) -> None:
    for crash in range(1, LOOP + 1):
        await ward.give("w1")
        assert await ward.health.crashed("default", "w1") == "t1"
        assert (await ward.member("w1")).crashes == crash
        ward.now += timedelta(seconds=20)

    worker = await ward.member("w1")
    assert worker.paused == "crash loop: 3 crashes within a minute"
    assert worker.state is AgentState.WAITING
    assert [mail.subject for mail in await ward.mail("")] == ["Crash loop: agent w1 is paused"]
    assert await ward.health.crashed("default", "w1") == ""


async def test_crashes_that_are_further_apart_are_no_loop(ward: Ward) -> None:
    for _ in range(LOOP + 1):
        await ward.give("w1")
        await ward.health.crashed("default", "w1")
        ward.now += timedelta(seconds=61)

    assert ((await ward.member("w1")).paused, (await ward.member("w1")).crashes) == ("", 1)


async def test_a_clock_that_was_put_back_makes_no_loop(ward: Ward) -> None:
    for _ in range(LOOP):
        await ward.give("w1")
        await ward.health.crashed("default", "w1")
        ward.now -= timedelta(minutes=10)

    assert ((await ward.member("w1")).paused, (await ward.member("w1")).crashes) == ("", 1)


async def test_of_somebody_who_is_not_there_no_crash_is_taken(ward: Ward) -> None:
    with pytest.raises(NotFound, match="no agent 'w9'"):
        await ward.health.crashed("default", "w9")


async def test_an_orchestrator_that_fell_silent_is_reported_once_to_a_supervisor(
    ward: Ward,
) -> None:
    await ward.after(8, "s1")
    await ward.after(8, "s1")

    assert (await ward.member("o1")).state is AgentState.FAILED
    (mail,) = await ward.mail("s1")
    assert mail.subject == "ORCHESTRATOR o1 is unhealthy"
    assert await ward.topics() == ["orchestrator.check", "agent.state.changed", "mail.sent"]
    await ward.after(1, "o1", "s1")
    assert (await ward.member("o1")).state is AgentState.IDLE


async def test_a_supervisor_that_fell_silent_is_reported_to_the_human(ward: Ward) -> None:
    await ward.after(8, "o1")

    (mail,) = await ward.mail("")
    assert mail.subject == "SUPERVISOR s1 is unhealthy"
    assert await ward.topics() == ["supervisor.check", "agent.state.changed", "mail.sent"]


async def test_nobody_is_missed_when_no_epic_is_open(ward: Ward) -> None:
    epic = await ward.store.find_epic("default", "e1")
    assert epic is not None
    await ward.store.apply(Change(epics=(replace(epic, state=EpicState.CANCELLED),)))

    await ward.after(60)

    assert await ward.topics() == []


async def test_who_is_paused_is_left_alone(ward: Ward) -> None:
    await ward.give("w1")
    member = await ward.member("w1")
    await ward.store.apply(Change(members=(replace(member, paused="lunch"),)))

    await ward.after(60, "o1", "s1")

    assert (await ward.task()).state is TaskState.IN_PROGRESS


async def test_several_that_look_at_once_take_a_task_back_once(ward: Ward) -> None:
    await ward.give("w1")
    for each in ("o1", "s1"):
        await ward.store.touch("default", each, START + timedelta(minutes=8))
    ward.now = START + timedelta(minutes=8)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ward.health.look, "default")

    assert (await ward.task()).attempts == 1
    assert len(await ward.mail("o1")) == 1


async def test_any_use_of_an_agents_key_is_activity(database: Database) -> None:
    crew = Crew(database, Notices(database))
    await Agents(database).add(FOLK[2])
    keys = Keys(database)
    from_now = START + timedelta(minutes=5)
    member = await crew.find_member("default", "w1")
    assert member is not None
    await crew.apply(Change(members=(replace(member, task="t1"),)))
    made = await _key_of(keys, FOLK[2])

    await keys.touch({made: from_now})

    member = await crew.find_member("default", "w1")
    assert member is not None
    assert member.last_active == from_now


async def test_an_agent_that_calls_no_tool_of_the_crew_is_active_too(database: Database) -> None:
    """An orchestrator that reads code for its first ten minutes is not gone."""
    crew, keys = Crew(database, Notices(database)), Keys(database)
    await Agents(database).add(FOLK[2])
    made = await _key_of(keys, FOLK[2])

    for minutes in (5, 6, 4):
        await keys.touch({made: START + timedelta(minutes=minutes)})

    member = await crew.find_member("default", "w1")
    assert member is not None
    assert (member.last_active, member.version) == (START + timedelta(minutes=6), 0)


async def _key_of(keys: Keys, owner: Agent) -> str:
    made = await make_key(keys, "of-w1", tenant=owner.tenant, now=START, agent=owner, roles={})
    return made.key.id


async def test_one_process_at_a_time_has_a_lease(database: Database) -> None:
    leases, later = Leases(database), START + timedelta(seconds=9)

    assert await leases.take("work", "a", now=START, until=later)
    assert await leases.take("work", "a", now=START, until=later)
    assert not await leases.take("work", "b", now=START, until=later)
    assert await leases.take("other", "b", now=START, until=later)
    assert await leases.take("work", "b", now=later, until=later)


async def test_a_clock_that_was_ahead_leaves_the_work_to_others(database: Database) -> None:
    leases, hour = Leases(database), timedelta(hours=1)
    soon = timedelta(seconds=9)

    assert await leases.take("work", "a", now=START + hour, until=START + hour + soon)

    assert await leases.take("work", "b", now=START, until=START + soon)
