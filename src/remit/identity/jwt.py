"""Users by JSON Web Token: whose it is, whether it holds, and until when.

    read strictly → issuer → algorithm → audience, times → signature → principal

The cheap checks come first, so that no network is asked about a token that could not hold anyway.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import anyio
import structlog
from joserfc.jwk import Key, OctKey

from remit.errors import InsufficientScope
from remit.identity.audiences import endpoints_of, in_tenant
from remit.identity.claims import principal_from, scopes_of
from remit.identity.clock import utc_now
from remit.identity.credentials import CredentialRefused, TenantNames, VerifiedToken
from remit.identity.jwks import REFRESH_EVERY, Keys, KeySource, VerificationKey
from remit.identity.jwks_file import FileKeys
from remit.identity.tokens import Token, is_signed, read_token
from remit.model.grants import PUBLIC_KEY_ALGORITHMS, SECRET_ALGORITHMS, JwtIssuer
from remit.model.principals import DEFAULT_TENANT, Principal

log = structlog.get_logger(__name__)

LEAST_SECRET: Final = 32
"""Bytes of a secret (RFC 7518 §3.2)."""

URL_EVERY: Final = 30.0
FILE_EVERY: Final = 1.0
"""Seconds between two looks for newer keys, at a URL and in a file."""

_LAST_SECOND: Final = 253_370_764_800  # the year 9999


class Source(Protocol):
    """Where the keys of an issuer come from."""

    keys: Keys

    async def known(self) -> Keys:
        """Return the keys, asking for them if that was never done."""
        ...

    async def renewed(self, seen: Keys) -> Keys:
        """Return the keys after a look for newer ones than *seen*, if one is due."""
        ...

    async def refresh(self) -> None:
        """Drop what was withdrawn."""
        ...


class _Trusted:
    """One issuer with its keys."""

    def __init__(self, issuer: JwtIssuer, source: Source) -> None:
        self.issuer = issuer
        self.source = source
        allowed = SECRET_ALGORITHMS if issuer.secret_env else PUBLIC_KEY_ALGORITHMS
        self.algorithms = tuple(a for a in issuer.algorithms or allowed if a in allowed)


class JwtVerifier:
    """Verifies the tokens of the issuers in force."""

    def __init__(
        self,
        issuers: Callable[[], Sequence[JwtIssuer]],
        *,
        folder: Path,
        environ: Mapping[str, str],
        tenants: TenantNames | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Ask nobody yet.

        Args:
            issuers: Those in force; asked for every token, so a change needs no restart.
            folder: What a relative `jwks_file` is relative to.
            environ: Where `secret_env` is looked up.
            tenants: Which tenants there are; without it, any that a token names.
            now: The time, aware UTC.
        """
        self._changes = 0
        self._issuers = issuers
        self._folder = folder
        self._environ = environ
        self._tenants = tenants
        self._now = now
        self._known: Sequence[JwtIssuer] = ()
        self._trusted: Sequence[_Trusted] = ()

    async def __call__(self, text: str) -> VerifiedToken:
        """Return whose token it is, and until when it holds.

        Raises:
            CredentialRefused: It does not hold; the reason is for the log.
            InsufficientScope: It holds, and lacks a scope.
        """
        self.look_for_changes()
        token = read_token(text)
        claimed = token.claims.get("iss")
        trusted = [each for each in self._trusted if each.issuer.issuer == claimed]
        refused, lacking = CredentialRefused("no such issuer"), None
        for each in trusted:  # several entries may share an issuer
            try:
                verified = await self._verify(token, each)
            except CredentialRefused as error:
                refused = error
            except InsufficientScope as error:
                lacking = lacking or error
            else:
                if self._is_of_another_too(token, each.issuer, trusted):
                    raise CredentialRefused("several tenants declare its issuer; it names none")
                return verified
        raise lacking or refused

    def look_for_changes(self) -> int:
        """Take up the issuers in force now; return how often they, or their keys, have changed.

        What was verified under another number is to be verified anew.
        """
        issuers = self._issuers()
        if issuers is not self._known:
            kept = {id(each.issuer): each for each in self._trusted}
            self._trusted = [
                kept.get(id(issuer)) or _Trusted(issuer, self._declared_source(issuer))
                for issuer in issuers
            ]
            self._known = issuers
            self._count()
        return self._changes

    async def keep_fresh(self) -> None:
        """Renew all keys now and then, until cancelled, so that withdrawn ones are dropped."""
        while True:
            await anyio.sleep(REFRESH_EVERY)
            for each in list(self._trusted):
                await each.source.refresh()

    async def _verify(self, token: Token, trusted: _Trusted) -> VerifiedToken:
        claimed, scopes = self._claimed(token, trusted), trusted.issuer.scopes
        await need_signature(token, trusted.source, trusted.algorithms)
        # Last, so that only whoever holds a sound token is told of it (RFC 6750 §3.1).
        if scopes and not scopes_of(token.claims).issuperset(scopes):
            raise InsufficientScope(scopes)
        return claimed

    def _claimed(self, token: Token, trusted: _Trusted) -> VerifiedToken:
        """Return whose token it says that it is, before anybody has looked at its signature."""
        issuer = trusted.issuer
        if token.algorithm not in trusted.algorithms:
            raise CredentialRefused("an algorithm that the issuer may not use")
        endpoints = endpoints_of(token.claims.get("aud"), issuer.audience)
        ends = end_of(token.claims, self._now(), issuer.leeway)
        user = self._in_its_tenant(principal_from(token.claims, issuer, ends), issuer)
        principal = replace(user, endpoints=self._in_reach(user.tenant, endpoints))
        return VerifiedToken(principal=principal, ends=ends)

    def _is_of_another_too(
        self, token: Token, issuer: JwtIssuer, trusted: Sequence[_Trusted]
    ) -> bool:
        """Whether another tenant has declared what makes a token one of this issuer's.

        None may take the callers of another by declaring its issuer. What `default` declares is
        asked first, and speaks for every tenant.
        """
        if issuer.tenant in ("", DEFAULT_TENANT):
            return False
        others = [each for each in trusted if each.issuer.tenant not in ("", issuer.tenant)]
        return any(self._fits(token, each) for each in others)

    def _fits(self, token: Token, trusted: _Trusted) -> bool:
        try:
            self._claimed(token, trusted)
        except CredentialRefused:
            return False
        return True

    def _in_its_tenant(self, principal: Principal, issuer: JwtIssuer) -> Principal:
        """Return *principal* with its tenant's name, which the token may give as a UUID."""
        named = principal.tenant
        tenant = named if self._tenants is None else self._tenants.name_of(named)
        if tenant is None or issuer.tenant not in ("", tenant):
            raise CredentialRefused("for a tenant that is unknown, or none of the issuer's")
        return principal if tenant == named else replace(principal, tenant=tenant)

    def _in_reach(self, tenant: str, endpoints: Sequence[str]) -> tuple[str, ...]:
        names = self._tenants
        if names is None:
            return tuple(endpoints)
        return in_tenant(endpoints, lambda uuid: names.name_of(uuid) == tenant)

    def _count(self) -> None:
        self._changes += 1

    def _declared_source(self, issuer: JwtIssuer) -> Source:
        if issuer.secret_env:
            return _Fixed(_secret_keys(issuer, self._environ.get(issuer.secret_env, "")))
        if issuer.jwks_file:
            load, every = FileKeys(self._folder / issuer.jwks_file), FILE_EVERY
        else:
            # Deferred: aiohttp takes 6 MB, and only a set of keys at a URL needs it.
            from remit.identity.jwks_fetch import UrlKeys  # noqa: PLC0415 - see above

            load = UrlKeys(issuer.jwks_url, allow_private=issuer.allow_private_url)
            every = URL_EVERY
        return KeySource(load, issuer=issuer.issuer, every=every, changed=self._count)


class _Fixed:
    """Keys that never change."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    async def known(self) -> Keys:
        """Return them."""
        return self.keys

    async def renewed(self, seen: Keys) -> Keys:
        """Return the same, whatever was *seen*."""
        return seen

    async def refresh(self) -> None:
        """Do nothing."""


def _secret_keys(issuer: JwtIssuer, secret: str) -> Keys:
    if len(secret.encode()) < LEAST_SECRET:
        log.warning(
            "tokens of an issuer are refused: its secret is missing or too short",
            issuer=issuer.issuer,
            variable=issuer.secret_env,
            least_bytes=LEAST_SECRET,
        )
        return ()
    return (VerificationKey(kid=None, key=OctKey.import_key(secret.encode())),)


async def need_signature(token: Token, source: Source, algorithms: Collection[str]) -> None:
    """Return if a key of *source* signed the token; newer ones are looked for if none known did.

    Raises:
        CredentialRefused: None did.
    """
    keys = await source.known()
    if not is_signed(token, _candidates(keys, token), algorithms):
        newer = await source.renewed(keys)
        if newer is keys or not is_signed(token, _candidates(newer, token), algorithms):
            raise CredentialRefused("no key of the issuer made the signature")


def _candidates(keys: Keys, token: Token) -> Iterable[Key]:
    """Return the keys that may have made the signature: a key and a token may both have no id."""
    return [each.key for each in keys if None in (each.kid, token.kid) or each.kid == token.kid]


def end_of(claims: Mapping[str, object], now: datetime, leeway: float) -> datetime:
    """Return when a token ends, the leeway included.

    Args:
        claims: What it says.
        now: Aware UTC.
        leeway: Seconds of clock difference that are forgiven.

    Raises:
        CredentialRefused: It is over, has not begun, or does not say when it ends.
    """
    seconds, ends = now.timestamp(), _seconds(claims, "exp")
    if ends is None:
        raise CredentialRefused("without an end: exp is absent")
    if seconds >= ends + leeway:
        raise CredentialRefused("expired")
    for name in ("nbf", "iat"):
        begins = _seconds(claims, name)
        if begins is not None and begins > seconds + leeway:
            raise CredentialRefused(f"not yet: {name} is to come")
    return datetime.fromtimestamp(ends, UTC) + timedelta(seconds=leeway)


def _seconds(claims: Mapping[str, object], name: str) -> float | None:
    if name not in claims:
        return None
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CredentialRefused(f"{name} is no number")
    if abs(value) > _LAST_SECOND:  # also Infinity, which 1e999 reads as
        raise CredentialRefused(f"{name} is beyond the calendar")
    return float(value)
