"""Secrets that remit makes for itself on the first start, each in a file of mode 0600."""

import os
import secrets
from pathlib import Path
from typing import Final

from remit.errors import StartupError

SESSION_KEY: Final = "session.key"
"""The name of the file, in the state folder."""

SESSION_KEY_BYTES: Final = 32


def write_secret(path: Path, text: str) -> bool:
    """Write *text* to a new file that only its owner can read; False when it is there already.

    Raises:
        StartupError: The folder cannot be written.
    """
    # whole before it has its name: another process that starts now reads it at once
    making = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        handle = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.link(making, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise StartupError(
            f"cannot write {path}: {error.strerror}; make its folder writable"
        ) from error
    finally:
        making.unlink(missing_ok=True)
    return True


def session_key(state: Path) -> bytes:
    """Return the key that seals session ids, made on the first start in a state folder.

    Raises:
        StartupError: The file cannot be written, or does not hold such a key.
    """
    write_secret(state / SESSION_KEY, secrets.token_hex(SESSION_KEY_BYTES))
    return read_session_key(state)


def read_session_key(state: Path) -> bytes:
    """Return the key that was made before.

    Raises:
        StartupError: The file does not hold such a key.
    """
    path = state / SESSION_KEY
    try:
        key = bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError) as error:
        raise StartupError(f"cannot read {path}; remove it to have it made anew") from error
    if len(key) != SESSION_KEY_BYTES:
        raise StartupError(f"{path} does not hold a key; remove it to have it made anew")
    return key
