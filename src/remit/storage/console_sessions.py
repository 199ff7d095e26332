"""Sessions at the console as rows, so that they hold across workers and can be ended."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, insert, or_, select, update

from remit.model.sessions import LONGEST_IDLE, ByIssuer, ByKey, ConsoleSession
from remit.storage.database import Database
from remit.storage.session_tables import console_sessions


class ConsoleSessions:
    """The sessions of every tenant, found by the hash of what their browser holds."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, session: ConsoleSession) -> None:
        """Store a new session."""
        async with self._database.writing() as connection:
            await connection.execute(insert(console_sessions).values(_values(session)))

    async def find(self, session_id: str) -> ConsoleSession | None:
        """Return the session with that id, whether it still holds or not."""
        query = select(console_sessions).where(console_sessions.c.id == session_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _session(row)

    async def touch(self, session_id: str, now: datetime) -> None:
        """Keep when a session was used, unless it has ended meanwhile."""
        async with self._database.writing() as connection:
            await connection.execute(
                update(console_sessions)
                .where(console_sessions.c.id == session_id, console_sessions.c.last_seen < now)
                .values(last_seen=now)
            )

    async def remove(self, session_id: str) -> None:
        """End a session, if there is one."""
        async with self._database.writing() as connection:
            await connection.execute(
                delete(console_sessions).where(console_sessions.c.id == session_id)
            )

    async def prune(self, now: datetime) -> None:
        """Remove every session that does not hold any more at *now*."""
        columns = console_sessions.c
        async with self._database.writing() as connection:
            await connection.execute(
                delete(console_sessions).where(
                    or_(columns.expires <= now, columns.last_seen <= now - LONGEST_IDLE)
                )
            )


def _values(session: ConsoleSession) -> dict[str, object]:
    began = session.began
    key = began if isinstance(began, ByKey) else ByKey(key_id="", secret_hash="")
    vouched = (
        began
        if isinstance(began, ByIssuer)
        else ByIssuer(issuer="", client_id="", subject="", shown="")
    )
    return {
        "id": session.id,
        "tenant": session.tenant,
        "key": key.key_id,
        "secret_hash": key.secret_hash,
        "issuer": vouched.issuer,
        "client": vouched.client_id,
        "subject": vouched.subject,
        "shown": vouched.shown,
        "roles": list(vouched.roles),
        "created": session.created,
        "last_seen": session.last_seen,
        "expires": session.expires,
    }


def _session(row: Row[Any]) -> ConsoleSession:
    began = (
        ByKey(key_id=row.key, secret_hash=row.secret_hash)
        if row.key
        else ByIssuer(
            issuer=row.issuer,
            client_id=row.client,
            subject=row.subject,
            shown=row.shown,
            roles=tuple(row.roles),
        )
    )
    return ConsoleSession(
        id=row.id,
        tenant=row.tenant,
        began=began,
        created=row.created,
        last_seen=row.last_seen,
        expires=row.expires,
    )
