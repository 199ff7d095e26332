"""How much memory a child process takes, with everything that it has started."""

import os
import resource
from pathlib import Path

_PROCESSES = Path("/proc")
_GROUP, _PAGES = 2, 21
"""Places in `/proc/PID/stat` after the name: process group, resident pages."""


def memory_of_group(group: int) -> int | None:
    """Return the resident bytes of a process group; None where it cannot be known (not Linux).

    Children lead a group of their own (`child.py`), so that launchers such as `uvx` are counted
    together with what they run. Memory that processes share counts for each of them.
    """
    try:
        names = [name for name in os.listdir(_PROCESSES) if name.isdecimal()]  # noqa: PTH208 - names
    except FileNotFoundError:
        return None
    pages = 0
    for name in names:
        try:
            stat = (_PROCESSES / name / "stat").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        fields = stat.rpartition(b")")[2].split()  # the name may hold anything, brackets too
        if int(fields[_GROUP]) == group:
            pages += int(fields[_PAGES])
    return pages * resource.getpagesize() if pages else None
