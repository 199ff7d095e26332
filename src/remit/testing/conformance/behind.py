"""A real `remit serve` before one server, on an endpoint that needs no credential."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import anyio.to_thread

from remit.testing.conformance.keyed import open_keyed
from remit.testing.gateway import environment, start_gateway

SERVER: Final = "fixture"
ROLE: Final = "suite"


@contextmanager
def open_fixture(era: str = "both") -> Generator[str]:
    """Give the URL of a fixture server in a process of its own."""
    command = [sys.executable, "-m", "remit.testing.conformance.server", "--era", era]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as process:
        try:
            yield (process.stdout.readline() if process.stdout is not None else "").strip()
        finally:
            process.terminate()


@asynccontextmanager
async def open_behind(folder: Path, upstream: str) -> AsyncGenerator[str]:
    """Give the URL of a gateway's endpoint for the server at *upstream*; the key is added."""
    config = folder / "remit.yaml"
    declaration = {
        "mcp_servers": {SERVER: {"url": upstream, "transport": "http"}},
        "roles": {ROLE: {"allow": [f"{SERVER}/*"]}},
    }
    config.write_text(json.dumps(declaration))  # JSON is YAML
    gateway = start_gateway(folder, config)
    try:
        await anyio.to_thread.run_sync(gateway.settle)
        key = await anyio.to_thread.run_sync(gateway.key, ROLE)
        async with open_keyed(gateway.port, key) as port:
            yield f"http://localhost:{port}/mcp/{SERVER}"
    finally:
        gateway.stop()
