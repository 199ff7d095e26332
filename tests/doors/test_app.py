"""What stands beside the MCP endpoint on the same port."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext

import aiohttp
import pytest
from tests.doors.worlds import Reply, Wire, World, serving

from remit.doors.asgi import Event
from remit.doors.http import create_app
from remit.errors import StartupError
from remit.model.servers import ServerState

BARE = {"Authorization": None, "Accept": None, "Content-Type": None}


async def get(wire: Wire, path: str, **headers: str) -> Reply:
    return await wire.send(verb="GET", path=path, headers={**BARE, **headers})


async def test_the_process_says_that_it_lives_to_whoever_asks(wire: Wire) -> None:
    reply = await get(wire, "/healthz", Host="10.0.0.7")

    assert (reply.status, reply.body) == (200, b"ok")


async def test_readiness_waits_for_the_first_server_and_for_no_broken_one(
    files_world: World, wire: Wire
) -> None:
    states = files_world.fleet.states
    seen: list[tuple[int, str]] = []
    for files, notes in (
        (ServerState.STARTING, ServerState.STARTING),
        (ServerState.STARTING, ServerState.STOPPED),
        (ServerState.STARTING, ServerState.BACKING_OFF),
        (ServerState.READY, ServerState.STARTING),
        (ServerState.STOPPED, ServerState.STOPPED),
    ):
        states.update(files=files, notes=notes)
        reply = await get(wire, "/readyz")
        seen.append((reply.status, reply.json["status"]))

    assert seen == [(503, "starting")] * 2 + [(200, "ready")] * 3


async def test_only_an_administrator_is_told_of_the_servers(files_world: World, wire: Wire) -> None:
    files_world.fleet.states["notes"] = ServerState.BACKING_OFF

    bodies = [
        (await get(wire, "/readyz", Authorization=f"Bearer {key}")).json
        for key in ("admin-key", "reader-key", "wrong")
    ]
    nobody = (await get(wire, "/readyz")).json

    assert [(s["name"], s["state"]) for s in bodies[0]["servers"]] == [
        ("files", "ready"),
        ("notes", "backing_off"),
    ]
    assert bodies[1:] == [{"status": "ready"}] * 2
    assert nobody == {"status": "ready"}


@pytest.mark.parametrize("path", ["/", "/mcpx", "/readyz/", "/api/v1/none"])
async def test_a_path_without_anything_is_a_problem_document(wire: Wire, path: str) -> None:
    reply = await get(wire, path)

    assert (reply.status, reply.headers["content-type"]) == (404, "application/problem+json")
    assert (reply.json["status"], reply.json["title"]) == (404, "Not Found")
    assert "/mcp" in reply.json["detail"]


async def test_probes_are_read_with_get(wire: Wire) -> None:
    reply = await wire.send(verb="POST", path="/healthz", headers=BARE)

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


async def test_a_page_that_reaches_for_the_state_is_turned_away(wire: Wire) -> None:
    reply = await get(wire, "/readyz", Host="evil.example.test")

    assert reply.status == 421
    assert "an administrator declares server.public_url" in reply.json["detail"]


async def test_a_fault_of_our_own_is_a_problem_without_details(
    files_world: World, http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> tuple[()]:
        raise RuntimeError("secret place")

    monkeypatch.setattr(files_world.fleet, "statuses", broken)
    async with serving(files_world) as url:
        reply = await get(Wire(http, url), "/readyz")

    assert (reply.status, reply.json["title"]) == (500, "Internal Server Error")
    assert b"secret" not in reply.body


async def lifespan_events(world: World, steps: list[str], *, fails: bool = False) -> list[Event]:
    """Take an application through start and stop; give what it said."""

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        if fails:
            raise StartupError("the port is taken")
        steps.append("opened")
        yield
        steps.append("closed")

    said: list[Event] = []

    async def receive() -> Event:
        return {"type": "lifespan.startup" if not said else "lifespan.shutdown"}

    async def send(event: Event) -> None:
        said.append(event)

    app = create_app(
        mcp=world.endpoint(),
        authenticate=world.authenticate,
        statuses=world.statuses,
        guard=world.guard,
        resources=world.resources,
        lifespan=lifespan,
    )
    await app({"type": "lifespan"}, receive, send)
    return said


async def test_the_application_opens_and_closes_what_it_was_given(files_world: World) -> None:
    steps: list[str] = []

    said = await lifespan_events(files_world, steps)

    assert [event["type"] for event in said] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert steps == ["opened", "closed"]


async def test_an_application_that_cannot_start_says_why(files_world: World) -> None:
    said = await lifespan_events(files_world, [], fails=True)

    assert said == [{"type": "lifespan.startup.failed", "message": "the port is taken"}]


async def test_there_are_no_web_sockets(files_world: World) -> None:
    said: list[Event] = []

    async def receive() -> Event:
        return {"type": "websocket.connect"}

    async def send(event: Event) -> None:
        said.append(event)

    app = create_app(
        mcp=files_world.endpoint(),
        authenticate=files_world.authenticate,
        statuses=files_world.statuses,
        guard=files_world.guard,
        resources=files_world.resources,
        lifespan=nullcontext,
    )
    await app({"type": "websocket", "path": "/mcp"}, receive, send)

    assert [event["type"] for event in said] == ["websocket.close"]
