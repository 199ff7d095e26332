"""Users live with their issuers; here they can be kept out."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from remit.doors.api.access import Administrator, ByAdministrator, Reason
from remit.doors.api.paging import Cursor, Limit, Page, read
from remit.errors import BadCall, Conflict
from remit.identity.claims import is_name

router = APIRouter(tags=["users"])


class UserShape(BaseModel):
    """A user, and since when it is kept out."""

    name: str
    disabled: datetime | None


@router.get("/users", operation_id="users.list")
async def list_users(
    by: ByAdministrator, limit: Limit = 100, cursor: Cursor = None
) -> Page[UserShape]:
    """Show every disabled user; what others there are, only their issuers know."""

    async def after(name: str | None, most: int) -> list[UserShape]:
        found = await by.services.users.disabled_after(by.tenant.key, name, most)
        return [UserShape(name=name, disabled=since) for name, since in found.items()]

    page = await read(after, lambda user: user.name, of="users", cursor=cursor, limit=limit)
    return Page(items=list(page.items), next=page.next)


@router.get("/users/{name:path}", operation_id="users.get")
async def get_user(by: ByAdministrator, name: str) -> UserShape:
    """Say whether a user is kept out; every name may be somebody's."""
    return await _shown(by, name)


@router.post("/users/{name:path}/disable", operation_id="users.disable")
async def disable_user(by: ByAdministrator, name: str, reason: Reason = "") -> UserShape:
    """Refuse a user's tokens, whoever issued them; everywhere within 2 seconds."""
    _check(name)
    async with by.making(reason, name=name):
        await by.services.users.disable(by.tenant.key, name, by.services.now())
        by.services.forget()
    return await _shown(by, name)


@router.post("/users/{name:path}/enable", operation_id="users.enable")
async def enable_user(by: ByAdministrator, name: str, reason: Reason = "") -> UserShape:
    """Accept a disabled user's tokens again."""
    _check(name)
    async with by.making(reason, name=name):
        if not await by.services.users.enable(by.tenant.key, name):
            raise Conflict(f"user {name[:80]!r} is not disabled")
        by.services.forget()
    return await _shown(by, name)


async def _shown(by: Administrator, name: str) -> UserShape:
    _check(name)
    since = await by.services.users.disabled_since(by.tenant.key, name)
    return UserShape(name=name, disabled=since)


def _check(name: str) -> None:
    if not is_name(name):
        raise BadCall(f"{name[:80]!r} can be no user's name")
