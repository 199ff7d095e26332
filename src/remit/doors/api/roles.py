"""The roles of a tenant."""

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from remit.admin.edits import Kind, add, merge, remove, replace
from remit.doors.api.access import ByAdministrator, Reason
from remit.doors.api.bodies import BODY, JsonObject, named
from remit.doors.api.editing import DryRun, EditedShape, edit, expected_revision
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import IfMatch, revision_tag
from remit.errors import NotFound
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
    declared = by.tenant.policy.declaration.roles
    if name not in declared:
        known = ", ".join(declared) or "none"
        raise NotFound(f"no role {name[:80]!r} is declared; declared roles: {known}")
    response.headers["ETag"] = revision_tag(by.tenant.policy.revision)
    return RoleShape.of(declared[name])


@router.post(
    "/roles", operation_id="roles.create", status_code=201, openapi_extra={BODY: "NewRole"}
)
async def create_role(
    by: ByAdministrator,
    body: JsonObject,
    response: Response,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> EditedShape:
    """Declare a role: `name`, and what stands below that name in a `remit.yaml`."""
    name, entry = named(body)
    return await edit(
        by, add(Kind.ROLE, name, entry), name, response, reason=reason, dry_run=dry_run
    )


@router.put("/roles/{name:path}", operation_id="roles.replace", openapi_extra={BODY: "Role"})
async def replace_role(
    by: ByAdministrator,
    name: str,
    body: JsonObject,
    response: Response,
    *,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> EditedShape:
    """Make a declared role another one."""
    expected = await expected_revision(by, if_match)
    change = replace(Kind.ROLE, name, body)
    return await edit(by, change, name, response, reason=reason, dry_run=dry_run, expected=expected)


@router.patch("/roles/{name:path}", operation_id="roles.change", openapi_extra={BODY: "Role"})
async def change_role(
    by: ByAdministrator,
    name: str,
    body: JsonObject,
    response: Response,
    *,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> EditedShape:
    """Change what is sent and leave the rest; null takes a key away (RFC 7396)."""
    expected = await expected_revision(by, if_match)
    change = merge(Kind.ROLE, name, body)
    return await edit(by, change, name, response, reason=reason, dry_run=dry_run, expected=expected)


@router.delete("/roles/{name:path}", operation_id="roles.remove")
async def remove_role(
    by: ByAdministrator,
    name: str,
    response: Response,
    *,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> EditedShape:
    """Declare a role no more; keys in it then can nothing by it."""
    expected = await expected_revision(by, if_match)
    change = remove(Kind.ROLE, name)
    return await edit(by, change, name, response, reason=reason, dry_run=dry_run, expected=expected)
