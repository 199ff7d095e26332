"""A sign-in that was begun at a provider, while the browser has it: sealed, and not for long."""

import base64
import time
from collections.abc import Callable
from typing import Final

import msgspec

from remit.calls.cipher import Cipher
from remit.identity.oidc_protocol import Begun

LIFETIME: Final = 600
"""Seconds in which somebody may come back from the provider."""

_PURPOSE: Final = b"remit console sign-in"


class _Kept(msgspec.Struct, array_like=True):
    at: float
    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    wanted: str


class BegunSeal:
    """Seals and opens.

    Args:
        key: Secret bytes of the installation, the same on every worker.
        now: Seconds since the epoch.
    """

    def __init__(self, key: bytes, *, now: Callable[[], float] = time.time) -> None:
        self._cipher = Cipher(key, _PURPOSE)
        self._now = now

    def seal(self, begun: Begun, wanted: str, provider: str) -> str:
        """Return what a cookie holds.

        Args:
            begun: What was begun.
            wanted: Where to go afterwards.
            provider: Where it was begun; it can be ended there alone.
        """
        kept = _Kept(
            self._now(), begun.state, begun.nonce, begun.verifier, begun.redirect_uri, wanted
        )
        sealed = self._cipher.seal(msgspec.json.encode(kept), provider.encode())
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def open(self, text: str, provider: str) -> tuple[Begun, str] | None:
        """Return what was begun and where to go afterwards; None for what is not ours, or old."""
        try:
            sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            plain = self._cipher.open(sealed, provider.encode())
        except ValueError:
            return None
        kept = msgspec.json.decode(plain, type=_Kept)
        if not 0 <= self._now() - kept.at < LIFETIME:
            return None
        begun = Begun(
            state=kept.state,
            nonce=kept.nonce,
            verifier=kept.verifier,
            redirect_uri=kept.redirect_uri,
        )
        return begun, kept.wanted
