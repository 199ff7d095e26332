"""Answers to what a server asked count for the session that was asked, and for no other."""

from typing import Any

import anyio
import httpx2
import pytest
from tests.conformance.callers import Hand

from remit.testing.gateway import Running

FORMS: dict[str, Any] = {"elicitation": {}}
FILLED = {"action": "accept", "content": {"username": "ada", "email": "a@b"}}


async def asked(gateway: Running, http: httpx2.AsyncClient, role: str = "caller") -> Hand:
    hand = Hand(http=http, url=f"{gateway.url}/web", key=gateway.key(role))
    return await hand.begin(FORMS)


async def test_only_the_session_that_was_asked_can_answer(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    one, other = await asked(gateway, http), await asked(gateway, http)
    stranger = await asked(gateway, http, "other")
    with anyio.fail_after(30):
        async with one.called("test_elicitation", {"message": "Who?"}) as events:
            question = await events.next()
            assert question["method"] == "elicitation/create"
            answer = {"id": question["id"], "result": {"action": "decline"}}
            # Both are taken, since nobody may learn what others were asked; neither counts.
            assert (await other.say(answer), await stranger.say(answer)) == (202, 202)
            # Somebody else's session is none at all.
            borrowed = Hand(http=http, url=one.url, key=gateway.key("other"), session=one.session)
            assert await borrowed.say(answer) == 404
            assert await one.say({"id": question["id"], "result": FILLED}) == 202
            result = (await events.next())["result"]
            # It was answered; saying so again changes nothing.
            assert await one.say(answer) == 202
    assert "action=accept" in result["content"][0]["text"]


async def test_an_error_of_the_client_reaches_the_server(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    one = await asked(gateway, http)
    with anyio.fail_after(30):
        async with one.called("test_elicitation", {"message": "Who?"}) as events:
            question = await events.next()
            await one.say({"id": question["id"], "error": {"code": -1, "message": "not now"}})
            answer = await events.next()
    assert answer["id"] == 7
    assert answer["error"]["message"] == "not now"


async def test_a_call_that_waits_for_an_answer_can_be_cancelled(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    one = await asked(gateway, http)
    with anyio.fail_after(30):
        async with one.called("test_elicitation", {"message": "Who?"}) as events:
            question = await events.next()
            await one.say({"method": "notifications/cancelled", "params": {"requestId": 7}})
            answer = await events.next()
            assert await one.say({"id": question["id"], "result": FILLED}) == 202
    assert answer["error"]["code"] == -32800


@pytest.mark.parametrize("accept", ["application/json"])
async def test_a_caller_that_takes_no_stream_is_not_asked(
    gateway: Running, http: httpx2.AsyncClient, accept: str
) -> None:
    one = await asked(gateway, http)
    params = {"name": "test_elicitation", "arguments": {"message": "Who?"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await http.post(one.url, json=body, headers={**one.headers(), "Accept": accept})
    assert reply.json()["result"]["isError"] is True


async def test_a_question_whose_caller_has_left_is_over(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    one = await asked(gateway, http)
    async with one.called("test_elicitation", {"message": "Who?"}) as events:
        await events.next()
    with anyio.fail_after(30):  # far less than the time that an answer may take
        while not has_left(gateway):  # noqa: ASYNC110 - it is the world outside that changes
            await anyio.sleep(0.1)


async def test_a_question_whose_session_was_ended_is_over(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    one = await asked(gateway, http)
    with anyio.fail_after(30):  # far less than the time that an answer may take
        async with one.called("test_elicitation", {"message": "Who?"}) as events:
            question = await events.next()
            ended = await http.delete(one.url, headers=one.headers())
            assert ended.status_code == 200
            answer = await events.next()
            assert await one.say({"id": question["id"], "result": FILLED}) == 404
    assert "has left" in str(answer)


def has_left(gateway: Running) -> bool:
    """Whether a call is on record that ended since its caller had left."""
    return "has left" in str(gateway.audit())
