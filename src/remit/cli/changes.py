"""Who changes something by typing a command, and how that goes on record (R18, R28)."""

import os
import pwd
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from remit.admin.change_record import Change, Progress
from remit.admin.editor import checked_reason
from remit.app import own_changes
from remit.app.installation import Installation, State
from remit.calls.ids import new_id
from remit.storage.revisions import Revisions


def operator() -> str:
    """Return the author of what a command changes: `cli:` and the user that runs it."""
    user = os.getuid()
    try:
        return f"cli:{pwd.getpwuid(user).pw_name}"
    except KeyError:  # a container may run as a number that has no name
        return f"cli:{user}"


@asynccontextmanager
async def making(
    opened: State | Installation, operation: str, what: Mapping[str, object], *, reason: str = ""
) -> AsyncGenerator[Progress]:
    """Record the change that the block makes, as the API records its own.

    Args:
        opened: The tenant that is changed.
        operation: As the API calls it, such as `keys.rotate`.
        what: What it concerns, without secrets.
        reason: Why, in a line; the operation if nobody said.

    Raises:
        BadCall: The reason does not do.
        AuditUnavailable: It cannot be recorded, so nothing is changed.
    """
    tenant = opened.tenant.name
    latest = await Revisions(opened.database).latest(tenant)
    change = Change(
        id=new_id(),
        tenant=tenant,
        author=operator(),
        operation=operation,
        what=what,
        reason=checked_reason(reason or operation),
        revision=0 if latest is None else latest.number,
    )
    async with own_changes.making(opened.database, opened.settings.state, change) as progress:
        yield progress
