"""Puts events into the outbox, each in the transaction of what it tells of."""

from collections.abc import Sequence
from typing import Final

from remit.model.crew import CrewEvent
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.dialects import take_turn
from remit.storage.tables import crew_events
from remit.storage.versions import add_new

_EVENTS_IN_ORDER: Final = 0x6F757462  # any number that every remit agrees on: "outb"


async def await_turn(connection: AsyncConnection) -> None:
    """Wait until nobody else writes events; ends with the transaction.

    So their numbers are in the order of commits: whoever has read up to one has missed none.
    """
    await connection.run_sync(take_turn, _EVENTS_IN_ORDER)


async def add_events(connection: AsyncConnection, events: Sequence[CrewEvent]) -> None:
    """Put events into the outbox; whoever does has awaited its turn."""
    await add_new(connection, crew_events, [_event_values(each) for each in events])


def _event_values(event: CrewEvent) -> dict[str, object]:
    return {
        "id": event.id,
        "tenant": event.tenant,
        "topic": event.topic,
        "payload": dict(event.payload),
        "created": event.created,
    }
