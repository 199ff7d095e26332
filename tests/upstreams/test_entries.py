"""What no client can read is left out of an entry, so that none refuses the whole list for it."""

import json
from typing import Any

import pytest

from remit.model.contents import Item
from remit.model.servers import ServerConfig
from remit.model.tools import Tool
from remit.upstreams.contents import PROMPTS, RESOURCES, TEMPLATES, build_items
from remit.upstreams.offer import build_offer

OBJECT = {"type": "object"}


def _offered(**entry: Any) -> tuple[Tool, tuple[str, ...]]:
    raw = json.dumps({"name": "t", "inputSchema": OBJECT, **entry}).encode()
    offer = build_offer(ServerConfig(name="s"), [raw])
    (tool,) = offer.tools
    return tool, offer.notes


def _listed(which: Any, **entry: Any) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    item: Item
    (item,) = build_items("s", which, [json.dumps(entry).encode()], notes.append)
    return json.loads(item.wire), notes


@pytest.mark.parametrize(
    ("schema", "published"),
    [
        ({}, OBJECT),
        ({"type": None}, OBJECT),
        ({"anyOf": [OBJECT]}, {"anyOf": [OBJECT], **OBJECT}),
        ({**OBJECT, "properties": []}, {**OBJECT, "properties": {}}),
        ({**OBJECT, "properties": None, "required": None}, OBJECT),
        (
            {**OBJECT, "properties": {"a": True, "b": False, "c": {"type": "string"}}},
            {**OBJECT, "properties": {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}},
        ),
    ],
)
def test_arguments_are_an_object_also_where_their_schema_keeps_silent(
    schema: dict[str, Any], published: dict[str, Any]
) -> None:
    tool, notes = _offered(inputSchema=schema)

    assert json.loads(tool.wire) == {"name": "t", "inputSchema": published}
    assert json.loads(tool.input_schema) == published  # what is checked is what is told
    assert notes == ()


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"type": "string"}, "inputSchema.type"),
        ({**OBJECT, "required": "a"}, "inputSchema.required"),
        ({**OBJECT, "properties": "a"}, "inputSchema.properties"),
    ],
)
def test_what_a_schema_of_arguments_cannot_hold_is_left_out_and_noted(
    schema: dict[str, Any], wrong: str
) -> None:
    tool, (note,) = _offered(inputSchema=schema)

    assert json.loads(tool.input_schema) == OBJECT
    assert note == f"tool 't': left out what is wrong in it: {wrong}"


def test_what_was_left_out_does_not_come_back_where_arguments_are_renamed() -> None:
    schema: dict[str, Any] = {**OBJECT, "properties": {"theirs": {}}, "required": ["theirs", 1]}
    raw = json.dumps({"name": "t", "inputSchema": schema}).encode()
    config = ServerConfig(name="s", tool_args={"t": {"ours": "theirs"}})
    (tool,) = build_offer(config, [raw]).tools

    assert json.loads(tool.input_schema) == {
        **OBJECT,
        "properties": {"ours": {}},
        "required": ["ours"],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {**OBJECT, "properties": {"a": {"$ref": "#/$defs/gone"}}},
        {**OBJECT, "properties": {"a": {"type": "any"}}},
        {**OBJECT, "properties": {"a": {"$ref": "https://elsewhere.test/schema.json"}}},
        {**OBJECT, "required": None},
        {**OBJECT, "properties": {"a": {"pattern": "["}}},
    ],
)
def test_an_output_schema_by_which_nothing_can_be_compared_is_left_out(
    schema: dict[str, Any],
) -> None:
    tool, (note,) = _offered(outputSchema=schema)

    assert json.loads(tool.wire) == {"name": "t", "inputSchema": OBJECT}
    assert "outputSchema" in note


DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


STOPPING: list[dict[str, Any]] = [
    {"pattern": "(?P<year>[0-9]+)"},
    {"pattern": "(?i)yes"},
    {"pattern": r"\A[a-z]+\Z"},
    {"pattern": r"^[a-z]+\-[0-9]+$"},
    {"pattern": "^[[:alpha:]]+$"},
    {"pattern": "a{,3}b++"},
    {"pattern": r"^\p{Greek}$"},
    {"patternProperties": {r"^x\-": {}}},
    {"nullable": True, "allOf": [OBJECT]},
    {"anyOf": [{"type": "string", "enum": []}]},
    {"items": {"id": "https://some.test/item"}},
    {"$ref": "https://json-schema.org/draft/2020-12/schema"},
]


@pytest.mark.parametrize("schema", STOPPING)
def test_an_output_schema_that_stops_the_compilers_of_clients_is_left_out(
    schema: dict[str, Any],
) -> None:
    # all of it compiles by the standard; Ajv throws, and with it a client's whole list is gone
    tool, (note,) = _offered(outputSchema={**OBJECT, "properties": {"a": schema}})

    assert "outputSchema" not in json.loads(tool.wire)
    assert "outputSchema" in note


@pytest.mark.parametrize("dialect", [DRAFT_4, "http://json-schema.org/schema#", ""])
def test_an_output_schema_of_a_dialect_that_clients_do_not_know_is_left_out(dialect: str) -> None:
    tool, (note,) = _offered(outputSchema={**OBJECT, "$schema": dialect})

    assert "outputSchema" not in json.loads(tool.wire)
    assert "outputSchema" in note


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^(?:\d{4}-[01]\d|[\w.\-]+?@\p{L}+|\/\u00e9\x41\cA{2,}|(?<y>a)\1)*$"},
        {"pattern": r"^(?=a)(?!b)(?<=c)(?<!d)[^\]\s}]+\{\}|.?$"},
        {"patternProperties": {"^x-": {"type": "string"}}},
        {"type": "string", "nullable": True, "enum": ["a", None]},
        {"type": "object", "properties": {"id": {}, "pattern": {}, "nullable": {}, "enum": {}}},
        {"default": {"id": 1, "nullable": True, "pattern": "(?i)a"}},
    ],
)
@pytest.mark.parametrize("dialect", [{}, {"$schema": DRAFT_7}])
def test_an_output_schema_that_all_can_compile_stays(
    schema: dict[str, Any], dialect: dict[str, Any]
) -> None:
    whole = {**OBJECT, **dialect, "properties": {"a": schema}}
    tool, notes = _offered(outputSchema=whole)

    assert json.loads(tool.wire)["outputSchema"] == whole
    assert notes == ()


@pytest.mark.parametrize("odd", [{"pattern": 7}, {"patternProperties": 7}, {"$ref": 7}])
def test_what_a_dialect_does_not_know_may_hold_anything(odd: dict[str, Any]) -> None:
    schema = {**OBJECT, "$schema": DRAFT_7, "prefixItems": [odd]}
    tool, notes = _offered(outputSchema=schema)

    assert json.loads(tool.wire)["outputSchema"] == schema
    assert notes == ()


def test_an_output_schema_that_refers_to_itself_stays() -> None:
    schema = {**OBJECT, "properties": {"next": {"$ref": "#"}, "list": {"type": "array"}}}
    tool, notes = _offered(outputSchema=schema)

    assert json.loads(tool.wire)["outputSchema"] == schema
    assert notes == ()


def test_members_that_are_null_count_as_absent_without_a_word() -> None:
    tool, notes = _offered(
        title=None,
        description=None,
        icons=None,
        annotations={"title": None, "readOnlyHint": True, "new": None},
        outputSchema=None,
        execution=None,
        _meta=None,
        new=None,
    )

    assert json.loads(tool.wire) == {
        "name": "t",
        "inputSchema": OBJECT,
        "annotations": {"readOnlyHint": True, "new": None},
        "new": None,
    }
    assert tool.hints.read_only is True
    assert notes == ()


@pytest.mark.parametrize("odd", [[], 7, "text", {}])
@pytest.mark.parametrize("member", ["title", "description", "annotations", "outputSchema"])
def test_a_tool_is_offered_without_what_is_of_a_wrong_kind(member: str, odd: Any) -> None:
    known = (dict,) if member in ("annotations", "outputSchema") else (str,)
    tool, notes = _offered(**{member: odd})

    is_right = isinstance(odd, known)
    assert (member in json.loads(tool.wire)) is is_right
    assert notes == (() if is_right else (f"tool 't': left out what is wrong in it: {member}",))


def test_members_that_are_wrong_are_left_out_of_a_tool_alone_and_noted() -> None:
    tool, (note,) = _offered(
        icons=[{"src": "a", "sizes": "any"}, {"mimeType": "image/png"}, {"src": "b"}],
        annotations={"title": 5, "readOnlyHint": "true", "destructiveHint": True},
        execution={"taskSupport": "perhaps"},
        _meta=[],
    )

    assert json.loads(tool.wire) == {
        "name": "t",
        "inputSchema": OBJECT,
        "icons": [{"src": "a"}, {"src": "b"}],
        "annotations": {"destructiveHint": True},
        "execution": {},
    }
    assert note.endswith(
        "icons.sizes, annotations.title, annotations.readOnlyHint, execution.taskSupport, _meta"
    )


def test_prompts_keep_what_can_be_read() -> None:
    good = {"name": "a", "required": True, "description": "D"}
    entry, notes = _listed(
        PROMPTS, name="p", title=None, arguments=[good, {"name": "b", "required": "yes"}]
    )

    assert entry == {"name": "p", "arguments": [good, {"name": "b"}]}
    assert notes == ["prompts/list: left out what is wrong in 'p': arguments.required"]


@pytest.mark.parametrize(("which", "key"), [(RESOURCES, "uri"), (TEMPLATES, "uriTemplate")])
def test_resources_keep_what_can_be_read(which: Any, key: str) -> None:
    entry, notes = _listed(
        which,
        **{key: "a://b"},
        name="n",
        description=None,
        mimeType=7,
        annotations={"audience": ["user", "me"], "priority": 2, "lastModified": "yesterday"},
    )

    assert entry == {key: "a://b", "name": "n", "annotations": {"audience": ["user"]}}
    assert len(notes) == 1
    assert "mimeType, annotations.audience, annotations.priority" in notes[0]


def test_a_resource_whose_members_are_in_order_stays_byte_for_byte() -> None:
    raw = (
        b'{ "uri":"a://b","name":"n","size":1.0,"mimeType":"text/plain","_meta":{"n":1.10},'
        b'"annotations":{"priority":0.50,"lastModified":"2026-01-02T03:04:05.6+01:00"}}'
    )
    notes: list[str] = []
    (item,) = build_items("s", RESOURCES, [raw], notes.append)

    assert item.wire == raw
    assert notes == []


def test_what_is_in_order_inside_stays_byte_for_byte() -> None:
    schema = b'{"properties":{"a":{"maximum":1e400,"default":0.10,"x":"\\u00e9\\/"},"b":true}}'
    raw = b'{"name":"t","annotations":{"title":null,"n":1e400},"inputSchema":%s}' % schema
    (tool,) = build_offer(ServerConfig(name="s"), [raw]).tools

    assert tool.input_schema == schema[:-1].replace(b"true", b"{}") + b',"type":"object"}'
    assert tool.wire == b'{"name":"t","annotations":{"n":1e400},"inputSchema":%s}' % (
        tool.input_schema
    )
