"""The keys of one issuer: fetched when first needed, kept, and renewed within a bound.

    never asked ──first token──► asked ──unknown kid or failed signature──► asked once more
                                   │            (at most one every `every` seconds)
                                   └──every `REFRESH_EVERY`──► asked again

A fetch that fails leaves the known keys in place, so an issuer that is away stops nobody whose key
is known. However many tokens wait, one fetch goes out.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import anyio
import structlog
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from remit.identity.tokens import read_object

log = structlog.get_logger(__name__)

MOST_BYTES: Final = 256 * 1024
"""Bytes of a JWK set."""

MOST_KEYS: Final = 64
"""Keys of a set that are looked at."""

REFRESH_EVERY: Final = 600.0
"""Seconds between unasked renewals, by which keys that an issuer has withdrawn are dropped."""

_KEY_TYPES: Final = ("RSA", "EC", "OKP")  # no set: what is compared may not be hashable
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_LEAST_RSA_BITS: Final = 2048


class KeysUnavailable(Exception):
    """The keys of an issuer cannot be read now; the text names no address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationKey:
    """A public key, or the secret of HS256."""

    kid: str | None
    key: Key


Keys = tuple[VerificationKey, ...]


class KeySource:
    """The keys of one issuer, however they come.

    Attributes:
        keys: Those known now; empty before the first look.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[bytes]],
        *,
        issuer: str,
        every: float,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nobody yet.

        Args:
            load: Reads the JWK set; raises KeysUnavailable.
            issuer: Named in the log.
            every: Least seconds between two renewals for tokens that no known key verifies.
            changed: Called after other keys are in place.
            clock: Seconds that never go back.
        """
        self.keys: Keys = ()
        self._load = load
        self._issuer = issuer
        self._every = every
        self._changed = changed
        self._clock = clock
        self._lock = anyio.Lock()
        self._asked = False
        self._renewed: float | None = None
        self._body = b""

    async def known(self) -> Keys:
        """Return the keys, asking for them if that was never done."""
        if not self._asked:
            async with self._lock:
                if not self._asked:
                    await self._read()
        return self.keys

    async def renewed(self, seen: Keys) -> Keys:
        """Return the keys after a look for newer ones than *seen*, if one is due."""
        async with self._lock:
            now = self._clock()
            is_due = self._renewed is None or now - self._renewed >= self._every
            if self.keys is seen and is_due:
                self._renewed = now
                await self._read()
        return self.keys

    async def refresh(self) -> None:
        """Drop what the issuer has withdrawn, if anybody has ever asked for its keys."""
        async with self._lock:
            if self._asked:
                await self._read()

    async def _read(self) -> None:
        # A caller that leaves must not waste the one look that others wait for; the time of the
        # look itself is limited.
        with anyio.CancelScope(shield=True):
            try:
                self._take(await self._load())
            except KeysUnavailable as error:
                log.warning(
                    "keys of an issuer cannot be read", issuer=self._issuer, error=str(error)
                )
        self._asked = True

    def _take(self, body: bytes) -> None:
        if body != self._body:
            self.keys = parse_keys(body)
            self._body = body
            self._changed()


def parse_keys(body: bytes) -> Keys:
    """Return the public keys of a JWK set, or of one JWK; what cannot verify is left out.

    Raises:
        KeysUnavailable: It is neither.
    """
    try:
        document = read_object(body)
    except (ValueError, RecursionError):
        raise KeysUnavailable("not a JSON object") from None
    entries = document.get("keys", [document] if "kty" in document else None)
    if not isinstance(entries, list):
        raise KeysUnavailable("not a JWK set: `keys` is no list")
    found = (_parse_key(entry) for entry in cast("Sequence[object]", entries)[:MOST_KEYS])
    return tuple(key for key in found if key is not None)


def _parse_key(entry: object) -> VerificationKey | None:
    if not isinstance(entry, dict):
        return None
    members = cast("Mapping[str, object]", entry)
    kid, key_type = members.get("kid"), members.get("kty")
    if not isinstance(kid, str | None) or key_type not in _KEY_TYPES or _is_short(members):
        return None
    public = {name: value for name, value in members.items() if name not in _PRIVATE}
    try:
        key = JWKRegistry.import_key(cast("dict[str, str | list[str]]", public))
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return VerificationKey(kid=kid, key=key)


def _is_short(members: Mapping[str, object]) -> bool:
    modulus = members.get("n")
    return isinstance(modulus, str) and len(modulus) * 6 < _LEAST_RSA_BITS
