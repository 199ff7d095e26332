"""Verifies tokens once the first one comes: most gateways' callers have keys."""

from collections.abc import Callable
from typing import Protocol

import anyio

from remit.app.when_needed import WhenNeeded
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
        self._verifier = WhenNeeded(open_verifier)
        self._opened = anyio.Event()

    def look_for_changes(self) -> int:
        """Take up the issuers in force now; return how often they, or their keys, have changed."""
        verifier = self._verifier.made
        return 0 if verifier is None else verifier.look_for_changes()

    async def __call__(self, text: str) -> VerifiedToken:
        """Return whose token it is, and until when it holds, as `JwtVerifier` does."""
        verifier = await self._verifier.get()
        self._opened.set()
        return await verifier(text)

    async def keep_fresh(self) -> None:
        """Renew all keys now and then, once there are any, until cancelled."""
        await self._opened.wait()
        await (await self._verifier.get()).keep_fresh()
