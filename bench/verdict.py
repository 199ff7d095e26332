"""What `soak.py` holds against one another: calls, runs at the servers, rows, and sizes."""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.testing.upstream import executed

MORE_MEMORY, MORE_SHARE, MORE_DESCRIPTORS = 16 * 1024, 1.10, 24
"""What the last third may have above the first: KiB and a factor, and descriptors."""


@dataclass(kw_only=True)
class Sent:
    """A call: what was asked and what became of it.

    Attributes:
        answer: `ok`, `refused` (it did not run), `failed` (unknown whether it ran), `broken` (no
            answer, since the connection ended) or `cut` (by its caller).
    """

    server: str
    tool: str
    answer: str = "hung"


@dataclass(kw_only=True)
class Sample:
    """What the gateway's processes had at one moment: KiB and descriptors."""

    supervisor: tuple[int, int]
    worker: tuple[int, int]


def processes(*words: str) -> list[int]:
    """Return the processes whose command line holds all *words* (arguments end in NUL)."""
    found: list[int] = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):
                line = (path / "cmdline").read_bytes().decode(errors="replace")
                if all(word in line for word in words):
                    found.append(int(path.name))
    return found


def size_of(pid: int) -> tuple[int, int]:
    """Return a process's resident memory in KiB, and how many descriptors it has."""
    with suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) if found else 0, len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return 0, 0


def against_the_servers(
    sent: Mapping[int, Sent], files: Sequence[Path], recorded: Counter[int]
) -> list[str]:
    """Return what is wrong with how often calls ran."""
    ran: Counter[int] = Counter()
    for file in files:
        ran.update(run.arguments["number"] for run in executed(file))
    faults: list[str] = []
    for number, call in sent.items():
        times = ran[number]
        if call.tool == "write" and times > 1:
            faults.append(f"twice: call {number} of {call} ran {times} times")
        if call.answer == "ok" and not times:
            faults.append(f"wrong: call {number} of {call} never ran")
        if call.answer == "refused" and call.tool == "write" and times:
            faults.append(f"wrong: call {number} of {call} ran although its caller was told not")
        if times and not recorded[number]:
            faults.append(f"lost: call {number} of {call} ran and is not on record")
    return faults


def against_the_record(
    sent: Mapping[int, Sent], rows: dict[int, str], recorded: Counter[int]
) -> list[str]:
    """Return which answers are not in the record exactly once, as they were."""
    faults = [f"lost: call {n} has {times} rows" for n, times in recorded.items() if times > 1]
    for number, call in sent.items():
        if call.answer in {"ok", "refused", "failed"} and recorded[number] == 0:
            faults.append(f"lost: call {number} of {call} is not on record")
        if call.answer == "ok" and rows.get(number, "ok") != "ok":
            faults.append(f"wrong: call {number} of {call} is on record as {rows[number]}")
    return faults


def number_of(row: dict[str, Any]) -> int:
    """Return the number of a call on record, whose arguments may be there in part only."""
    found = re.search(r'number[\\"]*: ?(\d+)', row["arguments"])
    return int(found[1]) if found else -1


def growth(samples: Sequence[Sample]) -> tuple[dict[str, list[float]], list[str]]:
    """Return medians of the first and the last third after warm-up, and which are too far apart."""
    warm = samples[len(samples) // 6 :]
    third = max(1, len(warm) // 3)
    found: dict[str, list[float]] = {}
    faults: list[str] = []
    for process in ("supervisor", "worker"):
        for at, what in enumerate(("KiB", "descriptors")):
            first, last = (
                statistics.median(getattr(sample, process)[at] for sample in part)
                for part in (warm[:third], warm[-third:])
            )
            found[f"{process} {what}"] = [first, last]
            most = first + MORE_DESCRIPTORS if at else first * MORE_SHARE + MORE_MEMORY
            if last > most:
                faults.append(f"growth: {process} had {first} and has {last} {what}")
    return found, faults
