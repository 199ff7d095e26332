"""API keys as rows: a hash, never a secret."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, Text, and_, bindparam, cast, or_, select, update
from sqlalchemy import insert as plain_insert
from sqlalchemy.exc import IntegrityError

from remit.errors import Conflict, NotFound
from remit.model.keys import HeldKey, Key
from remit.model.principals import UserRole
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.crew_rows import first_activity
from remit.storage.database import LONGEST_LOOK, Database
from remit.storage.dialects import insert
from remit.storage.epochs import bump
from remit.storage.tables import api_keys, crew_agents


class Keys:
    """The keys of every tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: Key) -> None:
        """Store a new key.

        Raises:
            Conflict: A key of that name that is not revoked exists.
        """
        try:
            async with self._database.writing() as connection:
                await connection.execute(plain_insert(api_keys).values(_values(key)))
                await bump(connection, key.tenant, "keys")
        except IntegrityError:
            raise Conflict(
                f"a key named {key.name!r} is in use: revoke it first, or choose another name"
            ) from None

    async def find(self, key_id: str) -> Key | None:
        """Return the key with that public id, revoked or not."""
        query = select(api_keys).where(api_keys.c.id == key_id)
        async with self._database.reading(within=LONGEST_LOOK) as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _key(row)

    async def all_keys(self, tenant: str) -> Sequence[Key]:
        """Return every key of *tenant*, oldest first, revoked ones included."""
        return await self._found(select(api_keys).where(api_keys.c.tenant == tenant))

    async def keys_after(
        self, tenant: str, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Key]:
        """Return keys of *tenant*, oldest first, those behind a place alone, revoked ones too.

        Args:
            tenant: Whose they are.
            after: When a key was made, and its id; None for the beginning.
            limit: Most of them.
        """
        query = select(api_keys).where(api_keys.c.tenant == tenant)
        if after is not None:
            created, key_id = api_keys.c.created, api_keys.c.id
            query = query.where(
                or_(created > after[0], and_(created == after[0], key_id > after[1]))
            )
        return await self._found(query.limit(limit))

    async def holding(self, tenant: str, now: datetime) -> Sequence[HeldKey]:
        """Return the keys of *tenant* that hold at *now*, oldest first.

        Of thousands only what is needed is read, and what many of them say is parsed once.
        """
        columns = api_keys.c
        query = (
            select(
                *(columns.name, columns.owner, columns.agent, columns.service),
                *(cast(columns.roles, Text), cast(columns.user_roles, Text)),
            )
            .where(
                columns.tenant == tenant,
                or_(columns.expires.is_(None), columns.expires > now),
                or_(columns.revoked.is_(None), columns.revoked > now),
            )
            .order_by(columns.created, columns.id)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        roles_in, user_roles_in = cache(_roles_in), cache(_user_roles_in)
        return [
            HeldKey(name, owner, agent, roles_in(roles), user_roles_in(user_roles), service)
            for name, owner, agent, service, roles, user_roles in rows
        ]

    async def named(self, tenant: str, name: str) -> Sequence[Key]:
        """Return the keys of *tenant* of that name, and the one with that id; oldest first."""
        mine = select(api_keys).where(api_keys.c.tenant == tenant)
        found = [
            *await self._found(mine.where(api_keys.c.name == name)),
            *await self._found(mine.where(api_keys.c.id == name, api_keys.c.name != name)),
        ]
        return sorted(found, key=lambda key: (key.created, key.id))

    async def owners(self, tenant: str, name: str) -> frozenset[str]:
        """Return whose keys of that name are, or were; empty where nobody says."""
        query = (
            select(api_keys.c.owner)
            .where(api_keys.c.tenant == tenant, api_keys.c.name == name, api_keys.c.owner != "")
            .distinct()
        )
        async with self._database.reading() as connection:
            return frozenset((await connection.execute(query)).scalars())

    async def _found(self, query: Select[Any]) -> Sequence[Key]:
        in_order = query.order_by(api_keys.c.created, api_keys.c.id)
        async with self._database.reading() as connection:
            rows = (await connection.execute(in_order)).all()
        return [_key(row) for row in rows]

    async def revoke(self, tenant: str, name: str, now: datetime) -> Key:
        """End the key of that name, and those that it replaced and that have a while left.

        Raises:
            NotFound: No key of that name is in use.
        """
        statement = (
            update(api_keys)
            .where(
                api_keys.c.tenant == tenant,
                api_keys.c.name == name,
                or_(api_keys.c.revoked.is_(None), api_keys.c.revoked > now),
            )
            .values(revoked=now)
            .returning(*api_keys.c)
        )
        async with self._database.writing() as connection:
            rows = (await connection.execute(statement)).all()
            if not rows:
                raise NotFound(f"no key named {name!r} is in use")
            await bump(connection, tenant, "keys")
        return max(map(_key, rows), key=lambda key: (key.created, key.id))

    async def replace(
        self, tenant: str, name: str, change: Callable[[Key], Key], end: datetime
    ) -> Key:
        """End the key of that name at *end*, and put what *change* makes of it in its place.

        What that key replaced ends at *end* as well, if it would hold for longer.

        Raises:
            NotFound: No key of that name is in use.
            RemitError: What *change* raises; then nothing has changed.
        """
        of_name = update(api_keys).where(api_keys.c.tenant == tenant, api_keys.c.name == name)
        ended = of_name.where(api_keys.c.revoked.is_(None)).values(revoked=end)
        async with self._database.writing() as connection:
            row = (await connection.execute(ended.returning(*api_keys.c))).one_or_none()
            if row is None:
                raise NotFound(f"no key named {name!r} is in use")
            await connection.execute(of_name.where(api_keys.c.revoked > end).values(revoked=end))
            key = change(dataclasses.replace(_key(row), revoked=None))
            await connection.execute(plain_insert(api_keys).values(_values(key)))
            await bump(connection, tenant, "keys")
        return key

    async def touch(self, uses: Mapping[str, datetime], *, within: float = math.inf) -> None:
        """Keep when each of these keys, by id, was used, unless a later use is kept.

        Whoever uses the key of an agent is that agent, so it is active. Tells nobody, since it
        changes nothing for anyone.

        Args:
            uses: The times, aware UTC.
            within: Seconds that it may take.
        """
        used, last = bindparam("used", type_=api_keys.c.last_used.type), api_keys.c.last_used
        statement = (
            update(api_keys)
            .where(api_keys.c.id == bindparam("key_id"), or_(last.is_(None), last < used))
            .values(last_used=used)
        )
        # in one order, so that two gateways never wait for one another
        rows = [{"key_id": key_id, "used": uses[key_id]} for key_id in sorted(uses)]
        async with self._database.writing(within=within) as connection:
            await connection.execute(statement, rows)
            await _keep_active(connection, uses)


async def _keep_active(connection: AsyncConnection, uses: Mapping[str, datetime]) -> None:
    """Take note that the agents of these keys are active, in the order of `crew_changes.py`."""
    columns = api_keys.c
    of_agents = select(columns.id, columns.tenant, columns.agent).where(
        columns.agent != "", columns.id.in_(uses)
    )
    found = (await connection.execute(of_agents)).all()
    active = crew_agents.c.last_active
    for row in sorted(found, key=lambda row: (row.tenant, row.agent)):
        used = uses[row.id]
        fresh = insert(connection, crew_agents).values(first_activity(row.tenant, row.agent, used))
        await connection.execute(
            fresh.on_conflict_do_update(
                index_elements=["tenant", "id"],
                set_={"last_active": used},
                where=or_(active.is_(None), active < used),
            )
        )


def _values(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "secret_hash": key.secret_hash,
        "roles": list(key.roles),
        "user_roles": [role.value for role in key.user_roles],
        "service": key.service,
        "queries": list(key.queries),
        "agent": key.agent,
        "act_for": list(key.act_for),
        "admin": key.admin,
        "auditor": key.auditor,
        "owner": key.owner,
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
        "last_used": key.last_used,
    }


def _roles_in(said: str) -> tuple[str, ...]:
    return tuple(json.loads(said))


def _user_roles_in(said: str) -> tuple[UserRole, ...]:
    return tuple(map(UserRole, _roles_in(said)))


def _key(row: Row[Any]) -> Key:
    return Key(
        id=row.id,
        name=row.name,
        tenant=row.tenant,
        secret_hash=row.secret_hash,
        roles=tuple(row.roles),
        user_roles=tuple(UserRole(role) for role in row.user_roles),
        service=row.service,
        queries=tuple(row.queries),
        agent=row.agent,
        act_for=tuple(row.act_for),
        admin=row.admin,
        auditor=row.auditor,
        owner=row.owner,
        created=row.created,
        expires=row.expires,
        revoked=row.revoked,
        last_used=row.last_used,
    )
