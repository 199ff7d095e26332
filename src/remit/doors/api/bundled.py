"""The servers that remit brings along, declared or not (S4.29)."""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from remit.admin.known_servers import bundled_servers
from remit.doors.api.access import ByAdministrator
from remit.doors.api.paging import Cursor, Limit, Page, cut

router = APIRouter(tags=["servers"])


class BundledServerShape(BaseModel):
    """A server that a declaration can name in `builtin`."""

    name: str
    description: str = Field(description="What it is for, in a line.")
    tools: list[str] = Field(description="Names of what it offers, sorted.")
    servers: list[str] = Field(description="The declared servers that are it, sorted.")


@router.get("/bundled-servers", operation_id="servers.bundled")
async def list_bundled_servers(
    by: ByAdministrator, limit: Limit = 100, cursor: Cursor = None
) -> Page[BundledServerShape]:
    """Show the servers that remit brings along, by name, and where the declaration has them."""
    declared = by.tenant.policy.declaration.servers.values()
    page = cut(
        bundled_servers(), lambda one: one.name, of="bundled servers", cursor=cursor, limit=limit
    )
    shown = [
        BundledServerShape(
            name=one.name,
            description=one.about,
            tools=sorted(one.tools),
            servers=sorted(each.name for each in declared if each.builtin == one.name),
        )
        for one in page.items
    ]
    return Page(items=shown, next=page.next)
