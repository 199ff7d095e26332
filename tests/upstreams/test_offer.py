import json
from collections.abc import Mapping
from typing import Any

import pytest

from remit.errors import UpstreamError
from remit.model.servers import ServerConfig
from remit.model.tools import Hints, ToolId
from remit.upstreams.offer import build_offer

SCHEMA = {"type": "object", "properties": {"owner": {"type": "string"}, "n": {"type": "integer"}}}


def _raw(name: str, **more: object) -> bytes:
    return json.dumps({"name": name, "inputSchema": SCHEMA, **more}).encode()


def _config(**fields: Any) -> ServerConfig:
    return ServerConfig(name="s", **fields)


def test_a_tool_passes_byte_for_byte() -> None:
    raw = (
        b'{ "new":[1.0,9007199254740993],"name":"t" ,"title":"\\ud800",'
        b'"inputSchema":{ "type":"object","n":1.10},"icons":[{"src":"x","n":1.10}],'
        b'"description":"D\\ud800","annotations":{"readOnlyHint":true,"new":1.10}}'
    )
    (tool,) = build_offer(_config(), [raw]).tools
    assert tool.id == ToolId("s", "t")
    assert tool.wire == raw
    assert tool.input_schema == b'{ "type":"object","n":1.10}'
    assert tool.description == "D?"
    assert tool.hints == Hints(read_only=True)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"42", "no object"),
        (b"null", "no object"),
        (b'{"inputSchema":{}}', "no name"),
        (b'{"name":"","inputSchema":{}}', "no name"),
        (b'{"name":7,"inputSchema":{}}', "no name"),
        (b'{"name":"\\ud800","inputSchema":{}}', "no text"),
        (b'{"name":"t"}', "inputSchema is not an object"),
        (b'{"name":"t","inputSchema":null}', "inputSchema is not an object"),
        (b'{"name":"t","inputSchema":[]}', "inputSchema is not an object"),
        (_raw("good"), "more than once"),
    ],
)
def test_a_broken_tool_is_left_out_alone(raw: bytes, reason: str) -> None:
    # T3: it does not hide the others, and the reason is shown.
    offer = build_offer(_config(), [_raw("good"), raw, _raw("fine")])
    assert [tool.id.name for tool in offer.tools] == ["good", "fine"]
    (note,) = offer.notes
    assert "entry 2" in note
    assert reason in note


def test_null_stands_for_absent() -> None:
    offer = build_offer(_config(), [_raw("t", description=None, annotations=None, title=None)])
    assert [tool.description for tool in offer.tools] == [""]
    assert offer.notes == ()


def test_a_tool_appears_under_our_name_and_is_called_under_theirs() -> None:
    # R30
    config = _config(tool_names={"create_pull_request": "create_pr"})
    offer = build_offer(config, [_raw("create_pr", title="T"), _raw("other")])
    assert [tool.id.name for tool in offer.tools] == ["create_pull_request", "other"]
    wire = json.loads(offer.tools[0].wire)
    assert wire == {"name": "create_pull_request", "inputSchema": SCHEMA, "title": "T"}
    assert offer.routes["create_pull_request"].call(b"{}", b"").name == "create_pr"


def test_two_names_for_one_tool_and_names_that_change_places_work() -> None:
    config = _config(tool_names={"a": "b", "b": "a", "c": "a"})
    offer = build_offer(config, [_raw("a", title="A"), _raw("b", title="B")])
    titles = {tool.id.name: json.loads(tool.wire)["title"] for tool in offer.tools}
    assert titles == {"a": "B", "b": "A", "c": "A"}
    assert offer.notes == ()


def test_names_that_lead_nowhere_are_noted() -> None:
    config = _config(
        tool_names={"ours": "absent", "taken": "there"},
        tool_args={"nowhere": {"a": "b"}, "taken": {"repo": "repository"}},
    )
    notes = " ".join(build_offer(config, [_raw("there"), _raw("taken")]).notes)
    assert "no 'absent', so 'ours' is missing" in notes
    assert "own 'taken' is hidden" in notes
    assert "no tool 'nowhere'" in notes
    assert "takes no 'repository'" in notes


def test_arguments_are_renamed_on_the_way_and_in_the_schema() -> None:
    schema: Mapping[str, object] = {**SCHEMA, "required": ["owner", "n"]}
    config = _config(tool_args={"t": {"organisation": "owner"}})
    offer = build_offer(config, [_raw("t", inputSchema=schema)])
    published = json.loads(offer.tools[0].input_schema)
    assert list(published["properties"]) == ["organisation", "n"]
    assert published["required"] == ["organisation", "n"]
    assert json.loads(offer.tools[0].wire)["inputSchema"] == published
    call = offer.routes["t"].call(b'{"organisation": "\\ud800" , "n":9007199254740993}', b"")
    assert call.arguments == b'{"owner":"\\ud800","n":9007199254740993}'


@pytest.mark.parametrize("arguments", [b'{"organisation":1,"owner":2}', b"[]"])
def test_arguments_that_cannot_be_renamed_are_not_sent(arguments: bytes) -> None:
    config = _config(tool_args={"t": {"organisation": "owner"}})
    with pytest.raises(UpstreamError, match="cannot be asked") as caught:
        build_offer(config, [_raw("t")]).routes["t"].call(arguments, b"")
    assert not caught.value.sent


def test_arguments_that_nobody_renames_are_the_callers_very_bytes() -> None:
    arguments = b'{ "x":1e-7,"x":2 }'
    assert (
        build_offer(_config(), [_raw("t")]).routes["t"].call(arguments, b"").arguments == arguments
    )


def test_a_wrong_x_mcp_header_drops_the_tool_where_there_are_headers() -> None:
    # protocol.md 1.2
    good = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    bad = {"type": "object", "properties": {"region": {"type": "number", "x-mcp-header": "Region"}}}
    listed = [_raw("good", inputSchema=good), _raw("bad", inputSchema=bad)]
    with_headers = build_offer(_config(), listed, has_headers=True)
    assert [tool.id.name for tool in with_headers.tools] == ["good"]
    assert "x-mcp-header" in with_headers.notes[0]
    call = with_headers.routes["good"].call('{"region":"é"}'.encode(), b"")
    assert call.headers == {"Mcp-Param-Region": "=?base64?w6k=?="}
    without = build_offer(_config(), listed)
    assert len(without.tools) == 2
    assert without.routes["good"].call(b'{"region":"eu"}', b"").headers == {}


@pytest.mark.parametrize("name", ["prompt:greet", "resource:file:///x"])
def test_a_tool_that_reads_as_a_prompt_or_a_resource_is_left_out_unless_renamed(name: str) -> None:
    left_out = build_offer(_config(), [_raw(name), _raw("fine")])
    renamed = build_offer(_config(tool_names={"plain": name}), [_raw(name)])

    assert [tool.id.name for tool in left_out.tools] == ["fine"]
    assert left_out.notes == (
        f"left out tool {name!r}: its name reads as that of a {name.partition(':')[0]}",
    )
    assert [tool.id.name for tool in renamed.tools] == ["plain"]
    assert renamed.routes["plain"].theirs == name
