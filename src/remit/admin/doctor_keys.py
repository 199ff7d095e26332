"""What `remit doctor` sees of the keys that remit makes for itself."""

import os
from collections.abc import Iterator
from pathlib import Path

from remit.admin.secret_files import SESSION_KEY, read_session_key
from remit.errors import StartupError
from remit.model.health import Finding, Grade


def of_session_key(state: Path) -> Iterator[Finding]:
    """Give why no gateway could start with the key that seals session ids.

    Nothing is said of one that is not there, which the next start makes, nor of one in a folder
    that lets nobody look.
    """
    path = state / SESSION_KEY
    if not os.access(path, os.F_OK):
        return
    try:
        read_session_key(state)
    except StartupError:
        is_closed = not os.access(path, os.R_OK)
        yield Finding(
            code="session-key",
            about=str(path),
            grade=Grade.ERROR,
            message=f"it {'cannot be read' if is_closed else 'holds no key'}, and without it no"
            " gateway starts",
            remedy="make it belong to whoever runs remit"
            if is_closed
            else "remove it: the next start makes one, and clients begin their sessions anew",
        )
