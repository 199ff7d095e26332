"""A crew behind a JSON door: agents with a key each, over a fleet in this process."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import aiohttp
from tests.doors.worlds import FILES, JsonObject, Reply, Wire, World, build_world, caller, tool

from remit.model.agents import Agent
from remit.model.principals import AgentType
from remit.model.roles import Role
from remit.model.tools import Hints
from remit.policy.agent_types import CREW_TOOLS

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


def crew() -> World:
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
