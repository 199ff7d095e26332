"""Schemas in strict mode lose nothing, and arguments come back as they were meant (S4.15)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest
from tests.bridges.published import AWKWARD, PublishedTools, published_tools
from tests.bridges.strict_model import as_strict, in_strict_mode

from remit.bridges.strict_schema import StrictSchema


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> PublishedTools:
    return published_tools(shared, tmp_path_factory.mktemp("tools"))


def test_what_a_model_gives_in_strict_mode_is_read_as_it_was_meant(tools: PublishedTools) -> None:
    for name, schema in tools.schemas.items():
        strict = StrictSchema(schema)
        shown = in_strict_mode(strict.shown())
        given = as_strict(shown, tools.arguments[name])

        jsonschema_rs.validate({"additionalProperties": True, **shown}, given)
        assert strict.read(given) == tools.arguments[name], name
        # whoever does not keep to it is read all the same
        assert strict.read(tools.arguments[name]) == tools.arguments[name], name


def test_no_name_word_or_choice_of_a_schema_is_lost(tools: PublishedTools) -> None:
    for name, schema in tools.schemas.items():
        shown = StrictSchema(schema).shown()

        told = "\n".join(strings_of(shown))
        for word in strings_of(schema):
            # in a text of JSON it is spelled as JSON
            assert word in told or json.dumps(word, ensure_ascii=False)[1:-1] in told, (name, word)
        assert "$ref" not in json.dumps(shown), name


def strings_of(node: Any) -> Iterator[str]:
    """Give every text of a schema but its keywords and references: names, words and choices."""
    if isinstance(node, str):
        yield node
    for one in cast("list[Any]", node) if isinstance(node, list) else ():
        yield from strings_of(one)
    for key, value in cast("dict[str, Any]", node).items() if isinstance(node, dict) else ():
        if key in {"properties", "$defs"}:
            yield from value if key == "properties" else ()
            for inner in value.values():
                yield from strings_of(inner)
        elif key not in {"$ref", "$schema", "type", "title"}:
            yield from strings_of(value)


@pytest.mark.parametrize(
    ("properties", "given", "meant"),
    [
        ({"a": {"type": "string"}}, {"a": None}, {}),
        ({"a": {"type": ["string", "null"]}}, {"a": None}, {"a": None}),
        ({"a": {"enum": ["x", None]}}, {"a": None}, {"a": None}),
        ({"a": {"const": "x"}}, {"a": None}, {}),
        ({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, {"a": None}, {"a": None}),
        ({"a": {}}, {"a": "[1, null]"}, {"a": [1, None]}),
        ({"a": {}}, {"a": "no JSON"}, {"a": "no JSON"}),
        ({"a": {}}, {"a": "null"}, {"a": None}),
        ({"a": {"type": "object"}}, {"a": '{"x": 1}'}, {"a": {"x": 1}}),
        ({"a": {"type": "object"}}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"a": {"type": "string"}}, {"a": '{"x": 1}'}, {"a": '{"x": 1}'}),
        (
            {"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
            {"a": '{"x": 1}'},
            {"a": '{"x": 1}'},
        ),
        (
            {"a": {"anyOf": [{"type": "integer"}, {"type": "object"}]}},
            {"a": '{"x": 1}'},
            {"a": {"x": 1}},
        ),
        ({"a": {"type": "array"}}, {"a": ["1", "x"]}, {"a": ["1", "x"]}),
        ({}, {"b": None}, {"b": None}),
    ],
)
def test_arguments_are_read(
    properties: dict[str, Any], given: dict[str, Any], meant: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": properties}

    assert StrictSchema(schema).read(given) == meant


def test_what_refers_to_itself_is_shown_once_and_then_as_text() -> None:
    shown = StrictSchema({"type": "object", **AWKWARD["references"]}).shown()

    tree = shown["properties"]["tree"]
    again = tree["properties"]["branches"]["anyOf"][0]["items"]
    assert again["type"] == "string"
    assert "JSON" in again["description"]


def test_a_reference_may_name_its_place_as_an_address_does() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A%20place"}},
        "required": ["a"],
        "$defs": {"A place": {"type": "integer"}},
    }

    assert StrictSchema(schema).shown()["properties"]["a"]["type"] == "integer"


def test_a_reference_to_nowhere_is_shown_as_any_value() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Gone"}}, "required": ["a"]}

    assert StrictSchema(schema).shown()["properties"]["a"]["type"] == "string"
