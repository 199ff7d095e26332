"""A policy of 100,000 rules: it loads soon, and a decision costs what it costs with 1,000."""

import gc
import json
import runpy
import time
from pathlib import Path
from typing import Any

import pytest
from tests.docs.blocks import REPOSITORY

from remit.admin.declaration import load_declaration
from remit.model.tools import ToolId
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

BENCH: dict[str, Any] = runpy.run_path(str(REPOSITORY / "bench" / "decide.py"))
LONGEST_LOAD = 20.0
"""Seconds of this process's own time: a bound that a busy machine and probes of coverage keep.

`bench/decide.py` measures the load (2.3 s on the quiet machine).
"""

pytestmark = pytest.mark.timeout(120)


def load(rules: int, folder: Path) -> tuple[PolicySnapshot, int, float]:
    """Return the compiled policy, how many roles it has, and the seconds that it took."""
    path = folder / f"{rules}.yaml"
    path.write_text(json.dumps(BENCH["document"](rules)))
    gc.collect()
    start = time.process_time()
    declaration = load_declaration(path).declaration
    snapshot = compile_snapshot(declaration, tenant="default", revision=1)
    seconds = time.process_time() - start
    return snapshot, len(declaration.roles), seconds


def cost(snapshot: PolicySnapshot, roles: int) -> float:
    """Return microseconds a decision that was never made before, the best of some rounds."""
    servers: list[str] = BENCH["SERVERS"]
    kinds = ("tool_{}", "get_{}_x", "drop_{}_x", "secret_{}_x", "other_{}")
    rounds: list[float] = []
    for number in range(5):
        tools = [
            ToolId(servers[at % len(servers)], kinds[at % len(kinds)].format(at + number * 10_000))
            for at in range(500)
        ]
        rounds.append(BENCH["ask"](snapshot, BENCH["callers"](roles), tools))
    return min(rounds)


def test_a_hundred_thousand_rules_load_in_time_and_cost_a_decision_nothing(
    tmp_path: Path,
) -> None:
    few, some_roles, _ = load(1_000, tmp_path)
    many, many_roles, seconds = load(100_000, tmp_path)

    assert seconds < LONGEST_LOAD
    assert cost(many, many_roles) < 3 * cost(few, some_roles) + 5
