"""Who can call what, and why."""

from dataclasses import replace
from typing import Annotated, Final, Literal

from anyio import to_thread
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from remit.admin.subjects import SPELLINGS, Subjects
from remit.doors.api.access import Administrator, ByAdministrator
from remit.doors.api.myself import Scope, ToolPage, tools_seen_by
from remit.doors.api.paging import Cursor, Limit

LONGEST_ARGUMENTS: Final = 4096
"""Characters: they stand in a URL, which has 64 KiB, and each takes up to 12 bytes there."""

router = APIRouter(tags=["authority"])

Subject = Annotated[str, Query(alias="as", max_length=300, description=f"The caller: {SPELLINGS}.")]
Alias = Annotated[
    str, Query(max_length=1000, description="`server/tool`, or any other spelling of it.")
]

Arguments = Annotated[
    str | None,
    Query(max_length=LONGEST_ARGUMENTS, description="Those of a call: a JSON object, as text."),
]


class LayerShape(BaseModel):
    """What one layer says."""

    layer: Literal["tenant", "server", "deny", "ceiling", "access", "tool"]
    verdict: Literal["allow", "deny", "silent"]
    rule: str = Field(description="A path into the declaration, or empty.")
    reason: str


class AllowanceShape(BaseModel):
    """A limit that an allowed call counts against."""

    rule: str = Field(description="Its path into the declaration.")
    calls: int = Field(description="How many there may be in any span of `seconds`.")
    seconds: int
    used: int | None = Field(description="How many calls of this caller count against it now.")


class ArgumentsShape(BaseModel):
    """What the check of a call's arguments says of some."""

    checked: bool = Field(
        description="Whether by the tool's schema; else only that they are one JSON object."
    )
    valid: bool
    problem: str | None = Field(description="What such a call would be refused with, if it would.")


class ExplanationShape(BaseModel):
    """Yes or no, and every layer's verdict."""

    allowed: bool
    layer: Literal["tenant", "server", "deny", "ceiling", "access", "tool"]
    rule: str
    reason: str
    revision: int
    tool: str | None = Field(description="The tool that was meant; null when the name means none.")
    available: bool = Field(description="Whether its server is known to offer it.")
    limits: list[AllowanceShape] = Field(description="What an allowed call counts against.")
    layers: list[LayerShape]
    arguments: ArgumentsShape | None = Field(
        description="Null when none were sent, or the tool is not on offer now."
    )


class WhoCanShape(BaseModel):
    """Everybody who can call a tool, by name."""

    roles: list[str]
    keys: list[str]
    users: list[str] = Field(description="Those that a grant opens it to; see `hats`.")
    agents: list[str]
    user_roles: list[str]
    agent_types: list[str]
    service_keys: list[str] = Field(description="Those of `keys` that are service keys.")
    hats: list[str] = Field(description="Pairs that can together and not alone.")
    available: bool = Field(description="Whether its server is known to offer the tool.")


@router.get("/explain", operation_id="explain")
async def explain(
    by: ByAdministrator, subject: Subject, tool: Alias, arguments: Arguments = None
) -> ExplanationShape:
    """Say whether a caller may call a tool, what every layer says, and if its arguments fit.

    Nothing is called. Whether arguments fit is said of a call that is refused, too.
    """
    found = await subjects_of(by).find_any(subject)
    answer = by.tenant.authority().explain(found.principal, tool, barred=found.barred)
    examined = None
    if answer.tool is not None and arguments is not None:
        examined = by.tenant.examine(answer.tool, arguments.encode())
    used = await by.tenant.used(answer.limits) if answer.limits else ()
    answer = replace(answer, used=used, arguments=examined)
    return ExplanationShape.model_validate(answer.to_json())


@router.get("/who-can", operation_id="who_can")
async def who_can(by: ByAdministrator, tool: Alias) -> WhoCanShape:
    """Show every role, key, agent, user role and agent type that can call a tool."""
    callers = await subjects_of(by).all_stored()
    disabled = await by.services.users.all_disabled(by.tenant.key)
    who_can = by.tenant.authority().who_can
    found = await to_thread.run_sync(who_can, tool, callers, disabled)  # there may be thousands
    return WhoCanShape.model_validate(found.to_json())


@router.get("/tools", operation_id="tools.list")
async def list_tools(
    by: ByAdministrator,
    subject: Subject,
    server: Scope = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> ToolPage:
    """Show the tools that a caller sees."""
    principal = await subjects_of(by).find(subject)
    return tools_seen_by(by, principal, server, limit=limit, cursor=cursor)


def subjects_of(by: Administrator) -> Subjects:
    """Return what finds the callers of the tenant, as they stand now."""
    services, tenant = by.services, by.tenant
    return Subjects(
        tenant=tenant.key,
        roles=tenant.policy.declaration.roles,
        keys=services.keys,
        agents=services.agents,
        users=services.users,
        now=services.now(),
    )
