"""One of the processes of `remit serve --workers`; only its supervisor starts it."""

import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import anyio
import structlog
import typer

from remit.app.doors import Place
from remit.app.gateway import Gateway, open_gateway
from remit.cli.output import ConfigFlag, run
from remit.cli.serving import (
    bind,
    build_server,
    is_loopback,
    outlive_hangups,
    reload_on_hangup,
    serve_until_cancelled,
)
from remit.settings import Settings

log = structlog.get_logger(__name__)

SETTLES_WITHIN: Final = 10.0
"""Seconds that one more worker waits for its servers before it takes calls."""

COMMAND: Final = "serve-worker"
"""The name by which `remit.cli.main` knows it."""

SERVES: Final = b"+"
"""What a worker says to its supervisor once callers can reach it."""


def worker_command(config: Path, host: str, port: int, folder: Path) -> Sequence[str]:
    """Return the command line of a worker, but for its number and its line to the supervisor."""
    # -P: what lies in the current folder is not imported
    where = ("--config", str(config), "--host", host, "--port", str(port))
    return (sys.executable, "-P", "-m", "remit", COMMAND, *where, "--folder", str(folder))


def serve_worker(
    *,
    host: Annotated[str, typer.Option("--host")],
    port: Annotated[int, typer.Option("--port")],
    line: Annotated[int, typer.Option("--line", help="Descriptor of the line to the supervisor.")],
    number: Annotated[int, typer.Option("--number", help="Which of the workers it is.")],
    folder: Annotated[Path, typer.Option("--folder", help="What the workers share.")],
    beside: Annotated[bool, typer.Option("--beside", help="Others serve, so it can wait.")] = False,
    config: ConfigFlag = None,
) -> None:
    """Serve until the supervisor ends, or says so."""
    outlive_hangups()
    structlog.contextvars.bind_contextvars(worker=number)  # which of them says what it logs
    os.set_inheritable(line, False)
    try:
        with socket.socket(fileno=line) as supervisor:
            place = Place(number=number, folder=folder)
            run(lambda: _serve(Settings.read(config), (host, port), supervisor, place, beside))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


async def _serve(
    settings: Settings, at: tuple[str, int], supervisor: socket.socket, place: Place, beside: bool
) -> None:
    host, port = at
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_with, supervisor)
        async with open_gateway(
            settings, author="serve", development=is_loopback(host), as_stored=True, everyone=True
        ) as gateway:
            if beside:
                await _settled(gateway)
            with bind(host, port, shared=True) as listener:
                server = build_server(gateway, listener, place)
                await tasks.start(reload_on_hangup, gateway)
                supervisor.send(SERVES)
                await serve_until_cancelled(server, listener)


async def _settled(gateway: Gateway) -> None:
    """Wait for the servers, so that no call finds tools missing that the other workers have."""
    with anyio.move_on_after(SETTLES_WITHIN):
        for tenant in gateway.tenants.all_served():
            await tenant.fleet.settled()


async def _end_with(supervisor: socket.socket) -> None:
    """Stop when the supervisor is gone, however it went: its end of the line is closed then.

    As at its word: to cancel everything here would end what the calls under way still need.
    """
    await anyio.wait_readable(supervisor)
    log.warning("the supervisor is gone; this worker stops")
    signal.raise_signal(signal.SIGTERM)
