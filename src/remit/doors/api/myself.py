"""What any caller may ask about itself."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from remit.doors.api.access import Anybody, Caller
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.model.principals import Principal

router = APIRouter(tags=["me"])

Scope = Annotated[str | None, Query(description="One server's name; all of them if none.")]


class PrincipalShape(BaseModel):
    """A caller, and every hat that it wears."""

    subject: str = Field(description="SUBJECT spelling, such as `key:ci`.")
    tenant: str
    roles: list[str]
    user_roles: list[str]
    agent_type: str | None
    groups: list[str]
    service: bool
    act_for: list[str] = Field(description="Agents that it may act for by its key.")
    admin: bool = Field(description="Whether it administers the tenant, which grants no use.")
    auditor: bool = Field(
        description="Whether it reads what an administrator reads, and changes nothing."
    )
    expires: datetime | None

    @classmethod
    def of(cls, principal: Principal, tenant: str) -> "PrincipalShape":
        """Show a principal."""
        return cls(
            subject=principal.subject,
            tenant=tenant,
            roles=list(principal.roles),
            user_roles=[role.value for role in principal.user_roles],
            agent_type=principal.agent_type.value if principal.agent_type else None,
            groups=list(principal.groups),
            service=principal.service,
            act_for=list(principal.act_for),
            admin=principal.admin,
            auditor=principal.auditor,
            expires=principal.expires,
        )


class VisibleToolShape(BaseModel):
    """A tool as a caller sees it."""

    server: str
    tool: str
    name: str = Field(description="Its published name on the endpoint that was asked about.")
    tokens: int = Field(description="About what it costs a model to be told of it.")


class ToolPage(Page[VisibleToolShape]):
    """The tools that a caller sees."""

    note: str = Field(description="Why the list is short or empty; empty when it is neither.")


@router.get("/me", operation_id="me.get")
async def get_myself(by: Anybody) -> PrincipalShape:
    """Say who this credential is."""
    return PrincipalShape.of(by.principal, by.tenant.key)


@router.get("/me/tools", operation_id="me.tools")
async def list_my_tools(
    by: Anybody, server: Scope = None, limit: Limit = 100, cursor: Cursor = None
) -> ToolPage:
    """Show the tools that this credential sees, as `tools/list` does."""
    return tools_seen_by(by, by.principal, server, limit=limit, cursor=cursor)


def tools_seen_by(
    by: Caller, principal: Principal, server: str | None, *, limit: int, cursor: str | None
) -> ToolPage:
    """Return a page of what *principal* sees in the tenant that *by* asks about."""
    lists = by.tenant.lists
    page = cut(
        lists.visible(principal, server),
        lambda tool: str(tool.id),
        of=f"tools {principal.subject} {server or ''}",
        cursor=cursor,
        limit=limit,
    )
    return ToolPage(
        items=[
            VisibleToolShape(
                server=tool.id.server,
                tool=tool.id.name,
                name=lists.published_name(tool.id, server),
                tokens=lists.token_cost(tool, server),
            )
            for tool in page.items
        ],
        next=page.next,
        note=lists.instructions(principal, server),
    )
