"""A model in strict mode, and what CrewAI makes of a schema for one."""

import json
from collections.abc import Mapping
from typing import Any, cast

import jsonschema_rs

_FORMATS = ("date-time", "date", "time", "duration")


def in_strict_mode(schema: Any) -> Any:
    """Return what CrewAI makes of a schema: closed objects of required properties."""
    if isinstance(schema, list):
        return [in_strict_mode(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    strict = {
        key: {name: in_strict_mode(inner) for name, inner in value.items()}
        if key == "properties"
        else in_strict_mode(value)
        for key, value in cast("dict[str, Any]", schema).items()
    }
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if strict.get("format", "date") not in _FORMATS:
        del strict["format"]
    if strict.get("type") == "object":
        strict["additionalProperties"] = False
        strict.setdefault("properties", {})
        strict["required"] = list(strict["properties"]) or strict.get("required", [])
    return strict


def as_strict(shown: Mapping[str, Any], value: Any) -> Any:
    """Return the value that a model gives which keeps to what it is shown, and means *value*."""
    if "anyOf" in shown and "properties" not in shown:
        for choice in shown["anyOf"]:
            given = as_strict(choice, value)
            if jsonschema_rs.is_valid(choice, given):
                return given
    if shown.get("type") == "string" and not isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict) and "properties" in shown:
        named = cast("dict[str, Any]", value)
        properties = shown["properties"]
        given = {
            name: as_strict(inner, named[name]) if name in named else None
            for name, inner in properties.items()
        }
        return given | {name: named[name] for name in named if name not in properties}
    if isinstance(value, list) and "items" in shown:
        return [as_strict(shown["items"], one) for one in cast("list[Any]", value)]
    return cast("object", value)
