"""A gateway before the conformance fixture: over HTTP in both eras and in each, and over stdio."""

import json
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.conformance.behind import open_fixture
from remit.testing.gateway import Running, start_gateway


def document(servers: Mapping[str, Mapping[str, Any]]) -> str:
    allowed = [f"{name}/*" for name in servers]
    return json.dumps(
        {
            "mcp_servers": dict(servers),
            "roles": {"caller": {"allow": allowed}, "other": {"allow": allowed}},
        }
    )


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder: Path = tmp_path_factory.mktemp("conformance")
    with ExitStack() as stack:
        servers: dict[str, dict[str, Any]] = {
            name: {"url": stack.enter_context(open_fixture(era)), "transport": "http"}
            for name, era in (("web", "both"), ("modern", "modern"), ("legacy", "legacy"))
        }
        module = "remit.testing.conformance.server"
        servers["pipe"] = {"command": sys.executable, "args": ["-m", module, "--stdio"]}
        config = folder / "remit.yaml"
        config.write_text(document(servers))
        running = start_gateway(folder, config)
        stack.callback(running.stop)
        running.settle()
        yield running
    assert "Traceback" not in running.log.read_text(), running.log.read_text()


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as client:
        yield client
