"""Requests that are being answered, so that their callers can cancel them."""

from collections.abc import Generator, Hashable
from contextlib import contextmanager

import anyio


class InFlight:
    """Cancel scopes by key: whose request it is, and its raw id."""

    def __init__(self) -> None:
        self._scopes: dict[Hashable, anyio.CancelScope] = {}

    def __len__(self) -> int:
        """Return how many are being answered."""
        return len(self._scopes)

    def begin(self, key: Hashable) -> anyio.CancelScope:
        """Hold the request open to `cancel()` from now on; of two under one key, the later one.

        Returns:
            What `tracked` is to be given, wherever the request is answered.
        """
        scope = self._scopes[key] = anyio.CancelScope()
        return scope

    @contextmanager
    def tracked(self, key: Hashable, scope: anyio.CancelScope) -> Generator[None]:
        """Let the block end early when the request under *key* is cancelled."""
        try:
            with scope:
                yield
        finally:
            if self._scopes.get(key) is scope:
                del self._scopes[key]

    def cancel(self, key: Hashable) -> bool:
        """Cancel the request under *key*; whether there still is one."""
        scope = self._scopes.get(key)
        if scope is not None:
            scope.cancel()
        return scope is not None
