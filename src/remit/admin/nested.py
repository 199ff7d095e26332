"""Look into plain data without minding whether it is shaped as expected."""

from collections.abc import Iterator, Mapping
from typing import cast

from remit.admin.yaml_source import child_path


def mapping_at(value: object, *keys: str) -> Mapping[str, object]:
    """Return the mapping below *keys*; empty where there is none."""
    for key in keys:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def list_at(value: object, *keys: str) -> list[object]:
    """Return the list below *keys*; empty where there is none."""
    inner = mapping_at(value, *keys[:-1]).get(keys[-1])
    return cast("list[object]", inner) if isinstance(inner, list) else []


def text_at(value: Mapping[str, object], key: str) -> str:
    """Return the text of a member, or empty; a number is a text as well."""
    inner = value.get(key)
    is_text = isinstance(inner, str | int | float) and not isinstance(inner, bool)
    return str(inner).strip() if is_text else ""


def items_of(value: object, path: str) -> Iterator[tuple[str, str, object]]:
    """Give each entry of a mapping, or each item of a list under its `name`: name, path, entry."""
    if isinstance(value, Mapping):
        for name, entry in cast("Mapping[str, object]", value).items():
            yield name, child_path(path, name), entry
    elif isinstance(value, list):
        for index, entry in enumerate(cast("list[object]", value)):
            yield text_at(mapping_at(entry), "name"), child_path(path, index), entry
