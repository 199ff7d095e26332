"""Fleets of servers for tests: opened, settled, called, and waited for."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio

from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig, ServerStatus
from remit.model.tools import ToolId
from remit.upstreams.fleet import Fleet, MakeBuiltin, Pace, open_fleet

PATIENCE = 30.0
"""Seconds after which a test gives up; far more than anything takes."""

BRISK = Pace(
    pause=0.05,
    longest_pause=0.2,
    most_failures=1000,
    relist=600.0,
    relist_pause=0.01,
    second_look=0.05,
    idle=600.0,
)
"""Tries soon, and does nothing by itself."""


@asynccontextmanager
async def open_servers(
    *servers: ServerConfig,
    pace: Pace = BRISK,
    builtins: Mapping[str, MakeBuiltin] | None = None,
    environ: Mapping[str, str] | None = None,
    unclaimed: Callable[[ServerConfig], str | None] = lambda _: None,
    settle: bool = True,
) -> AsyncGenerator[Fleet]:
    """Open a fleet and wait until each server has been tried; give up when it takes too long.

    Args:
        servers: Their order is that of the declaration.
        pace: How often things are tried.
        builtins: As `open_fleet` has them.
        environ: The process's own unless given.
        unclaimed: As `open_fleet` has it.
        settle: Whether to wait.
    """
    with anyio.fail_after(PATIENCE):
        async with open_fleet(
            {server.name: server for server in servers},
            builtins=builtins or {},
            environ=os.environ if environ is None else environ,
            unclaimed=unclaimed,
            pace=pace,
        ) as fleet:
            if settle:
                await fleet.settled()
            yield fleet


async def call_tool(
    fleet: Fleet,
    server: str,
    tool: str,
    arguments: bytes = b"{}",
    *,
    meta: bytes = b"",
    by: str = "somebody",
    within: float = PATIENCE,
) -> bytes:
    """Call a tool in the name of the key *by* and return the raw result."""
    return await fleet.invoke(
        ToolId(server, tool),
        arguments=arguments,
        meta=meta,
        principal=Principal(kind=PrincipalKind.KEY, name=by),
        timeout=within,
    )


def status_of(fleet: Fleet, server: str) -> ServerStatus:
    """Return the status of one server."""
    return next(status for status in fleet.statuses() if status.name == server)


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until something holds that no event tells of: a process, a file.

    Raises:
        TimeoutError: It never did.
    """
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - it is the world outside that changes
            await anyio.sleep(0.02)
