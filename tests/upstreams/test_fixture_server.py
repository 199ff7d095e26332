"""The test kit's own server, as the process that other projects' tests run."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from remit.model.servers import ServerConfig, Transport
from remit.testing.fleets import call_tool, open_servers, status_of
from remit.testing.upstream import executed


@pytest.mark.parametrize(
    ("transport", "options", "protocol"),
    [
        ("http", (), "2026-07-28"),
        ("http", ("--era", "legacy", "--streams"), "2025-11-25"),
        ("http", ("--era", "legacy", "--sessionless"), "2025-11-25"),
        ("sse", ("--version", "2024-11-05"), "2024-11-05"),
    ],
)
async def test_it_serves_on_a_socket_and_counts(
    ran: Path, transport: str, options: Sequence[str], protocol: str
) -> None:
    command = [sys.executable, "-m", "remit.testing.upstream", "--tools", "a,b", *options]
    with subprocess.Popen(
        [*command, "--count-file", str(ran), "--transport", transport],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        url = process.stderr.readline().strip()
        server = ServerConfig(name="s", transport=Transport(transport), url=url)
        async with open_servers(server) as fleet:
            assert status_of(fleet, "s").protocol == protocol
            await call_tool(fleet, "s", "b", b'{"n":1}')
        process.terminate()
    assert [(call.name, call.arguments, call.pid) for call in executed(ran)] == [
        ("b", {"n": 1}, process.pid)
    ]


def test_nothing_has_run_before_the_first_call(ran: Path) -> None:
    assert executed(ran) == []
