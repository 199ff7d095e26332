"""Applications of a test, served as upstreams."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import uvicorn
from starlette.types import ASGIApp

from remit.model.servers import ServerConfig, Transport


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[ServerConfig]:
    """Serve *app* while entered; at the end a stream of its own is not waited for."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            yield ServerConfig(name="s", transport=Transport.HTTP, url=url)
            server.should_exit = True
