"""One way from a request to a revision, for every change of the declaration."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import Depends, Query, Response
from pydantic import BaseModel, Field

from remit.admin.changes import AuthorityChange, DocumentChange
from remit.admin.editor import Edited
from remit.admin.edits import Edit
from remit.doors.api.access import Administrator, ByAdministrator, Reason
from remit.doors.api.preconditions import IfMatch, require_match, require_tag, revision_tag

MOST_SHOWN = 1000
"""Entries of each list that an answer shows."""

DryRun = Annotated[
    bool, Query(description="Say what it would do, and change nothing.", strict=False)
]


class DocumentChangeShape(BaseModel):
    """A place at which two declarations differ."""

    path: str
    kind: Literal["added", "removed", "changed"]
    value: str = Field(description="What was added or removed, or `old → new`; no secret.")

    @classmethod
    def of(cls, change: DocumentChange) -> "DocumentChangeShape":
        """Show a change."""
        return cls(path=change.path, kind=change.kind, value=change.value)


class AuthorityChangeShape(BaseModel):
    """A caller that may use a tool under one declaration and not under the other."""

    subject: str
    tool: str
    change: Literal["gains", "loses"]
    rule: str
    reason: str

    @classmethod
    def of(cls, change: AuthorityChange) -> "AuthorityChangeShape":
        """Show a change."""
        return cls(
            subject=change.subject,
            tool=str(change.tool),
            change="gains" if change.gains else "loses",
            rule=change.rule,
            reason=change.reason,
        )


class WarningShape(BaseModel):
    """What is suspicious now and was not before."""

    code: str
    message: str
    remedy: str


class EditedShape(BaseModel):
    """What a change did, or would do."""

    name: str = Field(description="What was changed: a name, or a grant's id.")
    revision: int = Field(description="The revision that counts afterwards.")
    written: bool = Field(description="Whether this made it; what changes nothing makes none.")
    changes: list[DocumentChangeShape]
    authority: list[AuthorityChangeShape]
    warnings: list[WarningShape]

    @classmethod
    def of(cls, name: str, edited: Edited) -> "EditedShape":
        """Show what an edit did."""
        return cls(
            name=name,
            revision=edited.number,
            written=edited.is_written,
            changes=[DocumentChangeShape.of(one) for one in edited.changes[:MOST_SHOWN]],
            authority=[AuthorityChangeShape.of(one) for one in edited.authority[:MOST_SHOWN]],
            warnings=[
                WarningShape(code=one.code, message=one.message, remedy=one.remedy)
                for one in edited.warnings[:MOST_SHOWN]
            ],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """One way to a revision: what a request says about a change, beside the change itself.

    Attributes:
        by: Who makes it.
        response: Gets the tag of the revision that counts.
        reason: Why, or empty.
        dry_run: Whether to do nothing.
        expected: The revision that it is made for; None to make it of whichever is current.
    """

    by: Administrator
    response: Response
    reason: str
    dry_run: bool
    expected: int | None = None

    async def make(self, change: Edit, name: str, *, otherwise: str = "") -> EditedShape:
        """Make *change* a revision that is in force, on record; or say what it would do.

        Args:
            change: Of the document.
            name: What is changed.
            otherwise: The reason where none is given.

        Raises:
            RemitError: What `Editor.write` raises.
        """
        by, reason = self.by, self.reason or otherwise
        editor, tenant = by.services.editor, by.tenant.key
        if self.dry_run:
            return EditedShape.of(
                name, await editor.rehearse(tenant, change, expected=self.expected)
            )
        async with by.making(reason, name=name) as progress:
            edited = await editor.write(
                tenant,
                change,
                author=by.principal.subject,
                reason=by.reason(reason),
                expected=self.expected,
            )
            progress.revision = edited.number
        self.response.headers["ETag"] = revision_tag(edited.number)
        return EditedShape.of(name, edited)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedEditing:
    """An editing of what the caller must have seen."""

    editing: Editing
    if_match: str | None

    async def seen(self) -> Editing:
        """Return the editing of the current revision, which the caller has seen or does not mind.

        Raises:
            HttpRefusal: It has seen another one (412), or none (428).
        """
        tags, by = require_tag(self.if_match), self.editing.by
        number, _ = await by.services.editor.current(by.tenant.key)
        require_match(tags, revision_tag(number))
        return replace(self.editing, expected=number)


async def editing(
    by: ByAdministrator, response: Response, dry_run: DryRun = False, reason: Reason = ""
) -> Editing:
    """Give what changes the declaration, to an administrator of the tenant."""
    return Editing(by=by, response=response, reason=reason, dry_run=dry_run)


Edits = Annotated[Editing, Depends(editing)]


async def guarded_editing(edits: Edits, if_match: IfMatch = None) -> GuardedEditing:
    """Give what changes the declaration once the caller has seen it."""
    return GuardedEditing(editing=edits, if_match=if_match)


GuardedEdits = Annotated[GuardedEditing, Depends(guarded_editing)]
