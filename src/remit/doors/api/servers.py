"""The servers behind a tenant: where they stand, and what can be done about it."""

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from remit.doors.api.access import Administrator, ByAdministrator
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import revision_tag
from remit.errors import NotFound
from remit.model.servers import ServerConfig, ServerStatus

router = APIRouter(tags=["servers"])


class ServerShape(BaseModel):
    """A declared server and where it stands."""

    name: str
    description: str
    transport: Literal["stdio", "http", "sse", "builtin"]
    enabled: bool
    default_access: Literal["allow", "deny"]
    state: Literal["starting", "ready", "failed", "disabled"]
    reason: str = Field(description="Why it is not ready; empty when it is.")
    tools: int = Field(description="How many tools it offers now.")
    protocol: str = Field(description="The revision of MCP that is spoken with it, or empty.")
    notes: list[str] = Field(description="What was left out of its list, or looked odd about it.")
    stderr_tail: str = Field(description="The last output of its process, without secrets.")

    @classmethod
    def of(cls, config: ServerConfig, status: ServerStatus | None) -> "ServerShape":
        """Show a server; one that the fleet has not taken up yet is starting."""
        return cls(
            name=config.name,
            description=config.description,
            transport=config.transport.value,
            enabled=config.enabled,
            default_access=config.default_access,
            state=status.state.value if status else "starting",
            reason=status.reason if status else "",
            tools=status.tools if status else 0,
            protocol=status.protocol if status else "",
            notes=list(status.notes) if status else [],
            stderr_tail=status.stderr_tail if status else "",
        )


@router.get("/servers", operation_id="servers.list")
async def list_servers(
    by: ByAdministrator, response: Response, limit: Limit = 100, cursor: Cursor = None
) -> Page[ServerShape]:
    """Show every server of the declaration, with its state and the reason for it."""
    declared = by.tenant.policy.declaration.servers
    response.headers["ETag"] = revision_tag(by.tenant.policy.revision)
    page = cut(
        list(declared.values()), lambda one: one.name, of="servers", cursor=cursor, limit=limit
    )
    statuses = {status.name: status for status in by.tenant.servers.statuses()}
    shown = [ServerShape.of(config, statuses.get(config.name)) for config in page.items]
    return Page(items=shown, next=page.next)


@router.get("/servers/{name:path}", operation_id="servers.get")
async def get_server(by: ByAdministrator, name: str, response: Response) -> ServerShape:
    """Show one server."""
    response.headers["ETag"] = revision_tag(by.tenant.policy.revision)
    return shown_server(by, name)


def shown_server(by: Administrator, name: str) -> ServerShape:
    """Return a server of the tenant.

    Raises:
        NotFound: It is not declared; the text names those that are.
    """
    declared = by.tenant.policy.declaration.servers
    if name not in declared:
        known = ", ".join(declared) or "none"
        raise NotFound(f"no server {name[:80]!r} is declared; declared servers: {known}")
    statuses = {status.name: status for status in by.tenant.servers.statuses()}
    return ServerShape.of(declared[name], statuses.get(name))
