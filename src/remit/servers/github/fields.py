"""What GitHub's objects have in common."""

from remit.servers.rest.fields import Fields, fields_of, find_text, inner, text, values


def login(fields: Fields, name: str = "user") -> str | None:
    """Return who somebody is; None when the account is gone."""
    return find_text(inner(fields, name), "login")


def names(fields: Fields, listed: str, name: str) -> list[str]:
    """Return one text of each object in a list; a label may be a text itself."""
    found = values(fields, listed)
    texts = (one if isinstance(one, str) else text(fields_of(one), name) for one in found)
    return [one for one in texts if one]
