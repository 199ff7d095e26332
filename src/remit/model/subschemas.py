"""The schemas that a schema of JSON Schema 2020-12 holds."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

Path = tuple[str, ...]
"""Names of properties, from the root of a schema or of what it is for."""

# Where it holds others, apart from `properties`; what holds data
# (`default`, `enum`) or a reference is not looked into, so that the walk ends on any schema.
_HOLDS_ONE: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_HOLDS_LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_HOLDS_MAP: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties"})


def schemas_in(schema: object) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Give every schema within *schema*, outermost first, with the path of its argument.

    The path is None where anything but `properties` leads there: no argument is named then.
    """
    # it grows while it is gone through: a schema may be deeper than calls may nest
    waiting: list[tuple[Path | None, object]] = [((), schema)]
    for path, node in waiting:
        if isinstance(node, dict):
            held = cast("dict[str, Any]", node)
            yield path, held
            waiting.extend(_held_by(path, held))


def _held_by(path: Path | None, schema: Mapping[str, Any]) -> Iterator[tuple[Path | None, object]]:
    for keyword, value in schema.items():
        if keyword in _HOLDS_ONE:
            yield None, value
        elif keyword in _HOLDS_LIST and isinstance(value, list):
            yield from ((None, each) for each in cast("list[object]", value))
        elif keyword == "properties" and isinstance(value, dict):
            for name, each in cast("dict[str, object]", value).items():
                yield (None if path is None else (*path, name)), each
        elif keyword in _HOLDS_MAP and isinstance(value, dict):
            yield from ((None, each) for each in cast("dict[str, object]", value).values())
