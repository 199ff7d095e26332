"""Keys: credentials of callers."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key, without its secret.

    Attributes:
        state: `holds`, `ending`, `revoked` or `expired`.
        queries: Ids of the queries that a service key may run.
        agent: Id of the agent that its bearer is, or None.
        act_for: Ids of agents that its bearer may act for.
        admin: Whether it administers; it opens no tool then.
        auditor: Whether it reads what administrators read, and changes nothing; it opens no tool.
        owner: Name of the user whose key it is, or None.
    """

    id: str
    name: str
    state: str
    roles: tuple[str, ...]
    user_roles: tuple[str, ...]
    service: bool
    queries: tuple[str, ...]
    agent: str | None
    act_for: tuple[str, ...]
    admin: bool
    auditor: bool
    owner: str | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    last_used: datetime | None


class MadeKey(Key, frozen=True, kw_only=True):
    """A key with its secret, which is told this once.

    Attributes:
        key: The secret.
    """

    key: str

    def __repr__(self) -> str:
        """Name the key without its secret."""
        return f"MadeKey(id={self.id!r}, name={self.name!r})"


def list_all(
    *,
    text: str | None = None,
    purpose: str | None = None,
    state: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Key]]:
    """Every key, those that hold no longer, too; oldest first.

    Args:
        text: Part of its name, role or agent, in any case.
        purpose: `role`, `user_role`, `service`, `agent`, `admin` or `auditor`.
        state: As in a key.
        limit: Most keys of the answer; 100 if None.
        cursor: The `next` of the answer before.
    """
    return Operation(
        id="keys.list",
        method="GET",
        path=at("keys"),
        answer=Page[Key],
        query={
            "text": text or None,
            "purpose": purpose or None,
            "state": state or None,
            "limit": limit,
            "cursor": cursor,
        },
    )


def get(name: str) -> Operation[Key]:
    """One key, by the name it was made under."""
    return Operation(id="keys.get", method="GET", path=at("keys", name), answer=Key)


def create(
    name: str,
    *,
    role: str | None = None,
    user_role: str | None = None,
    service: bool = False,
    queries: Sequence[str] = (),
    agent: str | None = None,
    act_for: Sequence[str] = (),
    admin: bool = False,
    auditor: bool = False,
    owner: str | None = None,
    expires: str | None = None,
    reason: str = "",
) -> Operation[MadeKey]:
    """Make a key; its secret is in this one answer.

    Args:
        name: What it is known by.
        role: A role of the declaration that its bearer acts in.
        user_role: What its bearer is to the data server.
        service: Approved queries and nothing else.
        queries: Which of them.
        agent: The agent that its bearer is.
        act_for: Agents that its bearer may act for.
        admin: For administration; calls no tool.
        auditor: For reading what administrators read, but no secret; changes nothing.
        owner: Name of the user whose key it is; whoever makes it, if None and that is a user.
        expires: A span such as `30d`, or an ISO 8601 time.
        reason: For the record.
    """
    return Operation(
        id="keys.create",
        method="POST",
        path=at("keys"),
        answer=MadeKey,
        query={"reason": reason or None},
        body={
            "name": name,
            "role": role,
            "user_role": user_role,
            "service": service,
            "queries": list(queries),
            "agent": agent,
            "act_for": list(act_for),
            "admin": admin,
            "auditor": auditor,
            "owner": owner,
            "expires": expires,
        },
    )


def rotate(name: str, *, overlap: float | None = None, reason: str = "") -> Operation[MadeKey]:
    """Give a key a new secret.

    Args:
        name: Of the key.
        overlap: Seconds for which the old secret goes on holding; it ends at once if None.
        reason: For the record.
    """
    return Operation(
        id="keys.rotate",
        method="POST",
        path=at("keys", name, "rotate"),
        answer=MadeKey,
        query={"overlap": overlap, "reason": reason or None},
    )


def revoke(name: str, *, reason: str = "") -> Operation[Key]:
    """End a key."""
    return Operation(
        id="keys.revoke",
        method="DELETE",
        path=at("keys", name),
        answer=Key,
        query={"reason": reason or None},
    )
