"""What an entry of a server's list may hold, so that no client refuses the whole list for it.

Clients read a list as one. Those of the TypeScript libraries refuse all of it, and with it what
every other server offers, for one title that is null or one input schema without `type: object`.
So what no client can read is left out of an entry, and all else stays as it came.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeGuard, cast

from remit.upstreams.output_schema import is_compilable
from remit.upstreams.wire import Malformed, elements, joined, members, value_of

_NULL: Final = b"null"
_WHEN: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")

Place: TypeAlias = tuple[str, list[str]]
"""Where a value stands, and what was found to be wrong so far."""
Fit: TypeAlias = Callable[[bytes, Place], bytes | None]
"""Returns what can be read of a raw JSON value: all of it as it is, a part, or None.

Raises:
    Malformed: Nothing can.
"""


def fitted(parts: Mapping[str, bytes], known: Mapping[str, Fit]) -> tuple[dict[str, bytes], str]:
    """Return the members of an entry that clients can read, and what else it had, in words.

    Args:
        parts: Its members, each as raw JSON; what is in order stays byte for byte.
        known: What the members are that clients look at.
    """
    wrong: list[str] = []
    return _kept(parts, known, ("", wrong)), ", ".join(wrong)


def _kept(parts: Mapping[str, bytes], known: Mapping[str, Fit], place: Place) -> dict[str, bytes]:
    where, wrong = place
    kept: dict[str, bytes] = {}
    for name, raw in parts.items():
        inner = f"{where}.{name}" if where else name
        found = _fit(raw, known[name], (inner, wrong)) if name in known else raw
        if found is not None:
            kept[name] = found
    return kept


def _fit(raw: bytes, fit: Fit, place: Place) -> bytes | None:
    try:
        found = fit(raw, place)
    except Malformed:
        found = None
    if found is None and raw != _NULL:  # null is what many servers write for nothing
        where, wrong = place
        wrong.append(where)
    return found


def _if(holds: Callable[[object], bool]) -> Fit:
    return lambda raw, _: raw if holds(value_of(raw)) else None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_text: Final = _if(lambda value: isinstance(value, str))
_truth: Final = _if(lambda value: isinstance(value, bool))
_number: Final = _if(_is_number)


def _one_of(*words: str) -> Fit:
    return _if(lambda value: value in words)


def _list_of(fit: Fit, *needed: str) -> Fit:
    def entries(raw: bytes, place: Place) -> bytes:
        given = elements(raw)
        found = [entry for entry in (_fit(one, fit, place) for one in given) if entry is not None]
        kept = [entry for entry in found if not needed or members(entry).keys() >= {*needed}]
        return raw if kept == given else b"[" + b",".join(kept) + b"]"

    return entries


def _object(**known: Fit) -> Fit:
    def those(raw: bytes, place: Place) -> bytes:
        parts = members(raw)
        kept = _kept(parts, known, place)
        return raw if kept == parts else joined(kept)

    return those


def _arguments(raw: bytes, place: Place) -> bytes | None:
    """Return a schema of arguments, which always are an object."""
    where, wrong = place
    parts = members(raw)
    kind = value_of(parts.get("type", _NULL))
    if kind not in ("object", None):
        wrong.append(f"{where}.type")
    typed = raw if kind == "object" else joined({**parts, "type": b'"object"'})
    return _object(properties=_properties, required=_list_of(_text))(typed, place)


def _properties(raw: bytes, _: Place) -> bytes | None:
    if raw.startswith(b"["):
        return None if elements(raw) else b"{}"  # PHP writes an empty object so
    schemas = members(raw)
    kept = {name: _schema(schema) for name, schema in schemas.items()}
    return raw if kept == schemas else joined(kept)


def _schema(raw: bytes) -> bytes:
    if raw.startswith(b"{"):
        return raw
    return b'{"not":{}}' if raw == b"false" else b"{}"


def _output(raw: bytes, place: Place) -> bytes | None:
    """Return a schema of results, if whoever compares results with it can."""
    schema = value_of(raw)
    if not isinstance(schema, dict) or not is_compilable(cast("dict[str, object]", schema)):
        return None
    return _object(properties=_properties)(raw, place)


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
    priority=_if(lambda value: _is_number(value) and 0 <= value <= 1),
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
    # whose names `contents.py` asks for
    "arguments": _list_of(_object(title=_text, description=_text, required=_truth)),
}
TEMPLATE: Final[Mapping[str, Fit]] = {**_NAMED, "mimeType": _text, "annotations": _OF_CONTENT}
RESOURCE: Final[Mapping[str, Fit]] = {**TEMPLATE, "size": _number}
