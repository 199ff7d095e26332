"""Run the published conformance suite against a real `remit serve` with the fixture behind it.

    python -m remit.testing.conformance --suite .tools/conformance

The last two lines say how many of the required scenarios passed; it ends with 1 unless all did.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from remit.testing.conformance.keyed import open_keyed
from remit.testing.conformance.suite import REVISIONS, Report, Suite
from remit.testing.gateway import environment, start_gateway

SERVER: Final = "fixture"
_ROLE: Final = "suite"


@contextmanager
def _fixture() -> Generator[str]:
    """Give the URL of a fixture server in a process of its own."""
    command = [sys.executable, "-m", "remit.testing.conformance.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as process:
        try:
            yield (process.stdout.readline() if process.stdout is not None else "").strip()
        finally:
            process.terminate()


@asynccontextmanager
async def _served(folder: Path, upstream: str) -> AsyncGenerator[str]:
    """Give the URL of a gateway's endpoint for the server at *upstream*; the key is added."""
    config = folder / "remit.yaml"
    declaration = {
        "mcp_servers": {SERVER: {"url": upstream, "transport": "http"}},
        "roles": {_ROLE: {"allow": [f"{SERVER}/*"]}},
    }
    config.write_text(json.dumps(declaration))  # JSON is YAML
    gateway = start_gateway(folder, config)
    try:
        await anyio.to_thread.run_sync(gateway.settle)
        key = await anyio.to_thread.run_sync(gateway.key, _ROLE)
        async with open_keyed(gateway.port, key) as port:
            yield f"http://localhost:{port}/mcp/{SERVER}"
    finally:
        gateway.stop()


async def _serve_and_test(suite: Suite, *, direct: bool) -> list[Report]:
    with tempfile.TemporaryDirectory() as folder, _fixture() as upstream:
        if direct:
            return [suite.server(upstream, revision) for revision in REVISIONS]
        async with _served(Path(folder), upstream) as url:
            return [
                await anyio.to_thread.run_sync(suite.server, url, revision)
                for revision in REVISIONS
            ]


def main() -> int:
    """Run everything and return the exit status."""
    parser = argparse.ArgumentParser(description="Run the published conformance suite.")
    parser.add_argument("--suite", type=Path, required=True, help="where npm installed it")
    parser.add_argument("--direct", action="store_true", help="test the fixture without remit")
    parser.add_argument("--verbose", action="store_true", help="print all that the suite prints")
    given = parser.parse_args()

    async def run() -> list[Report]:
        return await _serve_and_test(Suite(given.suite), direct=given.direct)

    reports = anyio.run(run)
    for report in reports:
        if given.verbose:
            sys.stdout.write(report.output)
        for name in report.failed:
            sys.stdout.write(f"{report.revision}: {name} failed\n")
    for report in reports:
        sys.stdout.write(f"{report.line}\n")
    return 1 if any(report.failed or not report.required for report in reports) else 0


if __name__ == "__main__":
    raise SystemExit(main())
