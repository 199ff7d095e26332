"""Who is signed in at the console: from the secret that a browser holds to a principal.

    key or provider ──▶ session ──▶ each request: is it there, what is it worth now? ──▶ principal

A session widens nothing and remembers nothing of what its bearer may: that is asked of stores and
rules for every request, so that whatever ends there ends the session at once (R17). Only a hash of
the secret is stored.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from remit.errors import Unauthenticated
from remit.identity.api_keys import hash_secret, parse_key_text
from remit.identity.clock import utc_now
from remit.identity.credentials import CredentialRefused, HolderRefused, TenantNames
from remit.model.oidc import OidcProvider
from remit.model.principals import Principal, PrincipalKind
from remit.model.sessions import LONGEST, SEEN_EVERY, ByIssuer, ByKey, ConsoleSession

log = structlog.get_logger(__name__)


class SessionStore(Protocol):
    """Where sessions are kept."""

    async def add(self, session: ConsoleSession) -> None:
        """Store a new session."""
        ...

    async def find(self, session_id: str) -> ConsoleSession | None:
        """Return the session with that id, whether it still holds or not."""
        ...

    async def touch(self, session_id: str, now: datetime) -> None:
        """Keep when a session was used, unless it has ended meanwhile."""
        ...

    async def remove(self, session_id: str) -> None:
        """End a session, if there is one."""
        ...

    async def prune(self, now: datetime) -> None:
        """Remove every session that does not hold any more at *now*."""
        ...


class Keys(Protocol):
    """What verifies keys, as `Authenticator` does."""

    async def __call__(self, credential: str | None) -> Principal:
        """Return whose credential it is.

        Raises:
            Unauthenticated: It does not hold.
        """
        ...

    async def bearer_of(self, key_id: str, secret_hash: str) -> Principal:
        """Return who bears a key that was verified before.

        Raises:
            CredentialRefused: It does not hold any more.
        """
        ...


class Users(Protocol):
    """Which users are disabled."""

    async def is_disabled(self, tenant: str, name: str) -> bool:
        """Whether that user may not come in, whoever vouches for it."""
        ...


class People:
    """What people are whom an OpenID provider vouched for.

    Args:
        provider: Returns the one that is declared now, or None.
        users: Which of them are disabled.
        tenants: Which tenants are served.
    """

    def __init__(
        self, provider: Callable[[], OidcProvider | None], *, users: Users, tenants: TenantNames
    ) -> None:
        self._provider = provider
        self._users = users
        self._tenants = tenants

    async def principal(self, tenant: str, came: ByIssuer) -> Principal:
        """Return what somebody is now: a user, of what the rules make of their roles.

        Args:
            tenant: Name or UUID of where they belong.
            came: Who vouched for them, and what for.

        Raises:
            CredentialRefused: Nothing; the reason is for the log.
        """
        provider = self._provider()
        named = (came.issuer, came.client_id)
        if provider is None or (provider.issuer, provider.client_id) != named:
            raise CredentialRefused("its provider is not declared")
        name = self._tenants.name_of(tenant)
        if name is None:
            raise HolderRefused("a person of a tenant that is not served")
        if await self._users.is_disabled(name, came.subject):
            raise KeptOut("the user is disabled")
        principal = Principal(
            kind=PrincipalKind.USER,
            name=came.subject,
            tenant=name,
            user_roles=provider.user_roles_of(came.roles),
            issuer=came.issuer,
            admin=provider.makes_administrator(came.roles),
            auditor=provider.makes_auditor(came.roles),
        )
        if not (principal.admin or principal.auditor or principal.user_roles):
            raise NoRole("nothing makes this person anything")
        return principal


class NoRole(HolderRefused):
    """Somebody whom the rules make nothing: deny is the default (R8)."""


class KeptOut(HolderRefused):
    """Somebody whom an administrator has disabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is signed in.

    Attributes:
        shown: A name for people; it decides nothing.
        expires: When the session ends at the latest, aware UTC.
    """

    principal: Principal
    shown: str
    expires: datetime


class SignIns:
    """Begins, finds and ends sessions."""

    def __init__(
        self,
        store: SessionStore,
        keys: Keys,
        people: People,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Know nobody yet.

        Args:
            store: Where sessions are kept.
            keys: What verifies keys.
            people: Knows what people are who came from a provider.
            now: The time, aware UTC.
        """
        self._store = store
        self._keys = keys
        self._people = people
        self._now = now

    async def whose_key(self, text: str) -> tuple[Principal, ByKey]:
        """Return who comes with that key, and how; a key of any kind may sign in.

        Raises:
            Unauthenticated: It is no key, or does not hold; the text does not say which.
        """
        key = parse_key_text(text)
        if key is None:  # a token is a user's, who signs in at the issuer
            raise Unauthenticated("this is no key that holds")
        principal = await self._keys(text)
        return principal, ByKey(key_id=key.id, secret_hash=hash_secret(key.secret))

    async def whose_person(self, tenant: str, came: ByIssuer) -> Principal:
        """Return who somebody is whom a provider vouched for.

        Raises:
            CredentialRefused: Nobody here; the reason is for the log.
        """
        return await self._people.principal(tenant, came)

    async def begin(self, tenant: str, began: ByKey | ByIssuer) -> str:
        """Begin a session and return its secret, for the browser alone."""
        now, secret = self._now(), secrets.token_urlsafe(32)
        await self._store.prune(now)
        await self._store.add(
            ConsoleSession(
                id=hash_secret(secret),
                tenant=tenant,
                began=began,
                created=now,
                last_seen=now,
                expires=now + LONGEST,
            )
        )
        return secret

    async def find(self, secret: str, *, counts: bool = True) -> Visitor | None:
        """Return whose session it is; None where there is none, or none any more.

        Args:
            secret: What the browser holds.
            counts: Whether the session is used by that: what a page asks by itself while nobody
                is there keeps no session alive.

        Raises:
            StorageUnavailable: Nobody can say.
        """
        session = await self._store.find(hash_secret(secret))
        if session is None:
            return None
        now = self._now()
        try:
            if not session.holds_at(now):
                raise CredentialRefused("expired, or not used for long")  # noqa: TRY301 - as any other
            principal = await self._principal(session)
        except CredentialRefused as refused:
            await self._store.remove(session.id)
            log.info("session ended", tenant=session.tenant, reason=str(refused))
            return None
        if counts and now - session.last_seen >= SEEN_EVERY:
            await self._store.touch(session.id, now)
        ends = [end for end in (session.expires, principal.expires) if end is not None]
        return Visitor(principal=principal, shown=_shown(session, principal), expires=min(ends))

    async def end(self, secret: str) -> None:
        """End a session, if there is one."""
        await self._store.remove(hash_secret(secret))

    async def _principal(self, session: ConsoleSession) -> Principal:
        began = session.began
        if isinstance(began, ByKey):
            return await self._keys.bearer_of(began.key_id, began.secret_hash)
        return await self._people.principal(session.tenant, began)


def _shown(session: ConsoleSession, principal: Principal) -> str:
    return principal.name if isinstance(session.began, ByKey) else session.began.shown
