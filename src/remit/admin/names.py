"""What keys, agents and tenants may be called: their names are parts of paths and of rows."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from remit.errors import BadCall, NotFound
from remit.identity.claims import LONGEST_NAME as LONGEST_USER_NAME
from remit.identity.claims import is_name as is_user_name
from remit.model.endpoints import NAME, UUID
from remit.model.principals import UserRole
from remit.model.roles import Role

LONGEST_NAME: Final = 64
MOST_TOLD: Final = 20
"""Names that a message tells: there may be thousands."""

_PLAIN: Final = re.compile(NAME)
_UUID: Final = re.compile(UUID)
_STEPS: Final = frozenset({".", ".."})
"""What a client that tidies a path takes for a step in it, so that no request reaches the name."""


def require_key_name(text: str) -> None:
    """Refuse what does not do as the name of a key.

    Raises:
        BadCall: The text says what does.
    """
    if not is_name(text):
        raise BadCall(
            f"a key's name is 1 to {LONGEST_NAME} printable characters, and neither '.' nor '..';"
            f" not {text[: LONGEST_NAME + 1]!r}"
        )


def require_owner(text: str) -> None:
    """Refuse what cannot be the name of a user whose key it is; empty for nobody's.

    Raises:
        BadCall: The text says what does.
    """
    if text and not is_user_name(text):
        raise BadCall(
            f"the owner of a key is a user's name, as tokens have it: 1 to {LONGEST_USER_NAME}"
            " printable characters, without a space at an end"
        )


def role_name_problem(name: str) -> str | None:
    """Say what is wrong with a role's name, or return None."""
    if not name.strip() or name != name.strip() or "," in name or not name.isprintable():
        return "is no role name: it is empty, or has a comma, a space at an end or the like"
    return None


def require_agent_id(text: str) -> None:
    """Refuse what does not do as the id of an agent.

    Raises:
        BadCall: The text says what does.
    """
    if not _PLAIN.fullmatch(text):
        raise BadCall(
            f"an agent's id is 1 to {LONGEST_NAME} letters, digits, '_', '.' or '-',"
            f" with a letter or digit first; not {text[:80]!r}"
        )


def require_tenant_name(text: str) -> None:
    """Refuse what does not do as the name of a tenant; no UUID does, which means a tenant itself.

    Raises:
        BadCall: The text says what does.
    """
    if not _PLAIN.fullmatch(text) or _UUID.fullmatch(text):
        raise BadCall(
            f"a tenant's name is 1 to {LONGEST_NAME} of A-Z a-z 0-9 _ . - with a letter or digit"
            f" first, and no UUID; not {text[:80]!r}"
        )


def is_uuid(text: str) -> bool:
    """Whether *text* is a UUID as the ids of queries and tenants are written."""
    return _UUID.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether *text* does as the name of a key or the id of a query."""
    return (
        0 < len(text) <= LONGEST_NAME
        and text.isprintable()
        and text == text.strip()
        and text not in _STEPS
    )


def told(names: Iterable[str], total: int | None = None) -> str:
    """Return names for a message: the first of them, and how many more there are.

    Args:
        names: All of them, or the first MOST_TOLD.
        total: How many there are, where these are not all.
    """
    known = tuple(names)
    more = (len(known) if total is None else total) - MOST_TOLD
    shown = ", ".join(known[:MOST_TOLD]) or "none"
    return f"{shown} and {more:,} more" if more > 0 else shown


def require_role(name: str, roles: Mapping[str, Role]) -> None:
    """Refuse the name of a role that is not declared.

    Raises:
        NotFound: The text names those that are.
    """
    if name not in roles:
        hint = (
            "; what one is to the data server is a user role (--user-role)"
            if name in set(UserRole)
            else ""
        )
        raise NotFound(f"no role {name!r} is declared; declared roles: {told(sorted(roles))}{hint}")
