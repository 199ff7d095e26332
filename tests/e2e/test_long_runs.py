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
def test_minutes_of_kills_leave_no_wrong_answer_no_hung_call_and_no_lost_row() -> None:
    minutes = 2.0 if LONG else 0.5
    kills = ("--server-every", "4", "--worker-every", "12")
    report = run("soak.py", "--json", "--minutes", str(minutes), *kills, within=280)

    assert report["faults"] == []
    assert report["answers"]["ok"] > 50
    assert report["killed"]["servers"] >= 4
    assert report["killed"]["workers"] >= 1
    assert report["killed"]["connections"] > 10


@pytest.mark.timeout(7200 if LONG else 600)
def test_no_mangled_request_hangs_fails_or_grows_the_gateway() -> None:
    wanted = 200_000 if LONG else 2_000
    report = run("fuzz.py", str(wanted), within=7000 if LONG else 580)

    assert report["ok"]
    assert report["requests"] >= wanted
    assert report["right_calls"] == report["requests"] // 25
    # both that many did get in and that many did not
    assert {"200", "400", "401", "404"} <= report["statuses"].keys()
