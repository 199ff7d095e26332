"""Rounds: every target in turn, from its start to its end, in an order that moves each round."""

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from bench.cells import Started, measure, serving, upstream
from bench.kit import REPOSITORY
from bench.processes import BenchError
from bench.results import CALL, DENIED, LIST, SPREAD, Cell, Growth, Life, Piped, Round
from bench.targets import REMIT_STDIO, REST, Target, with_tools

FEW, MANY = 40, 1_000
"""Tools that the upstream offers."""

CALLS = "calls"
CROWD = 16
"""Connections where only one number of them is measured."""

SPARSE = 5
"""Answers a connection; with fewer a window ends in the middle of what is measured."""

LONG_WINDOW = 6.0
"""Seconds for targets that are so slow."""

MIB = 2**20
STEPS = 10
"""How often memory is read while a process takes many calls."""

Key = tuple[str, str, str, int, int]
"""Section, target, what, connections, tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured.

    Attributes:
        secs: Of every cell.
        conns: Numbers of connections for calls.
        growth: Calls of one process, between whose tenths its memory is read; 0 for none.
    """

    rounds: int
    secs: float
    conns: Sequence[int]
    growth: int


class Bench:
    """Measures; what one target does wrong ends its part of that section, and nothing else.

    Attributes:
        failed: Target to the reason, for what could not be measured at all.
        lacking: Target to the reason, for what was measured but for some cells.
    """

    def __init__(self, plan: Plan, *, port: int, logs: Path) -> None:
        self.failed: dict[str, str] = {}
        self.lacking: dict[str, str] = {}
        self._section = ""
        self._failures: set[tuple[str, str]] = set()
        self._dropped: set[Key] = set()
        self._plan = plan
        self._port = port
        self._logs = logs
        self._upstream = 0
        self._began = time.monotonic()
        self._rounds: dict[Key, list[Round]] = defaultdict(list)
        self._lives: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
        self._growths: list[Growth] = []

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell of the targets that did not fail."""
        return tuple(
            Cell(target=name, what=what, connections=conns, tools=tools, rounds=tuple(rounds))
            for (section, name, what, conns, tools), rounds in self._rounds.items()
            if (section, name) not in self._failures
            and (section, name, what, conns, tools) not in self._dropped
        )

    @property
    def lives(self) -> tuple[Life, ...]:
        """Start and memory of the targets that did not fail."""
        return tuple(
            Life(target=name, listen=listen, first_call=first, idle=idle, loaded=loaded)
            for name, rows in self._lives.items()
            if name not in self.failed
            for listen, first, idle, loaded in [tuple(zip(*rows, strict=True))]
        )

    @property
    def growths(self) -> tuple[Growth, ...]:
        """Memory over many calls."""
        return tuple(self._growths)

    def calls(self, targets: Sequence[Target]) -> None:
        """Measure calls, lists of 40 tools, refusals, start and memory."""
        self._interleave(CALLS, FEW, targets, self._visit)

    def lists(self, targets: Sequence[Target]) -> None:
        """Measure lists of 1,000 tools."""
        wide = [with_tools(target, MANY) for target in targets if target.era != REST]
        self._interleave("lists", MANY, wide, lambda run: self._list(run, MANY))

    def spread(self, targets: Sequence[Target]) -> None:
        """Measure calls on many connections, for targets with different numbers of workers."""
        self._interleave(
            "workers", FEW, targets, lambda run: self._cell(run, SPREAD, CROWD * 4, FEW)
        )

    def pipes(self) -> Mapping[str, Piped]:
        """Measure one stdio child: driven directly, through the fleet, through all of remit."""
        self._say("stdio")
        how = ("--rounds", str(self._plan.rounds), "--secs", str(self._plan.secs), "--json")
        done = subprocess.run(
            [sys.executable, "-m", "bench.stdio", *how],
            cwd=REPOSITORY, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            self.failed[REMIT_STDIO] = done.stderr.strip()[-300:]
            return {}
        found = msgspec.json.decode(done.stdout.splitlines()[-1], type=dict[str, Piped])
        for name, one in found.items():
            self._say(f"{name:<18} {one.rps:>9,.0f}/s over one child  {one.cpu:>8,.0f} us CPU")
        return found

    def growth(self, target: Target) -> None:
        """Read the memory of *target* while it takes many calls."""
        resident: list[float] = []
        counts: list[int] = []

        def grow(run: Started) -> None:
            resident.append(run.usage.resident / MIB)
            counts.append(0)
            step = self._plan.growth // STEPS
            while counts[-1] < self._plan.growth:
                done, secs = counts[-1], self._plan.secs
                while done < counts[-1] + step:
                    one = measure(run, CALL, conns=CROWD, secs=secs, warm=0.0)
                    done += one.calls
                    secs = max(self._plan.secs, (counts[-1] + step - done) / one.rate)
                counts.append(done)
                resident.append(round(run.usage.resident / MIB, 1))
                self._say(f"{target.name} after {done:,} calls: {resident[-1]:.1f} MiB")

        with upstream(self._port, FEW):
            self._attempt(target, grow)
        self._growths.append(
            Growth(target=target.name, calls=tuple(counts), resident=tuple(resident))
        )

    def _interleave(
        self, title: str, tools: int, targets: Sequence[Target], visit: Callable[[Started], None]
    ) -> None:
        self._section = title
        for number in range(self._plan.rounds):
            self._say(f"{title}: round {number + 1} of {self._plan.rounds}")
            first = number % max(1, len(targets))
            with upstream(self._port, tools) as self._upstream:
                for target in (*targets[first:], *targets[:first]):
                    if (title, target.name) not in self._failures:
                        self._attempt(target, visit)

    def _attempt(self, target: Target, visit: Callable[[Started], None]) -> None:
        try:
            with serving(target, self._logs / f"{target.name}.log") as run:
                visit(run)
        except (BenchError, OSError) as error:
            why = " ".join(str(error).split())[:300]
            self._failures.add((self._section, target.name))
            if self._section == CALLS:
                self.failed[target.name] = why
            else:
                self.lacking[target.name] = f"{self._section} not measured: {why}"
            self._say(f"{target.name} failed: {error}")

    def _visit(self, run: Started) -> None:
        idle = run.usage.resident / MIB
        for conns in self._plan.conns:
            self._cell(run, CALL, conns, FEW)
        if run.target.era != REST:
            self._list(run, FEW)
        if run.target.denied:
            self._cell(run, DENIED, CROWD, FEW)
        if run.pid:
            loaded = run.usage.resident / MIB
            row = (round(run.listen, 1), round(run.first_call, 1), round(idle, 1), round(loaded, 1))
            self._lives[run.target.name].append(row)

    def _list(self, run: Started, tools: int) -> None:
        # The upstream numbers its tools from 0, after `echo` and `add`.
        self._cell(run, LIST, 1, tools, expect=f"Filler tool number {tools - 3}:")

    def _cell(self, run: Started, what: str, conns: int, tools: int, *, expect: str = "") -> None:
        key = (self._section, run.target.name, what, conns, tools)
        if key in self._dropped:
            return

        def measured(secs: float) -> Round:
            return measure(
                run, what, conns=conns, secs=secs, upstream=self._upstream, expect=expect
            )

        try:
            one = measured(self._plan.secs)
            if one.calls < SPARSE * conns:
                one = measured(max(self._plan.secs, LONG_WINDOW))
        except BenchError as error:
            if not any(known[:2] == key[:2] for known in self._rounds):
                raise
            self._dropped.add(key)
            why = f"{what}, {conns} connections: {error}"
            self.lacking[run.target.name] = why
            self._say(f"{run.target.name} lacks {why}")
            return
        self._rounds[key].append(one)
        self._say(
            f"{run.target.name:<18} {what:<6} {conns:>3} connections {tools:>5} tools"
            f" {one.rate:>9,.0f}/s  p50 {one.p50:>9,.0f} us  {one.cpu:>8,.0f} us CPU"
        )

    def _say(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"{minutes:>3}:{seconds:02d}  {text}", file=sys.stderr, flush=True)
