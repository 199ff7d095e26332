"""Verifies tokens once the first one comes: most gateways' callers have keys."""

from collections.abc import Callable
from typing import Protocol

import anyio
from anyio import to_thread

from remit.identity.authenticate import TokenVerifier
from remit.identity.credentials import VerifiedToken


class FreshVerifier(TokenVerifier, Protocol):
    """What verifies tokens, and keeps its keys fresh."""

    async def keep_fresh(self) -> None:
        """Renew all keys now and then, until cancelled."""
        ...


class TokensWhenNeeded:
    """Opens what verifies tokens when there is one to verify.

    Nothing is remembered of tokens before that, so that no change of issuers has to be noticed.
    """

    def __init__(self, open_verifier: Callable[[], FreshVerifier]) -> None:
        self._open = open_verifier
        self._opening = anyio.Lock()
        self._opened = anyio.Event()
        self._verifier: FreshVerifier | None = None

    @property
    def generation(self) -> int:
        """Counts changes of issuers and keys."""
        return 0 if self._verifier is None else self._verifier.generation

    def look_for_changes(self) -> None:
        """Take up the issuers that are in force now."""
        if self._verifier is not None:
            self._verifier.look_for_changes()

    async def __call__(self, text: str) -> VerifiedToken:
        """Return whose token it is, and until when it holds, as `JwtVerifier` does."""
        verifier = self._verifier or await self._opened_now()
        return await verifier(text)

    async def keep_fresh(self) -> None:
        """Renew all keys now and then, once there are any, until cancelled."""
        await self._opened.wait()
        await (await self._opened_now()).keep_fresh()

    async def _opened_now(self) -> FreshVerifier:
        async with self._opening:
            if self._verifier is None:
                self._verifier = await to_thread.run_sync(self._open)
                self._opened.set()
            return self._verifier
