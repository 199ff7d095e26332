"""Rounds: every target in turn, from its start to its end, in an order that moves each round."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cells import Started, measure, serving, upstream
from bench.processes import BenchError
from bench.results import CALL, DENIED, LIST, Cell, Growth, Life, Round
from bench.targets import REST, Target, with_tools

FEW, MANY = 40, 1_000
"""Tools that the upstream offers."""

CROWD = 16
"""Connections where only one number of them is measured."""

MIB = 2**20
STEPS = 10
"""How often memory is read while a process takes many calls."""

Key = tuple[str, str, int, int]


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
    """Measures; what one target does wrong ends that target, and nothing else.

    Attributes:
        failed: Target to the reason.
    """

    def __init__(self, plan: Plan, *, port: int, logs: Path) -> None:
        self.failed: dict[str, str] = {}
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
            for (name, what, conns, tools), rounds in self._rounds.items()
            if name not in self.failed
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
        self._interleave("calls", FEW, targets, self._visit)

    def lists(self, targets: Sequence[Target]) -> None:
        """Measure lists of 1,000 tools."""
        wide = [with_tools(target, MANY) for target in targets if target.era != REST]
        self._interleave("lists", MANY, wide, lambda run: self._list(run, MANY))

    def crowd(self, targets: Sequence[Target]) -> None:
        """Measure calls on 16 connections alone."""
        self._interleave("crowd", FEW, targets, lambda run: self._cell(run, CALL, CROWD, FEW))

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
        for number in range(self._plan.rounds):
            self._say(f"{title}: round {number + 1} of {self._plan.rounds}")
            first = number % max(1, len(targets))
            with upstream(self._port, tools) as self._upstream:
                for target in (*targets[first:], *targets[:first]):
                    if target.name not in self.failed:
                        self._attempt(target, visit)

    def _attempt(self, target: Target, visit: Callable[[Started], None]) -> None:
        try:
            with serving(target, self._logs / f"{target.name}.log") as run:
                visit(run)
        except (BenchError, OSError) as error:
            self.failed[target.name] = " ".join(str(error).split())
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
        self._cell(run, LIST, 1, tools, expect=f"tool_{tools - 3:04d}")

    def _cell(self, run: Started, what: str, conns: int, tools: int, *, expect: str = "") -> None:
        one = measure(
            run, what, conns=conns, secs=self._plan.secs, upstream=self._upstream, expect=expect
        )
        self._rounds[run.target.name, what, conns, tools].append(one)
        self._say(
            f"{run.target.name:<18} {what:<6} {conns:>3} connections {tools:>5} tools"
            f" {one.rate:>9,.0f}/s  p50 {one.p50:>9,.0f} us  {one.cpu:>8,.0f} us CPU"
        )

    def _say(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"{minutes:>3}:{seconds:02d}  {text}", file=sys.stderr, flush=True)
