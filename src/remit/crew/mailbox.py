"""Mail between agents, and to the human (S3.12-S3.16)."""

from dataclasses import replace
from typing import Final

import anyio

from remit.crew.desk import Desk, done_once
from remit.crew.outputs import INBOX, MAIL, SENT, Result, iso, mail_result
from remit.errors import BadCall, NotFound, NotYours
from remit.model.crew import Change, CrewEvent, Mail, Member
from remit.model.crew_events import mail_sent
from remit.servers.arguments import Arguments
from remit.servers.shapes import LONGEST_TEXT, count, flag, given, text
from remit.servers.toolbox import Hints, Tool

LONGEST_WAIT: Final = 25
"""Seconds, less than the 30 that a call has."""

MOST_WAITS: Final = 4
"""Of one agent at once, so that none takes all calls that the server may have; more do not wait."""

LOOK_EVERY: Final = 0.5
"""Seconds between looks where nobody tells of mail."""

MOST_LISTED: Final = 1000
"""Mails of one answer, the newest."""

_REPLY: Final = "Re: "


def mail_to(
    desk: Desk, sender: Member | None, to_agent: str, subject: str, body: str
) -> tuple[Mail, CrewEvent]:
    """Return a mail to an agent, or to the human where none is named, and its event (S3.29)."""
    mail = Mail(
        id=desk.new_id(),
        tenant=desk.tenant,
        from_agent="" if sender is None else sender.id,
        from_type=None if sender is None else sender.type,
        sender=desk.principal.subject,
        to_agent=to_agent,
        subject=subject,
        body=body,
        created=desk.clock(),
    )
    return mail, mail_sent(mail, desk.new_id())


async def list_inbox(desk: Desk, arguments: Arguments) -> Result:
    """Return the mail to the agent that acts, perhaps after waiting for some (S3.12)."""
    me = await desk.me()
    place = (desk.tenant, me.id)
    desk.waiting[place] += 1
    try:
        is_one_of_many = desk.waiting[place] > MOST_WAITS
        seconds = 0 if is_one_of_many else arguments.number("waitSeconds", 0)
        unread = await _unread_within(desk, me, seconds)
    finally:
        desk.waiting[place] -= 1
        if not desk.waiting[place]:
            del desk.waiting[place]
    mails = await desk.store.inbox(
        desk.tenant, me.id, include_read=arguments.flag("includeRead"), limit=MOST_LISTED
    )
    return {
        "count": len(mails),
        "unreadCount": unread,
        "mails": [mail_result(mail) for mail in mails],
    }


async def _unread_within(desk: Desk, me: Member, seconds: float) -> int:
    until = anyio.current_time() + seconds
    while True:
        told = desk.changes.told
        unread = await desk.store.count_unread(desk.tenant, me.id)
        left = until - anyio.current_time()
        if unread or left <= 0:
            return unread
        await desk.changes.changed(told, within=min(left, LOOK_EVERY))


async def _read(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        mail = await _own_mail(desk, arguments.text("mailId"))
        if mail.read is not None:
            return mail_result(mail)
        mail = replace(mail, read=desk.clock())
        return await desk.write(Change(mails=(mail,)), mail_result(mail))

    return await done_once(desk, attempt)


async def _send(desk: Desk, arguments: Arguments) -> Result:
    to_agent, to_human = arguments.text("toAgentId"), arguments.flag("toHuman")
    if bool(to_agent) == to_human:
        raise BadCall("say either toAgentId or toHuman: true, and not both")

    async def attempt() -> Result:
        sender = await desk.me() if desk.is_agent else None
        if to_agent and await desk.store.find_member(desk.tenant, to_agent) is None:
            raise NotFound(f"there is no agent {to_agent[:80]!r} to send to")
        return await _post(
            desk, sender, to_agent, arguments.text("subject"), arguments.text("body")
        )

    return await done_once(desk, attempt)


async def _reply(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        original = await _own_mail(desk, arguments.text("originalMailId"))
        subject = reply_subject(original.subject)
        me = await desk.me()
        # what no agent sent is answered to the human
        return await _post(desk, me, original.from_agent, subject, arguments.text("body"))

    return await done_once(desk, attempt)


def reply_subject(subject: str) -> str:
    """Return the subject of an answer: `Re: ` once (S3.16)."""
    return subject if subject.startswith(_REPLY) else _REPLY + subject


def subjects_of_thread(subject: str) -> frozenset[str]:
    """Return the subjects of a mail and of its answers."""
    return frozenset({subject.removeprefix(_REPLY), reply_subject(subject)})


async def _post(
    desk: Desk, sender: Member | None, to_agent: str, subject: str, body: str
) -> Result:
    mail, event = mail_to(desk, sender, to_agent, subject, body)
    answer: Result = {"mailId": mail.id, "timestamp": iso(mail.created)}
    return await desk.write(Change(mails=(mail,), events=(event,)), answer)


async def _own_mail(desk: Desk, mail_id: str) -> Mail:
    me = await desk.me()
    mail = await desk.store.find_mail(desk.tenant, mail_id)
    if mail is None:
        raise NotFound(f"there is no mail {mail_id[:80]!r}")
    if mail.to_agent != me.id:
        raise NotYours(f"mail {mail_id!r} was sent to somebody else")
    return mail


_SUBJECT: Final = text("What it is about, in one line", 1000, pattern=r"\S")
_BODY: Final = text("What it says", LONGEST_TEXT, pattern=r"\S")

MAIL_TOOLS: Final = (
    Tool(
        name="list_inbox",
        title="List your mail",
        description=(
            "List the mail to you, newest first. Unread mail only, unless includeRead is true."
            " With waitSeconds the answer comes as soon as there is unread mail, at the latest"
            " when the time is up: do that instead of asking again and again."
        ),
        takes=given(
            {
                "includeRead": flag("List mail that you have read, too"),
                "waitSeconds": count("Seconds to wait for unread mail", 0, 0, LONGEST_WAIT),
            }
        ),
        gives=INBOX,
        hints=Hints(read_only=True, idempotent=True),
        run=list_inbox,
    ),
    Tool(
        name="read",
        title="Read a mail",
        description="Return one mail to you, and mark it as read.",
        takes=given({"mailId": text("The id of the mail", 100)}, ["mailId"]),
        gives=MAIL,
        hints=Hints(idempotent=True),
        run=_read,
    ),
    Tool(
        name="send",
        title="Send mail",
        description=(
            "Send mail to another agent (toAgentId) or to the human in charge (toHuman: true);"
            " say one of the two."
        ),
        takes=given(
            {
                "toAgentId": text("The agent that it is for", 200),
                "toHuman": flag("Whether it is for the human"),
                "subject": _SUBJECT,
                "body": _BODY,
            },
            ["subject", "body"],
        ),
        gives=SENT,
        hints=Hints(),
        run=_send,
    ),
    Tool(
        name="reply",
        title="Reply to a mail",
        description="Answer a mail that you were sent; it goes to whoever sent that.",
        takes=given(
            {"originalMailId": text("The id of the mail that you answer", 100), "body": _BODY},
            ["originalMailId", "body"],
        ),
        gives=SENT,
        hints=Hints(),
        run=_reply,
    ),
)
"""The tools of `mail`."""
