"""Users who are kept out."""

from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user.

    Attributes:
        name: The subject of its tokens (`sub`).
        disabled: Since when it is kept out; None when it is not.
    """

    name: str
    disabled: datetime | None


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[User]]:
    """Every user who is kept out."""
    return Operation(
        id="users.list",
        method="GET",
        path=at("users"),
        answer=Page[User],
        query={"limit": limit, "cursor": cursor},
    )


def get(name: str) -> Operation[User]:
    """One user, be it known or not."""
    return Operation(id="users.get", method="GET", path=at("users", name), answer=User)


def disable(name: str, *, reason: str = "") -> Operation[User]:
    """Keep a user out, whoever issued the token."""
    return _switched(name, "disable", reason)


def enable(name: str, *, reason: str = "") -> Operation[User]:
    """Let a user in again."""
    return _switched(name, "enable", reason)


def _switched(name: str, how: str, reason: str) -> Operation[User]:
    return Operation(
        id=f"users.{how}",
        method="POST",
        path=at("users", name, how),
        answer=User,
        query={"reason": reason or None},
    )
