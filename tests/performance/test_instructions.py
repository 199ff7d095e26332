"""The hot path executes no more than its budget, counted and not timed (issue 5)."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench.counting import STEPS
from bench.instructions import INTAKE, Cost, Costs, budget, compare, most, shown, written

REPOSITORY = Path(__file__).parents[2]


def counted() -> Costs:
    """Count in a process of its own, whose functions nobody measures."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.instructions", "--json"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {step: Cost(**cost) for step, cost in json.loads(done.stdout).items()}


def test_no_step_of_a_warm_call_executes_more_than_its_budget_and_counts_are_exact() -> None:
    version, allowed = budget()
    if version != f"{sys.version_info.major}.{sys.version_info.minor}":
        pytest.skip(f"the budget is for Python {version}: others count otherwise")

    first, second = counted(), counted()

    assert first == second
    too_much = [step for step, verdict in compare(first, allowed) if verdict]
    assert too_much == [], f"\n{shown(first, allowed)}\nsee the head of bench/budget.toml"


def test_the_budget_names_every_step_and_gives_a_reason() -> None:
    text = (REPOSITORY / "bench" / "budget.toml").read_text()
    version, allowed = budget()

    assert set(allowed) == {*STEPS, INTAKE}
    assert text == written(allowed, version)


def test_a_step_that_grew_beyond_its_headroom_is_named() -> None:
    _, allowed = budget()
    relay = allowed["relay"]
    within = replace(relay, instructions=most(relay.instructions))
    beyond = replace(relay, instructions=most(relay.instructions) + 1)

    assert not any(verdict for _, verdict in compare({**allowed, "relay": within}, allowed))
    grown = {step: why for step, why in compare({**allowed, "relay": beyond}, allowed) if why}
    assert list(grown) == ["relay"]
    assert f"{beyond.instructions}" in shown({**allowed, "relay": beyond}, allowed)


def test_a_step_without_a_budget_fails_and_so_does_a_budget_without_a_step() -> None:
    _, allowed = budget()
    without = {step: cost for step, cost in allowed.items() if step != "limits"}

    assert ("limits", "has no budget") in compare(allowed, without)
    assert ("limits", "only in the budget") in compare(without, allowed)
