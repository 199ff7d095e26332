"""What the crew works on, as rows: read one by one, written together or not at all.

read values ──▶ decide ──▶ apply(change) ──▶ rows and events in one transaction, and a notice
     ▲                          │
     └── look again ◀── Outdated: somebody else was faster, nothing was written
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, func, select, text

from remit.model.crew import (
    Change,
    Comment,
    CrewEvent,
    Epic,
    Mail,
    Member,
    Once,
    Task,
    TaskState,
)
from remit.model.principals import AgentType
from remit.storage.crew_changes import write_change
from remit.storage.crew_lists import COMMENTS, MAIL, SUBMISSIONS, TASKS, bounded, follows
from remit.storage.crew_rows import (
    comment_of,
    epic_of,
    first_activity,
    mail_of,
    member_of,
    once_of,
    task_of,
)
from remit.storage.database import Database
from remit.storage.dialects import insert, page_of
from remit.storage.notices import CREW_CHANNEL, Notices
from remit.storage.outbox import event_of
from remit.storage.tables import (
    agents,
    crew_agents,
    crew_comments,
    crew_epics,
    crew_events,
    crew_keys,
    crew_mail,
    crew_tasks,
)

_MEMBERS: Final = select(
    *(agents.c[name] for name in ("tenant", "id", "type", "epic", "created")),
    *(column for column in crew_agents.c if column.name not in ("tenant", "id")),
).select_from(
    agents.outerjoin(
        crew_agents, (crew_agents.c.tenant == agents.c.tenant) & (crew_agents.c.id == agents.c.id)
    )
)


class Crew:
    """Agents at work, epics, tasks and mail of every tenant.

    Args:
        database: Where they are.
        notices: Told of every change, so that whoever waits for one looks at once.
    """

    def __init__(self, database: Database, notices: Notices) -> None:
        self._database = database
        self._notices = notices

    async def apply(self, change: Change) -> None:
        """Write all of *change*.

        Raises:
            Outdated: Something of it was changed meanwhile; nothing is written.
            Conflict: Another epic has that issue; likewise.
        """
        async with self._database.writing() as connection:
            await write_change(connection, change)
            if connection.dialect.name == "postgresql":
                await connection.execute(text(f"NOTIFY {CREW_CHANNEL}"))
        self._notices.note()

    async def touch(self, tenant: str, agent_id: str, now: datetime) -> None:
        """Take note that an agent is active; that is no change of it."""
        async with self._database.writing() as connection:
            statement = insert(connection, crew_agents).values(
                first_activity(tenant, agent_id, now)
            )
            await connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["tenant", "id"], set_={"last_active": now}
                )
            )

    async def find_member(self, tenant: str, agent_id: str) -> Member | None:
        """Return a registered agent at its work, or None."""
        row = await self._one(_MEMBERS.where(agents.c.tenant == tenant, agents.c.id == agent_id))
        return None if row is None else member_of(row)

    async def members(
        self, tenant: str, *, of_type: AgentType | None = None, epic: str | None = None
    ) -> Sequence[Member]:
        """Return registered agents, oldest first; of one type or of one epic where that is said."""
        query = _MEMBERS.where(agents.c.tenant == tenant).order_by(agents.c.created, agents.c.id)
        if of_type is not None:
            query = query.where(agents.c.type == of_type.value)
        if epic is not None:
            query = query.where(agents.c.epic == epic)
        return [member_of(row) for row in await self._all(query)]

    async def members_after(self, tenant: str, after: str | None, limit: int) -> Sequence[Member]:
        """Return registered agents by id, at most *limit*, those behind an id alone."""
        query = _MEMBERS.where(agents.c.tenant == tenant)
        async with self._database.reading() as connection:
            page = page_of(query, connection, agents.c.id, after, limit)
            rows = (await connection.execute(page)).all()
        return [member_of(row) for row in rows]

    async def find_epic(self, tenant: str, epic_id: str) -> Epic | None:
        """Return an epic, or None."""
        row = await self._one(
            select(crew_epics).where(crew_epics.c.tenant == tenant, crew_epics.c.id == epic_id)
        )
        return None if row is None else epic_of(row)

    async def epics(self, tenant: str) -> Sequence[Epic]:
        """Return every epic, oldest first."""
        query = select(crew_epics).where(crew_epics.c.tenant == tenant)
        ordered = query.order_by(crew_epics.c.created, crew_epics.c.id)
        return [epic_of(row) for row in await self._all(ordered)]

    async def find_task(self, tenant: str, task_id: str) -> Task | None:
        """Return a task, or None."""
        row = await self._one(
            select(crew_tasks).where(crew_tasks.c.tenant == tenant, crew_tasks.c.id == task_id)
        )
        return None if row is None else task_of(row)

    async def tasks(
        self, tenant: str, *, epic: str | None = None, state: TaskState | None = None
    ) -> Sequence[Task]:
        """Return every task, oldest first; of one epic or in one state where that is said."""
        query = select(crew_tasks).where(crew_tasks.c.tenant == tenant)
        if epic is not None:
            query = query.where(crew_tasks.c.epic == epic)
        if state is not None:
            query = query.where(crew_tasks.c.state == state.value)
        ordered = query.order_by(crew_tasks.c.created, crew_tasks.c.id)
        return [task_of(row) for row in await self._all(ordered)]

    async def listed_tasks(
        self,
        tenant: str,
        *,
        epic: str | None = None,
        state: TaskState | None = None,
        by_submission: bool = False,
        after: str = "",
        limit: int,
    ) -> tuple[Sequence[Task], bool]:
        """Return the first tasks, oldest first, and whether there are more after them.

        Those are no more than *limit*, and no more than have MOST_LISTED_TEXT characters before the
        last of them.

        Args:
            tenant: Theirs.
            epic: Of which epic; of every one when None.
            state: In which state; in any when None.
            by_submission: Whether they come in the order in which they were put up for review.
            after: The id of the task to go on after; empty to begin with the first.
            limit: Most tasks.
        """
        kind = SUBMISSIONS if by_submission else TASKS
        columns = crew_tasks.c
        is_meant = columns.tenant == tenant
        if epic is not None:
            is_meant &= columns.epic == epic
        if state is not None:
            is_meant &= columns.state == state.value
        if after:
            is_meant &= follows(kind, tenant, after)
        rows = await self._all(bounded(kind, is_meant, limit))
        return [task_of(row) for row in rows], bool(rows) and rows[0].met > len(rows)

    async def comments(self, tenant: str, task_id: str, *, limit: int) -> Sequence[Comment]:
        """Return what was said last about a task, oldest first; as much as of mail in `inbox`."""
        columns = crew_comments.c
        is_meant = (columns.tenant == tenant) & (columns.task == task_id)
        rows = await self._all(bounded(COMMENTS, is_meant, limit))
        return [comment_of(row) for row in reversed(rows)]

    async def count_comments(self, tenant: str, task_id: str) -> int:
        """Return how often something was said about a task."""
        columns = crew_comments.c
        query = select(func.count()).where(columns.tenant == tenant, columns.task == task_id)
        async with self._database.reading() as connection:
            return (await connection.execute(query)).scalar_one()

    async def find_mail(self, tenant: str, mail_id: str) -> Mail | None:
        """Return a mail, or None."""
        row = await self._one(
            select(crew_mail).where(crew_mail.c.tenant == tenant, crew_mail.c.id == mail_id)
        )
        return None if row is None else mail_of(row)

    async def inbox(
        self, tenant: str, to_agent: str, *, include_read: bool, limit: int
    ) -> Sequence[Mail]:
        """Return the newest mails to an agent, as many as `listed_mail` would."""
        found, _ = await self.listed_mail(tenant, to_agent, include_read=include_read, limit=limit)
        return found

    async def listed_mail(
        self, tenant: str, to_agent: str, *, include_read: bool, after: str = "", limit: int
    ) -> tuple[Sequence[Mail], bool]:
        """Return the newest mails to an agent, newest first, and whether there are older ones.

        Those are no more than *limit*, and no more than have MOST_LISTED_TEXT characters before the
        last of them: what anybody may send must not become an answer of any size.

        Args:
            tenant: Theirs.
            to_agent: The agent; an empty id is the human.
            include_read: Whether those that were read count, too.
            after: The id of the mail to go on after; empty to begin with the newest.
            limit: Most mails.
        """
        columns = crew_mail.c
        is_meant = (columns.tenant == tenant) & (columns.to_agent == to_agent)
        if not include_read:
            is_meant &= columns.is_read.is_(False)
        if after:
            is_meant &= follows(MAIL, tenant, after)
        rows = await self._all(bounded(MAIL, is_meant, limit))
        return [mail_of(row) for row in rows], bool(rows) and rows[0].met > len(rows)

    async def between(
        self, tenant: str, agent_id: str, subjects: Collection[str], *, limit: int
    ) -> Sequence[Mail]:
        """Return the newest mails between an agent and the human, as many as `inbox` would.

        Args:
            tenant: Theirs.
            agent_id: The agent.
            subjects: Any of which they have.
            limit: Most mails.
        """
        columns = crew_mail.c
        to_human = (columns.from_agent == agent_id) & (columns.to_agent == "")
        to_agent = (columns.from_agent == "") & (columns.to_agent == agent_id)
        is_theirs = (columns.tenant == tenant) & (to_human | to_agent)
        is_theirs &= columns.subject.in_(subjects)
        return [mail_of(row) for row in await self._all(bounded(MAIL, is_theirs, limit))]

    async def count_unread(self, tenant: str, to_agent: str) -> int:
        """Return how many mails to an agent are not read yet; an empty id is the human."""
        query = select(func.count()).where(
            crew_mail.c.tenant == tenant,
            crew_mail.c.to_agent == to_agent,
            crew_mail.c.is_read.is_(False),
        )
        async with self._database.reading() as connection:
            return (await connection.execute(query)).scalar_one()

    async def find_once(self, tenant: str, by: str, tool: str, key: str) -> Once | None:
        """Return what was answered under a key, or None."""
        columns = crew_keys.c
        row = await self._one(
            select(crew_keys).where(
                columns.tenant == tenant, columns.by == by, columns.tool == tool, columns.key == key
            )
        )
        return None if row is None else once_of(row)

    async def events(self, *, after: int, limit: int) -> Sequence[tuple[int, CrewEvent]]:
        """Return events of every tenant with a number above *after*, in the order of commits."""
        query = (
            select(crew_events)
            .where(crew_events.c.seq > after)
            .order_by(crew_events.c.seq)
            .limit(limit)
        )
        return [(row.seq, event_of(row)) for row in await self._all(query)]

    async def _one(self, query: Select[Any]) -> Any:
        async with self._database.reading() as connection:
            return (await connection.execute(query)).one_or_none()

    async def _all(self, query: Select[Any]) -> Sequence[Any]:
        async with self._database.reading() as connection:
            return (await connection.execute(query)).all()
