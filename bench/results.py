"""What was measured, as `bench/results.json` keeps it: every round, not only medians."""

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec

CALL, LIST, DENIED, SPREAD = "call", "list", "denied", "spread"
"""What a cell sends: allowed calls, lists, calls that policy refuses, calls to several workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One cell of one round.

    Attributes:
        rate: Right answers a second.
        p50: Microseconds; likewise p95 and p99.
        cpu: Microseconds of processor of the target's processes for each call.
        calls: How many were measured.
        foreign: Cores that others of the machine kept busy meanwhile.
    """

    rate: float
    p50: float
    p95: float
    p99: float
    cpu: float
    calls: int
    foreign: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A target under one kind of load, in every round."""

    target: str
    what: str
    connections: int
    tools: int
    rounds: tuple[Round, ...]

    def middle(self, name: str) -> float:
        """Return the median of one figure, such as `p50`."""
        return float(median(getattr(one, name) for one in self.rounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What a target takes to start and to stay, in every round.

    Attributes:
        listen: Milliseconds from its start until it accepts connections.
        first_call: Milliseconds from its start to the first right answer of a tool.
        idle: MiB resident after that; of all its processes.
        loaded: MiB after the load of the round.
    """

    target: str
    listen: tuple[float, ...]
    first_call: tuple[float, ...]
    idle: tuple[float, ...]
    loaded: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Resident memory (MiB) after so many calls of one process's life."""

    target: str
    calls: tuple[int, ...]
    resident: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piped:
    """Calls over one stdio child, by who drives it: `raw`, `upstreams` or `remit` (medians).

    Attributes:
        rps: Calls a second.
        cpu: Microseconds of processor of the one who drives, for each call.
    """

    rps: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a target is, or why it was not measured.

    Attributes:
        note: How it is set up.
        failed: Empty when it was measured.
    """

    name: str
    version: str
    note: str
    era: str
    failed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A whole run."""

    taken: str
    commit: str
    rounds: int
    seconds: float
    machine: dict[str, str]
    targets: tuple[About, ...]
    cells: tuple[Cell, ...]
    lives: tuple[Life, ...]
    growths: tuple[Growth, ...] = ()
    stdio: dict[str, Piped] = field(default_factory=dict[str, Piped])

    def find(self, target: str, what: str, connections: int, tools: int = 40) -> Cell | None:
        """Return that cell, if it was measured."""
        for cell in self.cells:
            if (cell.target, cell.what, cell.connections, cell.tools) == (
                target,
                what,
                connections,
                tools,
            ):
                return cell
        return None


def load(path: Path) -> Results:
    """Return what *path* keeps."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def dump(results: Results) -> str:
    """Return the text of a results file."""
    return msgspec.json.format(msgspec.json.encode(results)).decode() + "\n"
