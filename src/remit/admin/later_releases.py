"""What the contract knows and this version does not act on yet: warned of, never silent."""

from collections.abc import Iterator, Mapping
from typing import cast

from remit.admin.complaints import Location

_MEANINGS: Mapping[tuple[str, ...], str] = {
    ("tenants",): "tenants are made by `remit tenants create`",
}
"""Where it stands, and what its being idle means to whoever wrote it."""


def idle_parts(data: Mapping[str, object]) -> Iterator[tuple[Location, str]]:
    """Give every part of a document that does nothing yet, with what that means."""
    for where, meaning in _MEANINGS.items():
        if _value_at(data, where):
            yield where, meaning


def _value_at(value: object, where: tuple[str, ...]) -> object:
    for key in where:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(key)
    return value
