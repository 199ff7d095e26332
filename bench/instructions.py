"""How many bytecode instructions one warm `tools/call` executes, step by step, against a budget.

    python -m bench.instructions            # count, and compare with bench/budget.toml
    python -m bench.instructions --renew    # write what was counted as the new budget
    python -m bench.instructions --json     # print what was counted

The call takes the real way: door, pipeline, relay, journal, over sockets, in a gateway of this
process with everything on. `intake` is what the record costs later, on its way into the database.
Counts are the same in every run, unlike times; the work of C code is not in them.
"""

import argparse
import gc
import math
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median_low
from typing import TypeVar

import msgspec
from bench.counting import STEPS, InstructionCounter
from bench.intake import call
from bench.kit import REPOSITORY
from bench.one_call import calls, open_caller, run
from sqlalchemy import Connection

from remit.storage.audit import AuditLog
from remit.storage.cuts import NoKeys
from remit.storage.database import Database, default_url, open_database
from remit.storage.journal import Journal
from remit.upstreams import promptness

T = TypeVar("T")

BUDGET = Path(__file__).parent / "budget.toml"
WARM, COUNTED = 40, 31
WAVE = 200
"""Calls whose record is taken into the database at once."""

HEADROOM = 3
"""Per cent by which a step may grow before its budget has to be renewed."""

SMALLEST = 8
"""Instructions that even the smallest step may grow by."""

INTAKE = "intake"
WHY: Mapping[str, str] = {
    **STEPS,
    INTAKE: f"two events of a call into SQLite, {WAVE} calls in one transaction",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one call executes in one step."""

    instructions: int
    functions: int


Costs = Mapping[str, Cost]


async def counted() -> Costs:
    """Return the cost of every step: the median of many calls, since timers fire now and then."""
    counter = InstructionCounter()
    promptness.WINDOW = 0.0  # whether anybody is prompt depends on the machine
    async with open_caller() as caller:
        await calls(caller, WARM)
        gc.collect()
        gc.disable()
        with counter.counting():
            await calls(caller, COUNTED)
        gc.enable()
    # What there is before the first arrival and after the last is no whole call.
    seen = counter.calls[-COUNTED:-1]
    costs = {
        step: Cost(
            instructions=median_low(instructions[step] for instructions, _ in seen),
            functions=median_low(functions[step] for _, functions in seen),
        )
        for step in STEPS
    }
    return {**costs, INTAKE: await _intake()}


async def _intake() -> Cost:
    """Return what it costs to take the record of a call into the database."""
    counter = InstructionCounter()
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        async with open_database(default_url(Path(name))) as database:
            journal, here = Journal(Path(name)), _WritesHere(database.engine)
            audit = AuditLog(here, journal, durability="process", signer=NoKeys())
            for is_counted in (False, True):
                for number in range(WAVE):
                    for event in call(number):
                        await audit.record(event)
                if is_counted:
                    gc.disable()
                    with counter.counting():
                        await audit.flush()
                    gc.enable()
                else:
                    await audit.flush()
            await audit.close()
    instructions, functions = counter.calls[-1]
    return Cost(
        instructions=round(instructions.total() / WAVE),
        functions=round(functions.total() / WAVE),
    )


class _WritesHere(Database):
    """Writes in the thread that counts, instead of the connection's own."""

    def bounded(self, longest: float = math.inf) -> "Database":
        del longest
        return self

    async def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> T:
        async with self.writing(durable=durable) as connection:
            return await connection.run_sync(work)


def budget() -> tuple[str, Costs]:
    """Return the Python version that the budget is for, and what each step may execute."""
    document = tomllib.loads(BUDGET.read_text())
    steps = {
        name: Cost(instructions=step["instructions"], functions=step["functions"])
        for name, step in document["steps"].items()
    }
    return document["python"], steps


def compare(costs: Costs, allowed: Costs) -> Sequence[tuple[str, str]]:
    """Return a line for each step, and what is wrong with it or nothing."""
    lines: list[tuple[str, str]] = []
    for step in dict.fromkeys((*allowed, *costs)):
        found, limit = costs.get(step), allowed.get(step)
        if found is None or limit is None:
            lines.append((step, "only in the budget" if found is None else "has no budget"))
            continue
        bound = most(limit.instructions)
        verdict = ""
        if found.instructions > bound:
            verdict = f"grew by {found.instructions - limit.instructions}, more than {HEADROOM} %"
        lines.append((step, verdict))
    return lines


def most(instructions: int) -> int:
    """Return how many instructions a step with that budget may execute."""
    return instructions + max(SMALLEST, ceil(instructions * HEADROOM / 100))


def shown(costs: Costs, allowed: Costs) -> str:
    """Return the table of what was counted and what is allowed."""
    head = f"{'step':<13} {'budget':>7} {'counted':>8} {'change':>8} {'functions':>10}"
    rows = [head]
    for step, verdict in compare(costs, allowed):
        found, limit = costs.get(step), allowed.get(step)
        if found is None or limit is None:
            rows.append(f"{step:<13} {verdict}")
            continue
        change = found.instructions - limit.instructions
        figures = f"{limit.instructions:>7} {found.instructions:>8} {change:>+8}"
        rows.append(f"{step:<13} {figures} {found.functions:>10}  {verdict}".rstrip())
    total = sum(cost.instructions for step, cost in costs.items() if step != INTAKE)
    rows.append(f"{'the call':<13} {'':>7} {total:>8}")
    return "\n".join(rows)


def written(costs: Costs, version: str) -> str:
    """Return the text of a budget that allows *costs*."""
    lines = [
        "# What one warm tools/call may execute: bytecode instructions, and Python functions",
        f"# entered or resumed. A step may grow by {HEADROOM} % (at least {SMALLEST}); beyond that",
        "# tests/performance/test_instructions.py fails. If the growth is worth it, or something",
        "# shrank, renew it all and commit it with the change:",
        "#",
        "#     python -m bench.instructions --renew",
        f'python = "{version}"',
    ]
    for step, cost in costs.items():
        lines += [
            "",
            f"[steps.{step}]",
            f"instructions = {cost.instructions}",
            f"functions = {cost.functions}",
            f'reason = "{WHY[step]}"',
        ]
    return "\n".join((*lines, ""))


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> int:
    """Count, then compare, renew or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # hashes decide how often a look-up compares
        again = [sys.executable, "-m", "bench.instructions", *sys.argv[1:]]
        environ = {**os.environ, "PYTHONHASHSEED": "0"}
        return subprocess.run(again, env=environ, cwd=REPOSITORY, check=False).returncode
    costs: Costs = run(counted)
    if options.json:
        print(msgspec.json.encode(costs).decode())
        return 0
    if options.renew:
        before: Costs = budget()[1] if BUDGET.exists() else costs
        BUDGET.write_text(written(costs, _python()))
        print(shown(costs, before))
        return 0
    version, allowed = budget()
    print(shown(costs, allowed))
    if version != _python():
        print(f"the budget is for Python {version}: {_python()} counts otherwise")
        return 0
    return 1 if any(verdict for _, verdict in compare(costs, allowed)) else 0


if __name__ == "__main__":
    sys.exit(main())
