"""`mail://inbox`: each agent reads its own, and hears of mail to it alone."""

import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import httpx2

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.crew_gateway import CrewCaller, CrewFolk
from remit.testing.gateway import Caller

Name = Callable[[str], str]

INBOX = "mail://inbox"


async def _read(agent: CrewCaller) -> dict[str, Any]:
    answer = (await agent.caller.send("resources/read", {"uri": INBOX})).json()
    content = answer["result"]["contents"][0]
    assert (content["uri"], content["mimeType"]) == (INBOX, "application/json")
    read: dict[str, Any] = json.loads(content["text"])
    return read


async def test_each_agent_reads_its_own_inbox(folk: CrewFolk, name: Name) -> None:
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    await w1.does("mail__send", toAgentId=w2.id, subject="Hello", body="b")

    listed = (await w1.caller.send("resources/list", {})).json()["result"]["resources"]

    assert [each["uri"] for each in listed] == [INBOX]
    assert (await _read(w1))["count"] == 0
    assert await _read(w2) == await w2.does("mail__list_inbox")


async def test_no_other_resource_can_be_read(folk: CrewFolk, name: Name) -> None:
    w1 = await folk.worker(name("w1"))

    answer = (await w1.caller.send("resources/read", {"uri": "mail://outbox"})).json()

    assert "error" in answer


async def test_who_follows_its_inbox_hears_of_its_mail_alone(folk: CrewFolk, name: Name) -> None:
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    sender = await folk.worker(name("w3"))
    tell, heard = anyio.create_memory_object_stream[str](10)
    ready: dict[str, anyio.Event] = {agent.id: anyio.Event() for agent in (w1, w2)}

    async def follow(agent: CrewCaller) -> None:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(
                httpx2.AsyncClient(timeout=None, verify=TRUSTS_NOBODY)
            )
            session = await Caller(http, agent.caller.url, agent.caller.key).begin()
            subscribed = await session.send("resources/subscribe", {"uri": INBOX})
            assert subscribed.json()["result"] == {}
            headers = {
                "Authorization": f"Bearer {session.key}",
                "Accept": "text/event-stream",
                **session.era_headers,
            }
            async with http.stream("GET", session.url, headers=headers) as stream:
                ready[agent.id].set()
                async for line in stream.aiter_lines():
                    if "notifications/resources/updated" in line:
                        assert INBOX in line
                        await tell.send(agent.id)

    with anyio.fail_after(40):
        async with anyio.create_task_group() as tasks:
            for agent in (w1, w2):
                tasks.start_soon(follow, agent)
            for event in ready.values():
                await event.wait()
            await sender.does("mail__send", toAgentId=w1.id, subject="One", body="b")
            assert await heard.receive() == w1.id
            await sender.does("mail__send", toAgentId=w2.id, subject="Two", body="b")
            assert await heard.receive() == w2.id
            mail = (await w1.does("mail__list_inbox"))["mails"][0]
            await w1.does("mail__read", mailId=mail["id"])
            assert await heard.receive() == w1.id
            tasks.cancel_scope.cancel()
    tell.close()
    heard.close()
