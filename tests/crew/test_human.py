"""The human's side of the mail: listed, read and answered by command, with and without `--url`."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remit.client import Client
from remit.client import inbox as inbox_operations
from remit.crew.mailbox import reply_subject
from remit.doors.api.paging import cursor_at
from remit.errors import ProblemDetails
from remit.model.crew import Change, Mail
from remit.model.principals import AgentType
from remit.testing.crew_gateway import CrewFolk, CrewGateway
from remit.testing.gateway import run_remit


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


async def old_mail(folk: CrewFolk, prefix: str) -> list[str]:
    """Store large mails, older than all that there are, and older ones behind them; newest first.

    They are read, so that other tests do not meet them.
    """
    then = datetime(2020, 1, 1, tzinfo=UTC)
    stored = [
        Mail(
            id=f"{prefix}-{n}",
            tenant="default",
            from_agent="w1",
            from_type=AgentType.WORKER,
            sender="agent:w1",
            to_agent="",
            subject=f"{n}",
            body="x" * (65_000 if n < 20 else 10),
            created=then - timedelta(seconds=n),
            read=then,
        )
        for n in range(40)
    ]
    await folk.crew.apply(Change(mails=tuple(stored)))
    return [mail.id for mail in stored]


async def test_large_mails_hide_no_other_mail(
    folk: CrewFolk, reach: tuple[str, ...], name: Any
) -> None:
    prefix, running = name("old"), folk.gateway.running
    old = await old_mail(folk, prefix)

    def listed(limit: int) -> tuple[list[str], str]:
        reached = reach or ("--config", str(running.config))
        done = run_remit(
            *("inbox", "list", "--all", "--json", "--limit", str(limit), *reached),
            folder=running.folder,
            environ=running.environ,
        )
        assert done.returncode == 0, done.stderr
        return [mail["id"] for mail in json.loads(done.stdout)], done.stderr

    every, told = listed(5000)

    assert [mail for mail in every if mail.startswith(prefix)] == old
    assert "older mail" not in told
    assert listed(len(every)) == (every, told)
    some, told = listed(len(every) - 1)
    assert some == every[:-1]
    assert "there is older mail: a higher --limit shows more of it" in told


@pytest.mark.parametrize("limit", [1000, 3])
async def test_each_page_of_the_inbox_leads_to_the_next(
    folk: CrewFolk, name: Any, limit: int
) -> None:
    """docs/api.md: "`next` of one answer is the `cursor` of the next"."""
    old = await old_mail(folk, name("old"))
    running = folk.gateway.running
    with Client(running.base, key=running.admin_key, timeout=60) as human:
        asked = inbox_operations.list_newest(every=True, limit=limit)
        found = [mail.id for mail in human.pages(asked)]
        first = human.ask(asked)

        assert len(found) == len(set(found))
        assert [mail for mail in found if mail in old] == old
        assert first.next is not None
        assert len(first.items) <= limit
        begun = inbox_operations.list_newest(every=True, cursor=first.next)
        assert human.ask(begun).items[0].id == found[len(first.items)]
        for cursor in (cursor_at("none", of="inbox"), cursor_at(found[0], of="keys")):
            with pytest.raises(ProblemDetails) as refused:
                human.ask(inbox_operations.list_newest(cursor=cursor))
            assert refused.value.status == 422


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
    unread = json.loads(remit("inbox", "list", "--json"))
    assert to_human["mailId"] in [mail["id"] for mail in unread]


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
    assert body == "a\tb\n" + r"\x1b[2Jc \u202e" + "\n"
    assert all(char.isprintable() or char in "\n\t" for char in shown)
