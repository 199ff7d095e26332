"""`POST /mcp/execute`: one call as plain JSON, on the path of every other (S3.1-S3.5, R26)."""

import json
import re

import anyio
import anyio.lowlevel
import pytest
from tests.doors.crew import Door, answering, failing, ran
from tests.doors.worlds import (
    JsonObject,
    Wire,
    World,
)

from remit.calls.invoke import KEY
from remit.errors import (
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_a_success_has_data_and_an_iso_time(door: Door, crew_world: World) -> None:
    """S3.2."""
    answering(
        crew_world,
        "mail/send",
        b'{"content":[],"structuredContent":{"mailId": "m",  "n":9007199254740993}}',
    )

    reply = await door.send(
        "w1",
        {
            "agentId": "w1",
            "toolName": "mcp__mail__send",
            "input": {"toAgentId": "chief", "subject": "s", "body": "b"},
        },
    )

    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert b'{"mailId": "m",  "n":9007199254740993}' in reply.body  # as it came
    told = reply.json
    assert told["success"] is True
    assert ISO.fullmatch(told.pop("timestamp"))
    assert told.keys() == {"success", "data"}


async def test_an_error_has_code_message_details_and_an_iso_time(door: Door) -> None:
    """S3.2."""
    status, told = await door.call("w1", "mcp__task__create", {})

    assert status == 400
    assert told["success"] is False
    assert ISO.fullmatch(told.pop("timestamp"))
    assert told["error"].keys() == {"code", "message", "details"}
    assert told["error"]["code"] == "PERMISSION_DENIED"
    assert (
        told["error"]["message"]
        == "Tool 'mcp__task__create' is not allowed for agent type 'WORKER'"
    )


@pytest.mark.parametrize(
    ("result", "data"),
    [
        ({"content": [{"type": "text", "text": "a"}]}, {"text": "a"}),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"text": "a\nb"},
        ),
        ({"content": []}, {"text": ""}),
        ({"content": [], "structuredContent": {"a": [1]}, "isError": False}, {"a": [1]}),
        ({"content": [{"type": "text", "text": "a"}], "structuredContent": None}, {"text": "a"}),
        (
            {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
            {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
        ),
        (b'{"content":[{"type":"text","text":"\\ud800"}]}', {"text": "\ud800"}),
    ],
)
async def test_data_is_what_is_structured_or_else_what_the_tool_says(
    door: Door, crew_world: World, result: JsonObject | bytes, data: JsonObject
) -> None:
    answering(crew_world, "files/read", result)

    assert (await door.call("reader", "mcp__files__read"))[1]["data"] == data


async def test_a_result_of_10_mb_arrives_whole(door: Door, crew_world: World) -> None:
    text = "long " * 2_000_000
    answering(crew_world, "files/read", {"content": [], "structuredContent": {"text": text}})

    _, told = await door.call("reader", "mcp__files__read")

    assert told["data"] == {"text": text}


@pytest.mark.parametrize(
    "name",
    ["mcp__files__read", "files__read", "mcp_files_read", "files/read"],
)
async def test_every_alias_names_the_tool_of_any_server(
    door: Door, crew_world: World, name: str
) -> None:
    """R2: other servers' tools are reached by the caller's role, the crew's by its type (R9)."""
    assert (await door.call("w1", name))[0] == 200
    assert (await door.call("w2", name))[1]["error"]["code"] == "PERMISSION_DENIED"
    assert crew_world.fleet.ran == {"files/read": 1}


async def test_input_reaches_the_tool_byte_for_byte_and_is_empty_unless_given(
    door: Door, crew_world: World
) -> None:
    raw = b'{"toolName":"mcp__files__read","input": {"n":1.10,  "big":9007199254740993} }'
    await door.send("reader", raw)
    await door.call("reader", "mcp__files__read")
    await door.send("reader", {"toolName": "mcp__files__read", "input": None})

    given = [arguments for arguments, _ in crew_world.fleet.received]
    assert given == [b'{"n":1.10,  "big":9007199254740993}', b"{}", b"{}"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b'"text"',
        b'{"toolName": "\xff"}',
        {},
        {"agentId": "w1"},
        {"agentId": "w1", "toolName": 7},
        {"agentId": "w1", "toolName": ""},
        {"agentId": 7, "toolName": "mcp__mail__read"},
        {"agentId": "", "toolName": "mcp__mail__read"},
        {"agentId": "w1", "toolName": "mcp__mail__read", "input": []},
        {"agentId": "w1", "toolName": "mcp__mail__read", "input": "text"},
        {"agentId": "w1", "toolName": "mcp__mail__read", "inputs": {}},
        b'{"agentId": "w1", "toolName": "mcp__mail__read", "input": {"a":1,"a":2}}',
    ],
)
async def test_a_body_that_is_none_is_invalid_input(
    door: Door, crew_world: World, body: object
) -> None:
    reply = await door.send("w1", body)

    assert reply.status == 400
    assert reply.json["error"]["code"] == "INVALID_INPUT"
    assert isinstance(reply.json["error"]["details"], dict)
    assert not ran(crew_world)


@pytest.mark.parametrize(
    ("verb", "headers", "status"),
    [
        ("GET", {}, 405),
        ("DELETE", {}, 405),
        ("POST", {"Content-Type": "text/plain"}, 415),
        ("POST", {"Content-Type": "application/json; charset=utf-8"}, 200),
        ("POST", {"Origin": "https://evil.example.test"}, 403),
    ],
)
async def test_only_json_is_posted(
    door: Door, verb: str, headers: dict[str, str | None], status: int
) -> None:
    body = json.dumps({"toolName": "mcp__files__read"}).encode()
    wire = Wire(door.http, door.url, "reader")

    reply = await wire.send(body, verb=verb, path="/mcp/execute", headers=headers)

    assert reply.status == status
    assert reply.json["success"] is (status == 200)


async def test_a_body_may_have_10_mib_and_no_more(door: Door) -> None:
    """S3.3: beyond the 4 MiB of the MCP door."""
    text = "x" * (10 * 1024 * 1024)
    kept = await door.send("reader", {"toolName": "mcp__files__read", "input": {"t": text[:-100]}})
    refused = await door.send("reader", {"toolName": "mcp__files__read", "input": {"t": text}})

    assert kept.status == 200
    assert refused.status == 413
    assert refused.json["error"]["code"] == "INVALID_INPUT"


async def test_a_tools_own_failure_is_told_with_the_code_that_it_gives(
    door: Door, crew_world: World
) -> None:
    text = [{"type": "text", "text": "there is no mail 'm9'"}]
    answering(
        crew_world,
        "mail/read",
        {
            "content": text,
            "isError": True,
            "_meta": {"remit/error": {"code": "RESOURCE_NOT_FOUND"}},
        },
    )

    status, told = await door.call("w1", "mcp__mail__read")

    assert (status, told["error"]["code"]) == (400, "RESOURCE_NOT_FOUND")
    assert told["error"]["message"] == "there is no mail 'm9'"
    assert [event.outcome for event in crew_world.audit.events] == ["unknown", "tool_error"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"content": [{"type": "text", "text": "oh"}], "isError": True}, "oh"),
        ({"content": [], "isError": True}, "the tool failed and does not say why"),
        (
            {
                "content": [{"type": "text", "text": "oh"}],
                "isError": True,
                "_meta": {"remit/error": {"code": "TOOL_NOT_FOUND"}},
            },
            "oh",
        ),
        (
            {"content": [{"type": "text", "text": "oh"}], "isError": True, "_meta": 7},
            "oh",
        ),
        (
            {
                "content": [{"type": "text", "text": "oh"}],
                "isError": True,
                "_meta": {"remit/error": {"code": "PERMISSION_DENIED"}},
            },
            "oh",
        ),
        (
            {
                "content": [{"type": "text", "text": "oh"}],
                "isError": True,
                "_meta": {"remit/error": []},
            },
            "oh",
        ),
    ],
)
async def test_a_failure_without_a_code_of_ours_is_an_internal_error_of_the_tool(
    door: Door, crew_world: World, result: JsonObject, message: str
) -> None:
    """Another server's codes are not ours, whatever it says."""
    answering(crew_world, "files/read", result)

    status, told = await door.call("reader", "mcp__files__read")

    assert (status, told["error"]["code"]) == (400, "INTERNAL_ERROR")
    assert told["error"]["message"] == message


async def test_a_code_of_our_own_that_no_tool_may_give_is_not_taken(
    door: Door, crew_world: World
) -> None:
    meta = {"remit/error": {"code": "TOOL_NOT_FOUND"}}
    answering(crew_world, "mail/read", {"content": [], "isError": True, "_meta": meta})

    _, told = await door.call("w1", "mcp__mail__read")

    assert told["error"]["code"] == "INTERNAL_ERROR"


async def test_what_fails_in_passing_is_tried_three_times_and_then_transient(
    door: Door, crew_world: World
) -> None:
    """S3.25: three attempts in all, and TRANSIENT_ERROR when they are used up."""
    failing(crew_world, "mail/send", UpstreamUnavailable("connection refused", transient=True))

    status, told = await door.call("w1", "mcp__mail__send")

    assert (status, told["error"]["code"]) == (400, "TRANSIENT_ERROR")
    details = told["error"]["details"]
    assert details.pop("requestId")
    assert details == {"attempts": 3, "cause": "UPSTREAM_UNAVAILABLE"}
    assert crew_world.fleet.ran == {"mail/send": 3}


async def test_a_write_that_may_have_run_is_tried_once_and_its_outcome_is_unknown(
    door: Door, crew_world: World
) -> None:
    """R23; an idempotency key makes it safe to repeat (S3.28)."""
    lost = UpstreamTimeout("no answer", sent=True, transient=True)
    failing(crew_world, "mail/send", lost)

    told = (await door.call("w1", "mcp__mail__send"))[1]["error"]
    assert told["code"] == "UPSTREAM_TIMEOUT"
    assert told["details"]["outcome"] == "unknown"
    assert crew_world.fleet.ran == {"mail/send": 1}

    body = {"agentId": "w1", "toolName": "mcp__mail__send"}
    reply = await door.send("w1", body, **{"Idempotency-Key": "k-1"})
    assert reply.json["error"]["code"] == "TRANSIENT_ERROR"
    assert crew_world.fleet.ran == {"mail/send": 4}
    assert {meta for _, meta in crew_world.fleet.received[1:]} == {b'{"%b":"k-1"}' % KEY.encode()}


async def test_a_read_that_fails_in_passing_is_repeated(door: Door, crew_world: World) -> None:
    failing(crew_world, "files/look", UpstreamTimeout("no answer", sent=True, transient=True))

    told = (await door.call("boss", "mcp__files__look"))[1]["error"]

    assert told["code"] == "TRANSIENT_ERROR"
    assert told["details"]["outcome"] == "unknown"
    assert crew_world.fleet.ran == {"files/look": 3}


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_an_idempotency_key_is_a_text_of_some_length(
    door: Door, crew_world: World, key: str
) -> None:
    body = {"agentId": "w1", "toolName": "mcp__mail__send"}

    reply = await door.send("w1", body, **{"Idempotency-Key": key})

    assert reply.json["error"]["code"] == "INVALID_INPUT"
    assert not ran(crew_world)


async def test_a_trace_of_the_headers_goes_with_the_call(door: Door, crew_world: World) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    await door.send("reader", {"toolName": "mcp__files__read"}, traceparent=parent)

    assert json.loads(crew_world.fleet.received[0][1]) == {"traceparent": parent}


async def test_an_ordinary_failure_of_the_server_is_told_once(
    door: Door, crew_world: World
) -> None:
    failing(crew_world, "files/read", UpstreamProtocolError("it answered with an error"))

    status, told = await door.call("reader", "mcp__files__read")

    assert (status, told["error"]["code"]) == (400, "INTERNAL_ERROR")
    assert told["error"]["message"] == "it answered with an error"
    assert crew_world.fleet.ran == {"files/read": 1}


async def test_a_fault_of_our_own_is_500_and_tells_nothing(door: Door, crew_world: World) -> None:
    failing(crew_world, "files/read", RuntimeError("secret place"))

    status, told = await door.call("reader", "mcp__files__read")

    assert (status, told["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "secret" not in told["error"]["message"]


async def test_what_cannot_be_recorded_is_not_made(door: Door, crew_world: World) -> None:
    crew_world.audit.is_broken = True

    for who, name in (("reader", "mcp__files__read"), ("w1", "mcp__task__create")):
        status, told = await door.call(who, name)
        assert (status, told["error"]["code"]) == (500, "INTERNAL_ERROR")
        assert "secret" not in told["error"]["message"]
    told = (await door.call("w1", "mcp__mail__read", agentId="w2"))[1]
    assert told["error"]["code"] == "INTERNAL_ERROR"
    assert not ran(crew_world)


async def test_a_client_that_leaves_cancels_its_call(door: Door, crew_world: World) -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def behave(arguments: bytes, meta: bytes) -> bytes:
        del arguments, meta
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return b""

    crew_world.fleet.behaviours["files/read"] = behave
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(door.call, "reader", "mcp__files__read")
            await started.wait()
            tasks.cancel_scope.cancel()
        await ended.wait()
        while len(crew_world.audit.events) < 2:
            await anyio.lowlevel.checkpoint()
    assert crew_world.audit.events[-1].error == "the caller went away before the answer"
