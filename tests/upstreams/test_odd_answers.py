"""Answers over HTTP that other clients take, and so do we."""

import json
from collections.abc import AsyncIterator

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.callers import call
from tests.upstreams.served import RESULTS, serving

from remit.testing.fleets import open_servers, status_of


async def _never_ending() -> AsyncIterator[bytes]:
    yield b": nothing is to come\n\n"
    await anyio.sleep_forever()


def _answer(message: dict[str, object], mark: bytes = b"") -> Response:
    method = str(message.get("method"))
    if method not in RESULTS:
        return Response(status_code=405)
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[method]}
    return Response(mark + json.dumps(answer).encode(), media_type="application/json")


async def keeping_open(scope: Scope, receive: Receive, send: Send) -> None:
    message = json.loads(await Request(scope, receive).body() or b"{}")
    response = _answer(message)
    if message and "id" not in message:
        response = StreamingResponse(_never_ending(), media_type="text/event-stream")
    await response(scope, receive, send)


async def marking(scope: Scope, receive: Receive, send: Send) -> None:
    message = json.loads(await Request(scope, receive).body() or b"{}")
    response = _answer(message, b"\xef\xbb\xbf")
    if message and "id" not in message:
        response = Response(status_code=202)
    await response(scope, receive, send)


async def test_a_stream_that_answers_a_notification_is_not_waited_for() -> None:
    async with serving(keeping_open) as config, open_servers(config) as fleet:
        await call(fleet, None)


async def test_a_byte_order_mark_before_an_answer_is_no_part_of_it() -> None:
    async with serving(marking) as config, open_servers(config) as fleet:
        await call(fleet, None)


@pytest.mark.parametrize("revision", ["2026-07-28", "2031-01-01"])
async def test_a_revision_that_has_no_handshake_is_a_reason(revision: str) -> None:
    async def choosing(scope: Scope, receive: Receive, send: Send) -> None:
        message = json.loads(await Request(scope, receive).body() or b"{}")
        response = _answer(message)
        if message.get("method") == "initialize":
            result = {**RESULTS["initialize"], "protocolVersion": revision}
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            response = Response(json.dumps(answer), media_type="application/json")
        await response(scope, receive, send)

    async with serving(choosing) as config, open_servers(config) as fleet:
        reason = status_of(fleet, "s").reason

    assert f"answers initialize with protocol revision '{revision}'" in reason
    assert "2026" not in reason.split("remit")[1]


async def test_a_caller_that_leaves_while_it_opens_a_session_anew_takes_nothing_from_the_rest() -> (
    None
):
    sessions, waits, listed = list[str](), anyio.Event(), anyio.Event()

    async def forgetting(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        message = json.loads(await request.body() or b"{}")
        method, response = message.get("method"), _answer(message)
        if method == "initialize":
            sessions.append(str(len(sessions)))
            response.headers["Mcp-Session-Id"] = sessions[-1]
        elif method == "tools/call" and len(sessions) == 1:
            response = Response(status_code=404)
        elif method == "notifications/initialized":
            response = Response(status_code=202)
            if len(sessions) > 1:
                waits.set()
                await anyio.sleep_forever()
        elif method == "tools/list" and request.headers["Mcp-Session-Id"] == "1":
            listed.set()
        await response(scope, receive, send)

    async with serving(forgetting) as config, open_servers(config) as fleet:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, fleet, None)
            await waits.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(20):
            await listed.wait()
