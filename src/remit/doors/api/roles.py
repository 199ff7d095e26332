"""The roles of a tenant."""

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from remit.admin.edits import Kind, add, merge, remove, replace
from remit.doors.api.access import ByAdministrator
from remit.doors.api.bodies import BODY, JsonObject, declared_one, named
from remit.doors.api.editing import EditedShape, Edits, GuardedEdits
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import revision_tag
from remit.model.roles import Role

router = APIRouter(tags=["roles"])


class RoleShape(BaseModel):
    """A declared role."""

    name: str
    description: str
    mcp_servers: list[str] = Field(description="Servers that it names, each an explicit grant.")
    tools: dict[str, list[str]] = Field(description="Server to the tools it may call there.")
    allow: list[str] = Field(description="Patterns over `server/tool`.")
    deny: list[str] = Field(description="Patterns that end it, whatever else allows.")
    denials: Literal["quiet", "explain"] = Field(description="How much a refused caller is told.")

    @classmethod
    def of(cls, role: Role) -> "RoleShape":
        """Show a role."""
        return cls(
            name=role.name,
            description=role.description,
            mcp_servers=list(role.mcp_servers),
            tools={server: list(names) for server, names in role.tools.items()},
            allow=list(role.allow),
            deny=list(role.deny),
            denials=role.denials,
        )


@router.get("/roles", operation_id="roles.list")
async def list_roles(
    by: ByAdministrator, response: Response, limit: Limit = 100, cursor: Cursor = None
) -> Page[RoleShape]:
    """Show every role of the declaration."""
    response.headers["ETag"] = revision_tag(by.tenant.policy.revision)
    declared = by.tenant.policy.declaration.roles
    page = cut(
        list(declared.values()), lambda one: one.name, of="roles", cursor=cursor, limit=limit
    )
    return Page(items=[RoleShape.of(role) for role in page.items], next=page.next)


@router.get("/roles/{name:path}", operation_id="roles.get")
async def get_role(by: ByAdministrator, name: str, response: Response) -> RoleShape:
    """Show one role."""
    role = declared_one(by.tenant.policy.declaration.roles, name, "role")
    response.headers["ETag"] = revision_tag(by.tenant.policy.revision)
    return RoleShape.of(role)


@router.post(
    "/roles", operation_id="roles.create", status_code=201, openapi_extra={BODY: "NewRole"}
)
async def create_role(
    body: JsonObject,
    edits: Edits,
) -> EditedShape:
    """Declare a role: `name`, and what stands below that name in a `remit.yaml`."""
    name, entry = named(body)
    return await edits.make(add(Kind.ROLE, name, entry), name)


@router.put("/roles/{name:path}", operation_id="roles.replace", openapi_extra={BODY: "Role"})
async def replace_role(
    name: str,
    body: JsonObject,
    edits: GuardedEdits,
) -> EditedShape:
    """Make a declared role another one."""
    seen = await edits.seen()
    return await seen.make(replace(Kind.ROLE, name, body), name)


@router.patch("/roles/{name:path}", operation_id="roles.change", openapi_extra={BODY: "Role"})
async def change_role(
    name: str,
    body: JsonObject,
    edits: GuardedEdits,
) -> EditedShape:
    """Change what is sent and leave the rest; null takes a key away (RFC 7396)."""
    seen = await edits.seen()
    return await seen.make(merge(Kind.ROLE, name, body), name)


@router.delete("/roles/{name:path}", operation_id="roles.remove")
async def remove_role(
    name: str,
    edits: GuardedEdits,
) -> EditedShape:
    """Declare a role no more; keys in it then can nothing by it."""
    seen = await edits.seen()
    return await seen.make(remove(Kind.ROLE, name), name)
