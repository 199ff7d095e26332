"""Seconds from a change to refusal on the other gateway of one store: `python bench/reach.py [N]`.

Keys, users, agents, rules and ends of grants, N changes in all (50) on SQLite and on PostgreSQL;
the requirement is less than 2 (R17).
"""

import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import anyio

from remit.testing.reach import KINDS, Refusal, open_reach
from remit.testing.services import open_postgres, postgres_programs

CHANGES = 50
ALLOWED = 2.0


async def measured(folder: Path, url: str, changes: int) -> Sequence[Refusal]:
    async with open_reach(folder, url) as reach:
        return [await reach.measure(number) for number in range(changes)]


def shown(store: str, refusals: Sequence[Refusal]) -> None:
    for kind in (*KINDS, "all"):
        seconds = [one.seconds for one in refusals if kind in (one.kind, "all")]
        print(
            f"{store:<11} {kind:<14} {len(seconds):>3}"
            f" {statistics.median(seconds):>8.3f} {max(seconds):>8.3f}"
        )


def main() -> int:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else CHANGES
    print(f"{'store':<11} {'change':<14} {'n':>3} {'median s':>8} {'max s':>8}")
    slowest = 0.0
    programs = postgres_programs()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stores = {"sqlite": ""}
        if programs is not None:
            server = stack.enter_context(open_postgres(programs))
            stores["postgresql"] = stack.enter_context(server.database())
        for store, url in stores.items():
            (folder / store).mkdir()
            refusals = anyio.run(measured, folder / store, url, changes)
            shown(store, refusals)
            slowest = max(slowest, *(one.seconds for one in refusals))
    print(f"slowest {slowest:.3f} s, allowed {ALLOWED} s")
    return 0 if slowest < ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
