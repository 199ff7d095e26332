"""The `data` server's desk for callers of the API, which does what its tools do, by the same code.

Who may come this far is the route's rule (`access.py`); what a caller may do there is the desk's,
as for the tools: nobody decides on a suggestion of their own (R13).
"""

from dataclasses import replace
from functools import cache
from typing import Annotated, Final

from fastapi import Path

from remit.calls.ids import new_id
from remit.data.desk import Desk, Result
from remit.data.servers import TOOLS
from remit.doors.api.access import Caller
from remit.doors.api.envelope import PROJECTS
from remit.doors.api.preconditions import require_match, version_tag
from remit.errors import BadCall
from remit.servers.arguments import ArgumentCheck
from remit.servers.errors import ToolError
from remit.servers.toolbox import Tool

IN_DATASOURCE: Final = f"{PROJECTS}/{{tenant}}/datasources/{{datasource}}"
"""Where everything of one datasource is."""

LONGEST_NAMED: Final = 200
"""Characters of whatever a path or a parameter names."""

DatasourceName = Annotated[
    str, Path(max_length=LONGEST_NAMED, description="Name or id of the datasource.")
]


def desk_of(by: Caller, tool: str) -> Desk:
    """Return where the caller works; *tool* is the one that does the same."""
    place = by.services.data
    return Desk(
        principal=by.principal,
        tenant=by.tenant.key,
        tool=tool,
        came_by="api",
        stores=place.stores(),
        sources=place.sources(),
        screening=place.screening(by.tenant.key),
        clock=by.services.now,
        new_id=new_id,
    )


async def use_tool(
    by: Caller, tool_name: str, if_match: str | None = None, /, **arguments: object
) -> Result:
    """Do what a tool of the `data` server does, and return its structured result.

    Args:
        by: Who asks.
        tool_name: Of the tool.
        if_match: The tags that what the tool changes may have; None for whatever it has.
        arguments: Its arguments; what is None is not given.

    Raises:
        BadCall: They do not fit.
        HttpRefusal: It changes what has another tag (412).
        DataFailure: The tool fails.
    """
    tool, check = _tool(tool_name)
    try:
        given = check({key: value for key, value in arguments.items() if value is not None})
    except ToolError as error:
        raise BadCall(str(error)) from None
    desk = desk_of(by, tool_name)
    return await tool.run(desk if if_match is None else seeing(desk, if_match), given)


def seeing(desk: Desk, if_match: str) -> Desk:
    """Return the desk of a caller that changes what has one of these tags, and nothing else."""

    def require_seen(version: int) -> None:
        require_match(if_match, version_tag(version))

    return replace(desk, require_seen=require_seen)


@cache
def _tool(name: str) -> tuple[Tool[Desk], ArgumentCheck]:
    (tool,) = (each for each in TOOLS if each.name == name)
    return tool, ArgumentCheck(name, tool.takes)
