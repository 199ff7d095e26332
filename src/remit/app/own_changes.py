"""What a process changes by itself, on record as what the API changes (R18, R28)."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from remit.admin.change_record import Change, ChangeRecord, Progress
from remit.calls.ids import new_id
from remit.storage.audit import open_audit
from remit.storage.database import Database

APPLY = "declaration.apply"


def application(tenant: str, author: str, reason: str, revision: int) -> Change:
    """Return the change that a file makes which says something new."""
    return Change(
        id=new_id(),
        tenant=tenant,
        author=author,
        operation=APPLY,
        what={"name": "declaration"},
        reason=reason,
        revision=revision,
    )


@asynccontextmanager
async def making(database: Database, state: Path, change: Change) -> AsyncGenerator[Progress]:
    """Record the change that the block makes, where no gateway of this process does.

    Args:
        database: Where the record is.
        state: The state folder, for the journal.
        change: What is asked.

    Raises:
        AuditUnavailable: It cannot be recorded, so nothing is changed.
    """
    async with (
        # on the disk whatever is declared of calls: a change is rare, and nobody waits for it
        open_audit(database, state, durability="disk") as audit,
        ChangeRecord(audit).making(change) as progress,
    ):
        yield progress
