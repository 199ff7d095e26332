"""A call that waits behind others is sent only if its caller may still make it (R17)."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp
import anyio
import pytest
from tests.doors.worlds import Reply, Wire, World, caller, message, serving, world_over

from remit.model.declaration import Declaration
from remit.model.roles import Role
from remit.model.servers import Session
from remit.testing.fleets import eventually, open_servers
from remit.testing.upstream import executed, fixture_server_config

MAY = Role(name="may", allow=("s/*",), denials="explain")
MAY_NOT = Role(name="may", allow=("s/*",), deny=("s/do",), denials="explain")


def deny(world: World) -> None:
    world.swap_policy(MAY_NOT)


def revoke(world: World) -> None:
    del world.keys["reader-key"]


def lose_role(world: World) -> None:
    world.keys["reader-key"] = caller("reader")


def lose_store(world: World) -> None:
    world.is_store_down = True


def nothing(world: World) -> None:
    del world


@dataclass(frozen=True, kw_only=True)
class Line:
    """A gateway whose server takes one call at a time."""

    world: World
    wire: Wire
    ran: Path

    async def reply_to_waiting(self, change: Callable[[World], None], era: str) -> Reply:
        """Return the answer to a call that stood in line behind another during *change*."""
        replies: list[Reply] = []

        async def call(tool: str) -> None:
            if era == "modern":
                replies.append(await self.wire.call(tool, path="/mcp/s"))
                return
            params: dict[str, object] = {"name": tool}
            body = message("tools/call", params)
            replies.append(await self.wire.send(body, path="/mcp/s"))

        async with anyio.create_task_group() as tasks:
            first = anyio.CancelScope()
            tasks.start_soon(self.hold, first)
            await eventually(lambda: executed(self.ran))
            tasks.start_soon(call, "do")
            await eventually(lambda: self.world.fleet.statuses()[0].in_flight == 2)
            change(self.world)
            first.cancel()
        return replies[0]

    async def hold(self, scope: anyio.CancelScope) -> None:
        """Take the place that there is until *scope* is cancelled."""
        with scope:
            await self.wire.call("hold", path="/mcp/s")

    @property
    def sent(self) -> list[str]:
        """The tools that ran."""
        return [call.name for call in executed(self.ran)]

    @property
    def end(self) -> tuple[str, ...]:
        """How the record says that the call in line ended."""
        own = [e for e in self.world.audit.events if e.tool == "do"]
        assert [e.kind for e in own] == ["invoked", "finished"]
        end = own[-1]
        return (end.decision, end.layer, end.rule, end.outcome, end.code)


@asynccontextmanager
async def open_line(ran: Path, session: Session) -> AsyncGenerator[Line]:
    tools = [{"name": "hold", "x-fixture": {"silent": True}}, "do"]
    server = fixture_server_config("s", tools, ran, session=session, max_concurrency=1)
    async with open_servers(server) as fleet:
        declaration = Declaration(servers={"s": server}, roles={"may": MAY})
        world = world_over(fleet, declaration, {"reader-key": caller("reader", "may")})
        async with serving(world) as url, aiohttp.ClientSession() as http:
            yield Line(world=world, wire=Wire(http, url), ran=ran)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    return tmp_path / "ran.jsonl"


@pytest.mark.parametrize("session", Session)
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_call_in_line_that_policy_denies_meanwhile_is_not_sent(
    ran: Path, session: Session, era: str
) -> None:
    async with open_line(ran, session) as line:
        reply = await line.reply_to_waiting(deny, era)

        assert reply.error["message"] == "Unknown tool"
        assert reply.error["data"]["rule"] == "roles.may.deny[0]"
        assert line.end == ("deny", "deny", "roles.may.deny[0]", "none", "PERMISSION_DENIED")
        assert line.sent == ["hold"]


@pytest.mark.parametrize("session", Session)
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_call_in_line_whose_key_is_revoked_meanwhile_is_not_sent(
    ran: Path, session: Session, era: str
) -> None:
    async with open_line(ran, session) as line:
        reply = await line.reply_to_waiting(revoke, era)

        assert reply.result["_meta"]["remit/code"] == "PERMISSION_DENIED"
        assert "holds no longer" in reply.result["content"][0]["text"]
        assert line.end == ("deny", "", "", "none", "PERMISSION_DENIED")
        assert line.sent == ["hold"]


async def test_a_call_in_line_whose_key_loses_its_role_meanwhile_is_not_sent(ran: Path) -> None:
    async with open_line(ran, Session.SHARED) as line:
        reply = await line.reply_to_waiting(lose_role, "modern")

        assert reply.error["message"] == "Unknown tool"
        assert line.end[0] == "deny"
        assert line.end[-2:] == ("none", "PERMISSION_DENIED")
        assert line.sent == ["hold"]


async def test_a_call_in_line_whose_key_nobody_can_look_up_is_not_sent(ran: Path) -> None:
    async with open_line(ran, Session.SHARED) as line:
        reply = await line.reply_to_waiting(lose_store, "modern")

        text = json.dumps(reply.result)
        assert "nobody can say now whether the caller's credential still holds" in text
        assert "secret/place" not in text
        assert line.end[-2:] == ("error", "UPSTREAM_UNAVAILABLE")
        assert line.sent == ["hold"]


@pytest.mark.parametrize("session", Session)
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_call_in_line_that_is_still_allowed_is_sent(
    ran: Path, session: Session, era: str
) -> None:
    async with open_line(ran, session) as line:
        reply = await line.reply_to_waiting(nothing, era)

        assert "content" in reply.result
        assert line.end[-2:] == ("ok", "")
        assert line.sent == ["hold", "do"]


async def test_the_json_door_sends_no_call_in_line_whose_key_is_revoked(ran: Path) -> None:
    async with open_line(ran, Session.SHARED) as line:
        execute = partial(
            line.wire.send, {"toolName": "mcp__s__do", "input": {}}, path="/mcp/execute"
        )
        replies: list[Reply] = []

        async def call() -> None:
            replies.append(await execute())

        async with anyio.create_task_group() as tasks:
            first = anyio.CancelScope()
            tasks.start_soon(line.hold, first)
            await eventually(lambda: executed(ran))
            tasks.start_soon(call)
            await eventually(lambda: line.world.fleet.statuses()[0].in_flight == 2)
            revoke(line.world)
            first.cancel()

        assert "PERMISSION_DENIED" in replies[0].body.decode()
        assert line.sent == ["hold"]
