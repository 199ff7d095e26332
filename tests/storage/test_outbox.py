"""The outbox: numbers in the order of commits, one process at a time for each subscriber."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
import sqlalchemy.event
from sqlalchemy import Connection

from remit.model.crew import Change, CrewEvent, Once
from remit.model.outbox import DeadLetter, Standing
from remit.storage import outbox as outbox_module
from remit.storage.crew import Crew
from remit.storage.database import Database
from remit.storage.notices import Notices
from remit.storage.outbox import Outbox

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)
SOON = NOW + timedelta(seconds=10)


def event(number: int, created: datetime = NOW) -> CrewEvent:
    return CrewEvent(
        id=f"event{number}",
        tenant="default",
        topic="mail.sent",
        payload={"mailId": f"m{number}"},
        created=created,
    )


async def test_a_new_subscriber_hears_of_what_happens_from_now_on(database: Database) -> None:
    crew, outbox = Crew(database, Notices(database)), Outbox(database)
    await crew.apply(Change(events=(event(1), event(2))))

    await outbox.subscribe("log")
    await crew.apply(Change(events=(event(3),)))
    await outbox.subscribe("log")

    standing, ahead = await outbox.backlog("log")
    assert (standing, ahead) == (Standing(name="log", delivered=2), 1)
    assert list(await outbox.standings()) == [standing]


async def test_one_process_at_a_time_tells_a_subscriber(database: Database) -> None:
    outbox = Outbox(database)
    await outbox.subscribe("log")

    first = await outbox.claim("log", "a", now=NOW, until=SOON)
    assert first is not None
    assert (first.holder, first.until) == ("a", SOON)
    assert await outbox.claim("log", "b", now=NOW, until=SOON) is None
    later = SOON + timedelta(seconds=10)
    assert await outbox.claim("log", "a", now=NOW, until=SOON) is not None
    assert await outbox.claim("log", "b", now=SOON, until=later) is not None
    assert await outbox.claim("log", "a", now=SOON, until=later) is None
    await outbox.release("log", "a")
    assert await outbox.claim("log", "a", now=SOON, until=later) is None
    await outbox.release("log", "b")
    assert await outbox.claim("log", "a", now=SOON, until=later) is not None


async def test_only_who_has_the_lease_moves_a_subscriber(database: Database) -> None:
    crew, outbox = Crew(database, Notices(database)), Outbox(database)
    await outbox.subscribe("log")
    await crew.apply(Change(events=(event(1), event(2), event(3))))
    await outbox.claim("log", "a", now=NOW, until=SOON)

    await outbox.advance("log", "b", 2)
    await outbox.postpone("log", "b", due=SOON, problem="away")
    assert (await outbox.backlog("log"))[0].delivered == 0
    await outbox.postpone("log", "a", due=SOON, problem="away")
    standing, ahead = await outbox.backlog("log")
    assert (standing.attempts, standing.due, standing.problem, ahead) == (1, SOON, "away", 3)

    await outbox.advance("log", "a", 2)
    await outbox.advance("log", "a", 1)
    standing, ahead = await outbox.backlog("log")
    assert (standing.delivered, standing.attempts, standing.due, ahead) == (2, 0, None, 1)


async def test_what_is_put_aside_is_shown_and_kept_until_it_is_buried(database: Database) -> None:
    crew, outbox = Crew(database, Notices(database)), Outbox(database)
    await outbox.subscribe("hook")
    await crew.apply(Change(events=(event(1), event(2))))
    await outbox.claim("hook", "a", now=NOW, until=SOON)
    letter = DeadLetter(
        subscriber="hook", number=1, event=event(1), attempts=12, problem="status 500", died=NOW
    )

    await outbox.give_up("b", letter)
    assert await outbox.dead_letters() == []
    await outbox.give_up("a", letter)
    await outbox.prune(SOON)

    assert await outbox.dead_letters() == [letter]
    assert [number for number, _ in await crew.events(after=0, limit=9)] == [1]
    await outbox.bury(letter)
    await outbox.prune(SOON)
    assert await outbox.dead_letters() == []
    assert await crew.events(after=0, limit=9) == []


async def test_used_up_keys_are_forgotten_with_the_events_of_their_time(database: Database) -> None:
    crew, outbox = Crew(database, Notices(database)), Outbox(database)
    once = Once(
        tenant="default",
        by="agent:w1",
        tool="mail/send",
        key="old",
        asked="d",
        answer="{}",
        created=NOW,
    )
    new = replace(once, key="new", created=SOON)
    await crew.apply(Change(once=once))
    await crew.apply(Change(once=new))

    await outbox.prune(SOON)

    assert await crew.find_once("default", "agent:w1", "mail/send", "old") is None
    assert await crew.find_once("default", "agent:w1", "mail/send", "new") == new


async def test_old_events_and_keys_go_in_small_steps_whatever_their_order(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "BATCH", 10)
    monkeypatch.setattr(outbox_module, "MOST_STEPS", 3)
    crew, outbox = Crew(database, Notices(database)), Outbox(database)
    once = Once(
        tenant="default",
        by="agent:w1",
        tool="mail/send",
        key="",
        asked="d",
        answer="{}",
        created=NOW,
    )
    for number in range(45):
        await crew.apply(Change(once=replace(once, key=f"k{number}")))
    ahead = event(1, created=SOON)  # by a clock that was ahead
    await crew.apply(Change(events=(ahead, *(event(number) for number in range(2, 65)))))
    await crew.apply(Change(events=(event(65, created=SOON),)))
    deleted: list[int] = []

    def note(_: Connection, cursor: Any, statement: str, *__: object) -> None:
        if statement.startswith("DELETE"):
            deleted.append(cursor.rowcount)

    sqlalchemy.event.listen(database.engine.sync_engine, "after_cursor_execute", note)
    rounds = 1
    while not await outbox.prune(SOON):
        rounds += 1

    assert (rounds, sum(deleted)) == (4, 63 + 45)
    assert max(deleted) <= 10
    assert [number for number, _ in await crew.events(after=0, limit=99)] == [1, 65]
    assert await crew.find_once("default", "agent:w1", "mail/send", "k44") is None


async def test_who_reads_from_number_to_number_misses_no_event_of_many_writers(
    database: Database,
) -> None:
    """On PostgreSQL a number is given before the commit, so writers take turns from there on."""
    crew = Crew(database, Notices(database))
    seen: list[str] = []

    async def write(writer: int) -> None:
        for number in range(10):
            await crew.apply(Change(events=(event(writer * 100 + number),)))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for writer in range(5):
                tasks.start_soon(write, writer)
            after = 0
            while len(seen) < 50:
                for number, told in await crew.events(after=after, limit=7):
                    after = number
                    seen.append(told.id)

    assert len(set(seen)) == 50
