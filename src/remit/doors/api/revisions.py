"""The declaration's life: its revisions, what each changed, and making one the current one."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from remit.admin.plans import Difference, difference_between
from remit.admin.revisions import parse_revision
from remit.doors.api.access import ByAdministrator
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import revision_tag
from remit.model.revisions import Revision

router = APIRouter(tags=["revisions"])

LARGEST_NUMBER = 2**31 - 1

Number = Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]


class RevisionShape(BaseModel):
    """A revision, without what it says."""

    number: int
    time: datetime
    author: str
    reason: str
    digest: str = Field(description="SHA-256 of the document; equal documents have equal digests.")

    @classmethod
    def of(cls, revision: Revision) -> "RevisionShape":
        """Show a revision."""
        return cls(
            number=revision.number,
            time=revision.created,
            author=revision.author,
            reason=revision.reason,
            digest=revision.digest,
        )


class DocumentChangeShape(BaseModel):
    """A place at which two declarations differ."""

    path: str
    kind: Literal["added", "removed", "changed"]
    value: str


class AuthorityChangeShape(BaseModel):
    """A caller that may use a tool under one declaration and not under the other."""

    subject: str
    tool: str
    change: Literal["gains", "loses"]
    rule: str
    reason: str


class DifferenceShape(BaseModel):
    """How two declarations differ, and who gains or loses which tool by that."""

    changes: list[DocumentChangeShape]
    authority: list[AuthorityChangeShape]

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceShape":
        """Show a difference."""
        return cls.model_validate(difference.to_json())


@router.get("/revisions", operation_id="revisions.list")
async def list_revisions(
    by: ByAdministrator, limit: Limit = 100, cursor: Cursor = None
) -> Page[RevisionShape]:
    """Show the declaration's history, newest first."""
    revisions = await by.services.revisions.all_revisions(by.tenant.key)
    page = cut(revisions, _place, of="revisions", cursor=cursor, limit=limit)
    return Page(items=[RevisionShape.of(one) for one in page.items], next=page.next)


@router.get("/revisions/{number}", operation_id="revisions.get")
async def get_revision(by: ByAdministrator, number: Number, response: Response) -> RevisionShape:
    """Show one revision."""
    response.headers["ETag"] = revision_tag(number)
    return RevisionShape.of(await by.services.revisions.get_revision(by.tenant.key, number))


@router.get("/revisions/{number}/diff", operation_id="revisions.diff")
async def diff(
    by: ByAdministrator,
    number: Number,
    against: Annotated[
        int | None,
        Query(ge=0, le=LARGEST_NUMBER, description="The one before it if none; 0 is nothing."),
    ] = None,
) -> DifferenceShape:
    """Show what a revision changed, and who gained or lost which tool by it."""
    store, tenant = by.services.revisions, by.tenant.key
    new = await store.get_revision(tenant, number)
    base = number - 1 if against is None else against
    old = await store.get_revision(tenant, base) if base else None
    difference = difference_between(
        old,
        parse_revision(new).declaration,
        tenant=tenant,
        now=by.services.now(),
        seen=by.tenant.known_tools(),
    )
    return DifferenceShape.of(difference)


def _place(revision: Revision) -> str:
    """Return what sorts the newest first."""
    return f"{LARGEST_NUMBER - revision.number:010}"
