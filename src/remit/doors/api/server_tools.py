"""What a server offers, to whoever administers it: every tool, whoever may call it."""

from typing import Any, cast

from fastapi import APIRouter
from pydantic import BaseModel, Field

from remit.doors.api.access import Administrator, ByAdministrator
from remit.doors.api.bodies import declared_one
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.model.members import members_of
from remit.model.tools import Hints, Tool
from remit.policy.engine import roles_that_can
from remit.upstreams.wire import Malformed, value_of

router = APIRouter(tags=["servers"])


class HintsShape(BaseModel):
    """What a server claims about a tool; null where it claims nothing. No permission."""

    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None

    @classmethod
    def of(cls, hints: Hints) -> "HintsShape":
        """Show hints."""
        return cls(
            read_only=hints.read_only,
            destructive=hints.destructive,
            idempotent=hints.idempotent,
            open_world=hints.open_world,
        )


class OfferedToolShape(BaseModel):
    """A tool that a server offers."""

    tool: str = Field(description="The server's own name for it.")
    name: str = Field(description="Its published name on the endpoint of all servers.")
    title: str = Field(description="For people; empty when the server gives none.")
    description: str
    input_schema: dict[str, Any] | None = Field(
        description="Null where it cannot be shown, as when it is nested too deeply."
    )
    hints: HintsShape
    roles: int = Field(description="How many roles alone may call it.")
    tokens: int = Field(description="About what it costs a model to be told of it.")


@router.get("/servers/{name:path}/tools", operation_id="servers.tools")
async def list_server_tools(
    by: ByAdministrator, name: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[OfferedToolShape]:
    """Show what a server offers now, by name; nothing while it is not connected."""
    declared_one(by.tenant.policy.declaration.servers, name, "server")
    page = cut(
        by.tenant.lists.offered(name),
        lambda tool: tool.id.name,
        of=f"tools of {name}",
        cursor=cursor,
        limit=limit,
    )
    return Page(items=[_shown(by, tool) for tool in page.items], next=page.next)


def _shown(by: Administrator, tool: Tool) -> OfferedToolShape:
    lists = by.tenant.lists
    shape = OfferedToolShape(
        tool=tool.id.name,
        name=lists.published_name(tool.id, None),
        title=_title(tool),
        description=tool.description,
        input_schema=cast("dict[str, Any]", value_of(tool.input_schema)),
        hints=HintsShape.of(tool.hints),
        roles=len(roles_that_can(by.tenant.policy.snapshot, tool.id)),
        tokens=lists.token_cost(tool),
    )
    try:
        Page(items=[shape]).model_dump_json()
    except ValueError:  # lone surrogates, or more levels than can be written
        return shape.model_copy(update={"input_schema": None})
    return shape


def _title(tool: Tool) -> str:
    """Return its title; older servers write it among the hints."""
    try:
        told = value_of(tool.wire)
    except Malformed:
        return ""
    entry = members_of(told)
    titles = (entry.get("title"), members_of(entry.get("annotations")).get("title"))
    title = next((one for one in titles if isinstance(one, str)), "")
    return title.encode(errors="replace").decode()
