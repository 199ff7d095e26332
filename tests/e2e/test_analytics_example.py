"""A query is suggested, approved and run, and an injection gets nowhere (issue 9, must show 6)."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit.testing.gateway import environment

EXAMPLE = Path(__file__).parents[2] / "examples" / "analytics"

pytestmark = pytest.mark.timeout(300)


def test_a_query_is_suggested_approved_and_run_and_an_injection_is_refused_bound_and_told(
    tmp_path: Path,
) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)],
        capture_output=True, text=True, timeout=240, check=False, env=environment(),
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = ran.stdout.splitlines()
    assert told[0] == "a shop of 100,000 rows"
    assert "uma may not approve it: query_not_authorized" in told
    assert (
        "an agent's key lists exactly three tools:"
        " health, list_approved_queries, execute_approved_query"
    ) in told
    assert any(line.endswith("the screen refuses it, security_violation") for line in told)
    assert "and it raises an alert all the same" in told
    assert "the auditor sees that user:dana approved" in told
