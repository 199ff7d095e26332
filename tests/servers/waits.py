"""Waiting for what a hook or a filter of a test does."""

from collections.abc import Callable
from pathlib import Path

import anyio

STAY = "echo $$ > {file}; exec sleep 600"
"""Of a shell: says who it is, and stays until it is killed."""


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    with anyio.fail_after(60):
        while True:
            if is_so():
                return
            await anyio.sleep(0.01)


async def written(file: Path) -> int:
    """Wait until a process has written its id to *file*, and return it."""
    await until(lambda: file.exists() and bool(file.read_text().strip()))
    return int(file.read_text())


async def gone(file: Path) -> None:
    """Wait until the process named in *file* has ended."""
    process = await written(file)
    await until(lambda: not _alive(process))


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie is over; only its parent, which may be long gone too, has not asked yet.
    return state != "Z"
