"""The mail tools, through the MCP door, with keys of real agents (S3.12-S3.16, S3.28, S3.29)."""

import json
from collections.abc import Callable

import anyio

from remit.crew.mailbox import MOST_WAITS
from remit.testing.crew_gateway import CrewFolk

Name = Callable[[str], str]


async def test_mail_goes_from_one_agent_to_the_other_and_back(folk: CrewFolk, name: Name) -> None:
    """S3.12, S3.13, S3.14, S3.16, S3.42."""
    o1 = await folk.orchestrator(name("o1"))
    w1 = await folk.worker(name("w1"))

    sent = await o1.does("mail__send", toAgentId=w1.id, subject="Plan", body="Begin")
    inbox = await w1.does("mail__list_inbox")
    read = await w1.does("mail__read", mailId=sent["mailId"])
    again = await w1.does("mail__read", mailId=sent["mailId"])
    reply = await w1.does("mail__reply", originalMailId=sent["mailId"], body="Done")
    back = await o1.does("mail__list_inbox")

    assert sorted(sent) == ["mailId", "timestamp"]
    assert inbox == {
        "count": 1,
        "unreadCount": 1,
        "mails": [
            {
                "id": sent["mailId"],
                "fromAgentId": o1.id,
                "fromAgentType": "ORCHESTRATOR",
                "subject": "Plan",
                "body": "Begin",
                "isRead": False,
                "createdAt": sent["timestamp"],
                "readAt": None,
            }
        ],
    }
    assert read["isRead"] is True
    assert read == {**inbox["mails"][0], "isRead": True, "readAt": read["readAt"]}
    assert again == read  # the first readAt stays
    assert back["mails"][0]["id"] == reply["mailId"]
    assert back["mails"][0]["subject"] == "Re: Plan"
    assert (await w1.does("mail__list_inbox"))["mails"] == []
    everything = await w1.does("mail__list_inbox", includeRead=True)
    assert (everything["count"], everything["unreadCount"]) == (1, 0)


async def test_re_is_written_once(folk: CrewFolk, name: Name) -> None:
    """S3.16."""
    o1, w1 = await folk.orchestrator(name("o1")), await folk.worker(name("w1"))

    sent = await o1.does("mail__send", toAgentId=w1.id, subject="Plan", body="Begin")
    reply = await w1.does("mail__reply", originalMailId=sent["mailId"], body="Which?")
    await o1.does("mail__reply", originalMailId=reply["mailId"], body="This")

    subjects = {mail["subject"] for mail in (await w1.does("mail__list_inbox"))["mails"]}
    assert subjects == {"Plan", "Re: Plan"}


async def test_an_inbox_is_newest_first_and_nobody_elses(folk: CrewFolk, name: Name) -> None:
    """S3.12."""
    o1 = await folk.orchestrator(name("o1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))

    ids = [
        (await o1.does("mail__send", toAgentId=w1.id, subject=f"{n}", body="b"))["mailId"]
        for n in range(3)
    ]
    await o1.does("mail__send", toAgentId=w2.id, subject="other", body="b")

    inbox = await w1.does("mail__list_inbox")
    assert [mail["id"] for mail in inbox["mails"]] == ids[::-1]


async def test_mail_to_the_human_is_in_no_agents_inbox(folk: CrewFolk, name: Name) -> None:
    """S3.14, S3.34."""
    w1 = await folk.worker(name("w1"))

    sent = await w1.does("mail__send", toHuman=True, subject="Help", body="Stuck")

    mail = await folk.crew.find_mail("default", sent["mailId"])
    assert mail is not None
    assert mail.is_for_human
    assert mail.from_agent == w1.id


async def test_a_mail_says_who_it_is_for_and_what_it_says(folk: CrewFolk, name: Name) -> None:
    """S3.14."""
    w1 = await folk.worker(name("w1"))
    text = {"subject": "s", "body": "b"}

    assert await w1.fails("mail__send", **text) == "INVALID_INPUT"
    assert await w1.fails("mail__send", toAgentId=w1.id, toHuman=True, **text) == "INVALID_INPUT"
    assert await w1.fails("mail__send", toHuman=False, **text) == "INVALID_INPUT"
    for wrong in ({"subject": ""}, {"body": ""}, {"subject": "  "}, {"body": " \n"}):
        assert await w1.fails("mail__send", **{"toHuman": True, **text, **wrong}) == "INVALID_INPUT"
    assert await w1.fails("mail__send", toHuman=True, subject="s") == "INVALID_INPUT"
    assert await w1.fails("mail__reply", originalMailId="m", body="") == "INVALID_INPUT"


async def test_half_a_character_is_bad_input_and_alarms_nobody(folk: CrewFolk, name: Name) -> None:
    """An agent cuts a text in two in the middle of an emoji; that is no fault of the server."""
    w1 = await folk.worker(name("w1"))
    body = name("cut")
    given = {"toAgentId": w1.id, "subject": "s", "body": f"{body} \ud83d"}
    mails = await folk.crew.inbox("default", "", include_read=True, limit=1000)
    before = {mail.id for mail in mails}

    reply = await folk.http.post(
        f"{w1.caller.url}/execute",
        content=json.dumps({"agentId": w1.id, "toolName": "mcp__mail__send", "input": given}),
        headers={"Authorization": f"Bearer {w1.caller.key}", "Content-Type": "application/json"},
    )

    assert reply.json()["error"]["code"] == "INVALID_INPUT"
    assert "half of a character" in reply.json()["error"]["message"]
    mails = await folk.crew.inbox("default", "", include_read=True, limit=1000)
    assert {mail.id for mail in mails} <= before


async def test_a_list_of_long_mails_ends_before_it_is_huge(folk: CrewFolk, name: Name) -> None:
    """Whoever may send mail must not fill a gateway's memory with the answer to a list."""
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    for number in range(18):
        await w1.does("mail__send", toAgentId=w2.id, subject=f"{number}", body="\u20ac" * 65_000)

    inbox = await w2.does("mail__list_inbox")

    assert (inbox["count"], inbox["unreadCount"]) == (16, 18)
    assert [mail["subject"] for mail in inbox["mails"]] == [f"{n}" for n in range(17, 1, -1)]
    await w2.does("mail__read", mailId=inbox["mails"][0]["id"])
    again = await w2.does("mail__list_inbox")
    assert [mail["subject"] for mail in again["mails"]] == [f"{n}" for n in range(16, 0, -1)]


async def test_a_recipient_has_to_be_there(folk: CrewFolk, name: Name) -> None:
    """S3.15."""
    w1 = await folk.worker(name("w1"))

    code = await w1.fails("mail__send", toAgentId="nobody", subject="s", body="b")

    assert code == "RESOURCE_NOT_FOUND"


async def test_what_was_sent_to_others_is_theirs(folk: CrewFolk, name: Name) -> None:
    """S3.13, S3.16."""
    o1 = await folk.orchestrator(name("o1"))
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    sent = await o1.does("mail__send", toAgentId=w1.id, subject="s", body="b")

    for other in (w2, o1):  # its sender neither
        assert await other.fails("mail__read", mailId=sent["mailId"]) == "PERMISSION_DENIED"
        code = await other.fails("mail__reply", originalMailId=sent["mailId"], body="b")
        assert code == "PERMISSION_DENIED"
    assert await w1.fails("mail__read", mailId="no-such-mail") == "RESOURCE_NOT_FOUND"
    assert (
        await w1.fails("mail__reply", originalMailId="no-such-mail", body="b")
        == "RESOURCE_NOT_FOUND"
    )


async def test_each_mail_has_its_event(folk: CrewFolk, name: Name) -> None:
    """S3.29."""
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))

    sent = await w1.does("mail__send", toAgentId=w2.id, subject="s", body="b")
    asked = await w1.does("mail__send", toHuman=True, subject="h", body="b")

    payloads = [
        event.payload
        for _, event in await folk.crew.events(after=0, limit=10_000)
        if event.topic == "mail.sent"
        and event.payload["mailId"] in (sent["mailId"], asked["mailId"])
    ]
    assert payloads == [
        {"mailId": sent["mailId"], "toAgentId": w2.id, "isForHuman": False, "subject": "s"},
        {"mailId": asked["mailId"], "toAgentId": None, "isForHuman": True, "subject": "h"},
    ]


async def test_the_same_key_sends_one_mail_and_gives_one_answer(folk: CrewFolk, name: Name) -> None:
    """S3.28."""
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    mail = {"toAgentId": w2.id, "subject": "s", "body": "b"}
    answers: list[dict[str, object]] = []

    async def send() -> None:
        answers.append(await w1.does("mail__send", key="k1", **mail))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(send)
    await w1.does("mail__send", key="k2", **mail)
    original = (await w2.does("mail__list_inbox"))["mails"][-1]["id"]
    replies = [
        await w2.does("mail__reply", key="k1", originalMailId=original, body="r") for _ in range(2)
    ]
    other = await w1.answer("mail__send", key="k1", **{**mail, "body": "changed"})

    assert [answer == answers[0] for answer in answers] == [True] * 8
    assert (await w2.does("mail__list_inbox"))["count"] == 2
    assert replies[0] == replies[1]
    assert (await w1.does("mail__list_inbox"))["count"] == 1
    assert other["result"]["isError"] is True
    assert "other arguments" in other["result"]["content"][0]["text"]


async def test_a_waiting_agent_is_woken_by_its_mail(folk: CrewFolk, name: Name) -> None:
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    woken: list[dict[str, object]] = []

    async def wait() -> None:
        woken.append(await w2.does("mail__list_inbox", waitSeconds=25))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await w1.does("mail__send", toAgentId=w2.id, subject="Up", body="b")

    assert woken[0]["unreadCount"] == 1


async def test_a_key_that_is_no_text_is_refused_and_sends_nothing(
    folk: CrewFolk, name: Name
) -> None:
    w1 = await folk.worker(name("w1"))
    arguments = {"toAgentId": w1.id, "subject": "s", "body": "b"}

    for key in (7, None, ["k"]):
        params = {"name": "mail__send", "arguments": arguments}
        reply = await w1.caller.send("tools/call", params, meta={"remit/idempotencyKey": key})
        assert reply.json()["result"]["_meta"]["remit/error"] == {"code": "INVALID_INPUT"}

    assert (await w1.does("mail__list_inbox"))["count"] == 0


async def test_one_agent_cannot_take_every_place_to_wait(folk: CrewFolk, name: Name) -> None:
    w1, w2 = await folk.worker(name("w1")), await folk.worker(name("w2"))
    ended: list[int] = []

    async def wait() -> None:
        ended.append((await w1.does("mail__list_inbox", waitSeconds=25))["count"])

    with anyio.fail_after(20):
        async with anyio.create_task_group() as waiting:
            for _ in range(MOST_WAITS + 2):
                waiting.start_soon(wait)
            while len(ended) < 2:
                await w2.does("mail__list_inbox", waitSeconds=1)
            assert ended == [0, 0]
            await w2.does("mail__send", toAgentId=w1.id, subject="s", body="b")
    assert ended == [0, 0, *[1] * MOST_WAITS]


async def test_waiting_ends_without_mail_and_has_a_limit(folk: CrewFolk, name: Name) -> None:
    w1 = await folk.worker(name("w1"))

    assert (await w1.does("mail__list_inbox", waitSeconds=1))["mails"] == []
    assert await w1.fails("mail__list_inbox", waitSeconds=26) == "INVALID_INPUT"
