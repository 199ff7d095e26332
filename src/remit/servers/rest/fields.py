"""A service's JSON, read field by field with its types."""

from collections.abc import Mapping
from typing import cast

Fields = Mapping[str, object]


class StrangeShapeError(Exception):
    """JSON of another shape than the service's API has, so that this is hardly the service."""


def fields_of(data: object) -> Fields:
    """Return an object of the answer.

    Raises:
        StrangeShapeError: If it is none.
    """
    if not isinstance(data, dict):
        raise StrangeShapeError
    return cast("Fields", data)


def object_or_empty(data: object) -> Fields:
    """Return an object of the answer, empty when it is none."""
    return cast("Fields", data) if isinstance(data, dict) else {}


def items_of(data: object) -> list[Fields]:
    """Return a list of objects.

    Raises:
        StrangeShapeError: If it is none.
    """
    if not isinstance(data, list):
        raise StrangeShapeError
    return [fields_of(item) for item in cast("list[object]", data)]


def inner(fields: Fields, *names: str) -> Fields:
    """Return the object that a path of names leads to, empty when there is none."""
    for name in names:
        value = fields.get(name)
        fields = cast("Fields", value) if isinstance(value, dict) else {}
    return fields


def values(fields: Fields, name: str) -> list[object]:
    """Return a list within, empty when there is none."""
    value = fields.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []


def listed(fields: Fields, name: str) -> list[Fields]:
    """Return the objects of a list within."""
    return [cast("Fields", item) for item in values(fields, name) if isinstance(item, dict)]


def texts(fields: Fields, name: str) -> list[str]:
    """Return the texts of a list within."""
    return [item for item in values(fields, name) if isinstance(item, str)]


def find_text(fields: Fields, *names: str) -> str | None:
    """Return the text that a path of names leads to, or None; a number counts as text."""
    value = inner(fields, *names[:-1]).get(names[-1])
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def text(fields: Fields, *names: str) -> str:
    """Return the text that a path of names leads to, empty when there is none."""
    return find_text(fields, *names) or ""


def find_number(fields: Fields, name: str) -> int | None:
    """Return a whole number, or None."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(fields: Fields, name: str) -> int:
    """Return a whole number, 0 when there is none."""
    return find_number(fields, name) or 0


def find_flag(fields: Fields, name: str) -> bool | None:
    """Return a boolean, or None."""
    value = fields.get(name)
    return value if isinstance(value, bool) else None


def flag(fields: Fields, name: str) -> bool:
    """Return a boolean, False when there is none."""
    return fields.get(name) is True
