"""Where the microseconds of a call go: a serving gateway under load, sampled, by pipeline step.

    bench/profile                       # calls on 16 connections, for 5 seconds
    bench/profile --what denied --top 5 # or list; and the 5 dearest functions of each step
    bench/profile --stacks out.txt      # the stacks as well, as flame graphs are made from

py-spy looks at the running process a thousand times a second; a sample belongs to the step of the
innermost frame that has one, with what C code and the kernel do for it. `loop` is the event loop
itself, with its waiting for sockets; `intake` is the record's way into the database, which no call
waits for. Microseconds are the step's share of the processor time that a call took unobserved.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cells import Started, measure, serving, upstream
from bench.counting import STEPS, step_named
from bench.environments import install
from bench.kit import CACHE, KIT
from bench.processes import BenchError, free_port
from bench.results import CALL, DENIED, LIST, Round
from bench.targets import remit_over_http

PY_SPY = "py-spy==0.4.3"
RATE = 1000
CROWD = 16
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
LOOP, INTAKE = "loop", "intake"
BEHIND = ("sqlalchemy", "aiosqlite", "remit.storage.insertion", "remit.storage.chain")
"""Modules that only the record's way into the database needs: limits are in memory, keys known."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One function of a stack; its name may have its class before it."""

    name: str
    module: str

    @property
    def function(self) -> str:
        """Its name alone."""
        return self.name.rpartition(".")[2]


def parse(line: str) -> tuple[Sequence[Frame], int]:
    """Read a line of py-spy's raw format: frames from the outermost on, and how often seen."""
    stack, _, count = line.rpartition(" ")
    return [_frame(text) for text in stack.split(";")], int(count)


def _frame(text: str) -> Frame:
    name, _, place = text.rpartition(" (")
    path = place.rstrip(")").partition(":")[0]
    for root in ("/src/", "/site-packages/", f"/lib/python{VERSION}/"):
        if root in path:
            path = path.rpartition(root)[2]
    return Frame(name, path.removesuffix(".py").replace("/", "."))


def step_of(stack: Sequence[Frame]) -> str:
    """Return the step that a sample belongs to."""
    if any(frame.function == "write_behind" or frame.module.startswith(BEHIND) for frame in stack):
        return INTAKE
    for frame in reversed(stack):
        step = step_named(frame.module, frame.function)
        if step is not None:
            return step
    return LOOP


def by_step(lines: Sequence[str]) -> Mapping[str, Counter[str]]:
    """Return the samples of each step, by innermost function."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for stack, count in map(parse, lines):
        leaf = stack[-1]
        found[step_of(stack)][f"{leaf.module}.{leaf.name}"] += count
    return found


def table(found: Mapping[str, Counter[str]], *, cpu: float, top: int) -> str:
    """Return the table of steps.

    Args:
        found: Samples by step and function.
        cpu: Microseconds that a call took in all.
        top: Functions to name in each step.
    """
    samples = sum(functions.total() for functions in found.values())
    lines = [f"{'step':<13} {'share':>6} {'us a call':>10}"]
    for step in (*STEPS, LOOP, INTAKE):
        functions = found.get(step, Counter[str]())
        share = functions.total() / samples
        lines.append(f"{step:<13} {share:>6.1%} {share * cpu:>10.1f}")
        for name, count in functions.most_common(top):
            lines.append(f"  {count / samples:>17.1%} {count / samples * cpu:>10.1f}  {name}")
    lines.append(f"{'all':<13} {'':>6} {cpu:>10.1f}   ({samples:,} samples)")
    return "\n".join(lines)


def sampled(run: Started, what: str, secs: float, folder: Path) -> Sequence[str]:
    """Return the stacks of *run* under load."""
    program = install("py-spy", PY_SPY) / "bin" / "py-spy"
    stacks = folder / "stacks.txt"
    load = threading.Thread(target=_measured, args=(run, what, secs + 1.5))
    load.start()
    done = subprocess.run(
        [
            *(program, "record", "--pid", str(run.pid), "--duration", str(int(secs))),
            *("--rate", str(RATE), "--format", "raw", "--full-filenames", "--function"),
            *("--nonblocking", "--output", stacks),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    load.join()
    if not stacks.exists():
        raise BenchError(f"py-spy saw nothing: {done.stderr.strip()[-300:]}")
    return stacks.read_text().splitlines()


def _measured(run: Started, what: str, secs: float) -> Round:
    conns = 1 if what == LIST else CROWD
    return measure(run, what, conns=conns, secs=secs, expect="Filler tool number 37:")


def main() -> int:
    """Start, load, sample, print."""
    parser = argparse.ArgumentParser(
        prog="bench/profile", description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--what", choices=(CALL, LIST, DENIED), default=CALL)
    parser.add_argument("--secs", type=float, default=5.0)
    parser.add_argument("--top", type=int, default=3, help="functions to name in each step")
    parser.add_argument("--stacks", type=Path, help="where to leave the sampled stacks")
    options = parser.parse_args()
    if not KIT.is_dir():
        print(f"the bench kit is not at {KIT}: set REMIT_SHARED", file=sys.stderr)
        return 2
    (CACHE / "logs").mkdir(parents=True, exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name, upstream(port, 40):
        folder = Path(name)
        target = remit_over_http(port, folder / "remit")
        with serving(target, CACHE / "logs" / "profile.log") as run:
            unobserved = _measured(run, options.what, min(2.0, options.secs))
            lines = sampled(run, options.what, options.secs, folder)
    if options.stacks:
        options.stacks.write_text("\n".join((*lines, "")))
    print(table(by_step(lines), cpu=unobserved.cpu, top=options.top))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(str(error))
