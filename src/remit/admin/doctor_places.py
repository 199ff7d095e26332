"""What `remit doctor` sees of the state folder and its disk."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from remit.admin.doctor_keys import of_session_key
from remit.admin.exposed_files import exposed_files
from remit.model.health import Finding, Grade
from remit.storage.journal import FOLDER
from remit.storage.read_only import is_on_read_only_storage

LITTLE_ROOM: Final = 1024**3
"""Bytes; the record of a busy week."""

NO_ROOM: Final = 100 * 1024**2
"""Bytes; a full journal file for each of a dozen workers."""

REJECTED: Final = "*.rejected"
"""Lines of the journal that no database could take (storage/journal.py)."""


def of_state(state: Path, files: Sequence[Path]) -> Iterator[Finding]:
    """Give what is wrong with who may read and write the state folder.

    Args:
        state: The folder; it need not be there.
        files: More files of remit's own.
    """
    about = "state folder"
    if not state.exists():
        yield fine(about, f"{state} is not there yet; the first start makes it")
        return
    wrong = list(_wrong_with(state, files))
    yield from wrong
    if not wrong:
        yield fine(about, f"{state} is private, and can be written")


def _wrong_with(state: Path, files: Sequence[Path]) -> Iterator[Finding]:
    if (folder := _closed(state)) is not None:
        yield Finding(
            code="state-unwritable",
            about="state folder",
            grade=Grade.ERROR,
            message=f"{folder} cannot be written",
            remedy="mount its storage so that it can be written, or name another folder in"
            " REMIT_STATE_DIR"
            if is_on_read_only_storage(state)
            else "make it belong to whoever runs remit",
        )
    if state.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield Finding(
            code="state-open",
            about="state folder",
            grade=Grade.ERROR,
            message=f"others can replace files in {state}",
            remedy=f"chmod 700 {state}",
        )
    for problem in exposed_files(state, files):
        yield Finding(
            code=problem.code,
            about=problem.file,
            grade=Grade.ERROR,
            message=problem.message,
            remedy=problem.remedy,
        )
    yield from of_session_key(state)
    for path in sorted(state.glob(f"{FOLDER}/{REJECTED}")):
        yield Finding(
            code="journal-rejected",
            about=str(path),
            grade=Grade.WARNING,
            message="events that no database could take are kept here, and nowhere else",
            remedy="read them, keep them with the record, and tell whoever maintains remit",
        )


def _closed(state: Path) -> Path | None:
    """Return the state folder or the journal's, whichever cannot be written."""
    needed = os.R_OK | os.W_OK | os.X_OK
    for folder in (state, state / FOLDER):
        if not os.access(folder, needed):
            return folder if os.access(folder, os.F_OK) else None
    return None


def of_disk(state: Path) -> Iterator[Finding]:
    """Give how much room there is for the journal, and for a database beside it."""
    free = shutil.disk_usage(_nearest(state)).free
    told = f"{free // 1024**2} MiB are free for {state}"
    if free < LITTLE_ROOM:
        yield Finding(
            code="disk-full" if free < NO_ROOM else "disk-low",
            about="disk",
            grade=Grade.ERROR if free < NO_ROOM else Grade.WARNING,
            message=told,
            remedy="make room, or set audit.retention_days: what cannot be recorded is not run",
        )
    else:
        yield fine("disk", told)


def _nearest(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())


def fine(about: str, message: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(code="ok", about=about, grade=Grade.OK, message=message)
