"""`health` and `echo`: is the server there, and what does it reach (S2.10)?"""

from importlib.metadata import version
from typing import Final

import anyio

from remit.data.desk import Desk, Result
from remit.errors import DataFailure
from remit.model.data import Datasource
from remit.policy.toolsets import Audience
from remit.servers.arguments import Arguments
from remit.servers.shapes import COUNT, FLAG, LONGEST_TEXT, TEXT, given, list_of, one_of, record
from remit.servers.shapes import text as text_given
from remit.servers.toolbox import Hints, Tool

_PATIENCE: Final = 5.0
"""Seconds that a datasource has to answer."""


async def health(desk: Desk, _arguments: Arguments) -> Result:
    """Say how the server is, and which datasources answer; a service key hears no names."""
    datasources = await desk.stores.datasources.all_datasources(desk.tenant)
    problems: dict[str, str] = {}

    async def ping(datasource: Datasource) -> None:
        problems[datasource.id] = await _problem_of(desk, datasource)

    async with anyio.create_task_group() as tasks:
        for datasource in datasources:
            tasks.start_soon(ping, datasource)
    reachable = sum(not problem for problem in problems.values())
    shown: Result = {
        "status": "healthy" if reachable == len(datasources) else "degraded",
        "version": version("remit"),
        "datasources_configured": len(datasources),
        "datasources_reachable": reachable,
    }
    if desk.audience is not Audience.SERVICE:
        shown["datasources"] = [_shown(each, problems[each.id]) for each in datasources]
    return shown


async def echo(_desk: Desk, arguments: Arguments) -> Result:
    """Give back what was sent."""
    return {"message": arguments.text("message")}


async def _problem_of(desk: Desk, datasource: Datasource) -> str:
    """Return why a datasource does not answer, or nothing."""
    with anyio.move_on_after(_PATIENCE):
        try:
            await (await desk.sources.open(datasource)).ping()
        except DataFailure as failure:
            return str(failure)
        return ""
    return f"did not answer within {_PATIENCE:g} seconds"


def _shown(datasource: Datasource, problem: str) -> Result:
    shown: Result = {
        "name": datasource.name,
        "engine": datasource.engine.value,
        "is_default": datasource.is_default,
        "is_writable": datasource.is_writable,
        "reachable": not problem,
    }
    return shown | ({"problem": problem} if problem else {})


CORE_TOOLS: Final[tuple[Tool[Desk], ...]] = (
    Tool(
        name="health",
        title="Health",
        description="State and version of the server, and whether its datasources answer.",
        takes=given({}),
        gives=record(
            ("datasources",),
            status=one_of("healthy", "degraded"),
            version=TEXT,
            datasources_configured=COUNT,
            datasources_reachable=COUNT,
            datasources=list_of(
                record(
                    ("problem",),
                    name=TEXT,
                    engine=TEXT,
                    is_default=FLAG,
                    is_writable=FLAG,
                    reachable=FLAG,
                    problem=TEXT,
                )
            ),
        ),
        hints=Hints(read_only=True, idempotent=True),
        run=health,
    ),
    Tool(
        name="echo",
        title="Echo",
        description="Gives back the message it was sent, to try a connection.",
        takes=given({"message": text_given("What to send back.", LONGEST_TEXT)}, ["message"]),
        gives=record(message=TEXT),
        hints=Hints(read_only=True, idempotent=True),
        run=echo,
    ),
)
