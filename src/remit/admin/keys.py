"""Making, listing, rotating and revoking API keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from remit.admin.names import LONGEST_NAME, is_uuid, require_key_name, require_owner, require_role
from remit.errors import BadCall
from remit.identity.api_keys import hash_secret, make_key_text
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import UserRole
from remit.model.roles import Role
from remit.model.times import in_utc

ADMIN_KEY_NAME: Final = "admin"
LONGEST_OVERLAP: Final = 30 * 24 * 3600.0
"""Seconds that a replaced key may go on holding."""

PURPOSES: Final = "--role ROLE, --user-role ROLE, --service, --agent ID, --admin or --auditor"

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class KeyStore(Protocol):
    """Where keys are kept."""

    async def add(self, key: Key) -> None:
        """Store a new key."""
        ...

    async def all_keys(self, tenant: str) -> Sequence[Key]:
        """Return every key of *tenant*, oldest first."""
        ...

    async def keys_after(
        self, tenant: str, after: tuple[datetime, str] | None, limit: int
    ) -> Sequence[Key]:
        """Return keys of *tenant*, oldest first, those behind a place alone, revoked ones too."""
        ...

    async def named(self, tenant: str, name: str) -> Sequence[Key]:
        """Return the keys of *tenant* of that name, and the one with that id; oldest first."""
        ...

    async def revoke(self, tenant: str, name: str, now: datetime) -> Key:
        """End the key of that name."""
        ...

    async def replace(
        self, tenant: str, name: str, change: Callable[[Key], Key], end: datetime
    ) -> Key:
        """End the key of that name at *end*, and put what *change* makes of it in its place.

        What that key replaced ends at *end* as well, if it would hold for longer.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    """A new key, with the text that is shown once."""

    key: Key
    text: str = field(repr=False)


async def is_administered(store: KeyStore, tenant: str, now: datetime) -> bool:
    """Whether an administrator's key of *tenant* holds."""
    return any(key.admin and key.holds_at(now) for key in await store.all_keys(tenant))


async def make_key(
    store: KeyStore,
    name: str,
    *,
    tenant: str,
    now: datetime,
    role: str | None = None,
    user_role: str | None = None,
    service: bool = False,
    queries: Sequence[str] = (),
    agent: Agent | None = None,
    act_for: Sequence[str] = (),
    admin: bool = False,
    auditor: bool = False,
    owner: str = "",
    expires: datetime | None = None,
    roles: Mapping[str, Role],
) -> MadeKey:
    """Store a new key and return it with its text.

    A role and a user role go together, since each governs its own domain (R9); the other purposes
    stand alone. An agent's key has the type and the role that the agent has when it is used. Beside
    any of them stands *act_for*: ids out of `registered`, of agents that it may act for (R26).
    *owner* is the name of the user whose key it is (R13).

    Raises:
        NotFound: The role is not declared; the text names those that are.
        BadCall: The name does not do, it would have expired, or it is for nothing or for things
            that do not go together.
    """
    _check_labels(name, owner, expires, now)
    text = make_key_text()
    key = Key(
        id=text.id,
        name=name,
        tenant=tenant,
        secret_hash=hash_secret(text.secret),
        roles=(role,) if role is not None else (),
        user_roles=(parse_user_role(user_role),) if user_role is not None else (),
        service=service,
        queries=tuple(dict.fromkeys(query.lower() for query in queries)),
        agent=agent.id if agent is not None else "",
        act_for=tuple(dict.fromkeys(act_for)),
        admin=admin,
        auditor=auditor,
        owner=owner,
        created=now,
        expires=expires,
    )
    _check_purpose_of(key)
    if role is not None:
        require_role(role, roles)
    await store.add(key)
    return MadeKey(key=key, text=text.reveal())


def _check_purpose_of(key: Key) -> None:
    check_purpose(
        role=next(iter(key.roles), None),
        user_role=next(iter(key.user_roles), None),
        service=key.service,
        queries=key.queries,
        agent=key.agent or None,
        act_for=key.act_for,
        admin=key.admin,
        auditor=key.auditor,
    )


def _check_labels(name: str, owner: str, expires: datetime | None, now: datetime) -> None:
    require_key_name(name)
    require_owner(owner)
    if expires is not None and expires <= now:
        raise BadCall(f"the key would already have expired at {expires.isoformat()}")


async def rotate_key(
    store: KeyStore, name: str, *, tenant: str, now: datetime, overlap: float = 0.0
) -> MadeKey:
    """Give the key of that name a new secret; it stays what it was for, and until when.

    Args:
        store: Where keys are kept.
        name: The key's.
        tenant: Its tenant.
        now: Aware UTC.
        overlap: Seconds that the old secret goes on holding; by default it ends at once. Older
            ones whose overlap is not over hold no longer than that either.

    Raises:
        NotFound: No key of that name is in use.
        BadCall: It has expired, or the overlap is too long.
    """
    if not 0 <= overlap <= LONGEST_OVERLAP:
        raise BadCall(
            f"an overlap is 0 to {LONGEST_OVERLAP:.0f} seconds (30 days), not {overlap:.15g}"
        )
    text = make_key_text()

    def renew(key: Key) -> Key:
        if not key.holds_at(now):
            raise BadCall(f"the key {name!r} has expired: revoke it, and make another one")
        return replace(
            key, id=text.id, secret_hash=hash_secret(text.secret), created=now, last_used=None
        )

    key = await store.replace(tenant, name, renew, now + timedelta(seconds=overlap))
    return MadeKey(key=key, text=text.reveal())


def parse_user_role(text: str) -> UserRole:
    """Return the user role that *text* names.

    Raises:
        BadCall: It names none.
    """
    try:
        return UserRole(text)
    except ValueError:
        known = ", ".join(role.value for role in UserRole)
        raise BadCall(f"a user role is one of {known}, not {text[:LONGEST_NAME]!r}") from None


def check_purpose(
    *,
    role: str | None,
    user_role: str | None,
    service: bool,
    queries: Sequence[str],
    agent: str | None,
    act_for: Sequence[str],
    admin: bool,
    auditor: bool,
) -> None:
    """Refuse a key that is for nothing, or for things that do not go together.

    Raises:
        BadCall: The text says what goes together.
    """
    by_role = role is not None or user_role is not None
    purposes = (by_role, service, agent is not None, admin, auditor).count(True)
    if not purposes:
        beside = "; --act-for goes beside it: whoever acts for an agent may what both may"
        raise BadCall(f"say what the key is for: {PURPOSES}{beside if act_for else ''}")
    if purposes > 1:
        raise BadCall(
            f"the key is for one of {PURPOSES}; only a role and a user role go together"
            " (an agent's role is given by `remit agents create`)"
        )
    if queries and not service:
        raise BadCall("only a service key is limited to queries: add --service")
    for query in queries:
        if not is_uuid(query):
            raise BadCall(
                f"{query[:LONGEST_NAME]!r} is no id of a query: that is a UUID, as"
                " `remit queries list DATASOURCE` shows it"
            )


def parse_expiry(text: str, now: datetime) -> datetime:
    """Return the time in UTC that *text* means: a span such as `30d`, or an ISO 8601 time.

    Raises:
        BadCall: It is neither.
    """
    number, unit = text[:-1], text[-1:]
    if number.isdecimal() and unit in _UNITS:
        try:
            return now + timedelta(**{_UNITS[unit]: int(number)})
        except (OverflowError, ValueError):  # beyond the calendar, or thousands of digits
            raise BadCall(f"{text[:LONGEST_NAME]!r} is too far away") from None
    try:
        return in_utc(datetime.fromisoformat(text))
    except (OverflowError, ValueError):
        raise BadCall(
            f"{text[:LONGEST_NAME]!r} is no time: "
            "write a span such as 30d or 12h, or 2027-01-31T12:00:00+00:00"
        ) from None
