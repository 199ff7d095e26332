"""Sessions of the older eras as sealed ids: any worker takes them, also after a restart.

    {revision}.{issued, hex seconds}.{nonce}.{abilities}.{seal}

The seal binds the id to issuer, subject and endpoint, so an id alone opens nothing, and another
caller's is unknown; a caller whose key was rotated keeps its own. A session grants nothing either:
every request brings its own credential.
"""

import base64
import hashlib
import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from remit.model.conversation import Abilities
from remit.model.principals import Principal

LIFETIME: Final = 7 * 24 * 3600.0
"""Seconds after which a session is unknown and the client begins a new one."""

MOST_ENDED: Final = 10_000
"""Ended sessions that are remembered; beyond it the oldest would be taken again."""

_PARTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that holds.

    Attributes:
        nonce: Unique; the rest can repeat.
        version: The protocol revision that was negotiated.
        abilities: What its client said that it can be asked.
    """

    nonce: str
    version: str
    abilities: Abilities = Abilities.NONE


class Sessions:
    """Issues and opens session ids.

    Args:
        key: Secret bytes, the same on every worker.
        now: Seconds since the epoch.
    """

    def __init__(
        self,
        key: bytes,
        *,
        now: Callable[[], float] = time.time,
        most_ended: int = MOST_ENDED,
    ) -> None:
        self._key = key
        self._now = now
        self._most_ended = most_ended
        self._ended: OrderedDict[str, None] = OrderedDict()

    def issue(
        self,
        principal: Principal,
        scope: str | None,
        version: str,
        abilities: Abilities = Abilities.NONE,
    ) -> str:
        """Return the id of a new session, visible ASCII."""
        body = f"{version}.{int(self._now()):x}.{os.urandom(12).hex()}.{abilities:x}"
        return f"{body}.{self._seal(body, principal, scope)}"

    def find(self, session_id: str, principal: Principal, scope: str | None) -> Session | None:
        """Return the session, or None for one that is not this caller's, altered, old or ended."""
        parts = session_id.split(".")
        if len(parts) != _PARTS or not session_id.isascii():
            return None
        version, issued, nonce, abilities, seal = parts
        expected = self._seal(session_id.rpartition(".")[0], principal, scope)
        if not hmac.compare_digest(seal, expected):
            return None
        if self._now() - int(issued, 16) > LIFETIME or nonce in self._ended:
            return None
        return Session(nonce=nonce, version=version, abilities=Abilities(int(abilities, 16)))

    def end(self, nonce: str) -> None:
        """Let a session be unknown from now on."""
        self._ended[nonce] = None
        while len(self._ended) > self._most_ended:
            self._ended.popitem(last=False)

    def _seal(self, body: str, principal: Principal, scope: str | None) -> str:
        bound = msgspec.json.encode(
            [body, principal.issuer, principal.subject, principal.tenant, scope]
        )
        digest = hmac.new(self._key, bound, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
