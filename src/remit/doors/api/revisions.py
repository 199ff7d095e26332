"""The declaration's life: its revisions, what each changed, and making one the current one."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Literal

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from remit.admin.edits import become
from remit.admin.masking import masked
from remit.admin.plans import Difference, difference_between
from remit.admin.revisions import as_yaml, parse_revision
from remit.doors.api.access import ByAdministrator
from remit.doors.api.authority import subjects_of
from remit.doors.api.bodies import BODY, JsonObject
from remit.doors.api.editing import (
    AuthorityChangeShape,
    DocumentChangeShape,
    EditedShape,
    Edits,
    GuardedEdits,
)
from remit.doors.api.paging import Cursor, Limit, Page, read
from remit.doors.api.preconditions import revision_tag
from remit.errors import BadCall
from remit.model.revisions import RevisionSummary

router = APIRouter(tags=["revisions"])

LARGEST_NUMBER = 2**31 - 1

_LISTED: Final = "revisions"
_NUMBER: Final = re.compile(r"[0-9]{1,10}")

Number = Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]


class RevisionShape(BaseModel):
    """A revision, without what it says."""

    number: int
    time: datetime
    author: str
    reason: str
    digest: str = Field(description="SHA-256 of the document; equal documents have equal digests.")

    @classmethod
    def of(cls, revision: RevisionSummary) -> "RevisionShape":
        """Show a revision."""
        return cls(
            number=revision.number,
            time=revision.created,
            author=revision.author,
            reason=revision.reason,
            digest=revision.digest,
        )


class DifferenceShape(BaseModel):
    """How two declarations differ, and who gains or loses which tool by that."""

    changes: list[DocumentChangeShape]
    authority: list[AuthorityChangeShape]

    @classmethod
    def of(cls, difference: Difference) -> "DifferenceShape":
        """Show a difference."""
        return cls(
            changes=[DocumentChangeShape.of(one) for one in difference.changes],
            authority=[AuthorityChangeShape.of(one) for one in difference.authority],
        )


@router.get("/revisions", operation_id="revisions.list")
async def list_revisions(
    by: ByAdministrator, limit: Limit = 100, cursor: Cursor = None
) -> Page[RevisionShape]:
    """Show the declaration's history, newest first."""

    async def before(place: str | None, most: int) -> Sequence[RevisionSummary]:
        return await by.services.revisions.summaries(
            by.tenant.key, before=_number_at(place), limit=most
        )

    page = await read(before, lambda one: f"{one.number}", of=_LISTED, cursor=cursor, limit=limit)
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
    loaded = await anyio.to_thread.run_sync(parse_revision, new)
    difference = await difference_between(
        old, loaded.declaration, seen=by.tenant.known_tools(), subjects=subjects_of(by)
    )
    return DifferenceShape.of(difference)


@router.post("/revisions/{number}/rollback", operation_id="revisions.rollback")
async def roll_back(
    number: Number,
    edits: Edits,
) -> EditedShape:
    """Make what a revision says the current revision again, as a new one."""
    by = edits.by
    old = await by.services.revisions.get_revision(by.tenant.key, number)
    return await edits.make(
        lambda _: old.document,
        f"revision {number}",
        otherwise=f"rollback to revision {number}",
    )


@router.get(
    "/declaration",
    operation_id="declaration.export",
    response_class=Response,
    responses={
        200: {
            "description": "The document; values of secrets that stand in it in clear are masked.",
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "application/yaml": {"schema": {"type": "object"}},
            },
        }
    },
)
async def export(
    by: ByAdministrator,
    form: Annotated[Literal["json", "yaml"], Query(alias="format")] = "json",
    revision: Annotated[
        int | None,
        Query(ge=1, le=LARGEST_NUMBER, description="Which; the current one if none."),
    ] = None,
) -> Response:
    """Return what is declared; sent back, what is masked keeps the value that it has."""
    number, document = await by.services.editor.current(by.tenant.key)
    if revision is not None:
        one = await by.services.revisions.get_revision(by.tenant.key, revision)
        number, document = one.number, one.document
    shown = masked(document)
    return Response(
        json.dumps(shown) if form == "json" else as_yaml(shown),
        media_type=f"application/{form}",
        headers={"ETag": revision_tag(number)},
    )


@router.put("/declaration", operation_id="declaration.apply", openapi_extra={BODY: "Declaration"})
async def apply(
    document: JsonObject,
    edits: GuardedEdits,
) -> EditedShape:
    """Make a whole document the declaration; one that is not valid changes nothing."""
    seen = await edits.seen()
    return await seen.make(become(document), "declaration")


def _number_at(place: str | None) -> int | None:
    """Return the number of the last revision of the page before.

    Raises:
        BadCall: The cursor was not made here.
    """
    if place is None:
        return None
    if not _NUMBER.fullmatch(place) or int(place) > LARGEST_NUMBER:
        raise BadCall("the cursor is none of this list: begin without one")
    return int(place)
