"""Waiting for servers, and saying which are away and why."""

from remit.app.gateway import Gateway
from remit.cli.lines import say
from remit.cli.output import waiting
from remit.model.declaration import Declaration
from remit.model.servers import ServerStatus
from remit.upstreams.names import readings


async def settle(gateway: Gateway, tool: str = "") -> None:
    """Wait until every server is up or has failed, with a spinner on a terminal.

    Args:
        gateway: Whose.
        tool: A tool's name in any spelling: once those that it names offer it, the others are not
            waited for.
    """
    fleet = gateway.home.fleet
    with waiting("connecting to the servers"):
        meant = readings(tool, fleet.upstreams)
        await fleet.settled({one.server for one in meant})
        if not any(one in fleet.catalogue.tools for one in meant):
            await fleet.settled()


def is_absent(status: ServerStatus, declaration: Declaration) -> bool:
    """Whether a server should be up and is not."""
    return declaration.servers[status.name].enabled and not status.state.is_up


def print_absent(gateway: Gateway) -> None:
    """Print a line on standard error for each server that should be up and is not."""
    declaration = gateway.installation.policy.declaration
    for status in gateway.home.fleet.statuses():
        if is_absent(status, declaration):
            say(
                f"note: server {status.name!r} is {status.state.in_words}: {status.reason}",
                err=True,
            )
