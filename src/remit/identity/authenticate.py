"""From the text of a credential to a principal."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol

import anyio
import structlog

from remit.errors import Unauthenticated
from remit.identity.api_keys import KeyText, hash_secret, is_secret, parse_key_text
from remit.identity.clock import utc_now
from remit.identity.credentials import (
    LONGEST_TOKEN,
    CredentialRefused,
    TenantNames,
    VerifiedToken,
    looks_like_token,
)
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import Principal, PrincipalKind

log = structlog.get_logger(__name__)

MOST_VERIFIED: Final = 16_384
"""Verified credentials kept in memory; beyond it the memory starts anew."""

_NOBODY: Final = hash_secret("nobody")
_REFUSAL: Final = "this credential does not hold: unknown, wrong, expired or revoked"
"""All that a caller is told; the reason goes to the debug log, beside a hash."""


class KeyStore(Protocol):
    """Where keys are kept."""

    async def find(self, key_id: str) -> Key | None:
        """Return the key with that public id, revoked or not."""
        ...


class AgentStore(Protocol):
    """Where agents are kept."""

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now."""
        ...


class UserStore(Protocol):
    """Which users are disabled."""

    async def is_disabled(self, tenant: str, name: str) -> bool:
        """Whether that user may not come in, whoever vouches for it."""
        ...


class TokenVerifier(Protocol):
    """Verifies JSON Web Tokens."""

    def look_for_changes(self) -> int:
        """Take up the issuers in force now; return how often they, or their keys, have changed."""
        ...

    async def __call__(self, text: str) -> VerifiedToken:
        """Return whose token it is, and until when it holds.

        Raises:
            CredentialRefused: It does not hold.
            InsufficientScope: It holds, and lacks a scope.
        """
        ...


class Authenticator:
    """Verifies keys and tokens; remembers verified ones until `forget()` or their end.

    How a caller came in decides what it is (R6): a key is a key or an agent, a token is a user.
    A missing key and a wrong secret take the same path: one look-up, one comparison.
    """

    def __init__(
        self,
        keys: KeyStore,
        *,
        agents: AgentStore | None = None,
        users: UserStore | None = None,
        tokens: TokenVerifier | None = None,
        tenants: TenantNames | None = None,
        note_use: Callable[[str], None] = lambda _: None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Remember nobody yet.

        Args:
            keys: Where keys are found.
            agents: Where agents are found; without it no key is an agent's.
            users: Which users are disabled; without it none is.
            tokens: What verifies tokens; without it none holds.
            tenants: Which tenants are served; without it, that of every key.
            note_use: Takes the id of a key that was used, and waits for nothing.
            now: The time, aware UTC.
        """
        self._keys = keys
        self._agents = agents
        self._users = users
        self._tokens = tokens
        self._tenants = tenants
        self._note_use = note_use
        self._now = now
        self._changes = 0
        self._verified: dict[bytes, tuple[Key | VerifiedToken, Principal]] = {}
        self._forgot = 0
        self._forgotten = anyio.Event()

    def forget(self) -> None:
        """Verify every credential anew, since keys, agents or users have changed (R17)."""
        self._verified = {}
        self._forgot += 1
        self._forgotten.set()
        self._forgotten = anyio.Event()

    async def wait(self, seen: int) -> int:
        """Return how often keys have changed once that is not *seen*, so that streams ask again."""
        while self._forgot == seen:
            await self._forgotten.wait()
        return self._forgot

    async def __call__(self, credential: str | None) -> Principal:
        """Return the principal whose credential this is.

        Raises:
            Unauthenticated: There is none, or it does not hold; the text does not say which part.
            InsufficientScope: A token that holds, without a scope that it needs.
        """
        if not credential:
            raise Unauthenticated("send a key: 'Authorization: Bearer rmt_…' or 'X-API-Key: rmt_…'")
        if len(credential) > LONGEST_TOKEN or not credential.isascii():
            raise Unauthenticated(_REFUSAL)
        digest = hashlib.sha256(credential.encode()).digest()
        changes = 0 if self._tokens is None else self._tokens.look_for_changes()
        if changes != self._changes:
            self._changes = changes
            self.forget()
        # forget() puts another memory in place, so that what is being verified from a row read
        # before it is not remembered after it.
        verified = self._verified
        try:
            remembered = verified.get(digest)
            held, principal = remembered or await self._verify(credential)
            if not held.holds_at(self._now()):
                raise CredentialRefused("expired or revoked")  # noqa: TRY301 - as any other
        except CredentialRefused as refused:
            log.debug("credential refused", reason=str(refused), hash=digest.hex()[:12])
            raise Unauthenticated(_REFUSAL) from None
        if remembered is None:
            if len(verified) >= MOST_VERIFIED:
                verified.clear()
            verified[digest] = (held, principal)
        if isinstance(held, Key):
            self._note_use(held.id)
        return principal

    async def bearer_of(self, key_id: str, secret_hash: str) -> Principal:
        """Return who bears a key that was verified before; nothing of it is remembered.

        Args:
            key_id: The public part of the key.
            secret_hash: Hex SHA-256 of its secret as it was then.

        Raises:
            CredentialRefused: It is another one now, does not hold any more, or is gone (R17).
        """
        key = await self._keys.find(key_id)
        if key is None or key.secret_hash != secret_hash:
            raise CredentialRefused("a key that is gone, or has another secret")
        bearer = await self._bearer(key)
        if not key.holds_at(self._now()):
            raise CredentialRefused("expired or revoked")
        self._note_use(key.id)
        return bearer

    async def _verify(self, credential: str) -> tuple[Key | VerifiedToken, Principal]:
        text = parse_key_text(credential)
        if text is not None:
            return await self._verify_key(text)
        if self._tokens is None or not looks_like_token(credential):
            raise CredentialRefused("neither a key nor a token")
        token = await self._tokens(credential)
        user = token.principal
        if self._users is not None and await self._users.is_disabled(user.tenant, user.name):
            raise CredentialRefused("the user is disabled")
        return token, user

    async def _verify_key(self, text: KeyText) -> tuple[Key, Principal]:
        key = await self._keys.find(text.id)
        matches = is_secret(text.secret, key.secret_hash if key is not None else _NOBODY)
        if key is None or not matches:
            raise CredentialRefused("an unknown key, or a wrong secret")
        return key, await self._bearer(key)

    async def _bearer(self, key: Key) -> Principal:
        """Return who bears a key whose secret was found to be right."""
        if self._tenants is not None and self._tenants.name_of(key.tenant) is None:
            raise CredentialRefused("a key of a tenant that is not served")
        if key.owner and self._users and await self._users.is_disabled(key.tenant, key.owner):
            raise CredentialRefused("a key of a user who is disabled")
        if not key.agent:
            return principal_of(key)
        agent = await self._agents.find(key.tenant, key.agent) if self._agents else None
        if agent is None:
            raise CredentialRefused("a key of an agent that does not exist")
        return principal_of(key, agent)


def principal_of(key: Key, agent: Agent | None = None) -> Principal:
    """Return the principal that the bearer of *key* is.

    Args:
        key: Any key.
        agent: The agent that the key belongs to, as it is now; without it, an agent's key has
            no power.
    """
    if key.agent:
        nobody = Principal(kind=PrincipalKind.AGENT, name=key.agent, tenant=key.tenant)
        held = nobody if agent is None else replace(agent.principal, act_for=key.act_for)
        return replace(held, expires=_end_of(key))
    return Principal(
        kind=PrincipalKind.KEY,
        name=key.name,
        tenant=key.tenant,
        roles=key.roles,
        user_roles=key.user_roles,
        service=key.service,
        queries=key.queries,
        act_for=key.act_for,
        admin=key.admin,
        auditor=key.auditor,
        expires=_end_of(key),
    )


def _end_of(key: Key) -> datetime | None:
    ends = [end for end in (key.expires, key.revoked) if end is not None]
    return min(ends) if ends else None
