"""The grants of a tenant: allows and denies for one caller, some until a time."""

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from remit.admin.edits import (
    Entry,
    add_grant,
    get_grant,
    grant_id,
    grants,
    remove_grant,
    replace_grant,
    spelled_grant,
)
from remit.admin.grant_rules import grant_of
from remit.admin.schema import GrantShape as GrantEntry
from remit.doors.api.access import ByAdministrator
from remit.doors.api.bodies import BODY, JsonObject
from remit.doors.api.editing import EditedShape, Edits, GuardedEdits
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import revision_tag

router = APIRouter(tags=["grants"])


class GrantShape(BaseModel):
    """A grant. An allow opens a server; it never widens what a role or a type may."""

    id: str = Field(description="What it says, in short; another one when that changes.")
    subject: str = Field(description="SUBJECT spelling, `group:NAME`, or `*` for everybody.")
    effect: Literal["allow", "deny"]
    server: str
    tool: str = Field(description="A pattern over `server/tool`, where it is about tools.")
    until: datetime | None
    enabled: bool

    @classmethod
    def of(cls, number: str, entry: Entry) -> "GrantShape":
        """Show a grant of a valid declaration."""
        grant = grant_of(GrantEntry.model_validate(entry))
        return cls(
            id=number,
            subject=grant.subject,
            effect=grant.effect,
            server=grant.server,
            tool=grant.tool,
            until=grant.until,
            enabled=grant.enabled,
        )


@router.get("/grants", operation_id="grants.list")
async def list_grants(
    by: ByAdministrator, response: Response, limit: Limit = 100, cursor: Cursor = None
) -> Page[GrantShape]:
    """Show every grant of the declaration, those that have ended, too."""
    policy = by.tenant.policy
    response.headers["ETag"] = revision_tag(policy.revision)
    declared = list(grants(policy.declaration.document).items())
    page = cut(declared, lambda one: one[0], of="grants", cursor=cursor, limit=limit)
    return Page(items=[GrantShape.of(*one) for one in page.items], next=page.next)


@router.get("/grants/{grant}", operation_id="grants.get")
async def get_one(by: ByAdministrator, grant: str, response: Response) -> GrantShape:
    """Show one grant."""
    policy = by.tenant.policy
    shown = GrantShape.of(grant, get_grant(policy.declaration.document, grant))
    response.headers["ETag"] = revision_tag(policy.revision)
    return shown


@router.post(
    "/grants", operation_id="grants.create", status_code=201, openapi_extra={BODY: "Grant"}
)
async def create_grant(
    body: JsonObject,
    edits: Edits,
) -> EditedShape:
    """Declare a grant; `name` of the answer is its id."""
    number = grant_id(spelled_grant(body))
    return await edits.make(add_grant(body), number)


@router.put("/grants/{grant}", operation_id="grants.replace", openapi_extra={BODY: "Grant"})
async def replace_one(
    grant: str,
    body: JsonObject,
    edits: GuardedEdits,
) -> EditedShape:
    """Make a grant another one; `name` of the answer is its new id."""
    seen = await edits.seen()
    return await seen.make(replace_grant(grant, body), grant_id(spelled_grant(body)))


@router.delete("/grants/{grant}", operation_id="grants.remove")
async def remove_one(
    grant: str,
    edits: GuardedEdits,
) -> EditedShape:
    """Take a grant out."""
    seen = await edits.seen()
    return await seen.make(remove_grant(grant), grant)
