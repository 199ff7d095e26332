"""What GitHub's objects have in common."""

from remit.servers.rest.fields import (
    Fields,
    StrangeShapeError,
    fields_of,
    find_text,
    inner,
    text,
    values,
)


def login(fields: Fields, name: str = "user") -> str | None:
    """Return who somebody is; None when the account is gone."""
    return find_text(inner(fields, name), "login")


def is_open_or_closed(fields: Fields) -> bool:
    """Whether this is an issue or pull request, which have one of two states."""
    return text(fields, "state") in {"open", "closed"}


def state_of(fields: Fields) -> str:
    """Return the state of an issue or pull request.

    Raises:
        StrangeShapeError: If it has none.
    """
    if not is_open_or_closed(fields):
        raise StrangeShapeError
    return text(fields, "state")


def names(fields: Fields, listed: str, name: str) -> list[str]:
    """Return one text of each object in a list; a label may be a text itself."""
    found = values(fields, listed)
    texts = (one if isinstance(one, str) else text(fields_of(one), name) for one in found)
    return [one for one in texts if one]
