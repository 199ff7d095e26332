"""Arguments against the input schema: what is refused, in which words, and what never crashes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.calls.worlds import authorized, tool, world_with

from remit.calls.input_schema import LONGEST_ERROR, MOST_ERRORS
from remit.calls.validate import Examined
from remit.errors import BadCall
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId

SECRET = "hunter2-secret"


def check(schema: object, arguments: bytes) -> None:
    world = world_with(tool("s", "t", schema))
    world.validate(authorized(world, arguments))


def refusal(schema: object, arguments: bytes) -> str:
    with pytest.raises(BadCall) as bad:
        check(schema, arguments)
    return str(bad.value)


def about(schema: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


def test_arguments_that_fit_go_on_with_the_tool_as_it_is_offered() -> None:
    offered = tool("s", "t", about({"type": "integer"}))
    world = world_with(offered)

    call = authorized(world, b'{"a": 1}')
    valid = world.validate(call)

    assert valid.tool is offered
    assert valid.authorized is call
    assert valid.call.arguments == b'{"a": 1}'


def test_what_is_offered_and_declared_now_is_what_a_call_is_checked_by() -> None:
    # R17: also by a gateway that remembers
    world = world_with(tool("s", "t", about({"type": "integer"})))
    assert world.validate(authorized(world, b'{"a":1}')).timeout == 30.0

    world.declare(replace(world.declaration, servers={"s": ServerConfig(name="s", timeout=7.0)}))
    assert world.validate(authorized(world, b'{"a":1}')).timeout == 7.0

    offered = tool("s", "t", about({"type": "string"}))
    world.offer({"s": [offered]})
    assert world.validate(authorized(world, b'{"a":"x"}')).tool is offered
    with pytest.raises(BadCall):
        world.validate(authorized(world, b'{"a":1}'))


@pytest.mark.parametrize(
    ("schema", "arguments", "text"),
    [
        (about({"type": "integer"}), b'{"a":"x"}', 'a: the value is not of type "integer"'),
        ({"required": ["a"]}, b"{}", '"a" is a required property'),
        (
            {"properties": {"b": {}}, "additionalProperties": False},
            b'{"a":1}',
            "Additional properties are not allowed ('a' was unexpected)",
        ),
        (
            about({"items": {"properties": {"b": {"type": "null"}}}}),
            b'{"a":[{}, {"b":1}]}',
            'a.1.b: the value is not of type "null"',
        ),
    ],
)
def test_a_refusal_names_the_field(schema: object, arguments: bytes, text: str) -> None:
    assert refusal(schema, arguments) == text


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"enum": ["a", "b"]},
        {"const": "x"},
        {"maxLength": 2},
        {"minLength": 200},
        {"pattern": "^[0-9]+$"},
        {"not": {"type": "string"}},
        {"anyOf": [{"type": "integer"}, {"maxLength": 1}]},
        {"oneOf": [{"type": "integer"}, {"maxLength": 1}]},
        {"oneOf": [{"type": "string"}, {"minLength": 1}]},
        {"allOf": [{"type": "integer"}]},
        {"if": True, "then": False},
        False,
    ],
)
def test_a_refusal_never_tells_the_value(schema: object) -> None:
    text = refusal(about(schema), json.dumps({"a": SECRET}).encode())

    assert text.startswith("a: ")
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"contains": {"type": "integer"}}, [SECRET]),
        ({"uniqueItems": True}, [SECRET, SECRET]),
        ({"maxItems": 0}, [SECRET]),
        ({"items": False}, [SECRET]),
        ({"unevaluatedItems": False}, [SECRET]),
        ({"required": ["b"]}, {"k": SECRET}),
        ({"minProperties": 2}, {"k": SECRET}),
        ({"dependentRequired": {"k": ["b"]}}, {"k": SECRET}),
        ({"properties": {"k": {"type": "null"}}}, {"k": {"deep": [SECRET]}}),
        ({"maximum": 3}, 5551234),
        ({"multipleOf": 7}, 5551234),
    ],
)
def test_a_refusal_never_tells_a_value_inside_of_a_value(schema: object, value: object) -> None:
    text = refusal(about(schema), json.dumps({"a": value}).encode())

    assert text.startswith("a")
    assert "hunter2" not in text
    assert "5551234" not in text


def test_a_refusal_tells_the_first_few_errors() -> None:
    schema = {"properties": {f"f{n}": {"type": "integer"} for n in range(20)}}

    text = refusal(schema, json.dumps({f"f{n}": "x" for n in range(20)}).encode())

    assert text.count("; ") == MOST_ERRORS - 1


def test_a_refusal_stays_short_whatever_the_names_are() -> None:
    text = refusal({"additionalProperties": {"type": "null"}}, b'{"' + b"k" * 100_000 + b'":1}')

    assert len(text) == LONGEST_ERROR
    assert text.endswith("k…")


@pytest.mark.parametrize("arguments", [b"[]", b"null", b'"{}"', b"1", b"true"])
def test_arguments_that_are_no_object_are_refused(arguments: bytes) -> None:
    assert refusal({}, arguments) == "arguments must be a JSON object"


@pytest.mark.parametrize(
    "arguments",
    [
        b"",
        b"{",
        b"{}{}",
        b"nonsense",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":"\xff"}',
        '{"a":1}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
)
def test_what_cannot_be_read_is_refused_without_being_repeated(arguments: bytes) -> None:
    assert refusal({}, arguments) == "arguments are not JSON that can be read"


@pytest.mark.parametrize(
    "schema",
    [
        about({"type": "string"}),
        about({"uniqueItems": True}),
        about({"enum": [1]}),
    ],
)
def test_nesting_that_the_validator_gives_up_on_is_refused(schema: object) -> None:
    deep = b"[" * 400 + b"]" * 400

    assert refusal(schema, b'{"a":[' + deep + b"," + deep + b"]}") == (
        "arguments are nested too deeply to be checked"
    )


def test_a_recursive_schema_follows_nesting_as_deep_as_it_can_be_read() -> None:
    schema = about({"$ref": "#/$defs/list"}) | {
        "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}
    }

    check(schema, b'{"a":' + b"[" * 400 + b"]" * 400 + b"}")
    assert refusal(schema, b'{"a":' + b"[" * 100 + b"1" + b"]" * 100 + b"}").startswith("a.0.0")


@pytest.mark.parametrize(
    "schema",
    [
        {},
        about({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^.b."}),
        about({"type": "string", "not": {"enum": ["x"]}}),
    ],
)
def test_a_lone_surrogate_passes(schema: object) -> None:
    check(schema, rb'{"a":"\ud800b\udfff"}')


def test_a_lone_surrogate_excuses_nothing_else() -> None:
    schema = {"properties": {"a": {"maxLength": 1}, "b": {"type": "integer"}}}

    text = refusal(schema, rb'{"a":"\ud800\ud800","b":"\ud800"}')

    assert text == 'a: the value is longer than 1 character; b: the value is not of type "integer"'


@pytest.mark.parametrize(
    "number",
    [
        b"9007199254740993",
        b"18446744073709551616",
        b"9" * 4000,
        b"-" + b"9" * 4000,
        b"1e999",
        b"-1e999",
        b"1e-999",
        b"0.1000000000000000055511151231257827",
    ],
)
def test_numbers_of_any_size_are_checked_without_a_crash(number: bytes) -> None:
    arguments = b'{"a":' + number + b"}"

    check(about({"type": "number"}), arguments)
    assert "is not of type" in refusal(about({"type": "string"}), arguments)


def test_a_number_beyond_all_floats_is_beyond_every_maximum() -> None:
    schema = about({"maximum": 5, "minimum": -5})

    assert "maximum" in refusal(schema, b'{"a":1e999}')
    assert "minimum" in refusal(schema, b'{"a":-1e999}')


def test_an_integer_beyond_what_a_float_holds_is_compared_exactly() -> None:
    schema = about({"maximum": 9007199254740992})

    check(schema, b'{"a":9007199254740992}')
    assert "maximum" in refusal(schema, b'{"a":9007199254740993}')


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (b'{"a": 1, "a": "x"}', "a"),
        (b'{"a": "x", "a": "x"}', "a"),
        (b'{"a": 1, "\\u0061": 2}', "a"),
        (b'{"b": [{"c": {"d": 1, "d": 2}}]}', "d"),
        (b'{"a": 1, "b": "::::", "a": 2}', "a"),
        (b'{"a": "\\ud800", "a": 1}', "a"),
        (b'{"": 1, "": 2}', ""),
        (b'{"' + b"x" * 200 + b'": 1, "' + b"x" * 200 + b'": 2}', "x" * 80),
    ],
)
def test_a_member_that_stands_twice_is_refused_since_a_server_may_read_the_other(
    arguments: bytes, name: str
) -> None:
    assert refusal({}, arguments) == f"arguments name {name!r} twice; send it once"


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]}',
        b'{"a": "a: b: c", "b:": ":"}',
        b'{"a": "\\"b\\": 1", "b": 2}',
        b'{"a": 1, "A": 1, "a ": 1}',
        b"{}",
    ],
)
def test_members_of_one_name_in_different_places_are_no_repetition(arguments: bytes) -> None:
    check({}, arguments)


def test_colons_do_not_hide_how_deep_arguments_nest() -> None:
    deep = b'{"a":' * 900 + b'":"' + b"}" * 900

    check({}, deep)


def test_what_a_call_would_be_told_is_said_without_one() -> None:
    schema = about({"type": "integer"})
    world = world_with(tool("s", "t", schema))
    examine = world.validate.examine

    assert examine(ToolId("s", "t"), b'{"a": 1}') == Examined(checked=True, problem="")
    assert examine(ToolId("s", "t"), b'{"a": "x"}') == Examined(
        checked=True, problem=refusal(schema, b'{"a": "x"}')
    )
    assert examine(ToolId("s", "other"), b"{}") is None


def test_by_a_schema_that_cannot_be_used_only_an_object_is_asked_for() -> None:
    examine = world_with(tool("s", "t", {"type": "no such type"})).validate.examine

    assert examine(ToolId("s", "t"), b"{}") == Examined(checked=False, problem="")
    assert examine(ToolId("s", "t"), b"1") == Examined(
        checked=False, problem="arguments must be a JSON object"
    )
