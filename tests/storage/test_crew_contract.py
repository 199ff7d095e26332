"""What every store of the crew's work does, fakes included (S3.31-S3.34)."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from remit.errors import Conflict, Outdated
from remit.model.agents import Agent
from remit.model.crew import (
    MOST_LISTED_TEXT,
    AgentState,
    Change,
    Comment,
    CrewEvent,
    Epic,
    EpicState,
    Mail,
    Member,
    Once,
    Task,
    TaskState,
)
from remit.model.principals import AgentType
from remit.storage.agents import Agents
from remit.storage.crew import Crew
from remit.storage.database import open_database
from remit.storage.notices import Notices
from remit.testing.crew import InMemoryCrew

NOW = datetime(2026, 11, 28, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)

W1 = Agent(id="w1", tenant="default", type=AgentType.WORKER, created=NOW)
O1 = Agent(id="o1", tenant="default", type=AgentType.ORCHESTRATOR, epic="e1", created=LATER)
ELSEWHERE = Agent(id="w1", tenant="acme", type=AgentType.SUPERVISOR, created=NOW)

EPIC = Epic(
    id="e1",
    tenant="default",
    title="Shop",
    description="Sell \x00 things \ud800",
    linear_issue_id="SHOP-1",
    created=NOW,
    updated=NOW,
)
TASK = Task(
    id="t1",
    tenant="default",
    epic="e1",
    title="Cart",
    description="",
    worktree_path="/w",
    branch_name="cart",
    pr_url="https://forge.test/1",
    attempts=2,
    failure_reason="no",
    submitted=NOW,
    created=NOW,
    updated=NOW,
)
MAIL = Mail(
    id="m1",
    tenant="default",
    from_agent="o1",
    from_type=AgentType.ORCHESTRATOR,
    sender="agent:o1",
    to_agent="w1",
    subject="Hello",
    body="World",
    created=NOW,
)
ONCE = Once(
    tenant="default",
    by="agent:o1",
    tool="mail/send",
    key="k",
    asked="digest",
    answer='{"mailId": "m1"}',
    created=NOW,
)

CrewStore = Crew | InMemoryCrew


@pytest.fixture
async def crew(store_url: str) -> AsyncGenerator[CrewStore]:
    if not store_url:
        yield InMemoryCrew(W1, O1, ELSEWHERE)
        return
    async with open_database(store_url) as database:
        for agent in (W1, O1, ELSEWHERE):
            await Agents(database).add(agent)
        yield Crew(database, Notices(database))


def _event(number: int, topic: str = "mail.sent") -> CrewEvent:
    payload = {"mailId": f"m{number}", "subject": "odd \x00 \ud800", "isForHuman": False}
    return CrewEvent(
        id=f"event{number}", tenant="default", topic=topic, payload=payload, created=NOW
    )


async def test_a_registered_agent_is_idle_until_something_is_said_of_it(crew: CrewStore) -> None:
    idle = Member(
        id="o1",
        tenant="default",
        type=AgentType.ORCHESTRATOR,
        epic="e1",
        created=LATER,
        updated=LATER,
    )

    assert await crew.find_member("default", "o1") == idle
    assert await crew.find_member("default", "w9") is None
    assert [each.id for each in await crew.members("default")] == ["w1", "o1"]
    assert await crew.members("default", of_type=AgentType.ORCHESTRATOR) == [idle]
    assert await crew.members("default", epic="e1") == [idle]
    assert await crew.members_after("default", None, 1) == [idle]
    assert [each.id for each in await crew.members_after("default", None, 9)] == ["o1", "w1"]
    assert [each.id for each in await crew.members_after("default", "o1", 9)] == ["w1"]
    assert await crew.members_after("default", "w1", 9) == []
    assert [each.type for each in await crew.members("acme")] == [AgentType.SUPERVISOR]


async def test_a_change_of_an_agent_wants_the_version_that_was_seen(crew: CrewStore) -> None:
    seen = await crew.find_member("default", "w1")
    assert seen is not None
    busy = replace(
        seen, state=AgentState.BUSY, task="t1", paused="lunch", tmux_session="3", crashes=1
    )

    await crew.apply(Change(members=(busy,)))
    with pytest.raises(Outdated):
        await crew.apply(Change(members=(replace(seen, state=AgentState.FAILED),)))

    assert await crew.find_member("default", "w1") == replace(busy, version=1)
    await crew.apply(Change(members=(replace(busy, version=1, task=""),)))
    assert await crew.find_member("default", "w1") == replace(busy, version=2, task="")


async def test_activity_is_noted_and_is_no_change(crew: CrewStore) -> None:
    seen = await crew.find_member("default", "w1")
    assert seen is not None

    await crew.touch("default", "w1", LATER)
    await crew.apply(Change(members=(replace(seen, state=AgentState.BUSY),)))
    await crew.touch("default", "w1", LATER + timedelta(minutes=1))

    now = await crew.find_member("default", "w1")
    assert now is not None
    assert (now.last_active, now.version) == (LATER + timedelta(minutes=1), 1)
    assert now.state is AgentState.BUSY
    other = await crew.find_member("acme", "w1")
    assert other is not None
    assert other.last_active is None


async def test_the_epic_of_an_agent_is_that_of_its_registration(crew: CrewStore) -> None:
    seen = await crew.find_member("default", "w1")
    assert seen is not None

    await crew.apply(Change(members=(replace(seen, epic="e7"),)))

    assert [each.id for each in await crew.members("default", epic="e7")] == ["w1"]


async def test_a_new_agent_is_registered_with_what_it_is_for(crew: CrewStore) -> None:
    new = Agent(id="o2", tenant="default", type=AgentType.ORCHESTRATOR, epic="e2", created=NOW)

    await crew.apply(Change(agents=(new,), epics=(replace(EPIC, id="e2"),)))
    with pytest.raises(Outdated):
        await crew.apply(Change(agents=(new,)))

    member = await crew.find_member("default", "o2")
    assert member is not None
    assert (member.epic, member.version) == ("e2", 0)


async def test_epics_and_tasks_are_kept_as_they_were_written(crew: CrewStore) -> None:
    shown = replace(EPIC, description="Sell \\u0000 things \\ud800", version=1)
    done = replace(TASK, id="t2", state=TaskState.COMPLETED, assigned="w1", completed=LATER)

    await crew.apply(Change(epics=(EPIC,), tasks=(TASK, done)))

    epic = await crew.find_epic("default", "e1")
    assert epic in (shown, replace(EPIC, version=1))  # the fake keeps any character
    assert await crew.find_epic("acme", "e1") is None
    assert await crew.epics("default") == [epic]
    assert await crew.epics("acme") == []
    assert await crew.find_task("default", "t1") == replace(TASK, version=1)
    assert await crew.tasks("default", epic="e1") == [
        replace(TASK, version=1),
        replace(done, version=1),
    ]
    assert await crew.tasks("default", state=TaskState.COMPLETED) == [replace(done, version=1)]
    assert await crew.tasks("default", epic="e2") == []
    assert await crew.tasks("acme") == []


async def test_one_issue_has_one_epic_in_a_tenant(crew: CrewStore) -> None:
    await crew.apply(Change(epics=(EPIC, replace(EPIC, id="e2", linear_issue_id=""))))
    await crew.apply(Change(epics=(replace(EPIC, id="e3", linear_issue_id=""),)))
    await crew.apply(Change(epics=(replace(EPIC, tenant="acme"),)))

    with pytest.raises(Conflict, match="'SHOP-1'"):
        await crew.apply(Change(epics=(replace(EPIC, id="e4"),)))


async def test_of_two_who_take_one_task_one_gets_it(crew: CrewStore) -> None:
    await crew.apply(Change(tasks=(TASK,)))
    seen = replace(TASK, version=1)
    got: list[str] = []

    async def take(agent: str) -> None:
        taken = replace(seen, state=TaskState.ASSIGNED, assigned=agent)
        event = replace(_event(0, "task.assigned"), id=agent)
        try:
            await crew.apply(Change(tasks=(taken,), events=(event,)))
        except Outdated:
            return
        got.append(agent)

    async with anyio.create_task_group() as tasks:
        for agent in ("w1", "w2", "w3", "w4"):
            tasks.start_soon(take, agent)

    task = await crew.find_task("default", "t1")
    assert task is not None
    assert [task.assigned] == got
    assert task.version == 2
    assert [event.id for _, event in await crew.events(after=0, limit=9)] == got


async def test_what_is_written_together_is_written_whole_or_not_at_all(crew: CrewStore) -> None:
    await crew.apply(Change(mails=(MAIL,), events=(_event(1),)))
    second = replace(MAIL, id="m2")

    with pytest.raises(Outdated):
        await crew.apply(
            Change(mails=(second, replace(MAIL, version=7)), events=(_event(2),), tasks=(TASK,))
        )

    assert await crew.find_mail("default", "m2") is None
    assert await crew.find_task("default", "t1") is None
    assert [event.id for _, event in await crew.events(after=0, limit=9)] == ["event1"]


async def test_an_inbox_holds_the_newest_first_and_what_is_read_on_demand(
    crew: CrewStore,
) -> None:
    mails = [replace(MAIL, id=f"m{n}", created=NOW + timedelta(seconds=n)) for n in range(4)]
    others = (replace(MAIL, id="x", to_agent="w2"), replace(MAIL, id="y", tenant="acme"))
    await crew.apply(Change(mails=(*mails, *others)))
    read = replace(mails[3], version=1, read=LATER)
    await crew.apply(Change(mails=(read,)))

    unread = await crew.inbox("default", "w1", include_read=False, limit=2)
    every = await crew.inbox("default", "w1", include_read=True, limit=9)

    assert [mail.id for mail in unread] == ["m2", "m1"]
    assert [mail.id for mail in every] == ["m3", "m2", "m1", "m0"]
    assert every[0] == replace(read, version=2)
    assert await crew.count_unread("default", "w1") == 3
    assert await crew.find_mail("default", "m0") == replace(mails[0], version=1)
    assert await crew.find_mail("acme", "m0") is None


async def test_a_list_of_mail_ends_with_the_mail_that_makes_it_long(crew: CrewStore) -> None:
    sizes = (10, MOST_LISTED_TEXT, 300_000, 700_001)
    mails = [
        replace(MAIL, id=f"m{n}", created=NOW + timedelta(seconds=n), body="\u20ac" * size)
        for n, size in enumerate(sizes)
    ]
    await crew.apply(Change(mails=tuple(mails)))

    listed = await crew.inbox("default", "w1", include_read=False, limit=9)

    assert [mail.id for mail in listed] == ["m3", "m2"]
    assert await crew.count_unread("default", "w1") == 4
    (one,) = await crew.inbox("default", "w1", include_read=True, limit=1)
    assert one.id == "m3"


async def test_a_list_of_mail_goes_on_after_where_it_ended(crew: CrewStore) -> None:
    """By number, by size, and where several were sent at once."""
    mails = [replace(MAIL, id=f"m{n}", created=NOW + timedelta(seconds=n // 3)) for n in range(9)]
    mails[4] = replace(mails[4], body="x" * (MOST_LISTED_TEXT + 1))
    others = (replace(MAIL, id="x", to_agent="w2"), replace(MAIL, id="y", tenant="acme"))
    await crew.apply(Change(mails=(*mails, *others)))
    await crew.apply(Change(mails=(replace(mails[6], version=1, read=LATER),)))

    async def pages(*, include_read: bool) -> list[tuple[str, bool]]:
        listed: list[tuple[str, bool]] = []
        after: str | None = ""
        while after is not None:
            found, is_more = await crew.listed_mail(
                "default", "w1", include_read=include_read, after=after, limit=3
            )
            listed.append((" ".join(mail.id for mail in found), is_more))
            after = found[-1].id if is_more else None
        return listed

    assert await pages(include_read=True) == [
        ("m8 m7 m6", True),
        ("m5 m4", True),
        ("m3 m2 m1", True),
        ("m0", False),
    ]
    assert await pages(include_read=False) == [
        ("m8 m7 m5", True),
        ("m4", True),
        ("m3 m2 m1", True),
        ("m0", False),
    ]
    for after in ("m0", "none"):
        nothing = await crew.listed_mail("default", "w1", include_read=True, after=after, limit=3)
        assert nothing == ([], False)


async def test_the_humans_mail_is_in_a_box_of_its_own(crew: CrewStore) -> None:
    human = replace(MAIL, to_agent="", from_agent="", from_type=None, sender="user:ann")
    await crew.apply(Change(mails=(human,)))

    assert human.is_for_human
    assert await crew.inbox("default", "", include_read=False, limit=9) == [
        replace(human, version=1)
    ]
    assert await crew.count_unread("default", "") == 1
    assert await crew.count_unread("default", "w1") == 0


async def test_mail_between_an_agent_and_the_human_is_found_by_its_subjects(
    crew: CrewStore,
) -> None:
    def sent(name: str, **changes: object) -> Mail:
        asked = replace(MAIL, id=name, from_agent="w1", to_agent="", subject="Port")
        return replace(asked, created=NOW + timedelta(seconds=int(name[1:])), **changes)

    theirs = [
        sent("m1"),
        sent("m2", from_agent="", from_type=None, to_agent="w1", subject="Re: Port"),
        sent("m3", subject="Re: Port"),
    ]
    others = [
        sent("m4", subject="Ports"),
        sent("m5", from_agent="w2"),
        sent("m6", from_agent="", to_agent="w2"),
        sent("m7", to_agent="o1"),
        sent("m8", tenant="other"),
    ]
    await crew.apply(Change(mails=(*theirs, *others)))

    found = await crew.between("default", "w1", {"Port", "Re: Port"}, limit=9)
    newest = await crew.between("default", "w1", {"Port", "Re: Port"}, limit=2)

    assert [mail.id for mail in found] == ["m3", "m2", "m1"]
    assert [mail.id for mail in newest] == ["m3", "m2"]


async def test_a_list_of_tasks_goes_on_after_where_it_ended(crew: CrewStore) -> None:
    tasks = [replace(TASK, id=f"t{n}", created=NOW + timedelta(seconds=n // 2)) for n in range(7)]
    others = (
        replace(TASK, id="x", epic="e2"),
        replace(TASK, id="y", tenant="acme"),
        replace(TASK, id="z", state=TaskState.FAILED),
    )
    await crew.apply(Change(tasks=(*reversed(tasks), *others)))
    pages: list[tuple[str, bool]] = []

    after: str | None = ""
    while after is not None:
        found, is_more = await crew.listed_tasks(
            "default", epic="e1", state=TaskState.PENDING, after=after, limit=3
        )
        pages.append((" ".join(task.id for task in found), is_more))
        after = found[-1].id if is_more else None

    assert pages == [("t0 t1 t2", True), ("t3 t4 t5", True), ("t6", False)]
    assert await crew.listed_tasks("default", epic="e1", after="t6", limit=3) == ([], False)
    assert await crew.listed_tasks("default", after="none", limit=3) == ([], False)
    assert await crew.listed_tasks("default", epic="e9", limit=3) == ([], False)
    every, _ = await crew.listed_tasks("default", limit=99)
    assert {task.id for task in every} == {*(task.id for task in tasks), "x", "z"}


async def test_a_list_of_tasks_ends_with_the_task_that_makes_it_long(crew: CrewStore) -> None:
    sizes = (300_000, MOST_LISTED_TEXT - 300_008, 10, 10)
    tasks = [
        replace(TASK, id=f"t{n}", description="\u20ac" * size, created=NOW + timedelta(seconds=n))
        for n, size in enumerate(sizes)
    ]
    await crew.apply(Change(tasks=tuple(tasks)))

    first, is_more = await crew.listed_tasks("default", limit=9)
    rest, is_still_more = await crew.listed_tasks("default", after="t1", limit=9)

    # a title of 4 and a reason of 2 characters count, too
    assert ([task.id for task in first], is_more) == (["t0", "t1"], True)
    assert ([task.id for task in rest], is_still_more) == (["t2", "t3"], False)


async def test_tasks_come_in_the_order_in_which_they_were_submitted(crew: CrewStore) -> None:
    seconds = (3, 1, 2)
    tasks = [
        replace(TASK, id=f"t{n}", submitted=NOW + timedelta(seconds=each))
        for n, each in enumerate(seconds)
    ]
    await crew.apply(Change(tasks=tuple(tasks)))

    first, is_more = await crew.listed_tasks("default", by_submission=True, limit=2)
    rest, _ = await crew.listed_tasks("default", by_submission=True, after="t2", limit=2)

    assert ([task.id for task in first], is_more) == (["t1", "t2"], True)
    assert [task.id for task in rest] == ["t0"]


def _said(number: int, task: str = "t1", body: str = "so") -> Comment:
    return Comment(
        id=f"c{number}",
        tenant="default",
        task=task,
        author="agent:w1",
        body=body,
        created=NOW + timedelta(seconds=number),
    )


async def test_comments_of_a_task_come_oldest_first(crew: CrewStore) -> None:
    await crew.apply(Change(comments=(_said(2), _said(1), _said(3, "t2"))))

    assert await crew.comments("default", "t1", limit=9) == [_said(1), _said(2)]
    assert await crew.comments("default", "t1", limit=1) == [_said(2)]
    assert await crew.count_comments("default", "t1") == 2
    assert await crew.count_comments("acme", "t1") == 0


async def test_of_very_much_that_was_said_the_last_is_told(crew: CrewStore) -> None:
    sizes = (10, MOST_LISTED_TEXT, 300_000, 700_001)
    said = [_said(n, body="\u20ac" * size) for n, size in enumerate(sizes)]
    await crew.apply(Change(comments=tuple(said)))

    assert await crew.comments("default", "t1", limit=9) == [said[2], said[3]]
    assert await crew.count_comments("default", "t1") == 4


async def test_a_key_is_used_up_once_and_with_it_goes_what_it_made(crew: CrewStore) -> None:
    await crew.apply(Change(mails=(MAIL,), once=ONCE))

    with pytest.raises(Outdated):
        await crew.apply(Change(mails=(replace(MAIL, id="m2"),), once=replace(ONCE, answer="{}")))
    await crew.apply(Change(once=replace(ONCE, by="agent:w1")))

    assert await crew.find_once("default", "agent:o1", "mail/send", "k") == ONCE
    assert await crew.find_once("default", "agent:o1", "mail/send", "other") is None
    assert await crew.find_mail("default", "m2") is None


async def test_events_come_in_the_order_in_which_they_were_written(crew: CrewStore) -> None:
    await crew.apply(Change(events=(_event(1), _event(2, "task.created"))))
    await crew.apply(Change(events=(_event(3),)))

    found = await crew.events(after=0, limit=9)
    numbers = [number for number, _ in found]

    assert numbers == sorted(numbers)
    assert [event for _, event in found] == [_event(1), _event(2, "task.created"), _event(3)]
    assert [event.id for _, event in await crew.events(after=numbers[0], limit=1)] == ["event2"]


async def test_an_epic_ends_with_its_last_task_and_takes_none_afterwards(crew: CrewStore) -> None:
    await crew.apply(Change(epics=(EPIC,), tasks=(TASK,)))
    ended = replace(EPIC, version=1, state=EpicState.COMPLETED)

    with pytest.raises(Outdated):
        await crew.apply(Change(epics=(ended,)))
    await crew.apply(Change(tasks=(replace(TASK, version=1, state=TaskState.FAILED),)))
    await crew.apply(Change(epics=(ended,)))

    second = Change(tasks=(replace(TASK, id="t2"),), open_epics=("e1",))
    with pytest.raises(Outdated):
        await crew.apply(second)
    assert await crew.find_task("default", "t2") is None


async def test_a_task_is_added_to_an_epic_that_is_open(crew: CrewStore) -> None:
    await crew.apply(Change(epics=(EPIC,)))

    await crew.apply(Change(tasks=(TASK,), open_epics=("e1",)))

    assert await crew.find_task("default", "t1") == replace(TASK, version=1)
