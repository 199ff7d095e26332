"""The outbox of the crew's events: who has heard of which, and who tells whom (S3.29).

Events have numbers in the order of their commits (`storage/crew_events.py`), so that how far a
subscriber is, is one number. One process at a time tells a subscriber, as long as its lease lasts.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import Row, delete, func, or_, select, tuple_, update

from remit.model.crew import CrewEvent
from remit.model.outbox import DeadLetter, Standing
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.database import Database
from remit.storage.dialects import insert
from remit.storage.leases import is_over
from remit.storage.steps import in_steps
from remit.storage.tables import crew_dead_letters, crew_events, crew_keys, crew_subscribers

BATCH: Final = 500
"""Events or keys that are deleted in one transaction."""

MOST_STEPS: Final = 20
"""Transactions in a row, before somebody is told of events again."""


class Outbox:
    """Events on their way to subscribers, of every tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def subscribe(self, name: str) -> None:
        """Keep the place of a subscriber; a new one hears of what happens from now on."""
        newest = select(func.coalesce(func.max(crew_events.c.seq), 0)).scalar_subquery()
        async with self._database.writing() as connection:
            await connection.execute(
                insert(connection, crew_subscribers)
                .values(name=name, delivered=newest, attempts=0, problem="", holder="")
                .on_conflict_do_nothing(index_elements=["name"])
            )

    async def standings(self) -> Sequence[Standing]:
        """Return where every subscriber stands that there ever was, by name."""
        async with self._database.reading() as connection:
            rows = await connection.execute(
                select(crew_subscribers).order_by(crew_subscribers.c.name)
            )
            return [_standing(row) for row in rows]

    async def backlog(self, name: str) -> tuple[Standing, int]:
        """Return where a subscriber stands, and how many events are ahead of it."""
        ahead = (
            select(func.count())
            .where(crew_events.c.seq > crew_subscribers.c.delivered)
            .scalar_subquery()
        )
        query = select(crew_subscribers, ahead.label("ahead")).where(
            crew_subscribers.c.name == name
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).one()
        return _standing(row), row.ahead

    async def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime
    ) -> Standing | None:
        """Let *holder* alone tell a subscriber until then; None as long as somebody else does."""
        table = crew_subscribers.c
        is_free = or_(table.until.is_(None), is_over(table.until, now, until))
        statement = (
            update(crew_subscribers)
            .where(
                table.name == name,
                or_(table.holder.in_(("", holder)), is_free),
            )
            .values(holder=holder, until=until)
            .returning(crew_subscribers)
        )
        async with self._database.writing() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else _standing(row)

    async def release(self, name: str, holder: str, *, within: float = math.inf) -> None:
        """Leave a subscriber to whoever comes; takes so many seconds at most."""
        table = crew_subscribers.c
        async with self._database.writing(within=within) as connection:
            await connection.execute(
                update(crew_subscribers)
                .where(table.name == name, table.holder == holder)
                .values(holder="", until=None)
            )

    async def advance(self, name: str, holder: str, delivered: int) -> None:
        """Take note that a subscriber has all events up to this one."""
        async with self._database.writing() as connection:
            await _advance(connection, name, holder, delivered)

    async def postpone(self, name: str, holder: str, *, due: datetime, problem: str) -> None:
        """Take note that the next event could not be delivered, and when to try again."""
        table = crew_subscribers.c
        async with self._database.writing() as connection:
            await connection.execute(
                update(crew_subscribers)
                .where(table.name == name, table.holder == holder)
                .values(attempts=table.attempts + 1, due=due, problem=problem)
            )

    async def give_up(self, holder: str, letter: DeadLetter) -> None:
        """Put an event aside, so that the subscriber hears of the next one."""
        async with self._database.writing() as connection:
            if await _advance(connection, letter.subscriber, holder, letter.number):
                values = {
                    "subscriber": letter.subscriber,
                    "seq": letter.number,
                    "attempts": letter.attempts,
                    "problem": letter.problem,
                    "died": letter.died,
                }
                await connection.execute(insert(connection, crew_dead_letters).values(values))

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """Return what was put aside, in the order of the events."""
        table = crew_dead_letters
        query = (
            select(table.c.subscriber, table.c.attempts, table.c.problem, table.c.died, crew_events)
            .join(crew_events, crew_events.c.seq == table.c.seq)
            .order_by(table.c.seq, table.c.subscriber)
        )
        async with self._database.reading() as connection:
            rows = await connection.execute(query)
            return [
                DeadLetter(
                    subscriber=row.subscriber,
                    number=row.seq,
                    event=event_of(row),
                    attempts=row.attempts,
                    problem=row.problem,
                    died=row.died,
                )
                for row in rows
            ]

    async def bury(self, letter: DeadLetter) -> None:
        """Forget a dead letter: it was delivered after all."""
        table = crew_dead_letters.c
        async with self._database.writing() as connection:
            await connection.execute(
                delete(crew_dead_letters).where(
                    table.subscriber == letter.subscriber, table.seq == letter.number
                )
            )

    async def prune(self, before: datetime) -> bool:
        """Delete events from before then, but not those that are dead letters, and used up keys.

        In small steps, and not so many that whoever waits for an event would notice.

        Returns:
            Whether nothing is left to delete.
        """
        forget_events = partial(self._forget_some_events, before)
        forget_keys = partial(self._forget_some_keys, before)
        return await in_steps(forget_events, most=MOST_STEPS) and await in_steps(
            forget_keys, most=MOST_STEPS
        )

    async def _forget_some_events(self, before: datetime) -> bool:
        """Delete what is old of the first; no index tells the old, but they come first."""
        table = crew_events.c
        first = (
            select(table.seq, table.created)
            .where(table.seq.not_in(select(crew_dead_letters.c.seq)))
            .order_by(table.seq)
            .limit(BATCH)
            .subquery()
        )
        old = select(first.c.seq).where(first.c.created < before)
        async with self._database.writing() as connection:
            gone = await connection.execute(delete(crew_events).where(table.seq.in_(old)))
        return gone.rowcount > 0

    async def _forget_some_keys(self, before: datetime) -> bool:
        """Delete some that are old; they are looked for before anybody has to wait."""
        table = crew_keys.c
        columns = (table.tenant, table.by, table.tool, table.key)
        async with self._database.reading() as connection:
            query = select(*columns).where(table.created < before).limit(BATCH)
            old = [tuple(row) for row in (await connection.execute(query)).all()]
        if old:
            async with self._database.writing() as connection:
                await connection.execute(
                    delete(crew_keys).where(table.created < before, tuple_(*columns).in_(old))
                )
        return len(old) == BATCH


async def _advance(connection: AsyncConnection, name: str, holder: str, delivered: int) -> bool:
    table = crew_subscribers.c
    statement = (
        update(crew_subscribers)
        .where(table.name == name, table.holder == holder, table.delivered < delivered)
        .values(delivered=delivered, attempts=0, due=None, problem="")
        .returning(table.name)
    )
    return (await connection.execute(statement)).one_or_none() is not None


def event_of(row: Row[Any]) -> CrewEvent:
    """Return the event of a row."""
    return CrewEvent(
        id=row.id, tenant=row.tenant, topic=row.topic, payload=row.payload, created=row.created
    )


def _standing(row: Row[Any]) -> Standing:
    return Standing(
        name=row.name,
        delivered=row.delivered,
        attempts=row.attempts,
        due=row.due,
        problem=row.problem,
        holder=row.holder,
        until=row.until,
    )
