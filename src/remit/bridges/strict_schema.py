"""A tool's schema for frameworks with a strict mode: nothing is lost on the way, there or back.

Such a framework (CrewAI) resolves references, requires every property of an object, and allows no
other. What that would take away is shown in another form, and arguments are read back from it:

    a property that may be left out        ⇄ one that may be null
    any value, and objects with any keys   ⇄ a text of JSON
    what refers to itself                  ⇄ itself once, and then a text of JSON

The top level alone stays as it is: of a tool that takes any arguments at all, those that its schema
names are shown.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from remit.model.json_pointer import steps_of

Schema = Mapping[str, Any]

_WORDS: Final = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})
"""Keywords that say nothing about a value."""

_OPEN: Final = (
    "patternProperties",
    "propertyNames",
    "prefixItems",
    "dependentSchemas",
    "not",
    "if",
)
"""Keywords that strict mode has no place for."""

_NULL: Final = {"type": "null"}


class StrictSchema:
    """One tool's input schema, there and back.

    Args:
        schema: As the server gave it.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def shown(self) -> dict[str, Any]:
        """Return the schema for the model: without references, what is optional may be null."""
        return self._object(self._schema, frozenset())

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the tool of what a model gave; what cannot be read stays."""
        return self._read_object(self._schema, arguments, frozenset())

    def _show(self, given: object, within: frozenset[str]) -> dict[str, Any]:
        schema, within = self._resolved(given, within)
        if schema is None or _is_free(schema):
            return _text_of_json(schema or {})
        if "properties" in schema:
            return self._object(schema, within)
        shown = dict(schema)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                shown[key] = [self._show(choice, within) for choice in schema[key]]
                if shown.get("type") == "object":
                    del shown["type"]  # strict mode would close it before its choices are looked at
        if "array" in _types(schema):
            shown["items"] = self._show(schema.get("items", {}), within)
        return shown

    def _object(self, schema: Schema, within: frozenset[str]) -> dict[str, Any]:
        shown = {key: value for key, value in schema.items() if key not in {"$defs", "definitions"}}
        properties = cast("Mapping[str, object]", schema.get("properties", {}))
        shown["properties"] = {name: self._property(name, schema, within) for name in properties}
        return shown

    def _property(self, name: str, schema: Schema, within: frozenset[str]) -> dict[str, Any]:
        given = schema["properties"][name]
        shown = self._show(given, within)
        if name in schema.get("required", ()) or self._takes_null(given, within):
            return shown
        described = {key: shown.pop(key) for key in ("description", "default") if key in shown}
        return {"anyOf": [shown, _NULL], **described}

    def _read(self, given: object, value: Any, within: frozenset[str]) -> Any:
        schema, within = self._resolved(given, within)
        if schema is None or _is_free(schema):
            return _from_json(value)
        if isinstance(value, Mapping) and "properties" in schema:
            return self._read_object(schema, cast("Mapping[str, Any]", value), within)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._read_choice(schema[key], value, within)
        if isinstance(value, list) and "items" in schema:
            return [self._read(schema["items"], item, within) for item in cast("list[Any]", value)]
        return cast("object", value)

    def _read_object(
        self, schema: Schema, values: Mapping[str, Any], within: frozenset[str]
    ) -> dict[str, Any]:
        properties = cast("Mapping[str, object]", schema.get("properties", {}))
        required = schema.get("required", ())
        return {
            name: self._read(properties[name], value, within) if name in properties else value
            for name, value in values.items()
            if value is not None
            or name in required
            or name not in properties
            or self._takes_null(properties[name], within)
        }

    def _read_choice(self, choices: Sequence[object], value: Any, within: frozenset[str]) -> Any:
        resolved = [self._resolved(choice, within) for choice in choices]
        if isinstance(value, str):
            # A text of JSON is one only where no other text is meant.
            takes_text = any(
                s is not None and not _is_free(s) and _takes_text(s) for s, _ in resolved
            )
            is_shown = any(s is None or _is_free(s) for s, _ in resolved)
            return _from_json(value) if is_shown and not takes_text else value
        for choice, (schema, _) in zip(choices, resolved, strict=True):
            if schema is not None and _may_be(schema, value):
                return self._read(choice, value, within)
        return value

    def _takes_null(self, given: object, within: frozenset[str]) -> bool:
        schema, within = self._resolved(given, within)
        if schema is None or _is_free(schema):
            return False  # it is shown as a text
        if "enum" in schema or "const" in schema:
            return None in schema.get("enum", [schema.get("const", 0)])
        choices = schema.get("anyOf", schema.get("oneOf", ()))
        if choices:
            return any(self._takes_null(choice, within) for choice in choices)
        return "null" in _types(schema)

    def _resolved(
        self, given: object, within: frozenset[str]
    ) -> tuple[Schema | None, frozenset[str]]:
        """Return what is meant, and the references that are open; None for what was met before."""
        if not isinstance(given, Mapping):
            return {}, within
        schema = cast("Schema", given)
        while isinstance(ref := schema.get("$ref"), str):
            if ref in within:
                return None, within
            within |= {ref}
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self._at(ref), **beside}
        return schema, within

    def _at(self, ref: str) -> Schema:
        found: Any = self._schema
        for step in steps_of(ref):
            found = found.get(step, {})
        return cast("Schema", found)


def _is_free(schema: Schema) -> bool:
    """Whether a value may have parts that no strict schema can name."""
    if any(key in schema for key in _OPEN) or not schema.keys() - _WORDS:
        return True
    if "enum" in schema or "const" in schema:
        return False
    if any(key in schema for key in ("anyOf", "oneOf", "allOf")):
        return False
    if not _types(schema):
        return "properties" not in schema
    if "object" not in _types(schema):
        return False
    return not schema.get("properties") or bool(schema.get("additionalProperties", False))


def _types(schema: Schema) -> tuple[str, ...]:
    named = schema.get("type", ())
    return (named,) if isinstance(named, str) else tuple(cast("Sequence[str]", named))


def _takes_text(schema: Schema) -> bool:
    if "enum" in schema or "const" in schema:
        return any(isinstance(one, str) for one in schema.get("enum", [schema.get("const")]))
    return "string" in _types(schema)


def _may_be(schema: Schema, value: Any) -> bool:
    """Whether *value* has the shape of *schema*, as far as choosing among a few needs."""
    if not isinstance(value, Mapping):
        return isinstance(value, list) and "array" in _types(schema)
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    named = cast("Mapping[str, Any]", value)
    return named.keys() <= properties.keys() and all(
        _const_of(properties[name], given) == given for name, given in named.items()
    )


def _const_of(schema: object, other: Any) -> Any:
    return cast("Schema", schema).get("const", other) if isinstance(schema, Mapping) else other


def _text_of_json(schema: Schema) -> dict[str, Any]:
    told = str(schema.get("description") or "")
    wanted = {key: value for key, value in schema.items() if key not in _WORDS}
    form = f" that fits {json.dumps(wanted, ensure_ascii=False)}" if wanted else ""
    described = f"{told} (a JSON text{form})" if told else f"A JSON text{form}"
    return {"type": "string", "description": described}


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
