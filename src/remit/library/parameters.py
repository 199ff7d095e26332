"""From a tool's JSON Schema to the flat list of parameters that agents take (S1.20, S1.21)."""

from collections.abc import Mapping
from typing import Any, Final, cast

from remit.model.json_pointer import steps_of

_DEEPEST = 8
"""How many references are followed to find a type."""

_UNTYPED: Final = "string"


def parameters_of(schema: object) -> list[dict[str, Any]]:
    """Return one entry a property, in the schema's order; empty when there are none.

    Each has `name`, `type` (`string` unless the schema says another), `description` and
    `required`, and `default` and `enum` where the schema has them.
    """
    root = _mapping(schema)
    required = root.get("required")
    wanted = cast("list[object]", required) if isinstance(required, list) else []
    return [
        _parameter(name, _mapping(entry), root, is_required=name in wanted)
        for name, entry in _mapping(root.get("properties")).items()
    ]


def _parameter(
    name: str, entry: Mapping[str, Any], root: Mapping[str, Any], *, is_required: bool
) -> dict[str, Any]:
    target = _followed(entry, root)
    merged = {**target, **entry}
    description = merged.get("description")
    parameter: dict[str, Any] = {
        "name": name,
        "type": _type_of(entry, root, _DEEPEST) or _UNTYPED,
        "description": description if isinstance(description, str) else "",
        "required": is_required,
    }
    return parameter | {key: merged[key] for key in ("default", "enum") if key in merged}


def _type_of(entry: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    """Return the first type that is not null, found in alternatives and references too."""
    if not depth:
        return ""
    said = entry.get("type")
    types = cast("list[object]", said) if isinstance(said, list) else [said]
    named = [kind for kind in types if isinstance(kind, str)]
    if named:
        return next((kind for kind in named if kind != "null"), named[0])
    for word in ("anyOf", "oneOf", "allOf"):
        branches = entry.get(word)
        for branch in cast("list[object]", branches) if isinstance(branches, list) else []:
            found = _type_of(_mapping(branch), root, depth - 1)
            if found not in ("", "null"):
                return found
    target = _target(entry, root)
    return _type_of(target, root, depth - 1) if target else ""


def _followed(entry: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what *entry* refers to in the end; empty when it refers to nothing."""
    found: Mapping[str, Any] = {}
    target = _target(entry, root)
    for _ in range(_DEEPEST):
        found = {**target, **found}
        target = _target(target, root)
    return found


def _target(entry: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of *root* that the entry's `$ref` names; empty when there is none."""
    reference = entry.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    found: Mapping[str, Any] = root
    for step in steps_of(reference):
        found = _mapping(found.get(step))
    return found


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
