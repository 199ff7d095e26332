"""Who can call what, of all callers of a kind and all tools at once."""

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from remit.admin.authority import Authority
from remit.admin.matrix import Matrix, Wanted, Window, exported, matrix_of
from remit.admin.subjects import NamedCaller
from remit.doors.api.access import Administrator, ByAdministrator
from remit.doors.api.authority import subjects_of
from remit.model.principals import PrincipalKind
from remit.model.tools import ToolId

router = APIRouter(tags=["authority"])

CallerKind = Literal["role", "key", "agent", "user_role", "agent_type"]
Offset = Annotated[int, Query(ge=0, description="How many of them are left out before it.")]
Most = Annotated[int, Query(ge=1, le=100, description="Most of them in the answer.")]
Kind = Annotated[CallerKind, Query(description="Of what kind the callers are.")]


class MatrixCallerShape(BaseModel):
    """Whose row it is."""

    subject: str = Field(description="SUBJECT spelling, such as `role:guest`.")
    name: str


class MatrixToolShape(BaseModel):
    """What a column is about."""

    tool: str = Field(description="As `server/tool`.")
    server: str
    name: str = Field(description="Its published name on the endpoint of all servers.")
    available: bool = Field(description="Whether its server is known to offer it.")

    @classmethod
    def of(cls, tool: ToolId, authority: Authority) -> "MatrixToolShape":
        """Show a tool."""
        return cls(
            tool=str(tool),
            server=tool.server,
            name=authority.published(tool),
            available=authority.is_available(tool),
        )


class MatrixDecisionShape(BaseModel):
    """What one or many cells say."""

    allowed: bool
    layer: Literal["tenant", "server", "deny", "ceiling", "access", "tool"]
    rule: str = Field(description="A path into the declaration, or empty.")
    reason: str


class MatrixShape(BaseModel):
    """A part of the matrix."""

    callers: list[MatrixCallerShape] = Field(description="A row each.")
    tools: list[MatrixToolShape] = Field(description="A column each.")
    decisions: list[MatrixDecisionShape] = Field(description="Those that cells have, each once.")
    cells: list[list[int]] = Field(
        description="A row a caller: for each tool, which of `decisions` it is, from 0 on."
    )
    callers_total: int = Field(description="How many callers fit what was asked for.")
    tools_total: int = Field(description="How many tools.")
    revision: int = Field(description="Of the rules that decided.")

    @classmethod
    def of(cls, matrix: Matrix, authority: Authority, revision: int) -> "MatrixShape":
        """Show a matrix."""
        return cls(
            callers=[MatrixCallerShape(subject=c.subject, name=c.name) for c in matrix.callers],
            tools=[MatrixToolShape.of(tool, authority) for tool in matrix.tools],
            decisions=[
                MatrixDecisionShape(
                    allowed=one.allowed, layer=one.layer.value, rule=one.rule, reason=one.reason
                )
                for one in matrix.decisions
            ],
            cells=[list(row) for row in matrix.cells],
            callers_total=matrix.callers_total,
            tools_total=matrix.tools_total,
            revision=revision,
        )


def wanted(
    server: Annotated[str, Query(description="One server's name; any if empty.")] = "",
    tool: Annotated[
        str, Query(max_length=1000, description="What `server/tool` contains, in any case.")
    ] = "",
    caller: Annotated[
        str, Query(max_length=300, description="What the name contains, in any case.")
    ] = "",
    decision: Annotated[
        Literal["allow", "deny"] | None,
        Query(description="Callers and tools without such a cell are left out."),
    ] = None,
) -> Wanted:
    """Read which callers and tools are meant."""
    return Wanted(server=server, tool=tool, caller=caller, decision=decision)


ByWanted = Annotated[Wanted, Depends(wanted)]


@router.get("/matrix", operation_id="authority.matrix")
async def show_matrix(
    by: ByAdministrator,
    which: ByWanted,
    *,
    kind: Kind = "role",
    callers_limit: Most = 50,
    callers_offset: Offset = 0,
    tools_limit: Most = 50,
    tools_offset: Offset = 0,
) -> MatrixShape:
    """Show which callers may call which tools, and the rule that decides in each cell.

    The callers are those that may come in: of keys, those that hold.
    """
    callers = await _callers(by, kind)
    authority, revision = by.tenant.authority(), by.tenant.policy.revision
    page = partial(
        matrix_of,
        rows=Window(offset=callers_offset, limit=callers_limit),
        columns=Window(offset=tools_offset, limit=tools_limit),
    )
    # a large matrix keeps nobody waiting
    matrix = await to_thread.run_sync(page, authority, callers, which)
    return MatrixShape.of(matrix, authority, revision)


@router.get(
    "/matrix/export",
    operation_id="authority.export",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A line a cell, under a header.",
            "content": {"text/csv": {"schema": {"type": "string"}}},
        }
    },
)
async def export_matrix(
    by: ByAdministrator, which: ByWanted, *, kind: Kind = "role"
) -> StreamingResponse:
    """Stream the whole matrix as CSV: caller, tool, decision, layer, rule and reason."""
    lines = exported(by.tenant.authority(), await _callers(by, kind), which)

    async def text() -> AsyncGenerator[bytes]:
        while (part := await to_thread.run_sync(next, lines, None)) is not None:
            yield part.encode()

    headers = {"Content-Disposition": f'attachment; filename="matrix-{kind}.csv"'}
    return StreamingResponse(text(), media_type="text/csv; charset=utf-8", headers=headers)


async def _callers(by: Administrator, kind: CallerKind) -> Sequence[NamedCaller]:
    return await subjects_of(by).all_of(PrincipalKind(kind.replace("_", "-")))
