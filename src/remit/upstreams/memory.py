"""How much memory child processes take, each with everything that it has started."""

import os
import resource
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

_PROCESSES = Path("/proc")
_GROUP, _PAGES = 2, 21
"""Places in `/proc/PID/stat` after the name: process group, resident pages."""


def memory_by_group() -> Mapping[int, int]:
    """Return the resident bytes of every process group; empty where none can be known (not Linux).

    Children lead a group of their own (`child.py`), so that launchers such as `uvx` are counted
    together with what they run. Memory that processes share counts for each of them.

    It reads all of `/proc`, which blocks for a tenth of a millisecond a process and more: for a
    thread, and once for all children.
    """
    try:
        names = [name for name in os.listdir(_PROCESSES) if name.isdecimal()]  # noqa: PTH208 - names
    except FileNotFoundError:
        return {}
    pages = Counter[int]()
    for name in names:
        try:
            stat = (_PROCESSES / name / "stat").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        fields = stat.rpartition(b")")[2].split()  # the name may hold anything, brackets too
        pages[int(fields[_GROUP])] += int(fields[_PAGES])
    return {group: count * resource.getpagesize() for group, count in pages.items() if count}
