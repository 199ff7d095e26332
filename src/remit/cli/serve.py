"""`remit serve`: the gateway."""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import anyio
import typer

from remit.admin.keys import ADMIN_KEY_NAME, make_key
from remit.admin.secret_files import write_secret
from remit.app.gateway import open_gateway
from remit.app.installation import Installation, open_installation
from remit.cli.changes import making
from remit.cli.lines import say
from remit.cli.output import ConfigFlag, run
from remit.cli.serving import (
    bind,
    build_server,
    is_loopback,
    outlive_hangups,
    reload_on_hangup,
    serve_until_cancelled,
    take_descriptors,
    url_of,
)
from remit.cli.supervisor import Supervisor
from remit.cli.worker import worker_command
from remit.errors import Conflict, StartupError
from remit.model.principals import DEFAULT_TENANT
from remit.settings import DEFAULT_HOST, DEFAULT_PORT, Settings


def serve(
    config: ConfigFlag = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; beyond loopback a key is needed.")
    ] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")
    ] = DEFAULT_PORT,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Processes that share the port.")
    ] = 1,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Let a changed file overwrite newer revisions of console and API."
        ),
    ] = False,
) -> None:
    """Serve MCP at /mcp and /mcp/{server} until Ctrl-C.

    The first start makes an administrator's key; callers get theirs from `remit keys create`.
    SIGHUP reads the declaration again; a file that is wrong leaves what runs.
    """
    outlive_hangups()
    take_descriptors()
    settings = Settings.read(config)
    try:
        if workers == 1:
            run(lambda: _serve(settings, host, port, replace=replace))
        else:
            run(lambda: _serve_by_workers(settings, host, port, workers, replace=replace))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


async def _serve(settings: Settings, host: str, port: int, *, replace: bool) -> None:
    async with open_gateway(
        settings, author="serve", everyone=True, development=is_loopback(host), replace=replace
    ) as gateway:
        await _check_exposure(gateway.installation, host)
        with bind(host, port) as listener:
            await _make_admin_key(gateway.installation)
            server = build_server(gateway, listener)
            say(f"remit serves {url_of(listener)}/mcp", err=True)
            async with anyio.create_task_group() as tasks:
                await tasks.start(reload_on_hangup, gateway)
                await serve_until_cancelled(server, listener)


async def _serve_by_workers(
    settings: Settings, host: str, port: int, workers: int, *, replace: bool
) -> None:
    # alone at first: nobody else may listen there, although our own workers will share it
    with bind(host, port) as alone:
        port = alone.getsockname()[1]
    with (
        bind(host, port, shared=True, listens=False) as kept,
        tempfile.TemporaryDirectory(prefix="remit-workers-") as folder,
    ):
        async with open_installation(settings, author="serve", replace=replace) as installation:
            await _check_exposure(installation, host)
            await _make_admin_key(installation)
        supervisor = Supervisor(worker_command(settings.config, host, port, Path(folder)), workers)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.run)
            await supervisor.all_serve.wait()
            say(f"remit serves {url_of(kept)}/mcp by {workers} workers", err=True)


async def _check_exposure(installation: Installation, host: str) -> None:
    """Refuse to listen beyond this machine while nobody has a key or an issuer (contract)."""
    if is_loopback(host) or installation.policy.declaration.issuers:
        return
    now = datetime.now(UTC)
    keys = await installation.keys.all_keys(DEFAULT_TENANT)
    if not any(key.holds_at(now) and key.name != ADMIN_KEY_NAME for key in keys):
        raise StartupError(
            f"not listening on {host} while nobody has a key: make one with"
            " `remit keys create NAME --role ROLE`, or listen on 127.0.0.1"
        )


async def _make_admin_key(installation: Installation) -> None:
    """Make the administrator's key on the first start; shown on a terminal, never in a log."""
    keys = await installation.keys.all_keys(DEFAULT_TENANT)
    if any(key.admin for key in keys):
        return
    try:
        async with making(installation, "keys.create", {"name": ADMIN_KEY_NAME, "admin": True}):
            made = await make_key(
                installation.keys,
                ADMIN_KEY_NAME,
                tenant=DEFAULT_TENANT,
                now=datetime.now(UTC),
                admin=True,
                roles={},
            )
    except Conflict:  # another gateway on this database starts for the first time, too
        return
    path = installation.settings.state / "admin.key"
    path.unlink(missing_ok=True)
    write_secret(path, made.text + "\n")
    shown = made.text if sys.stderr.isatty() else f"in {path}"
    say(f"administrator's key (made now, on the first start): {shown}", err=True)
