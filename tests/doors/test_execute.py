"""`POST /mcp/execute`: one call as plain JSON, on the path of every other (S3.1-S3.5, R26)."""

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import aiohttp
import anyio
import anyio.lowlevel
import pytest
from tests.doors.worlds import (
    FILES,
    UUID,
    JsonObject,
    Reply,
    Wire,
    World,
    build_world,
    caller,
    serving,
    tool,
)

from remit.calls.invoke import KEY
from remit.errors import (
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from remit.model.agents import Agent
from remit.model.limits import Limit
from remit.model.principals import AgentType
from remit.model.roles import Role
from remit.model.tools import Hints
from remit.policy.agent_types import CREW_TOOLS

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CREW = {server: [tool(server, name) for name in names] for server, names in CREW_TOOLS.items()}
READ_ONLY = replace(tool("files", "look"), hints=Hints(read_only=True))


def agent(name: str, kind: AgentType, *, role: str = "") -> Agent:
    return Agent(
        id=name,
        tenant="default",
        type=kind,
        role=role,
        created=datetime(2026, 11, 28, tzinfo=UTC),
    )


AGENTS = (
    agent("boss", AgentType.SUPERVISOR, role="editor"),
    agent("chief", AgentType.ORCHESTRATOR),
    agent("w1", AgentType.WORKER, role="reader"),
    agent("w2", AgentType.WORKER),
)


@pytest.fixture
def crew_world() -> World:
    """A crew with a key each, beside callers that are no agents; files are opened by role."""
    roles = [
        Role(name="reader", tools={"files": ("read",)}),
        Role(name="editor", allow=("files/*",)),
        Role(name="student", tools={"files": ("read",)}, denials="explain"),
    ]
    keys = {each.id: each.principal for each in AGENTS}
    keys |= {
        "reader": caller("r", "reader"),
        "student": caller("s", "student"),
        "runner": replace(caller("run", "editor"), act_for=("w1", "gone")),
    }
    world = build_world({"files": [*FILES, READ_ONLY], **CREW}, roles, keys, pause=0.01)
    world.agents = type(world.agents)(*AGENTS)
    return world


@dataclass(frozen=True, kw_only=True)
class Door:
    """The JSON door of a served world."""

    http: aiohttp.ClientSession
    url: str

    async def send(
        self, key: str, body: object, *, path: str = "/mcp/execute", **headers: str | None
    ) -> Reply:
        wire = Wire(self.http, self.url, key)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await wire.send(raw, path=path, headers=headers)

    async def call(
        self, key: str, name: str, given: object = None, **more: object
    ) -> tuple[int, JsonObject]:
        """Call a tool as the agent whose key it is, or as the agent named in *more*."""
        body: JsonObject = {"toolName": name, **more}
        if key in {each.id for each in AGENTS}:
            body = {"agentId": key, **body}
        if given is not None:
            body["input"] = given
        reply = await self.send(key, body)
        return reply.status, reply.json


@pytest.fixture
async def door(crew_world: World, http: aiohttp.ClientSession) -> AsyncGenerator[Door]:
    async with serving(crew_world) as url:
        yield Door(http=http, url=url)


def ran(world: World) -> int:
    return sum(world.fleet.ran.values())


def answering(world: World, name: str, result: JsonObject | bytes) -> None:
    raw = result if isinstance(result, bytes) else json.dumps(result).encode()

    async def behave(arguments: bytes, meta: bytes) -> bytes:
        del arguments, meta
        return raw

    world.fleet.behaviours[name] = behave


def failing(world: World, name: str, *errors: Exception) -> None:
    """Let a tool fail with each of *errors* in turn, and with the last one for ever."""
    left = list(errors)

    async def behave(arguments: bytes, meta: bytes) -> bytes:
        del arguments, meta
        raise left.pop(0) if len(left) > 1 else left[0]

    world.fleet.behaviours[name] = behave


async def test_a_success_has_data_and_an_iso_time(door: Door, crew_world: World) -> None:
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


async def test_an_agent_has_to_name_itself_and_others_need_not(door: Door) -> None:
    """R26, S3.3."""
    missing = await door.send("w1", {"toolName": "mcp__mail__list_inbox"})
    assert (missing.status, missing.json["error"]["code"]) == (400, "INVALID_INPUT")
    assert "agentId" in missing.json["error"]["message"]

    assert (await door.call("reader", "mcp__files__read"))[0] == 200


async def test_without_a_credential_nobody_comes_in(door: Door, crew_world: World) -> None:
    body = {"agentId": "w1", "toolName": "mcp__mail__list_inbox"}

    without = await door.send("w1", body, Authorization=None)
    wrong = await door.send("nobody", body)

    for reply in (without, wrong):
        assert reply.status == 401
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert reply.json["success"] is False
        assert reply.json["error"]["details"] == {}
    assert without.json["error"] == wrong.json["error"]
    assert not crew_world.audit.events


async def test_a_store_that_is_away_is_no_answer_about_a_credential(
    door: Door, crew_world: World
) -> None:
    crew_world.is_store_down = True

    reply = await door.send("w1", {"agentId": "w1", "toolName": "mcp__mail__list_inbox"})

    assert reply.status == 503
    assert b"secret" not in reply.body


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


async def test_the_tenants_uuid_may_stand_before_it(door: Door) -> None:
    body = {"toolName": "mcp__files__read"}
    other = UUID[:-1] + ("0" if UUID[-1] != "0" else "1")

    assert (await door.send("reader", body, path=f"/mcp/{UUID}/execute")).status == 200
    assert (await door.send("reader", body, path=f"/mcp/{UUID.upper()}/execute/")).status == 200
    refused = await door.send("reader", body, path=f"/mcp/{other}/execute")
    assert (refused.status, refused.json["error"]["code"]) == (403, "PERMISSION_DENIED")


@pytest.mark.parametrize(
    ("who", "name", "code"),
    [
        # S3.11: permission comes before existence, so that nothing tells of the registry.
        ("w1", "mcp__orchestrator__nothing", "PERMISSION_DENIED"),
        ("w1", "mcp__supervisor__pause_agent", "PERMISSION_DENIED"),
        ("w1", "mcp__nowhere__nothing", "PERMISSION_DENIED"),
        ("w1", "mcp__files__nothing", "PERMISSION_DENIED"),
        ("w1", "nothing", "PERMISSION_DENIED"),
        ("w1", "mcp__mail__nothing", "TOOL_NOT_FOUND"),
        ("w1", "mail/nothing", "TOOL_NOT_FOUND"),
        ("chief", "mcp__task__nothing", "TOOL_NOT_FOUND"),
        ("chief", "mcp__orchestrator__nothing", "PERMISSION_DENIED"),
        ("chief", "mcp__supervisor__nothing", "PERMISSION_DENIED"),
        ("boss", "mcp__supervisor__nothing", "TOOL_NOT_FOUND"),
        ("boss", "mcp__nowhere__nothing", "TOOL_NOT_FOUND"),
        ("boss", "nothing", "TOOL_NOT_FOUND"),
        ("boss", "mcp__files__nothing", "TOOL_NOT_FOUND"),
        ("reader", "mcp__files__nothing", "PERMISSION_DENIED"),
        ("reader", "mcp__nowhere__nothing", "PERMISSION_DENIED"),
        ("runner", "mcp__files__nothing", "TOOL_NOT_FOUND"),
    ],
)
async def test_whoever_may_not_use_a_name_does_not_hear_whether_it_means_a_tool(
    door: Door, crew_world: World, who: str, name: str, code: str
) -> None:
    status, told = await door.call(who, name)

    assert (status, told["error"]["code"]) == (400, code)
    assert [event.kind for event in crew_world.audit.events] == ["refused"]
    assert crew_world.audit.events[0].call_id == told["error"]["details"]["requestId"]
    assert not ran(crew_world)


async def test_a_refusal_is_worded_alike_whether_or_not_there_is_such_a_tool(door: Door) -> None:
    said = [
        (await door.call("w1", name))[1]["error"]["message"]
        for name in ("mcp__orchestrator__create", "mcp__orchestrator__nothing")
    ]

    assert said == [
        "Tool 'mcp__orchestrator__create' is not allowed for agent type 'WORKER'",
        "Tool 'mcp__orchestrator__nothing' is not allowed for agent type 'WORKER'",
    ]
    told = (await door.call("reader", "mcp__files__delete"))[1]["error"]
    assert told["message"] == "Tool 'mcp__files__delete' is not allowed for caller 'key:r'"
    assert told["details"].keys() == {"requestId"}


async def test_a_role_that_explains_denials_explains_them_here_too(door: Door) -> None:
    told = (await door.call("student", "mcp__files__delete"))[1]["error"]

    assert told["details"]["layer"] == "ceiling"
    assert told["details"]["rule"] == "roles.student"


async def test_a_supervisor_acts_for_an_agent_within_what_both_may(
    door: Door, crew_world: World
) -> None:
    """R9, R26: the tool sees the agent that is acted for; the record names both."""
    status, _ = await door.call("boss", "mcp__mail__send", {}, agentId="w1")

    assert status == 200
    assert [one.subject for one in crew_world.fleet.acting] == ["agent:w1"]
    assert {(one.principal, one.agent) for one in crew_world.audit.events} == {("agent:boss", "w1")}

    denied = (await door.call("boss", "mcp__task__create", {}, agentId="w1"))[1]["error"]
    assert denied["code"] == "PERMISSION_DENIED"
    assert denied["message"] == "Tool 'mcp__task__create' is not allowed for agent type 'WORKER'"
    assert (await door.call("boss", "mcp__files__read", {}, agentId="w1"))[0] == 200
    assert (await door.call("boss", "mcp__files__delete", {}, agentId="w1"))[0] == 400
    assert (await door.call("boss", "mcp__files__read", {}, agentId="w2"))[0] == 400
    assert (await door.call("boss", "mcp__files__delete", {}))[0] == 200


async def test_a_key_acts_for_the_agents_of_its_scope_with_no_more_than_it_may_itself(
    door: Door, crew_world: World
) -> None:
    assert (await door.call("runner", "mcp__files__read", agentId="w1"))[0] == 200
    assert (await door.call("runner", "mcp__files__delete", agentId="w1"))[0] == 400

    told = (await door.call("runner", "mcp__mail__send", agentId="w1"))[1]["error"]
    assert told["message"] == "Tool 'mcp__mail__send' is not allowed for caller 'key:run'"
    assert crew_world.fleet.ran == {"files/read": 1}


async def test_whoever_may_not_act_for_an_agent_does_not_hear_whether_there_is_one(
    door: Door, crew_world: World
) -> None:
    for who in ("w1", "chief", "reader"):
        for other in ("w2", "nobody"):
            told = (await door.call(who, "mcp__mail__send", agentId=other))[1]["error"]
            assert told["code"] == "PERMISSION_DENIED"
            assert repr(other) in told["message"]
    assert not ran(crew_world)
    assert {event.code for event in crew_world.audit.events} == {"PERMISSION_DENIED"}
    assert len(crew_world.audit.events) == 6


@pytest.mark.parametrize(("who", "other"), [("boss", "nobody"), ("runner", "gone")])
async def test_whoever_may_hears_that_there_is_no_such_agent(
    door: Door, crew_world: World, who: str, other: str
) -> None:
    status, told = await door.call(who, "mcp__mail__send", agentId=other)

    assert (status, told["error"]["code"]) == (400, "AGENT_NOT_FOUND")
    assert [event.code for event in crew_world.audit.events] == ["AGENT_NOT_FOUND"]


async def test_an_allowance_of_an_agent_holds_also_where_another_acts_for_it(
    http: aiohttp.ClientSession,
) -> None:
    limit = Limit(principal="agent:w1", tool="mail/*", calls=1, seconds=3600)
    keys = {each.id: each.principal for each in AGENTS}
    world = build_world(CREW, [], keys, limits=(limit,))
    world.agents = type(world.agents)(*AGENTS)
    async with serving(world) as url:
        door = Door(http=http, url=url)
        assert (await door.call("w1", "mcp__mail__read"))[0] == 200

        reply = await door.send("boss", {"agentId": "w1", "toolName": "mcp__mail__read"})

        assert reply.status == 429
        assert reply.json["error"]["code"] == "LIMIT_REACHED"
        assert int(reply.headers["retry-after"]) == reply.json["error"]["details"]["retryAfter"]
        assert (await door.call("boss", "mcp__mail__read"))[0] == 200


async def test_a_tools_own_failure_is_told_with_the_code_that_it_gives(
    door: Door, crew_world: World
) -> None:
    text = [{"type": "text", "text": "there is no mail 'm9'"}]
    answering(
        crew_world,
        "mail/read",
        {"content": text, "isError": True, "_meta": {"remit/code": "RESOURCE_NOT_FOUND"}},
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
                "_meta": {"remit/code": "TOOL_NOT_FOUND"},
            },
            "oh",
        ),
        (
            {"content": [{"type": "text", "text": "oh"}], "isError": True, "_meta": 7},
            "oh",
        ),
    ],
)
async def test_a_failure_without_a_code_of_ours_is_an_internal_error_of_the_tool(
    door: Door, crew_world: World, result: JsonObject, message: str
) -> None:
    answering(crew_world, "files/read", result)

    status, told = await door.call("reader", "mcp__files__read")

    assert (status, told["error"]["code"]) == (400, "INTERNAL_ERROR")
    assert told["error"]["message"] == message


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
