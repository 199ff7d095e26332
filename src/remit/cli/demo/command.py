"""`remit demo`: set the scene, serve it, act on it, and stay or end."""

import socket
import tempfile
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from remit.app.gateway import open_gateway
from remit.cli.demo.play import Stage, play
from remit.cli.demo.scene import make_scene
from remit.cli.output import run
from remit.cli.serving import bind, open_server
from remit.errors import StartupError
from remit.settings import DEFAULT_HOST, DEFAULT_PORT, Settings


def demo(
    once: Annotated[
        bool, typer.Option("--once", help="End after the show, else at Ctrl-C.")
    ] = False,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Default 8400, or a free one.")
    ] = None,
) -> None:
    """See one caller allowed, another refused, and why, on a scratch repository."""
    with tempfile.TemporaryDirectory(prefix="remit-demo-") as folder:
        try:
            run(lambda: _show(Path(folder), port, once=once))
        except KeyboardInterrupt:
            raise typer.Exit(0) from None


async def _show(folder: Path, port: int | None, *, once: bool) -> None:
    console = Console(highlight=False)
    scene = await anyio.to_thread.run_sync(make_scene, folder)
    listener = bind(DEFAULT_HOST, port) if port is not None else _bind_default()
    settings = Settings(config=scene.config)
    with listener:
        async with (
            open_gateway(settings, author="demo") as gateway,
            open_server(gateway, listener) as url,
        ):
            with console.status("starting the servers"):
                await gateway.home.fleet.settled()
            await play(Stage(gateway=gateway, scene=scene, url=f"{url}/mcp", console=console))
            if not once:
                console.print(f"\nServing {url}/mcp from {folder} until Ctrl-C.")
                await anyio.sleep_forever()


def _bind_default() -> socket.socket:
    try:
        return bind(DEFAULT_HOST, DEFAULT_PORT)
    except StartupError:
        return bind(DEFAULT_HOST, 0)
