"""The human's side of the mail: listed, read and answered by command, with and without `--url`."""

import json
from typing import Any

import pytest

from remit.crew.mailbox import reply_subject
from remit.testing.crew_gateway import CrewFolk, CrewGateway


@pytest.fixture(params=["file", "url"])
def reach(request: pytest.FixtureRequest, crew_gateway: CrewGateway) -> tuple[str, ...]:
    """Return how commands reach the inbox."""
    if request.param == "file":
        return ()
    running = crew_gateway.running
    return ("--url", running.base, "--key", running.admin_key)


def inbox(gateway: CrewGateway, reach: tuple[str, ...], *arguments: str, expect: int = 0) -> str:
    """Run a command; `--config` goes with `--url` as nothing."""
    running = gateway.running
    if not reach:
        return running.remit("inbox", *arguments, expect=expect)
    return running.remit("inbox", *arguments, *reach, expect=expect)


async def test_the_human_reads_and_answers_what_an_agent_asks(
    folk: CrewFolk, reach: tuple[str, ...], name: Any
) -> None:
    worker = await folk.worker(name("w1"))
    sent = await worker.does("mail__send", toHuman=True, subject=name("Port"), body="8400?")
    mail_id = sent["mailId"]
    gateway = folk.gateway

    listed = json.loads(inbox(gateway, reach, "list", "--json"))
    mine = next(mail for mail in listed if mail["id"] == mail_id)
    assert (mine["sender"], mine["read"], mine["to_agent"]) == (f"agent:{worker.id}", None, None)
    assert mail_id in inbox(gateway, reach, "list")
    # product.md: `remit inbox`
    assert json.loads(inbox(gateway, reach, "--json")) == listed

    shown = inbox(gateway, reach, "read", mail_id)
    assert "8400?" in shown
    assert mail_id not in inbox(gateway, reach, "list")
    assert mail_id in inbox(gateway, reach, "list", "--all")
    assert mail_id in inbox(gateway, reach, "--all")

    said = inbox(gateway, reach, "reply", mail_id, "Take 8401.")
    assert f"sent to agent {worker.id!r}" in said
    (answer,) = (await worker.does("mail__list_inbox"))["mails"]
    assert answer["subject"] == f"Re: {name('Port')}"
    assert (answer["body"], answer["fromAgentId"]) == ("Take 8401.", None)
    stored = await folk.crew.find_mail("default", answer["id"])
    assert stored is not None
    assert stored.sender.startswith("key:" if reach else "cli:")
    changes = [row["tool"] for row in gateway.running.audit("--server", "/admin")]
    assert changes[:2] == ["inbox.reply", "inbox.read"]


async def test_mail_to_the_human_is_an_event(folk: CrewFolk, name: Any) -> None:
    """S3.29."""
    worker = await folk.worker(name("w1"))
    sent = await worker.does("mail__send", toHuman=True, subject="Port", body="8400?")

    payloads = [event.payload for _, event in await folk.crew.events(after=0, limit=999)]

    assert {
        "mailId": sent["mailId"],
        "toAgentId": None,
        "isForHuman": True,
        "subject": "Port",
    } in payloads


async def test_what_cannot_be_read_or_answered_is_said(folk: CrewFolk, name: Any) -> None:
    boss, worker = await folk.supervisor(name("s1")), await folk.worker(name("w1"))
    remit = folk.gateway.running.remit
    between = await boss.does("mail__send", toAgentId=worker.id, subject="s", body="b")
    to_human = await boss.does("mail__send", toHuman=True, subject="s", body="b")

    remit("inbox", "read", "none", expect=2)
    remit("inbox", "read", between["mailId"], expect=2)
    remit("inbox", "reply", to_human["mailId"], " ", expect=2)


def test_an_answer_to_an_answer_says_so_once() -> None:
    assert reply_subject(reply_subject("Port")) == "Re: Port"


async def test_what_an_agent_writes_does_nothing_to_the_terminal_and_looks_like_no_head(
    folk: CrewFolk, name: Any
) -> None:
    worker = await folk.worker(name("w1"))
    subject = "Port\nsent     never\r\u2028from     boss \x1b]0;mine\x07\x9b31m \u202eexe"
    sent = await worker.does(
        "mail__send", toHuman=True, subject=subject, body="a\tb\r\n\x1b[2Jc \u202e"
    )

    shown = folk.gateway.running.remit("inbox", "read", sent["mailId"])

    head, _, body = shown.partition("\n\n")
    assert [line.split()[0] for line in head.splitlines()] == ["from", "sent", "subject"]
    assert body == "a\tb\n\N{REPLACEMENT CHARACTER}[2Jc \N{REPLACEMENT CHARACTER}\n"
    assert all(char.isprintable() or char in "\n\t" for char in shown)
