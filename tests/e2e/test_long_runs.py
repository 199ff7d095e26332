"""The soak and the fuzz of `bench/`, short; the long ones are in `make check-full` (issue 4)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"


def run(script: str, *arguments: str, within: float) -> dict[str, Any]:
    """Run a script of the bench and return what it printed."""
    done = subprocess.run(
        [sys.executable, str(BENCH / script), *arguments],
        capture_output=True, text=True, timeout=within, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return json.loads(done.stdout)


@pytest.mark.timeout(300)
def test_a_minute_of_kills_leaves_no_wrong_answer_no_hung_call_and_no_lost_row() -> None:
    kills = ("--server-every", "4", "--worker-every", "15")
    report = run("soak.py", "--json", "--minutes", "1", *kills, within=280)

    assert report["faults"] == []
    assert report["answers"]["ok"] > 100
    assert report["killed"]["servers"] >= 8
    assert report["killed"]["workers"] >= 2
    assert report["killed"]["connections"] > 20


@pytest.mark.timeout(7200 if LONG else 600)
def test_no_mangled_request_hangs_fails_or_grows_the_gateway() -> None:
    wanted = 200_000 if LONG else 10_000
    report = run("fuzz.py", str(wanted), within=7000 if LONG else 580)

    assert report["ok"]
    assert report["requests"] >= wanted
    assert report["right_calls"] == report["requests"] // 25
    # both that many did get in and that many did not
    assert {"200", "400", "401", "404"} <= report["statuses"].keys()
