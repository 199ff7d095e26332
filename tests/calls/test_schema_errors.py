"""What is said of arguments that do not fit, and that saying it never takes long."""

import json
import math
from typing import Any

import pytest
from tests.calls.worlds import authorized, tool, world_with

from remit.calls.input_schema import MOST_TOLD, TOO_INVOLVED
from remit.calls.schema_cost import telling
from remit.errors import BadCall

NODE = {"oneOf": [{"$ref": "#/$defs/and"}, {"$ref": "#/$defs/or"}, {"$ref": "#/$defs/eq"}]}


def branch(op: str) -> dict[str, Any]:
    properties = {"op": {"const": op}, "left": NODE, "right": NODE}
    return {"type": "object", "properties": properties, "required": ["op", "left", "right"]}


FILTERS = {
    "$defs": {
        "and": branch("and"),
        "or": branch("or"),
        "eq": {"properties": {"op": {"const": "eq"}, "value": {"type": "string"}}},
    },
    "type": "object",
    "properties": {"where": NODE},
}


def filters(levels: int, value: object) -> dict[str, Any]:
    found: dict[str, Any] = {"op": "eq", "value": value}
    for _ in range(levels):
        found = {"op": "and", "left": {"op": "eq", "value": "x"}, "right": found}
    return {"where": found}


def told(schema: dict[str, Any], arguments: object) -> str:
    world = world_with(tool("s", "t", schema))
    with pytest.raises(BadCall) as refused:
        world.validate(authorized(world, json.dumps(arguments).encode()))
    return str(refused.value)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("levels", [14, 90])
def test_errors_that_would_double_with_each_level_are_not_listed(levels: int) -> None:
    # without a bound 14 levels, a kilobyte, take half a minute and gigabytes, and nothing else runs
    assert told(FILTERS, filters(levels, 5)) == TOO_INVOLVED


def test_arguments_that_fit_do_however_deep_they_are() -> None:
    world = world_with(tool("s", "t", FILTERS))

    assert world.validate(authorized(world, json.dumps(filters(60, "fine")).encode()))


def test_of_what_is_shallow_it_is_said_where() -> None:
    assert told(FILTERS, filters(1, 5)).startswith("where: ")
    wide = {"properties": {f"p{n}": {"type": "integer"} for n in range(1000)}}
    assert told(wide, dict.fromkeys(wide["properties"], "x")).startswith("p0: ")


def test_many_parts_that_are_all_wrong_are_not_listed() -> None:
    rows = {"properties": {"rows": {"items": {"properties": {"a": {"type": "integer"}}}}}}

    assert told(rows, {"rows": [{"a": "x"}] * 3}).startswith("rows.0.a: ")
    assert told(rows, {"rows": [{"a": f"x{n}"} for n in range(20_000)]}) == TOO_INVOLVED


SIZES: list[tuple[Any, Any, int]] = [
    (True, {"a": 1}, 1),
    ({"type": "object"}, {"a": 1}, 2 + 1),
    ({"properties": {"a": {}, "b": {}}}, {"a": 1}, 2 + 1),
    ({"additionalProperties": {}}, {"a": 1, "b": 2}, 3 + 2),
    ({"anyOf": [{}, {}]}, {"a": 1}, 2 + 2 + 2),
    ({"items": {"items": {}}}, [[1, 2], [3]], 6 + 3 + 2 + 2 + 1),
    ({"$defs": {"a": {}}, "$ref": "#/$defs/a"}, 7, 1 + 1),
]


@pytest.mark.parametrize(("schema", "arguments", "size"), SIZES)
def test_what_errors_may_hold_is_counted(schema: object, arguments: object, size: int) -> None:
    assert telling(schema, arguments) == size


def test_what_takes_too_long_to_count_is_too_large() -> None:
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]

    assert telling({"items": {"$ref": "#"}}, nested) == math.inf
    assert telling({"items": {"items": {}}}, [[n] for n in range(10_000)]) > MOST_TOLD
