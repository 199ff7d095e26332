"""The lock files that a git which had to be killed has left behind."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

REST: Final = 0.3
"""Seconds in which a lock of another git that is at work is over; those of a dead one stay."""

# The clock of file times may be a tick behind the one that says when git was started.
_TICK = 0.02


async def drop_locks(homes: Sequence[Path], begun: float) -> None:
    """Remove the locks made since *begun*, seconds since 1970, that nobody lets go of."""
    before = dict(_locks(homes, begun))
    if not before:
        return
    await anyio.sleep(REST)
    for lock, made in _locks(homes, begun):
        if before.get(lock) == made:
            lock.unlink(missing_ok=True)


def _locks(homes: Sequence[Path], begun: float) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Yield each lock with what tells it from another one in its place."""
    for home in homes:
        for pattern in ("*.lock", "refs/**/*.lock"):
            for lock in home.glob(pattern):
                with suppress(FileNotFoundError):
                    made = lock.lstat()
                    if made.st_mtime >= begun - _TICK:
                        yield lock, (made.st_ino, made.st_mtime_ns)
