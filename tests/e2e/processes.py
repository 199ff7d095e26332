"""Which processes there are, as the kernel tells: nothing may be left running."""

from dataclasses import dataclass
from pathlib import Path

_PARENT, _THREADS, _STARTED = 1, 17, 19
"""Positions in `/proc/PID/stat` after the name in brackets."""


@dataclass(frozen=True)
class Process:
    """A process; told from a later one with the same number by when it started."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Whether it still runs; one that only waits to be reaped does not.

        One that was killed has its ports and files until the last of its threads has ended, while
        the first already waits for that.
        """
        found = _stat(self.pid)
        if found is None or int(found[_STARTED]) != self.started:
            return False
        return found[0] != "Z" or int(found[_THREADS]) > 1


def process_of(pid: int) -> Process:
    """Return the process that has that number now."""
    found = _stat(pid)
    if found is None:
        raise LookupError(f"there is no process {pid}")
    return Process(pid, int(found[_STARTED]))


def resident(pid: int) -> int:
    """Return the bytes that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def descendants(pid: int) -> set[Process]:
    """Return all that a process started, directly or through others."""
    stats = {other: found for other in _all_pids() if (found := _stat(other)) is not None}
    family, grown = {pid}, True
    while grown:
        more = {other for other, found in stats.items() if int(found[_PARENT]) in family}
        grown = not more <= family
        family |= more
    return {Process(other, int(stats[other][_STARTED])) for other in family - {pid}}


def servers_of(pid: int) -> set[Process]:
    """Return what a gateway started for its servers: all but the warden that ends them."""
    return descendants(pid) - mentioning("warden_process.py")


def mentioning(text: str) -> set[Process]:
    """Return the processes whose command line holds *text*."""
    found: set[Process] = set()
    for pid in _all_pids():
        stat, line = _stat(pid), _read(pid, "cmdline")
        if stat is not None and line is not None and text in line:
            found.add(Process(pid, int(stat[_STARTED])))
    return found


def command_lines() -> str:
    """Return every command line on this machine, and nothing of this very process."""
    return "\n".join(line for pid in _all_pids() if (line := _read(pid, "cmdline")) is not None)


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _stat(pid: int) -> list[str] | None:
    text = _read(pid, "stat")
    return None if text is None else text.rpartition(")")[2].split()


def _read(pid: int, name: str) -> str | None:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return None
