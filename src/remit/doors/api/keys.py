"""API keys: made, shown without their secret, rotated, revoked."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

import structlog
from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from remit.admin.agents import get_agent, registered
from remit.admin.keys import (
    LONGEST_OVERLAP,
    MadeKey,
    is_administered,
    make_key,
    parse_expiry,
    rotate_key,
)
from remit.doors.api.access import Administrator, ByAdministrator, Reason
from remit.doors.api.paging import Cursor, Limit, Page, age_at, place_by_age, read
from remit.doors.api.preconditions import tag_of
from remit.errors import NotFound
from remit.model.keys import Key, KeyState
from remit.model.principals import PrincipalKind, UserRole

log = structlog.get_logger(__name__)

router = APIRouter(tags=["keys"])

BATCH: Final = 1000
"""Keys that are read at once where only some are shown."""

Purpose = Literal["role", "user_role", "service", "agent", "admin", "auditor"]

Overlap = Annotated[
    float,
    Query(ge=0, le=LONGEST_OVERLAP, description="Seconds that the old secret goes on holding."),
]


class KeyShape(BaseModel):
    """A key without its secret, of which only a hash is kept."""

    id: str = Field(description="The public part of `rmt_<id>_<secret>`.")
    name: str
    state: KeyState
    roles: list[str]
    user_roles: list[UserRole]
    service: bool
    queries: list[str] = Field(description="Queries that a service key is limited to.")
    agent: str | None = Field(description="The agent that its bearer is.")
    act_for: list[str] = Field(description="Agents that its bearer may act for.")
    admin: bool
    auditor: bool
    owner: str | None = Field(description="Name of the user whose key it is.")
    created: datetime
    expires: datetime | None
    revoked: datetime | None = Field(description="When its end was ordered for.")
    last_used: datetime | None = Field(description="To the minute.")

    @classmethod
    def of(cls, key: Key, now: datetime) -> "KeyShape":
        """Show a key."""
        return cls(
            id=key.id,
            name=key.name,
            state=key.state_at(now),
            roles=list(key.roles),
            user_roles=list(key.user_roles),
            service=key.service,
            queries=list(key.queries),
            agent=key.agent or None,
            act_for=list(key.act_for),
            admin=key.admin,
            auditor=key.auditor,
            owner=key.owner or None,
            created=key.created,
            expires=key.expires,
            revoked=key.revoked,
            last_used=key.last_used,
        )


class MadeKeyShape(KeyShape):
    """A new key, with its text: the only time that it is shown."""

    key: str = Field(description="The credential. It cannot be shown again.")

    @classmethod
    def made(cls, made: MadeKey, now: datetime) -> "MadeKeyShape":
        """Show a new key."""
        return cls(key=made.text, **KeyShape.of(made.key, now).model_dump())


class NewKey(BaseModel):
    """What a key is for: `role` and `user_role` (alone or together), or one of the others.

    `act_for` goes beside any of them.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    role: str | None = None
    user_role: str | None = None
    service: bool = False
    queries: list[str] = Field(default=[], max_length=100)
    agent: str | None = None
    act_for: list[str] = Field(
        default=[], max_length=100, description="Ids of agents that its bearer may act for."
    )
    admin: bool = False
    auditor: bool = Field(default=False, description="Reads what an administrator reads; no more.")
    owner: str | None = Field(
        default=None,
        description="Name of the user whose key it is, so that nobody decides on what they"
        " suggested with it; if a user makes it, that one unless another is named.",
    )
    expires: str | None = Field(
        default=None, description="A span such as `30d` or `12h`, or an ISO 8601 time."
    )


class Filters:
    """What a key must be like; what is not given may be anything."""

    def __init__(
        self,
        *,
        text: Annotated[
            str | None, Query(description="Part of name, role or agent, in any case.")
        ] = None,
        purpose: Annotated[Purpose | None, Query(description="What it is for.")] = None,
        state: Annotated[KeyState | None, Query()] = None,
    ) -> None:
        self._text = (text or "").casefold()
        self._purpose = purpose
        self._state = state

    @property
    def is_given(self) -> bool:
        """Whether some key may not fit."""
        return bool(self._text or self._purpose or self._state)

    def fits(self, key: Key, now: datetime) -> bool:
        """Whether a key is like that at *now*."""
        if self._purpose and self._purpose not in _purposes(key):
            return False
        if self._state and self._state != key.state_at(now):
            return False
        named = (key.name, *key.roles, *key.user_roles, key.agent)
        return any(self._text in each.casefold() for each in named)


@router.get("/keys", operation_id="keys.list")
async def list_keys(
    by: ByAdministrator,
    wanted: Annotated[Filters, Depends()],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[KeyShape]:
    """Show every key, ended ones too, oldest first; or those that are as wanted."""
    now = by.services.now()

    async def after(place: str | None, most: int) -> Sequence[Key]:
        return await _found(by, wanted, None if place is None else age_at(place), most)

    page = await read(after, _place, of="keys", cursor=cursor, limit=limit)
    return Page(items=[KeyShape.of(key, now) for key in page.items], next=page.next)


@router.post("/keys", operation_id="keys.create", status_code=201)
async def create_key(by: ByAdministrator, new: NewKey, reason: Reason = "") -> MadeKeyShape:
    """Make a key and show it, once: only its hash is kept."""
    services, tenant, now = by.services, by.tenant, by.services.now()
    async with by.making(reason, **new.model_dump(exclude_defaults=True)):
        agent = await get_agent(services.agents, tenant.key, new.agent) if new.agent else None
        made = await make_key(
            services.keys,
            new.name,
            tenant=tenant.key,
            now=now,
            role=new.role,
            user_role=new.user_role,
            service=new.service,
            queries=new.queries,
            agent=agent,
            act_for=await registered(services.agents, tenant.key, new.act_for),
            admin=new.admin,
            auditor=new.auditor,
            owner=new.owner or await _owner(by),  # to name nobody is not to name another
            expires=parse_expiry(new.expires, now) if new.expires is not None else None,
            roles=tenant.policy.declaration.roles,
        )
        services.forget()
    return MadeKeyShape.made(made, now)


@router.get("/keys/{name:path}", operation_id="keys.get")
async def get_key(by: ByAdministrator, name: str, response: Response) -> KeyShape:
    """Show the newest key of that name, or the key with that id."""
    shown = await _shown(by, name)
    response.headers["ETag"] = tag_of(shown)
    return shown


@router.post("/keys/{name:path}/rotate", operation_id="keys.rotate")
async def rotate(
    by: ByAdministrator, name: str, overlap: Overlap = 0.0, reason: Reason = ""
) -> MadeKeyShape:
    """Give a key a new secret and show it, once; what the key is for stays the same."""
    services, now = by.services, by.services.now()
    async with by.making(reason, name=name, overlap=overlap):
        made = await rotate_key(services.keys, name, tenant=by.tenant.key, now=now, overlap=overlap)
        services.forget()
    return MadeKeyShape.made(made, now)


@router.delete("/keys/{name:path}", operation_id="keys.revoke")
async def revoke(by: ByAdministrator, name: str, reason: Reason = "") -> KeyShape:
    """End a key, and those that it replaced; refused everywhere within 2 seconds."""
    services, now = by.services, by.services.now()
    async with by.making(reason, name=name):
        key = await services.keys.revoke(by.tenant.key, name, now)
        services.forget()
        if key.admin and not await is_administered(services.keys, by.tenant.key, now):
            # not refused: it may have to end at once, and the command line makes another
            log.warning("no administrator's key holds any more", tenant=by.tenant.key)
    return KeyShape.of(key, now)


async def _found(
    by: Administrator, wanted: Filters, after: tuple[datetime, str] | None, limit: int
) -> Sequence[Key]:
    """Return the keys behind a place that are as wanted, no more than *limit*."""
    now, store = by.services.now(), by.services.keys
    if not wanted.is_given:
        return await store.keys_after(by.tenant.key, after, limit)
    found: list[Key] = []
    while len(found) < limit:
        batch = await store.keys_after(by.tenant.key, after, BATCH)
        found += [key for key in batch if wanted.fits(key, now)]
        if len(batch) < BATCH:
            break
        after = batch[-1].created, batch[-1].id
    return found[:limit]


async def _owner(by: Administrator) -> str:
    """Return the name of the user who makes a key, if one of the tenant does, also with a key."""
    principal = by.principal
    if principal.tenant != by.tenant.key:
        return ""
    if principal.kind is PrincipalKind.USER:
        return principal.name
    if principal.kind is not PrincipalKind.KEY:
        return ""
    known = await by.services.keys.named(principal.tenant, principal.name)
    return next((key.owner for key in reversed(known) if key.name == principal.name), "")


def _purposes(key: Key) -> Sequence[Purpose]:
    """Return what a key is for."""
    known: Sequence[tuple[Purpose, object]] = (
        ("role", key.roles),
        ("user_role", key.user_roles),
        ("service", key.service),
        ("agent", key.agent),
        ("admin", key.admin),
        ("auditor", key.auditor),
    )
    return [purpose for purpose, has in known if has]


async def _shown(by: Administrator, name: str) -> KeyShape:
    keys = await by.services.keys.named(by.tenant.key, name)
    if not keys:
        raise NotFound(f"there is no key {name[:80]!r}")
    return KeyShape.of(max(keys, key=_place), by.services.now())


def _place(key: Key) -> str:
    return place_by_age(key.created, key.id)
