"""Making, listing and revoking API keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from remit.errors import BadCall, NotFound
from remit.identity.api_keys import hash_secret, make_key_text
from remit.model.keys import Key
from remit.model.roles import Role

ADMIN_KEY_NAME: Final = "admin"
LONGEST_NAME: Final = 64

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class KeyStore(Protocol):
    """Where keys are kept."""

    async def add(self, key: Key) -> None:
        """Store a new key."""
        ...

    async def all_keys(self, tenant: str) -> Sequence[Key]:
        """Return every key of *tenant*, oldest first."""
        ...

    async def revoke(self, tenant: str, name: str, now: datetime) -> Key:
        """End the key of that name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    """A new key, with the text that is shown once."""

    key: Key
    text: str = field(repr=False)


async def make_key(
    store: KeyStore,
    name: str,
    *,
    tenant: str,
    now: datetime,
    role: str | None = None,
    admin: bool = False,
    expires: datetime | None = None,
    roles: Mapping[str, Role],
) -> MadeKey:
    """Store a new key and return it with its text.

    Raises:
        NotFound: The role is not declared; the text names those that are.
        BadCall: The name does not do, it would have expired, or not exactly one of role and
            admin is given.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise BadCall(f"a key's name is 1 to {LONGEST_NAME} printable characters, not {name!r}")
    if (role is None) == (not admin):
        raise BadCall("say what the key is for: --role ROLE or --admin")
    if role is not None and role not in roles:
        known = ", ".join(sorted(roles)) or "none"
        raise NotFound(f"no role {role!r} is declared; declared roles: {known}")
    if expires is not None and expires <= now:
        raise BadCall(f"the key would already have expired at {expires.isoformat()}")
    text = make_key_text()
    key = Key(
        id=text.id,
        name=name,
        tenant=tenant,
        secret_hash=hash_secret(text.secret),
        roles=(role,) if role is not None else (),
        admin=admin,
        created=now,
        expires=expires,
    )
    await store.add(key)
    return MadeKey(key=key, text=text.reveal())


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
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (OverflowError, ValueError):
        raise BadCall(
            f"{text[:LONGEST_NAME]!r} is no time: "
            "write a span such as 30d or 12h, or 2027-01-31T12:00:00+00:00"
        ) from None
