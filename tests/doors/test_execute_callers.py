"""Who may call what through `POST /mcp/execute`, and for whom (S3.5, S3.11, R9, R26)."""

import aiohttp
import pytest
from tests.doors.crew import AGENTS, CREW, Door, ran
from tests.doors.worlds import (
    UUID,
    World,
    build_world,
    serving,
)

from remit.model.limits import Limit


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
