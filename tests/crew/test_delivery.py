"""Events reach subscribers at least once, in order, and one that takes none stops no other."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from remit.crew.delivery import (
    LEASE,
    LOOK_EVERY,
    MOST_ATTEMPTS,
    Delivery,
    DeliveryFailed,
    EventLog,
    Post,
    Subscriber,
)
from remit.model.crew import Change, CrewEvent
from remit.storage.crew import Crew
from remit.storage.database import default_url, open_database
from remit.storage.notices import Notices
from remit.storage.outbox import Outbox

START = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


@dataclass(slots=True)
class Time:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(slots=True)
class Reader:
    """A subscriber that notes what it is told, and refuses while it has a problem."""

    name: str = "reader"
    told: list[str] = field(default_factory=list[str])
    refuses: set[str] = field(default_factory=set[str])
    asks: int = 0

    async def deliver(self, event: CrewEvent, now: datetime) -> None:
        self.asks += 1
        assert now >= event.created
        if event.id in self.refuses:
            raise DeliveryFailed("status 500")
        self.told.append(event.id)


@dataclass(slots=True, kw_only=True)
class House:
    crew: Crew
    outbox: Outbox
    notices: Notices
    time: Time = field(default_factory=Time)

    async def happens(self, *numbers: int) -> None:
        events = tuple(
            CrewEvent(
                id=f"e{number}",
                tenant="default",
                topic="mail.sent",
                payload={"mailId": f"m{number}", "subject": "secret"},
                created=self.time(),
            )
            for number in numbers
        )
        await self.crew.apply(Change(events=events))

    async def delivery(self, subscriber: Subscriber, holder: str = "one") -> Delivery:
        await self.outbox.subscribe(subscriber.name)
        post = Post(events=self.crew, places=self.outbox, holder=holder, clock=self.time)
        return Delivery(post, subscriber)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[House]:
    async with open_database(default_url(tmp_path)) as database:
        notices = Notices(database)
        yield House(crew=Crew(database, notices), outbox=Outbox(database), notices=notices)


async def test_each_event_is_told_once_and_in_order(house: House) -> None:
    reader = Reader()
    delivery = await house.delivery(reader)
    assert await delivery.deliver_due() == LOOK_EVERY

    await house.happens(1, 2)
    await house.happens(3)
    await delivery.deliver_due()
    await delivery.deliver_due()

    assert reader.told == ["e1", "e2", "e3"]
    assert (await house.outbox.backlog("reader"))[1] == 0


async def test_more_events_than_one_look_reads_are_told_without_a_pause(house: House) -> None:
    reader = Reader()
    delivery = await house.delivery(reader)
    await house.happens(*range(250))

    looks = [await delivery.deliver_due() for _ in range(3)]

    assert looks == [0.0, 0.0, LOOK_EVERY]
    assert reader.told == [f"e{number}" for number in range(250)]


async def test_an_event_that_is_not_taken_is_tried_after_growing_pauses(house: House) -> None:
    reader = Reader(refuses={"e2"})
    delivery = await house.delivery(reader)
    await house.happens(1, 2, 3)

    tries: list[float] = []
    for second in range(20):
        asked = reader.asks
        await delivery.deliver_due()
        if reader.asks > asked:
            tries.append(second)
        house.time.pass_by(1)
    assert tries == [0, 1, 3, 7, 15]
    assert reader.told == ["e1"]
    standing, ahead = await house.outbox.backlog("reader")
    assert (standing.attempts, standing.problem, ahead) == (5, "status 500", 2)

    reader.refuses.clear()
    house.time.pass_by(60)
    await delivery.deliver_due()
    assert reader.told == ["e1", "e2", "e3"]


async def test_a_clock_that_was_ahead_holds_no_event_up(house: House) -> None:
    """A gateway starts an hour ahead, fails to tell, and ends; the next one's clock is right."""
    reader = Reader(refuses={"e1"})
    ahead = await house.delivery(reader, "ahead")
    await house.happens(1)
    house.time.pass_by(3600)
    await ahead.deliver_due()
    assert await house.outbox.claim("reader", "ahead", now=house.time(), until=house.time() + LEASE)
    house.time.pass_by(-3600)
    reader.refuses.clear()

    await (await house.delivery(reader, "right")).deliver_due()

    assert reader.told == ["e1"]


async def test_an_event_that_is_never_taken_is_put_aside_and_the_next_is_told(
    house: House,
) -> None:
    reader = Reader(refuses={"e1"})
    delivery = await house.delivery(reader)
    await house.happens(1, 2)

    for _ in range(MOST_ATTEMPTS + 1):
        await delivery.deliver_due()
        house.time.pass_by(301)

    assert reader.told == ["e2"]
    (letter,) = await house.outbox.dead_letters()
    assert (letter.event.id, letter.attempts, letter.problem) == ("e1", 12, "status 500")


async def test_one_subscriber_that_takes_nothing_holds_up_no_other(house: House) -> None:
    good, bad = Reader("good"), Reader("bad", refuses={"e1"})
    deliveries = [await house.delivery(each) for each in (bad, good)]
    await house.happens(1, 2)

    for delivery in deliveries:
        await delivery.deliver_due()

    assert (good.told, bad.told) == (["e1", "e2"], [])


async def test_a_process_that_dies_in_between_is_followed_by_another_which_tells_it_again(
    house: House,
) -> None:
    """S3.29: at least once, under the same id."""
    told = Reader()
    await house.happens(0)
    other = await house.delivery(told, "other")
    await house.happens(1, 2)
    # the one that dies has told the first, and has not said so yet
    await house.outbox.claim("reader", "dead", now=house.time(), until=house.time() + LEASE)
    told.told.append("e1")

    await other.deliver_due()
    assert told.told == ["e1"]
    house.time.pass_by(LEASE.total_seconds())
    await other.deliver_due()

    assert told.told == ["e1", "e1", "e2"]


async def test_deliveries_run_until_they_are_stopped_and_leave_the_place_to_others(
    house: House,
) -> None:
    reader = Reader()
    delivery = await house.delivery(reader)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(delivery.keep_delivering, house.notices)
            await house.happens(1)
            while reader.told != ["e1"]:
                await house.notices.changed(house.notices.told, within=0.05)
            tasks.cancel_scope.cancel()

    (standing,) = await house.outbox.standings()
    assert (standing.delivered, standing.holder) == (1, "")


async def test_the_log_hears_of_every_event_and_not_of_what_a_mail_says(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    delivery = await house.delivery(EventLog())
    await house.happens(7)

    await delivery.deliver_due()

    shown = capsys.readouterr().out
    assert "m7" in shown
    assert "secret" not in shown
