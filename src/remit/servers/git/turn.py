"""One writer at a time in a repository, whichever process of the server it comes through."""

import errno
import fcntl
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from remit.servers.errors import ToolError

_FILE: Final = "remit-turn"
_PAUSE = 0.02
PATIENCE = 1.0
"""Seconds that another program's git, an editor's for one, has to let go of the index."""


@asynccontextmanager
async def turn(common: Path, index_lock: Path) -> AsyncGenerator[None]:
    """Wait for this call's turn to write; the caller sets the time limit.

    The lock is the kernel's, on a file in git's own directory: it ends with its holder.

    Args:
        common: The git directory that all working trees of the repository share.
        index_lock: What another git holds while it writes.

    Raises:
        ToolError: If the directory cannot be written to.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(common / _FILE, flags, 0o600)
    except OSError as error:
        raise ToolError(
            f"the repository cannot be written to: {error.strerror}; have its permissions repaired"
        ) from error
    try:
        await _until(partial(_take, descriptor))
        with anyio.move_on_after(PATIENCE):
            await _until(partial(_is_absent, index_lock))
        yield
    finally:
        os.close(descriptor)


async def _until(is_so: Callable[[], bool]) -> None:
    # The kernel tells nobody when such a lock is let go of.
    while True:
        if is_so():
            return
        await anyio.sleep(_PAUSE)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without such locks: git's own have to do.
        return error.errno not in {errno.EWOULDBLOCK, errno.EINTR}
    return True


def _is_absent(file: Path) -> bool:
    return not file.exists()
