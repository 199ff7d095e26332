"""Writes a change of the crew's, each row only if it still is the one that the writer has seen.

Rows are written in one order (epics, tasks, members, mail, each by id, and events at the very end),
so that no two transactions wait for each other.
"""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TypeVar

from sqlalchemy import Table, select, update

from remit.errors import Conflict, Outdated
from remit.model.crew import (
    DONE,
    ENDED,
    Change,
    Epic,
    EpicState,
    Mail,
    Member,
    Task,
)
from remit.storage.agents import register
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.crew_events import add_events, await_turn
from remit.storage.crew_rows import (
    comment_values,
    epic_values,
    mail_values,
    member_values,
    once_values,
    task_values,
)
from remit.storage.dialects import insert
from remit.storage.epochs import bump
from remit.storage.tables import (
    agents,
    crew_agents,
    crew_comments,
    crew_epics,
    crew_keys,
    crew_mail,
    crew_tasks,
)
from remit.storage.versions import add_new

Versioned = TypeVar("Versioned", Epic, Task, Mail, Member)

_by_id = attrgetter("id")


async def write_change(connection: AsyncConnection, change: Change) -> None:
    """Write all of *change* in the transaction of *connection*, which must be undone on an error.

    Raises:
        Outdated: Something of it was changed meanwhile.
        Conflict: Another epic has that issue.
    """
    if change.once is not None:
        await add_new(connection, crew_keys, [once_values(change.once)])
    for agent in change.agents:
        await register(connection, agent)
    for epic in sorted(change.epics, key=_by_id):
        await _write_epic(connection, epic)
    if change.open_epics:
        await _require_open(connection, change)
    for task in sorted(change.tasks, key=_by_id):
        await _write(connection, crew_tasks, task, task_values(_next(task)))
    for member in sorted(change.members, key=_by_id):
        await _write_member(connection, member)
    for mail in sorted(change.mails, key=_by_id):
        await _write(connection, crew_mail, mail, mail_values(_next(mail)))
    await add_new(connection, crew_comments, [comment_values(each) for each in change.comments])
    if change.events:
        await await_turn(connection)
        await add_events(connection, change.events)


def _next(value: Versioned) -> Versioned:
    return replace(value, version=value.version + 1)


async def _write(
    connection: AsyncConnection,
    table: Table,
    seen: Epic | Task | Mail,
    values: Mapping[str, object],
) -> None:
    if seen.version == 0:
        await add_new(connection, table, [values])
        return
    statement = (
        update(table)
        .where(
            table.c.tenant == seen.tenant, table.c.id == seen.id, table.c.version == seen.version
        )
        .values(values)
        .returning(table.c.id)
    )
    if (await connection.execute(statement)).one_or_none() is None:
        raise Outdated(f"{seen.id!r} was changed by somebody else meanwhile")


async def _write_epic(connection: AsyncConnection, epic: Epic) -> None:
    try:
        await _write(connection, crew_epics, epic, epic_values(_next(epic)))
    except Outdated:
        if epic.version == 0:
            raise Conflict(
                f"an epic of the issue {epic.linear_issue_id!r} exists already"
            ) from None
        raise

    if epic.state is EpicState.COMPLETED:
        left = select(crew_tasks.c.id).where(
            crew_tasks.c.tenant == epic.tenant,
            crew_tasks.c.epic == epic.id,
            crew_tasks.c.state.not_in([state.value for state in DONE]),
        )
        if (await connection.execute(left.limit(1))).first() is not None:
            raise Outdated(f"epic {epic.id!r} was given another task meanwhile")


async def _require_open(connection: AsyncConnection, change: Change) -> None:
    """Keep epics from ending until this is written, and refuse those that have."""
    tenants = {task.tenant for task in change.tasks}
    query = (
        select(crew_epics.c.id)
        .where(
            crew_epics.c.tenant.in_(tenants),
            crew_epics.c.id.in_(change.open_epics),
            crew_epics.c.state.not_in([state.value for state in ENDED]),
        )
        .order_by(crew_epics.c.id)
        .with_for_update(read=True)
    )
    found = set((await connection.execute(query)).scalars())
    if found != set(change.open_epics):
        raise Outdated("an epic has ended meanwhile")


async def _write_member(connection: AsyncConnection, member: Member) -> None:
    values = member_values(_next(member))
    fresh = insert(connection, crew_agents).values(values)
    statement = fresh.on_conflict_do_update(
        index_elements=["tenant", "id"],
        set_=values,
        # a row that only says when it was last active is of version 0, too
        where=crew_agents.c.version == member.version,
    ).returning(crew_agents.c.id)
    if (await connection.execute(statement)).one_or_none() is None:
        raise Outdated(f"agent {member.id!r} was changed by somebody else meanwhile")
    moved = (
        update(agents)
        .where(
            agents.c.tenant == member.tenant,
            agents.c.id == member.id,
            agents.c.epic != member.epic,
        )
        .values(epic=member.epic)
        .returning(agents.c.id)
    )
    if (await connection.execute(moved)).one_or_none() is not None:
        await bump(connection, member.tenant, "keys")
