"""GitHub's JSON, read field by field with its types."""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from remit.servers.errors import ToolError

Fields = Mapping[str, object]

_STRANGE: Final = (
    "GitHub answered with JSON of another shape than its API has; is GITHUB_API_URL right?"
)


def fields_of(data: object) -> Fields:
    """Return an object of the answer.

    Raises:
        ToolError: If it is none, so that this is hardly GitHub.
    """
    if not isinstance(data, dict):
        raise ToolError(_STRANGE)
    return cast("Fields", data)


def items_of(data: object) -> list[Fields]:
    """Return a list of objects.

    Raises:
        ToolError: If it is none, so that this is hardly GitHub.
    """
    if not isinstance(data, list):
        raise ToolError(_STRANGE)
    return [fields_of(item) for item in cast("list[object]", data)]


def inner(fields: Fields, name: str) -> Fields:
    """Return an object within, empty when there is none."""
    value = fields.get(name)
    return cast("Fields", value) if isinstance(value, dict) else {}


def text(fields: Fields, name: str) -> str:
    """Return a text, empty when there is none."""
    return find_text(fields, name) or ""


def find_text(fields: Fields, name: str) -> str | None:
    """Return a text, or None."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def number(fields: Fields, name: str) -> int:
    """Return a whole number, 0 when there is none."""
    value = fields.get(name)
    return value if isinstance(value, int) else 0


def flag(fields: Fields, name: str) -> bool:
    """Return a boolean, False when there is none."""
    return fields.get(name) is True


def find_flag(fields: Fields, name: str) -> bool | None:
    """Return a boolean, or None."""
    value = fields.get(name)
    return value if isinstance(value, bool) else None


def login(fields: Fields, name: str = "user") -> str | None:
    """Return who somebody is; None when the account is gone."""
    return find_text(inner(fields, name), "login")


def names(fields: Fields, listed: str, name: str) -> list[str]:
    """Return one text of each object in a list; a label may be a text itself."""
    value = fields.get(listed)
    found: Iterable[object] = cast("list[object]", value) if isinstance(value, list) else ()
    texts = (one if isinstance(one, str) else text(fields_of(one), name) for one in found)
    return [one for one in texts if one]
