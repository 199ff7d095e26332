"""Waiting for servers, and saying which are away and why."""

import typer

from remit.app.gateway import Gateway
from remit.cli.output import waiting
from remit.model.declaration import Declaration
from remit.model.servers import ServerStatus


async def settle(gateway: Gateway) -> None:
    """Wait until every server is up or has failed, with a spinner on a terminal."""
    with waiting("connecting to the servers"):
        await gateway.home.fleet.settled()


def is_absent(status: ServerStatus, declaration: Declaration) -> bool:
    """Whether a server should be up and is not."""
    return declaration.servers[status.name].enabled and not status.state.is_up


def print_absent(gateway: Gateway) -> None:
    """Print a line on standard error for each server that should be up and is not."""
    declaration = gateway.installation.policy.declaration
    for status in gateway.home.fleet.statuses():
        if is_absent(status, declaration):
            typer.echo(
                f"note: server {status.name!r} is {status.state.in_words}: {status.reason}",
                err=True,
            )
