"""What an entry of a server's list may hold, so that no client refuses the whole list for it.

Clients read a list as one. Those of the TypeScript libraries refuse all of it, and with it what
every other server offers, for one title that is null or one input schema without `type: object`.
So what no client can read is left out of an entry, and all else stays as it came.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

import jsonschema_rs

from remit.upstreams.wire import Malformed, json_bytes, value_of

_NOTHING: Final = object()
_WHEN: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")

Place: TypeAlias = tuple[str, list[str]]
"""Where a value stands, and what was found to be wrong so far."""
Fit: TypeAlias = Callable[[object, Place], object]
"""Returns what can be read of a value: all, a part, or `_NOTHING`."""


def fitted(parts: Mapping[str, bytes], known: Mapping[str, Fit]) -> tuple[dict[str, bytes], str]:
    """Return the members of an entry that clients can read, and what else it had, in words.

    Args:
        parts: Its members, each as raw JSON; those that are in order stay byte for byte.
        known: What the members are that clients look at.
    """
    wrong: list[str] = []
    kept: dict[str, bytes] = {}
    for name, raw in parts.items():
        if name in known:
            value = _value(raw)
            fit = _fit(value, known[name], (name, wrong))
            if fit is _NOTHING:
                continue
            kept[name] = raw if fit == value else json_bytes(fit)
        else:
            kept[name] = raw
    return kept, ", ".join(wrong)


def _value(raw: bytes) -> object:
    try:
        return value_of(raw)
    except Malformed:
        return _NOTHING  # which fits nothing


def _fit(value: object, fit: Fit, place: Place) -> object:
    found = fit(value, place)
    if found is _NOTHING and value is not None:  # null is what many servers write for nothing
        where, wrong = place
        wrong.append(where)
    return found


def _if(holds: Callable[[object], bool]) -> Fit:
    return lambda value, _: value if holds(value) else _NOTHING


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


_text: Final = _if(lambda value: isinstance(value, str))
_truth: Final = _if(lambda value: isinstance(value, bool))
_number: Final = _if(lambda value: isinstance(value, int | float) and not isinstance(value, bool))


def _one_of(*words: str) -> Fit:
    return _if(lambda value: value in words)


def _list_of(fit: Fit, *needed: str) -> Fit:
    def entries(value: object, place: Place) -> object:
        if not isinstance(value, list):
            return _NOTHING
        found = [_fit(entry, fit, place) for entry in cast("list[object]", value)]
        return [entry for entry in found if entry is not _NOTHING and _has(entry, needed)]

    return entries


def _has(entry: object, needed: tuple[str, ...]) -> bool:
    return all(name in cast("dict[str, object]", entry) for name in needed)


def _object(**known: Fit) -> Fit:
    def members(value: object, place: Place) -> object:
        if not isinstance(value, dict):
            return _NOTHING
        where, wrong = place
        found = {
            name: _fit(one, known[name], (f"{where}.{name}", wrong)) if name in known else one
            for name, one in cast("dict[str, object]", value).items()
        }
        return {name: one for name, one in found.items() if one is not _NOTHING}

    return members


def _arguments(value: object, place: Place) -> object:
    """Return a schema of arguments, which always are an object."""
    if not isinstance(value, dict):
        return _NOTHING
    where, wrong = place
    schema = cast("dict[str, object]", value)
    if schema.get("type") not in ("object", None):
        wrong.append(f"{where}.type")
    typed = schema if schema.get("type") == "object" else {**schema, "type": "object"}
    return _object(properties=_properties, required=_list_of(_text))(typed, place)


def _properties(value: object, _: Place) -> object:
    if not isinstance(value, dict):
        return {} if value == [] else _NOTHING  # which is how PHP writes an empty object
    schemas = cast("dict[str, object]", value)
    return {name: _schema(schema) for name, schema in schemas.items()}


def _schema(schema: object) -> object:
    if isinstance(schema, dict):
        return cast("dict[str, object]", schema)
    return {"not": {}} if schema is False else {}


def _output(value: object, place: Place) -> object:
    """Return a schema of results, if whoever compares results with it can."""
    if not isinstance(value, dict):
        return _NOTHING
    schema = cast("dict[str, object]", value)
    try:
        jsonschema_rs.validator_for(schema, offline=True)
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError):
        return _NOTHING
    return _object(properties=_properties)(schema, place)


_ICONS: Final = _list_of(
    _object(src=_text, mimeType=_text, sizes=_list_of(_text), theme=_one_of("light", "dark")),
    "src",
)
_NAMED: Final[Mapping[str, Fit]] = {
    "title": _text,
    "description": _text,
    "icons": _ICONS,
    "_meta": _object(),
}
_OF_CONTENT: Final = _object(
    audience=_list_of(_one_of("user", "assistant")),
    priority=_if(_is_fraction),
    lastModified=_if(lambda value: isinstance(value, str) and _WHEN.fullmatch(value) is not None),
)

TOOL: Final[Mapping[str, Fit]] = {
    **_NAMED,
    "inputSchema": _arguments,
    "outputSchema": _output,
    "annotations": _object(
        title=_text,
        readOnlyHint=_truth,
        destructiveHint=_truth,
        idempotentHint=_truth,
        openWorldHint=_truth,
    ),
    "execution": _object(taskSupport=_one_of("required", "optional", "forbidden")),
}
PROMPT: Final[Mapping[str, Fit]] = {
    **_NAMED,
    "arguments": _list_of(
        _object(name=_text, title=_text, description=_text, required=_truth), "name"
    ),
}
TEMPLATE: Final[Mapping[str, Fit]] = {**_NAMED, "mimeType": _text, "annotations": _OF_CONTENT}
RESOURCE: Final[Mapping[str, Fit]] = {**TEMPLATE, "size": _number}
