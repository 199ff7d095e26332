"""The servers behind a tenant: where they stand, and what can be done about it."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from remit.admin.edits import Kind, add, get_entry, merge, remove, replace, switch_server
from remit.admin.masking import masked_server
from remit.doors.api.access import Administrator, ByAdministrator, Reason
from remit.doors.api.bodies import BODY, JsonObject, declared_one, named
from remit.doors.api.editing import EditedShape, Edits, GuardedEdits
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import revision_tag
from remit.model.servers import ServerConfig, ServerStatus, ServerTrial

router = APIRouter(tags=["servers"])


class ServerShape(BaseModel):
    """A declared server and where it stands."""

    name: str
    description: str
    transport: Literal["stdio", "http", "sse", "builtin"]
    enabled: bool
    default_access: Literal["allow", "deny"]
    state: Literal["starting", "ready", "degraded", "backing_off", "quarantined", "stopped"]
    reason: str = Field(description="Why it is not ready; empty when it is.")
    failures: int = Field(description="Attempts that failed and are not forgotten yet.")
    retry_in: float | None = Field(description="Seconds until the next attempt, if one is due.")
    connections: int = Field(description="Open ones; of a stdio server each is a process.")
    in_flight: int = Field(description="Calls under way or waiting for their turn.")
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
            failures=status.failures if status else 0,
            retry_in=status.retry_in if status else None,
            connections=status.connections if status else 0,
            in_flight=status.in_flight if status else 0,
            tools=status.tools if status else 0,
            protocol=status.protocol if status else "",
            notes=list(status.notes) if status else [],
            stderr_tail=status.stderr_tail if status else "",
        )


class DeclaredServerShape(ServerShape):
    """A server with its own entry of the declaration."""

    declared: dict[str, Any] = Field(description="Its entry; secrets in clear are masked.")


class TrialShape(BaseModel):
    """What came of an attempt at a server."""

    ok: bool
    reason: str = Field(description="Why it could not be used; empty when it could.")
    protocol: str = Field(description="The revision of MCP that it speaks, or empty.")
    tools: list[str] = Field(description="Its own names of what it offers.")
    notes: list[str] = Field(description="What would be left out of its list, or looks odd.")
    tokens: int = Field(description="What the list of all its tools costs a model, about.")
    memory: int | None = Field(description="Bytes of its process, if it has one here.")
    skew: float | None = Field(description="Seconds by which its clock is ahead, if it tells.")
    ms: float

    @classmethod
    def of(cls, trial: ServerTrial) -> "TrialShape":
        """Show a trial."""
        return cls(
            ok=not trial.reason,
            reason=trial.reason,
            protocol=trial.protocol,
            tools=list(trial.tools),
            notes=list(trial.notes),
            tokens=trial.tokens,
            memory=trial.memory,
            skew=trial.skew,
            ms=round(trial.ms, 1),
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
    servers = by.tenant.servers
    shown = [ServerShape.of(config, servers.status(config.name)) for config in page.items]
    return Page(items=shown, next=page.next)


@router.get("/servers/{name:path}", operation_id="servers.get")
async def get_server(by: ByAdministrator, name: str, response: Response) -> DeclaredServerShape:
    """Show one server, and what is declared of it."""
    policy = by.tenant.policy
    response.headers["ETag"] = revision_tag(policy.revision)
    shown = shown_server(by, name)
    entry = masked_server(get_entry(policy.declaration.document, Kind.SERVER, name))
    return DeclaredServerShape(**shown.model_dump(), declared=entry)


@router.post(
    "/servers", operation_id="servers.create", status_code=201, openapi_extra={BODY: "NewServer"}
)
async def create_server(
    body: JsonObject,
    edits: Edits,
) -> EditedShape:
    """Declare a server: `name`, and what stands below that name in a `remit.yaml`."""
    name, entry = named(body)
    return await edits.make(add(Kind.SERVER, name, entry), name)


@router.put("/servers/{name:path}", operation_id="servers.replace", openapi_extra={BODY: "Server"})
async def replace_server(
    name: str,
    body: JsonObject,
    edits: GuardedEdits,
) -> EditedShape:
    """Make a declared server another one; masked secrets that are sent back keep their values."""
    seen = await edits.seen()
    return await seen.make(replace(Kind.SERVER, name, body), name)


@router.patch("/servers/{name:path}", operation_id="servers.change", openapi_extra={BODY: "Server"})
async def change_server(
    name: str,
    body: JsonObject,
    edits: GuardedEdits,
) -> EditedShape:
    """Change what is sent and leave the rest; null takes a key away (RFC 7396)."""
    seen = await edits.seen()
    return await seen.make(merge(Kind.SERVER, name, body), name)


@router.delete("/servers/{name:path}", operation_id="servers.remove")
async def remove_server(
    name: str,
    edits: GuardedEdits,
) -> EditedShape:
    """Declare a server no more; calls under way may end."""
    seen = await edits.seen()
    return await seen.make(remove(Kind.SERVER, name), name)


@router.post("/servers/{name:path}/enable", operation_id="servers.enable")
async def enable_server(
    name: str,
    edits: Edits,
) -> EditedShape:
    """Start a server that was disabled."""
    return await edits.make(switch_server(name, enabled=True), name)


@router.post("/servers/{name:path}/disable", operation_id="servers.disable")
async def disable_server(
    name: str,
    edits: Edits,
) -> EditedShape:
    """Stop a server, and keep what is declared of it."""
    return await edits.make(switch_server(name, enabled=False), name)


@router.post("/servers/{name:path}/test", operation_id="servers.test")
async def try_server(by: ByAdministrator, name: str) -> TrialShape:
    """Connect to a server beside what is connected, list its tools, and leave it again.

    A disabled server can be tried, too. Nothing changes, so nothing is recorded.
    """
    shown_server(by, name)
    return TrialShape.of(await by.tenant.servers.try_out(name))


@router.post("/servers/{name:path}/restart", operation_id="servers.restart")
async def restart_server(by: ByAdministrator, name: str, reason: Reason = "") -> ServerShape:
    """Connect to a server anew; calls under way may end on the old connection.

    So does every other worker and gateway on the same database, within 2 seconds.
    """
    shown_server(by, name)
    async with by.making(reason, name=name):
        await by.tenant.restart(name)
    return shown_server(by, name)


def shown_server(by: Administrator, name: str) -> ServerShape:
    """Return a server of the tenant.

    Raises:
        NotFound: It is not declared; the text names those that are.
    """
    config = declared_one(by.tenant.policy.declaration.servers, name, "server")
    return ServerShape.of(config, by.tenant.servers.status(name))
