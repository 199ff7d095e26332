"""Jira's JSON, read field by field with its types."""

from collections.abc import Mapping
from typing import Final, cast

from remit.servers.errors import ToolError

Fields = Mapping[str, object]

_STRANGE: Final = "Jira answered with JSON of another shape than its API has; is JIRA_URL right?"


def fields_of(data: object) -> Fields:
    """Return an object of the answer.

    Raises:
        ToolError: If it is none, so that this is hardly Jira.
    """
    if not isinstance(data, dict):
        raise ToolError(_STRANGE)
    return cast("Fields", data)


def object_or_empty(data: object) -> Fields:
    """Return an object of the answer, empty when it is none."""
    return cast("Fields", data) if isinstance(data, dict) else {}


def items_of(data: object) -> list[Fields]:
    """Return a list of objects.

    Raises:
        ToolError: If it is none, so that this is hardly Jira.
    """
    if not isinstance(data, list):
        raise ToolError(_STRANGE)
    return [fields_of(item) for item in cast("list[object]", data)]


def inner(fields: Fields, *names: str) -> Fields:
    """Return the object that a path of names leads to, empty when there is none."""
    for name in names:
        value = fields.get(name)
        fields = cast("Fields", value) if isinstance(value, dict) else {}
    return fields


def listed(fields: Fields, name: str) -> list[Fields]:
    """Return the objects of a list within, empty when there is none."""
    value = fields.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Fields", item) for item in items if isinstance(item, dict)]


def find_text(fields: Fields, *names: str) -> str | None:
    """Return the text that a path of names leads to, or None; a number counts as text."""
    value = inner(fields, *names[:-1]).get(names[-1])
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def text(fields: Fields, *names: str) -> str:
    """Return the text that a path of names leads to, empty when there is none."""
    return find_text(fields, *names) or ""


def number(fields: Fields, name: str) -> int | None:
    """Return a whole number, or None."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def texts(fields: Fields, name: str) -> list[str]:
    """Return the texts of a list within."""
    value = fields.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
