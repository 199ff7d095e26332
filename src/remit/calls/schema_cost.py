"""How much work a schema can make: references let a short one stand for any number of others.

`{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}, "b": …}}` doubles with
each step, and a validator that has begun cannot be stopped: it would hold up every other call.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Final, cast

from remit.model.json_pointer import steps_of

Node = Mapping[str, object]

_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
_BY_NAME: Final = frozenset({"properties", "patternProperties"})
_IN_PLACE_BY_NAME: Final = frozenset({"dependentSchemas", "dependencies"})
_IDLE: Final = frozenset({"$defs", "definitions", "enum", "const", "default", "examples"})
_NAMES: Final = frozenset({"$anchor", "$dynamicAnchor"})


def evaluations(schema: object) -> float:
    """Return how often a part of *schema* is applied at most, to arguments without lists.

    A schema that contains itself in a part of the arguments counts once; one that contains itself
    for the same part, or refers to what is not found here, is infinite.

    Raises:
        RecursionError: It is nested too deeply to tell.
    """
    return _Count(schema).of(schema, 0)


def telling(schema: object, arguments: object) -> float:
    """Return how large the errors about *arguments* may become, in parts of the arguments.

    A validator lists them with all that led to them: of `anyOf` those of every branch, each with a
    copy of what it is about. Of a schema that contains itself in two branches they double with each
    level of the arguments. Infinite where it would take long to say.
    """
    try:
        return _Telling(schema).of(schema, arguments)
    except RecursionError:
        return math.inf


class _Count:
    def __init__(self, root: object) -> None:
        self._schema = _Schema(root)
        self._known: dict[int, float] = {}
        self._open: dict[int, int] = {}

    def of(self, schema: object, level: int) -> float:
        """Return the count of one schema; *level* is how deep in the arguments it is applied."""
        if not isinstance(schema, dict):
            return 1
        key = id(cast("object", schema))
        if key in self._known:
            return self._known[key]
        if key in self._open:
            return math.inf if self._open[key] == level else 1
        self._open[key] = level
        total = 1 + sum(
            self.of(part, where) for part, where in self._schema.parts(cast("Node", schema), level)
        )
        del self._open[key]
        self._known[key] = total
        return total


class _Schema:
    """A schema whose references are looked up."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._anchors = dict(_anchors(root))

    def parts(self, schema: Node, level: int) -> Iterator[tuple[object, int]]:
        """Give each part that is applied, and how deep in the arguments."""
        for keyword, value in schema.items():
            if keyword in _REFERENCES:
                yield self._target(value), level
            elif keyword in _IDLE:
                continue
            elif keyword in _BY_NAME or keyword in _IN_PLACE_BY_NAME:
                where = level if keyword in _IN_PLACE_BY_NAME else level + 1
                yield from ((part, where) for part in _values(value))
            else:
                where = level if keyword in _IN_PLACE else level + 1
                parts = cast("list[object]", value) if isinstance(value, list) else [value]
                yield from ((part, where) for part in parts)

    def _target(self, reference: object) -> object:
        """Return the schema referred to; one that loops where there is none."""
        text = str(reference)
        if text in self._anchors:
            return self._anchors[text]
        found = self._root if text.startswith("#") and text[1:2] in ("", "/") else None
        for name in steps_of(text):
            if isinstance(found, list) and name.isdecimal():
                found = dict(enumerate(cast("list[object]", found))).get(int(name))
            else:
                found = cast("Node", found).get(name) if isinstance(found, dict) else None
        return _LOOP if found is None else found


class _Telling:
    def __init__(self, root: object) -> None:
        self._schema = _Schema(root)
        self._told: dict[tuple[int, int], float] = {}
        self._sizes: dict[int, int] = {}

    def of(self, schema: object, value: object) -> float:
        """Return the size of what *schema* may say of *value*."""
        if not isinstance(schema, dict):
            return 1
        key = (id(cast("object", schema)), id(value))
        if key not in self._told:
            if len(self._told) >= _MOST_PAIRS:
                return math.inf
            self._told[key] = 0
            self._told[key] = self._size(value) + sum(
                self.of(part, where) for part, where in self._applied(cast("Node", schema), value)
            )
        return self._told[key]

    def _applied(self, schema: Node, value: object) -> Iterator[tuple[object, object]]:
        """Give each part of a schema with each part of the value that it is applied to."""
        parts, given = _node(schema.get("properties")), _node(value)
        if parts is not None and given is not None:
            yield from ((parts[name], given[name]) for name in parts.keys() & given.keys())
            schema = {keyword: said for keyword, said in schema.items() if keyword != "properties"}
        children = _children(value)
        for part, level in self._schema.parts(schema, 0):
            yield from ((part, where) for where in ([value] if level == 0 else children))

    def _size(self, value: object) -> int:
        key = id(value)
        if key not in self._sizes:
            self._sizes[key] = 1 + sum(self._size(child) for child in _children(value))
        return self._sizes[key]


_MOST_PAIRS: Final = 5_000
"""Parts of a schema with parts of arguments that are looked at."""


def _node(value: object) -> Node | None:
    return cast("Node", value) if isinstance(value, dict) else None


def _children(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else list(_values(value))


_LOOP: dict[str, object] = {}
_LOOP["not"] = _LOOP


def _values(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from cast("Node", value).values()


def _anchors(node: object) -> Iterator[tuple[str, object]]:
    if isinstance(node, list):
        for part in cast("list[object]", node):
            yield from _anchors(part)
    elif isinstance(node, dict):
        schema = cast("Node", node)
        yield from (("#" + str(schema[name]), schema) for name in _NAMES if name in schema)
        if isinstance(schema.get("$id"), str):
            yield str(schema["$id"]), schema
        for part in schema.values():
            yield from _anchors(part)
