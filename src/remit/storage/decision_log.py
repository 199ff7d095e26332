"""The decision log, read by agent or of all (S3.22).

`decision_rows` is what the view `DecisionLog` shows the columns of the source of.
"""

from collections.abc import Sequence

from sqlalchemy import Column, MetaData, Table, Text, select
from sqlalchemy.types import Integer

from remit.model.decision_log import LoggedDecision
from remit.model.events import ADMINISTRATION, EventKind
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.tables import UtcTime, audit_events

_VIEW = Table(
    "decision_rows",
    MetaData(),
    Column("id", Text),
    Column("agentId", Text),
    Column("decision", Text),
    Column("reasoning", Text),
    Column("context", Text),
    Column("timestamp", UtcTime),
    Column("event", audit_events.c.id.type),
    Column("step", Integer),
)


async def find_decisions(
    connection: AsyncConnection, tenant: str, agent: str | None, limit: int
) -> Sequence[LoggedDecision]:
    """Return the newest rows of one agent, or of all, newest first."""
    events = audit_events.c
    whose = events.agent.is_not(None) if agent is None else events.agent == agent
    # Each of these has a row at its own time, and none later, so that the newest rows are among
    # those of the newest events, which an index finds. A beginning has none beside its end.
    newest = (
        select(events.id)
        .where(
            events.tenant == tenant,
            whose,
            events.server != ADMINISTRATION,
            events.kind != EventKind.ATTEMPTED,
            (events.kind != EventKind.REFUSED) | (events.decision == "allow"),
        )
        .order_by(events.id.desc())
        .limit(2 * limit)
    )
    log = _VIEW.c
    rows = await connection.execute(
        select(log.id, log.agentId, log.decision, log.reasoning, log.context, log.timestamp)
        .where(log.event.in_(newest))
        .order_by(log.timestamp.desc(), log.event.desc(), log.step.desc())
        .limit(limit)
    )
    return [
        LoggedDecision(
            id=row.id,
            agent=row.agentId,
            decision=row.decision,
            reasoning=row.reasoning,
            context=row.context,
            time=row.timestamp,
        )
        for row in rows
    ]
