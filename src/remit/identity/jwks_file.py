"""Reading a JWK set from a file, bounded in size."""

from pathlib import Path

from anyio import to_thread

from remit.identity.jwks import MOST_BYTES, KeysUnavailable


class FileKeys:
    """A JWK set in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def __call__(self) -> bytes:
        """Return the body.

        Raises:
            KeysUnavailable: It cannot be read.
        """
        try:
            return await to_thread.run_sync(self._read)
        except OSError as error:
            raise KeysUnavailable(error.strerror or "cannot be read") from None

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise KeysUnavailable(f"more than {MOST_BYTES} bytes")
        return body
