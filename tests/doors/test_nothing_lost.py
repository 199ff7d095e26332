"""T16: what a tool answers reaches its caller as it was, in both eras."""

import json

import pytest
from tests.doors.worlds import Reply, Wire, World, message

from remit.doors.mcp.results import fitted
from remit.errors import UpstreamProtocolError

BLOCKS = (
    rb'[{"type":"text","text":"one","annotations":{"audience":["user"],"priority":0.10}},'
    rb'{"type":"text","text":""},'
    rb'{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png","annotations":{}},'
    rb'{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},'
    rb'{"type":"resource_link","uri":"file:///a","name":"a"},'
    rb'{"type":"resource","resource":{"uri":"file:///b","text":"t"}},'
    rb'{"type":"resource","resource":{"uri":"file:///c","blob":"AAEC"}}]'
)
STRUCTURED = (
    rb'{"nothing":null,"big":9007199254740993,"small":1e-7,"nul":"\u0000",'
    rb'"half":"\ud800","face":"' + "\U0001f600".encode() + rb'","face2":"\ud83d\ude00"}'
)
ODD = (
    b'{ "content" : ' + BLOCKS + b',\n"structuredContent":' + STRUCTURED + b', "isError":true,'
    b'"_meta":{"vendor.example/x.y":[1.0]}, "unknownField": {"a" : 1.50 } }'
)
SURVIVORS = (
    BLOCKS,
    STRUCTURED,
    b'"isError":true',
    b'"_meta":{"vendor.example/x.y":[1.0]}',
    b'{"a" : 1.50 }',
)


def numbers_as_text(body: bytes) -> object:
    """Decode so that numbers are equal only when they are written alike."""
    return json.loads(body, parse_float=str, parse_int=str)


async def relayed(world: World, wire: Wire, result: bytes, era: str, **headers: str) -> Reply:
    async def give(_: bytes, __: bytes) -> bytes:
        return result

    world.fleet.behaviours["files/read"] = give
    if era == "modern":
        return await wire.modern("tools/call", {"name": "files__read"}, headers=headers)
    return await wire.send(message("tools/call", {"name": "files__read"}), headers=headers)


async def test_an_older_caller_gets_the_very_bytes(files_world: World, wire: Wire) -> None:
    reply = await relayed(files_world, wire, ODD, "legacy")

    assert reply.body == b'{"jsonrpc":"2.0","id":1,"result":' + ODD + b"}"


async def test_a_modern_caller_gets_the_very_bytes_and_the_result_type_it_needs(
    files_world: World, wire: Wire
) -> None:
    reply = await relayed(files_world, wire, ODD, "modern")

    assert all(part in reply.body for part in SURVIVORS)
    expected = json.loads(ODD, parse_float=str, parse_int=str) | {"resultType": "complete"}
    assert numbers_as_text(reply.body) == {"jsonrpc": "2.0", "id": "1", "result": expected}


async def test_a_modern_servers_result_passes_to_a_modern_caller_untouched(
    files_world: World, wire: Wire
) -> None:
    result = b'{"resultType" : "complete", "structuredContent":[1], "content":[]}'

    reply = await relayed(files_world, wire, result, "modern")

    assert reply.body == b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}"


async def test_an_older_caller_gets_of_a_modern_result_what_its_era_knows(
    files_world: World, wire: Wire
) -> None:
    modern = ODD[:-2] + (
        b',"resultType":"complete","ttlMs":5,"cacheScope":"private","_meta":{'
        b'"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"},"v":[1.0]}}'
    )

    reply = await relayed(files_world, wire, modern, "legacy")

    assert all(part in reply.body for part in SURVIVORS if b"_meta" not in part)
    expected = json.loads(ODD, parse_float=str, parse_int=str) | {"_meta": {"v": ["1.0"]}}
    assert numbers_as_text(reply.body) == {"jsonrpc": "2.0", "id": "1", "result": expected}


@pytest.mark.parametrize("structured", ["[1]", "null", '"text"', "5", "false"])
async def test_structured_content_that_is_no_object_is_kept_from_older_callers_only(
    files_world: World, wire: Wire, structured: str
) -> None:
    result = b'{"content":[{"type":"text","text":"t"}],"structuredContent":%b}'
    result %= structured.encode()

    legacy = await relayed(files_world, wire, result, "legacy")
    modern = await relayed(files_world, wire, result, "modern")

    assert legacy.result == {"content": [{"type": "text", "text": "t"}]}
    assert modern.result["structuredContent"] == json.loads(structured)


@pytest.mark.parametrize("content", ["", '"content":[ ],', '"content":null,'])
async def test_structured_content_with_nothing_beside_it_is_a_text_to_older_callers(
    files_world: World, wire: Wire, content: str
) -> None:
    result = b'{%b"structuredContent":[1.0,"\\u00fc"]}' % content.encode()

    legacy = await relayed(files_world, wire, result, "legacy")
    modern = await relayed(files_world, wire, result, "modern")

    assert legacy.result == {"content": [{"type": "text", "text": '[1.0,"\\u00fc"]'}]}
    assert modern.result["structuredContent"] == [1.0, "ü"]
    assert fitted(b'{"content":[],"structuredContent":null}', modern=False) == b'{"content":[]}'


async def test_a_pretty_printed_result_is_one_event_to_a_client_that_takes_events_only(
    files_world: World, wire: Wire
) -> None:
    pretty = b'{\r\n  "content": [\n],\r"isError": false}'

    reply = await relayed(files_world, wire, pretty, "legacy", Accept="text/event-stream")

    lines = reply.body.decode().split("\n")
    assert lines[0] == "event: message"
    assert lines[2:] == ["", ""]
    data = json.loads(lines[1].removeprefix("data: "))
    assert data["result"] == {"content": [], "isError": False}


async def test_odd_arguments_go_upstream_byte_for_byte(files_world: World, wire: Wire) -> None:
    arguments = b'{ "half" : "\\ud800", "big":123456789012345678901234567890, "x" : 1.0e0 }'
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"arguments":%b,"name":"files__read"}}' % arguments
    )

    reply = await wire.send(body)

    assert reply.result["content"][0]["text"] == "done"
    assert files_world.fleet.received == [(arguments, b"")]


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("result", [b"[]", b"null", b"", b"5"])
def test_an_answer_that_is_no_result_is_a_fault_of_the_server(result: bytes, modern: bool) -> None:
    with pytest.raises(UpstreamProtocolError):
        fitted(result, modern=modern)


def test_the_needed_result_type_goes_into_an_empty_result_too() -> None:
    assert fitted(b" { } ", modern=True) == b' {"resultType":"complete" } '


def test_a_result_type_deeper_down_is_not_mistaken_for_the_results_own() -> None:
    result = b'{"content":[],"structuredContent":{"resultType":"complete"}}'

    assert fitted(result, modern=True) == b'{"resultType":"complete",' + result[1:]
    assert fitted(result, modern=False) is result


def test_a_result_that_ends_as_those_of_most_servers_do_is_left_as_it_is() -> None:
    whole = b'{"content":[],"resultType":"complete"}'
    deeper = b'{"content":[],"structuredContent":{"a":1,"resultType":"complete"}}'
    quoted = rb'{"content":[],"structuredContent":{"a":",\"resultType\":\"complete\"}"}}'

    assert fitted(whole, modern=True) is whole
    assert fitted(deeper, modern=True) == b'{"resultType":"complete",' + deeper[1:]
    assert fitted(quoted, modern=True) == b'{"resultType":"complete",' + quoted[1:]


def test_a_server_that_is_only_spoken_of_stays_in_an_older_callers_meta() -> None:
    result = b'{"_meta":{"seen":["io.modelcontextprotocol/serverInfo"]},"content":[]}'

    assert fitted(result, modern=False) == result


def test_a_result_that_cannot_be_read_is_a_fault_of_the_server() -> None:
    with pytest.raises(UpstreamProtocolError):
        fitted(b'{"structuredContent":', modern=False)


def test_what_an_older_caller_cannot_give_is_an_error_and_no_empty_success() -> None:
    with pytest.raises(UpstreamProtocolError, match="input"):
        fitted(b'{"resultType":"input_required","inputRequests":{}}', modern=False)
