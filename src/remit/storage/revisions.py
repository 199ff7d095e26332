"""The declaration as a chain of numbered revisions (R18), and its projection (S0.12, R28)."""

import hashlib
import json
import uuid
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from remit.errors import Conflict, NotFound, Outdated, StorageUnavailable
from remit.model.principals import DEFAULT_TENANT
from remit.model.revisions import Revision, RevisionSummary
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.database import Database
from remit.storage.epochs import bump
from remit.storage.tables import agent_mcp_tools, revisions

_ATTEMPTS: Final = 20
"""How many other writers in a row may take the number first."""

_SUMMARY: Final = [column for column in revisions.c if column.name != "document"]

_GRANTS: Final = uuid.UUID("5f0d6c0e-5f0b-5d0c-9a53-0c7c6f9a1f52")


def digest_of(document: Mapping[str, object]) -> str:
    """Return the hex SHA-256 of *document* in canonical JSON: the order of keys does not count.

    Raises:
        TypeError: It holds something that is no JSON.
        ValueError: It holds a number that is no JSON, such as NaN.
    """
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


class Revisions:
    """The revisions of every tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self, tenant: str, *, before: int | None = None) -> Revision | None:
        """Return the current revision, or the last before that number; None if there is none."""
        async with self._reading() as connection:
            return await _latest(connection, tenant, before=before)

    async def get_revision(self, tenant: str, number: int) -> Revision:
        """Return one revision.

        Raises:
            NotFound: The tenant has no revision of that number.
        """
        query = select(revisions).where(revisions.c.tenant == tenant, revisions.c.number == number)
        async with self._reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            raise NotFound(f"there is no revision {number}")
        return _revision(row)

    async def summaries(
        self,
        tenant: str,
        *,
        before: int | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[RevisionSummary]:
        """Return revisions without what they say, newest first.

        Args:
            tenant: Whose.
            before: Only those with a lower number; None for all.
            after: Only those with a higher number.
            limit: Most of them; None for all.
        """
        number = revisions.c.number
        query = select(*_SUMMARY).where(revisions.c.tenant == tenant, number > after)
        if before is not None:
            query = query.where(number < before)
        async with self._reading() as connection:
            rows = await connection.execute(query.order_by(number.desc()).limit(limit))
            return [RevisionSummary(**row) for row in rows.mappings()]

    async def last_applied(self, tenant: str) -> Revision | None:
        """Return the last revision that a file said the same as (R18), or None."""
        query = (
            select(revisions)
            .where(revisions.c.tenant == tenant, revisions.c.from_file)
            .order_by(revisions.c.number.desc())
            .limit(1)
        )
        async with self._reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _revision(row)

    async def write(
        self,
        tenant: str,
        document: Mapping[str, object],
        *,
        author: str,
        reason: str,
        now: datetime,
        from_file: bool = False,
        after: int | None = None,
    ) -> Revision:
        """Make *document* the current revision; return the current one if it says the same.

        Args:
            tenant: Whose declaration it is.
            document: As plain data.
            author: Who writes it.
            reason: Why, in a line.
            now: Aware UTC.
            from_file: Whether a file says so, which a later file may then replace (R18).
            after: The number of the revision that has to be the current one, 0 for none yet;
                None for any.

        Raises:
            Outdated: Another revision is the current one.
            Conflict: Others kept writing revisions.
        """
        digest = digest_of(document)
        for _ in range(_ATTEMPTS):
            try:
                async with self._database.writing() as connection:
                    latest = await _latest(connection, tenant)
                    number = 0 if latest is None else latest.number
                    if after is not None and after != number:
                        raise Outdated(
                            f"revision {number} was written meanwhile, after revision {after}"
                        )
                    if latest is not None and latest.digest == digest:
                        return await _with_file(connection, latest, from_file=from_file)
                    revision = Revision(
                        number=number + 1,
                        tenant=tenant,
                        document=document,
                        digest=digest,
                        author=author,
                        reason=reason,
                        created=now,
                        from_file=from_file,
                    )
                    await _insert(connection, revision)
                    return revision
            except IntegrityError:
                continue  # PostgreSQL: another process took the number first
        raise Conflict("others keep writing revisions: try again")

    @asynccontextmanager
    async def _reading(self) -> AsyncGenerator[AsyncConnection]:
        try:
            async with self._database.reading() as connection:
                yield connection
        except ValueError as error:  # what is stored is no JSON: somebody else's hand
            raise StorageUnavailable(
                f"a revision in the database {self._database.name} is damaged: {error}"
            ) from error


async def _latest(
    connection: AsyncConnection, tenant: str, *, before: int | None = None
) -> Revision | None:
    number = revisions.c.number
    query = select(revisions).where(revisions.c.tenant == tenant)
    if before is not None:
        query = query.where(number < before)
    row = (await connection.execute(query.order_by(number.desc()).limit(1))).one_or_none()
    return None if row is None else _revision(row)


async def _with_file(connection: AsyncConnection, latest: Revision, *, from_file: bool) -> Revision:
    """Note that a file says the same as the current revision, whoever wrote that."""
    if latest.from_file or not from_file:
        return latest
    await connection.execute(
        update(revisions)
        .where(revisions.c.tenant == latest.tenant, revisions.c.number == latest.number)
        .values(from_file=True)
    )
    return replace(latest, from_file=True)


async def _insert(connection: AsyncConnection, revision: Revision) -> None:
    await connection.execute(
        insert(revisions).values(
            tenant=revision.tenant,
            number=revision.number,
            document=revision.document,
            digest=revision.digest,
            author=revision.author,
            reason=revision.reason,
            created=revision.created,
            from_file=revision.from_file,
        )
    )
    if revision.tenant == DEFAULT_TENANT:
        await connection.execute(delete(agent_mcp_tools))
        if rows := list(_grants(revision.document)):
            await connection.execute(insert(agent_mcp_tools), rows)
    await bump(connection, revision.tenant, "revisions")


def _grants(document: Mapping[str, object]) -> Generator[dict[str, object]]:
    """Yield a row for each tool that a role names under `tools`, once each."""
    seen: set[tuple[str, str, str]] = set()
    for role, entry in _mapping(document.get("roles")).items():
        for server, names in _mapping(_mapping(entry).get("tools")).items():
            for tool in cast("list[object]", names) if isinstance(names, list) else ():
                grant = (str(role), str(server), str(tool))
                if grant not in seen:
                    seen.add(grant)
                    yield {
                        "id": str(uuid.uuid5(_GRANTS, json.dumps(grant))),
                        "role": grant[0],
                        "mcp_server": grant[1],
                        "tool_name": grant[2],
                        "enabled": True,
                    }


def _mapping(value: object) -> Mapping[object, object]:
    return cast("Mapping[object, object]", value) if isinstance(value, Mapping) else {}


def _revision(row: Row[Any]) -> Revision:
    return Revision(
        number=row.number,
        tenant=row.tenant,
        document=row.document,
        digest=row.digest,
        author=row.author,
        reason=row.reason,
        created=row.created,
        from_file=row.from_file,
    )
