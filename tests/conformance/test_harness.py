"""`make conformance` says what passed and what did not; its client uses all that is offered."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit.testing.conformance.actor import act
from remit.testing.conformance.behind import open_fixture
from remit.testing.conformance.suite import REVISIONS
from remit.testing.gateway import environment

SCENARIOS = """Required for a revision:

Server scenarios (test against a server):
  - ping
  - tools-list

Client scenarios (test against a client):
  - tools_call
  - auth/basic-cimd

Run and reported, but never scored:
  pending (1):
    - json-schema-2020-12 [server]
"""
STUB = """#!/bin/sh
# Stands in for node with the suite: $2 is the command of the suite.
case "$2" in
  list) cat "{folder}/scenarios" ;;
  server) cat "{folder}/verdicts" ;;
  client) exit {status} ;;
esac
"""


def suite(folder: Path, verdicts: str, status: int) -> Path:
    (folder / "scenarios").write_text(SCENARIOS)
    (folder / "verdicts").write_text(verdicts)
    node = folder / "node_modules" / ".bin" / "node"
    node.parent.mkdir(parents=True)
    node.write_text(STUB.format(folder=folder, status=status))
    node.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("mark", "client", "said", "status"),
    [("✓", 0, "2/2", 0), ("✗", 0, "1/2", 1), ("✓", 1, "2/2", 1)],
)
def test_the_last_two_lines_tell_how_much_is_fulfilled(
    tmp_path: Path, mark: str, client: int, said: str, status: int
) -> None:
    verdicts = f"✓ ping: 2 passed, 0 failed\n{mark} tools-list: 1 passed, 1 failed\n"
    folder = suite(tmp_path, verdicts, client)
    done = subprocess.run(
        [sys.executable, "-m", "remit.testing.conformance", "--suite", str(folder)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=100,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[-2:] == [f"{revision}: {said} required" for revision in REVISIONS], done.stderr
    assert ("client tools_call failed" in done.stdout) is bool(client)
    assert ("tools-list failed" in done.stdout) is (mark == "✗")
    assert "auth/basic-cimd" not in done.stdout
    assert done.returncode == status


@pytest.mark.parametrize(
    ("revision", "asks"),
    [(REVISIONS[0], "test_elicitation"), (REVISIONS[1], "test_input_required_result_elicitation")],
)
async def test_the_client_calls_everything_behind_a_gateway(revision: str, asks: str) -> None:
    with open_fixture() as url:
        worked = await act(url, revision)
    wanted = {"test_simple_text", asks, "test_simple_prompt", "test://static-text"}
    assert wanted <= set(worked)
