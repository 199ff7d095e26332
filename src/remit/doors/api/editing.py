"""One way from a request to a revision, for every change of the declaration."""

from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import BaseModel, Field

from remit.admin.changes import AuthorityChange, DocumentChange
from remit.admin.editor import Edited
from remit.admin.edits import Edit
from remit.doors.api.access import Administrator
from remit.doors.api.preconditions import require_match, require_tag, revision_tag

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


async def expected_revision(by: Administrator, if_match: str | None) -> int:
    """Return the number of the current revision, which the caller has seen or does not mind.

    Raises:
        HttpRefusal: It has seen another one (412), or none (428).
    """
    tags = require_tag(if_match)
    number, _ = await by.services.editor.current(by.tenant.key)
    require_match(tags, revision_tag(number))
    return number


async def edit(
    by: Administrator,
    change: Edit,
    name: str,
    response: Response,
    *,
    reason: str,
    dry_run: bool,
    expected: int | None = None,
) -> EditedShape:
    """Make *change* a revision that is in force, on record; or say what it would do.

    Args:
        by: Who makes it.
        change: Of the document.
        name: What is changed.
        response: Gets the tag of the revision that counts.
        reason: Why.
        dry_run: Whether to do nothing.
        expected: The revision that it is made for; None to make it of whichever is current.

    Raises:
        RemitError: What `Editor.write` raises.
    """
    editor, tenant = by.services.editor, by.tenant.key
    if dry_run:
        edited = await editor.rehearse(tenant, change, expected=expected)
        return EditedShape.of(name, edited)
    async with by.making(reason, name=name) as progress:
        edited = await editor.write(
            tenant,
            change,
            author=by.principal.subject,
            reason=by.reason(reason),
            expected=expected,
        )
        progress.revision = edited.number
    response.headers["ETag"] = revision_tag(edited.number)
    return EditedShape.of(name, edited)
