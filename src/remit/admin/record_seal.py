"""Where the keys are that sign the markers of the record, and whose marks are trusted.

.remit/audit.key    the private key, made when the first marker is; not with REMIT_MASTER_KEY
.remit/audit.jwks   the public keys that this installation has signed with, to hand out
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from remit.admin.secret_files import write_secret
from remit.errors import StartupError
from remit.identity.record_keys import (
    RecordKeys,
    derived_record_key,
    make_record_key,
    public_part,
)

KEY_FILE: Final = "audit.key"
PUBLIC_FILE: Final = "audit.jwks"


class RecordSeal:
    """Signs markers and opens them; files are read, and the key is made, when they are needed.

    Args:
        folder: The state folder.
        master: `REMIT_MASTER_KEY`, from which every machine derives one key, or empty.
        trusted: More files with public keys, each a JWK or a set of them.
    """

    def __init__(self, folder: Path, *, master: str = "", trusted: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._master = master
        self._files = (folder / PUBLIC_FILE, *trusted)
        self._keys: RecordKeys | None = None

    def sign(self, payload: bytes, /) -> str:
        """Return *payload* signed; the first time makes the key.

        Raises:
            StartupError: The key cannot be made or read.
        """
        key = self._private_key()
        if key is None:
            write_secret(self._folder / KEY_FILE, make_record_key() + "\n")
            key = self._private_key()
        if key is None:
            raise StartupError(f"cannot read {self._folder / KEY_FILE}")
        self._publish(public_part(key))
        self._keys = RecordKeys(key, self._trusted())
        return self._keys.sign(payload)

    def open(self, signed: str, /) -> bytes | None:
        """Return what was signed, or None when no trusted key has signed it so.

        Raises:
            StartupError: A file holds no such key.
        """
        payload = None if self._keys is None else self._keys.open(signed)
        if payload is None:  # others on this state folder may have made a key since
            self._keys = RecordKeys(self._private_key(), self._trusted())
            payload = self._keys.open(signed)
        return payload

    def _private_key(self) -> str | None:
        if self._master:
            return derived_record_key(self._master)
        try:
            return (self._folder / KEY_FILE).read_text()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StartupError(
                f"cannot read {self._folder / KEY_FILE}: {error.strerror}"
            ) from error

    def _trusted(self) -> list[Mapping[str, object]]:
        keys: list[Mapping[str, object]] = []
        for number, path in enumerate(self._files):
            if number > 0 or path.exists():
                keys += _read_keys(path)
        return keys

    def _publish(self, key: Mapping[str, object]) -> None:
        """Add a public key to those that are handed out."""
        path = self._folder / PUBLIC_FILE
        keys = _read_keys(path) if path.exists() else []
        if any(known.get("kid") == key["kid"] for known in keys):
            return
        making = path.with_name(f".{path.name}.{os.getpid()}")
        making.unlink(missing_ok=True)
        write_secret(making, json.dumps({"keys": [*keys, key]}, indent=2) + "\n")
        making.replace(path)


def _read_keys(path: Path) -> list[Mapping[str, object]]:
    try:
        found: Any = json.loads(path.read_text())
        keys: Any = found.get("keys", [found])
        return [dict(key) for key in keys]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise StartupError(f"{path} holds no public keys in JWK form") from error
