"""What happens to an answer when its client, or the connection under it, fails."""

from contextlib import nullcontext

import anyio
import pytest
from tests.doors.worlds import World, caller

from remit.doors.asgi import App, Event, Exchange, Scope, Send
from remit.doors.http import create_app
from remit.doors.mcp.answers import Stream
from remit.doors.mcp.envelope import decoded
from remit.doors.mcp.sse import respond_stream
from remit.model.principals import Principal


async def silence() -> Event:
    await anyio.sleep_forever()
    return {}


def request(path: str, key: str) -> Scope:
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode())]
    return {"type": "http", "method": "GET", "path": path, "headers": headers}


def app_of(world: World) -> App:
    return create_app(
        mcp=world.endpoint(),
        authenticate=world.authenticate,
        statuses=world.statuses,
        guard=world.guard,
        resources=world.resources,
        lifespan=nullcontext,
    )


@pytest.mark.parametrize("path", ["/readyz", "/mcp"])
async def test_a_fault_after_the_answer_began_is_the_servers_to_report(
    files_world: World, path: str
) -> None:
    async def send(event: Event) -> None:
        if event["type"] == "http.response.start" or event["body"]:
            raise RuntimeError("the transport is broken")

    with pytest.raises(RuntimeError):
        await app_of(files_world)(request(path, "wrong"), silence, send)


async def test_a_client_that_takes_nothing_loses_its_stream(
    files_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.doors.mcp.sse.SEND_TIME", 0.02)
    sent: list[Event] = []

    async def send(event: Event) -> None:
        sent.append(event)
        if event["type"] == "http.response.body":
            await anyio.sleep_forever()

    with anyio.fail_after(20):
        await stream_to(files_world, send)

    assert [event["type"] for event in sent] == ["http.response.start", "http.response.body"]
    assert len(files_world.door.changes) == 0


async def stream_to(world: World, send: Send) -> None:
    principal = caller("r", "reader")
    watch = world.door.changes.watch(principal, None, legacy=True)
    assert watch is not None

    async def again() -> Principal:
        return principal

    exchange = Exchange(request("/mcp", "reader-key"), silence, send)
    await respond_stream(exchange, Stream(watch=watch), again)


def test_a_value_beyond_what_python_holds_is_none_at_all() -> None:
    assert decoded(b"1" * 5000) is None
    assert decoded(b"[" * 5000) is None
    assert decoded(None) is None
