"""What a new declaration does to the one in force: shown before, or beside, its becoming one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import anyio.to_thread

from remit.admin.changes import AuthorityChange, DocumentChange, document_changes
from remit.admin.named_changes import shifts_between
from remit.admin.revisions import parse_revision
from remit.admin.subjects import Subjects
from remit.errors import DeclarationError
from remit.model.declaration import Declaration
from remit.model.revisions import Revision
from remit.model.tools import ToolId


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How two declarations differ, and who gains or loses which tool by that."""

    changes: Sequence[DocumentChange]
    authority: Sequence[AuthorityChange]

    def to_json(self) -> dict[str, object]:
        """Return the shape of `--json`."""
        return {
            "changes": [
                {"path": change.path, "kind": change.kind, "value": change.value}
                for change in self.changes
            ],
            "authority": [
                {
                    "subject": change.subject,
                    "tool": str(change.tool),
                    "change": "gains" if change.gains else "loses",
                    "rule": change.rule,
                    "reason": change.reason,
                }
                for change in self.authority
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What making a declaration the current one does, or did.

    Attributes:
        revision: The number that counts afterwards.
        is_written: Whether it was made by this.
        conflict: Why it would be refused, or empty.
    """

    revision: int
    is_written: bool
    difference: Difference
    conflict: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the shape of `remit apply --json`."""
        return {
            "revision": self.revision,
            "written": self.is_written,
            **self.difference.to_json(),
            "conflict": self.conflict,
        }


async def difference_between(
    old: Revision | None, new: Declaration, *, seen: Collection[ToolId], subjects: Subjects
) -> Difference:
    """Ask both policies about every tool that is declared, known to be offered, or ever seen.

    Args:
        old: Where one starts from; None where nothing was declared.
        new: Where one gets to.
        seen: Tools that servers ever offered.
        subjects: Finds whom grants name; whose declarations they are, and when.
    """
    before = await anyio.to_thread.run_sync(_declaration_of, old)
    return Difference(
        changes=document_changes({} if old is None else old.document, new.document),
        authority=await shifts_between(before, new, seen, subjects),
    )


def _declaration_of(revision: Revision | None) -> Declaration:
    """Return what is declared; nothing where nothing is, or where it cannot be used."""
    try:
        return Declaration() if revision is None else parse_revision(revision).declaration
    except DeclarationError:
        return Declaration()
