"""An agent of Agno as a server, as the example has it (S1.30)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.testing.gateway import environment

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent-as-server"

pytestmark = pytest.mark.timeout(480)  # the first test that needs the frameworks installs them


def test_an_agent_is_asked_by_whom_it_may_be_and_acts_by_its_own_role(tmp_path: Path) -> None:
    asked = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)],
        capture_output=True, text=True, timeout=450, check=False, env=environment(),
    )  # fmt: skip
    if "are not here" in asked.stderr and os.environ.get("CI") != "true":
        pytest.skip("the agent frameworks cannot be installed")

    assert asked.returncode == 0, asked.stdout + asked.stderr
    talk, _, record = asked.stdout.partition("the record of it")
    assert "the lead may use: researcher__ask" in talk
    assert "meanwhile: reading the question" in talk
    assert "Tell whether the service is up" in talk
    assert "refused: Unknown tool" in talk
    told = [line.strip() for line in record.splitlines()[1:]]
    assert told == [
        "key:researcher git/git_log: roles.researcher.tools.git[1]",
        "key:lead researcher/ask: roles.lead.tools.researcher[0]",
        "key:lead researcher/ask: roles.lead.tools.researcher[0]",
        "key:lead git/git_log: refused",
    ]
