"""The process that outlives the gateway by a moment, to end what it left behind.

It hears of every child's process group on its standard input (`+PGID`, `-PGID`, a line each). When
that ends, the gateway is gone, however it went, and the groups that are left are ended.

It runs on its own, so it uses nothing but the standard library, and little of that.
"""

import os
import signal
import sys
import time
from collections.abc import Collection, Iterable

GRACE = 2.0
"""Seconds that groups have between SIGTERM and SIGKILL; their input has ended already."""

_LOOK = 0.05


def main() -> None:
    """Follow the lines to their end, and end what is left then."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end(left_of(sys.stdin.buffer))


def left_of(lines: Iterable[bytes]) -> set[int]:
    """Return the groups that were named as begun and not as ended."""
    groups: set[int] = set()
    for line in lines:
        group = int(line[1:])
        (groups.add if line.startswith(b"+") else groups.discard)(group)
    return groups


def end(groups: Collection[int]) -> None:
    """End every group, gently first."""
    until = time.monotonic() + GRACE
    left = [group for group in groups if _signal(group, signal.SIGTERM)]
    while left and time.monotonic() < until:
        time.sleep(_LOOK)  # noqa: TID251 - nobody tells of the end of what is no child
        left = [group for group in left if _signal(group, 0)]
    for group in left:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
