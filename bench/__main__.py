"""Calls a second, latency, processor and memory: direct, nginx, remit and its peers, in one run.

    make bench                                  # or: python -m bench; PEERS=all adds the slow ones
    python -m bench --only direct,remit --rounds 1 --secs 0.5 --sections calls
    python -m bench --report                    # the page anew, out of what was measured last

A whole run writes `bench/results.json` and `docs/benchmarks.md`; one that leaves something out
only prints, unless `--write` says otherwise.
"""

import argparse
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import report
from bench.kit import CACHE, KIT, REPOSITORY
from bench.line_up import LineUp, names_of
from bench.processes import BenchError
from bench.results import About, Piped, Results, dump, load
from bench.rounds import Bench, Plan
from bench.targets import DIRECT, REMIT, REMIT_TWO, Target, upstream_port

RESULTS = REPOSITORY / "bench" / "results.json"
DOCS = REPOSITORY / "docs"
SECTIONS = ("calls", "lists", "stdio", "workers", "memory")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=float, default=0.8, help="of every cell")
    parser.add_argument("--conns", default="1,16,64")
    parser.add_argument("--only", default="", help="targets, such as direct,nginx,remit")
    parser.add_argument("--sections", default=",".join(SECTIONS), help="any of the default")
    parser.add_argument("--growth", type=int, default=1_000_000, help="calls of section memory")
    parser.add_argument("--json", action="store_true", help="print what results.json would hold")
    parser.add_argument("--write", action="store_true", help="write, although not all was run")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    if chosen.report:
        report.write(load(RESULTS), DOCS)
        return 0
    if not KIT.is_dir():
        print(f"the bench kit is not at {KIT}: set REMIT_SHARED", file=sys.stderr)
        return 2
    names = names_of(chosen.only, every=os.environ.get("PEERS") == "all")
    sections = chosen.sections.split(",")
    results = run(chosen, names, sections)
    whole = not chosen.only and chosen.rounds >= 5 and set(sections) == set(SECTIONS)
    if whole or chosen.write:
        RESULTS.write_text(dump(results))
        report.write(results, DOCS)
    print(dump(results) if chosen.json else report.page(results))
    ours = [one for one in results.targets if one.name in {DIRECT, REMIT}]
    return 1 if any(one.failed or "connections:" in one.note for one in ours) else 0


def run(chosen: argparse.Namespace, names: Sequence[str], sections: Sequence[str]) -> Results:
    """Measure what was chosen."""
    plan = Plan(
        rounds=chosen.rounds,
        secs=chosen.secs,
        conns=[int(count) for count in chosen.conns.split(",")],
        growth=chosen.growth,
    )
    with TemporaryDirectory(prefix="remit-bench-") as folder, ExitStack() as stack:
        line_up = LineUp(stack, folder=Path(folder), port=upstream_port(names))
        targets = line_up.prepare(names)
        logs = CACHE / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        bench = Bench(plan, port=line_up.port, logs=logs)
        remit = [target for target in targets if target.name == REMIT]
        stdio: Mapping[str, Piped] = {}
        if "calls" in sections:
            bench.calls(targets)
        if "lists" in sections:
            bench.lists(targets)
        if "stdio" in sections:
            stdio = bench.pipes()
        if "workers" in sections:
            bench.spread((*remit, *line_up.prepare([REMIT_TWO])))
        if "memory" in sections and remit:
            bench.growth(remit[0])
    failed, lacking = {**line_up.failed, **bench.failed}, bench.lacking
    return Results(
        taken=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=_commit(),
        rounds=plan.rounds,
        seconds=plan.secs,
        machine=machine(),
        targets=tuple(_about(name, targets, failed, lacking) for name in names),
        cells=bench.cells,
        lives=bench.lives,
        growths=bench.growths,
        stdio=dict(stdio),
    )


def machine() -> dict[str, str]:
    """Describe this machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "?")
    whose = "the system's " if sys.base_prefix == "/usr" else ""
    kib = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "memory": f"{kib / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{whose}Python {platform.python_version()}",
    }


def _about(
    name: str, targets: Sequence[Target], failed: Mapping[str, str], lacking: Mapping[str, str]
) -> About:
    found = next((target for target in targets if target.name == name), None)
    why = failed.get(name, "")
    if found is None:
        return About(name=name, version="-", note="", era="-", failed=why)
    note = found.note + (f"; {lacking[name]}" if name in lacking else "")
    return About(name=name, version=found.version, note=note, era=found.era, failed=why)


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # nothing stays behind
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
