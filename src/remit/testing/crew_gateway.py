"""A real gateway with the crew's servers, and agents that call it with keys of their own."""

import json
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import httpx2

from remit.admin.keys import make_key
from remit.app.bundled import CREW
from remit.client.transport import TRUSTS_NOBODY
from remit.model.agents import Agent
from remit.model.principals import DEFAULT_TENANT, AgentType
from remit.servers.toolbox import ERROR
from remit.storage.agents import Agents
from remit.storage.crew import Crew
from remit.storage.database import Database, default_url, open_database
from remit.storage.keys import Keys
from remit.storage.notices import Notices
from remit.testing.gateway import Caller, Running, start_gateway

Door = Literal["mcp", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewGateway:
    """A running gateway, and where its state is.

    Attributes:
        database_url: Of its database, which tests look into.
    """

    running: Running
    database_url: str


@contextmanager
def open_crew_gateway(
    folder: Path, database_url: str = "", *options: str, more: Mapping[str, Any] | None = None
) -> Generator[CrewGateway]:
    """Start a gateway with every server of the crew in *folder*, and stop it at the end.

    Args:
        folder: Where it runs.
        database_url: Its database; without one a file in *folder*.
        options: More of its command line, such as `("--workers", "2")`.
        more: Further keys of its declaration.
    """
    config = folder / "remit.yaml"
    servers = {name: {"builtin": name} for name in CREW}
    document = {"version": "1.0", "mcp_servers": servers, **(more or {})}
    config.write_text(json.dumps(document, indent=2))
    environ = {"REMIT_DATABASE_URL": database_url} if database_url else {}
    running = start_gateway(folder, config, environ, *options).settle()
    try:
        yield CrewGateway(
            running=running, database_url=database_url or default_url(folder / ".remit")
        )
    finally:
        running.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewFolk:
    """Makes agents and calls the gateway as one of them.

    Attributes:
        crew: What is stored, for tests that look past the gateway.
        door: Which one its agents come to.
    """

    gateway: CrewGateway
    database: Database
    http: httpx2.AsyncClient
    crew: Crew
    door: Door = "mcp"

    async def agent(
        self,
        agent_id: str,
        type_: AgentType,
        *,
        epic: str = "",
        role: str = "",
        act_for: Sequence[str] = (),
    ) -> "CrewCaller":
        """Register an agent and return it with a key of its own, which may act for others."""
        now = datetime.now(UTC)
        agent = Agent(
            id=agent_id, tenant=DEFAULT_TENANT, type=type_, role=role, epic=epic, created=now
        )
        await Agents(self.database).add(agent)
        made = await make_key(
            Keys(self.database),
            f"key-of-{agent_id}",
            tenant=DEFAULT_TENANT,
            now=now,
            agent=agent,
            act_for=act_for,
            roles={},
        )
        caller = Caller(self.http, self.gateway.running.url, made.text)
        return CrewCaller(agent_id, caller, self.door)

    async def supervisor(self, agent_id: str) -> "CrewCaller":
        """Register a SUPERVISOR."""
        return await self.agent(agent_id, AgentType.SUPERVISOR)

    async def orchestrator(self, agent_id: str, *, epic: str = "") -> "CrewCaller":
        """Register an ORCHESTRATOR."""
        return await self.agent(agent_id, AgentType.ORCHESTRATOR, epic=epic)

    async def worker(self, agent_id: str, *, epic: str = "") -> "CrewCaller":
        """Register a WORKER."""
        return await self.agent(agent_id, AgentType.WORKER, epic=epic)


@dataclass(frozen=True, slots=True)
class CrewCaller:
    """One agent at a door.

    Attributes:
        id: The agent's.
        caller: It, as a client of the gateway.
        door: Which door `does` and `fails` go to.
    """

    id: str
    caller: Caller
    door: Door = "mcp"

    async def does(self, tool: str, key: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds, and return its structured result."""
        if self.door == "json":
            envelope = await self.executes(_spelled(tool), key=key, **arguments)
            if not envelope["success"]:
                raise AssertionError(f"{self.id} failed at {tool}: {envelope}")
            data: dict[str, Any] = envelope["data"]
            return data
        answer = await self.answer(tool, key, **arguments)
        if "error" in answer or answer["result"].get("isError"):
            raise AssertionError(f"{self.id} failed at {tool}: {answer}")
        structured: dict[str, Any] = answer["result"]["structuredContent"]
        return structured

    async def fails(self, tool: str, **arguments: Any) -> str:
        """Call a tool that fails, and return the code; of a protocol error that as text."""
        if self.door == "json":
            envelope = await self.executes(_spelled(tool), **arguments)
            if envelope["success"]:
                raise AssertionError(f"{self.id} did not fail at {tool}: {envelope}")
            return str(envelope["error"]["code"])
        answer = await self.answer(tool, "", **arguments)
        if "error" in answer:
            return str(answer["error"]["code"])
        result = answer["result"]
        if not result.get("isError"):
            raise AssertionError(f"{self.id} did not fail at {tool}: {result}")
        code: str = result.get("_meta", {}).get(ERROR, {}).get("code", "INVALID_INPUT")
        return code

    async def answer(self, tool: str, key: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a tool at the MCP door, under a key if one is given; return the JSON-RPC answer."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        extra = {"remit/idempotencyKey": key} if key else {}
        return (await self.caller.send("tools/call", params, meta=extra)).json()

    async def executes(self, tool: str, key: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a tool at the JSON door, under a key if one is given; return the envelope."""
        return await self.executes_for(self.id, tool, key, **arguments)

    async def executes_for(
        self, agent_id: str, tool: str, key: str = "", **arguments: Any
    ) -> dict[str, Any]:
        """Call a tool at the JSON door for another agent, and return the envelope."""
        once = {"Idempotency-Key": key} if key else {}
        reply = await self.caller.http.post(
            f"{self.caller.url}/execute",
            json={"agentId": agent_id, "toolName": tool, "input": arguments},
            headers={"Authorization": f"Bearer {self.caller.key}", **once},
        )
        envelope: dict[str, Any] = reply.json()
        return envelope

    async def tools(self) -> Sequence[str]:
        """Return the names of the tools that it is shown."""
        return [tool["name"] for tool in await self.caller.tools()]


def _spelled(tool: str) -> str:
    """Return the name that the JSON door's document has for a tool of `/mcp`."""
    return tool if tool.startswith("mcp_") or "/" in tool else f"mcp__{tool}"


@asynccontextmanager
async def open_folk(gateway: CrewGateway, door: Door = "mcp") -> AsyncGenerator[CrewFolk]:
    """Open what makes agents of a gateway and calls it."""
    async with (
        open_database(gateway.database_url) as database,
        httpx2.AsyncClient(timeout=60, verify=TRUSTS_NOBODY) as http,
    ):
        crew = Crew(database, Notices(database))
        yield CrewFolk(gateway=gateway, database=database, http=http, crew=crew, door=door)
