"""The acting member of a call over MCP: in the record, and on its way to the server (S0.23)."""

from collections.abc import AsyncGenerator

import aiohttp
import pytest
from tests.doors.worlds import (
    FILES,
    Reply,
    Wire,
    World,
    build_world,
    caller,
    envelope,
    initialize,
    message,
    serving,
)

from remit.model.roles import Role

MEMBER = "8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11"


@pytest.fixture
def world() -> World:
    return build_world(
        {"files": FILES},
        [Role(name="reader", tools={"files": ("read",)})],
        {"reader-key": caller("r", "reader")},
    )


@pytest.fixture
async def door(world: World, http: aiohttp.ClientSession) -> AsyncGenerator[Wire]:
    async with serving(world) as url:
        yield Wire(http, url)


async def call(door: Wire, member: object, tool: str = "files__read") -> Reply:
    meta = envelope(**{"remit/member": member})
    return await door.modern("tools/call", {"name": tool, "_meta": meta})


@pytest.mark.parametrize("spelling", [MEMBER, MEMBER.upper(), MEMBER.replace("-", "")])
async def test_a_member_that_the_caller_names_is_in_every_event_of_the_call(
    door: Wire, world: World, spelling: str
) -> None:
    reply = await call(door, spelling)
    await call(door, spelling, "files__delete")

    assert "result" in reply.json
    assert [event.member for event in world.audit.events] == [MEMBER] * 3
    assert f'"remit/member":"{spelling}"'.encode() in world.fleet.received[0][1].replace(b" ", b"")


async def test_a_member_is_named_in_a_session_of_the_older_era_too(
    door: Wire, world: World
) -> None:
    begun = await door.send(initialize())
    headers = {
        "Mcp-Session-Id": begun.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-11-25",
    }
    params = {"name": "files__read", "_meta": {"remit/member": MEMBER}}

    await door.send(message("tools/call", params), headers=headers)

    assert {event.member for event in world.audit.events} == {MEMBER}


@pytest.mark.parametrize("wrong", ["me", 7, {}, True, ""])
async def test_a_member_that_is_no_uuid_is_a_bad_request(
    door: Wire, world: World, wrong: object
) -> None:
    reply = await call(door, wrong)

    assert reply.error["code"] == -32602
    assert "remit/member" in reply.error["message"]
    assert world.fleet.ran == {}


async def test_who_names_no_member_has_none(door: Wire, world: World) -> None:
    await call(door, None)
    await door.call("files__read", {"path": "remit/member"})

    assert {event.member for event in world.audit.events} == {None}
