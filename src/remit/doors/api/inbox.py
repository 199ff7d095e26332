"""The mail of the tenant's human, who is whoever administers it."""

from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from remit.crew.human import HumanInbox
from remit.doors.api.access import Administrator, ByAdministrator, Reason
from remit.doors.api.paging import Cursor, Limit, Page, cursor_at, position
from remit.model.crew import Mail
from remit.model.principals import AgentType

router = APIRouter(tags=["inbox"])

LONGEST_BODY: Final = 100_000

_LISTED: Final = "inbox"


class MailShape(BaseModel):
    """A mail."""

    id: str
    from_agent: str | None = Field(
        description="Who wrote it, or whose failed call it tells of; an answer goes there."
    )
    from_type: AgentType | None
    sender: str = Field(description="Who wrote it, such as `agent:w1`, or `remit`.")
    to_agent: str | None = Field(description="Null for one to the human.")
    subject: str
    body: str
    created: datetime
    read: datetime | None

    @classmethod
    def of(cls, mail: Mail) -> "MailShape":
        """Show a mail."""
        return cls(
            id=mail.id,
            from_agent=mail.from_agent or None,
            from_type=mail.from_type,
            sender=mail.sender,
            to_agent=mail.to_agent or None,
            subject=mail.subject,
            body=mail.body,
            created=mail.created,
            read=mail.read,
        )


class Answer(BaseModel):
    """What is answered."""

    model_config = ConfigDict(extra="forbid", strict=True)

    body: str = Field(min_length=1, max_length=LONGEST_BODY)


@router.get("/inbox", operation_id="inbox.list")
async def list_inbox(
    by: ByAdministrator,
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    all_mail: Annotated[bool, Query(alias="all", description="Those that were read, too.")] = False,
) -> Page[MailShape]:
    """Show the mail to the human, newest first: what is not read yet, or all.

    A page has about a million characters at most, so fewer entries than `limit` where mails are
    large; `next` goes on from there.
    """
    mails, is_more = await _inbox(by).mails(
        by.tenant.key,
        include_read=all_mail,
        after=position(cursor, of=_LISTED) or "",
        limit=limit,
    )
    more = cursor_at(mails[-1].id, of=_LISTED) if is_more else None
    return Page(items=[MailShape.of(mail) for mail in mails], next=more)


@router.get("/inbox/{mail_id}/thread", operation_id="inbox.thread")
async def show_thread(by: ByAdministrator, mail_id: str) -> Page[MailShape]:
    """Show a mail to the human and the answers to and fro, oldest first; marks none as read."""
    mails = await _inbox(by).thread(by.tenant.key, mail_id)
    return Page(items=[MailShape.of(mail) for mail in mails])


@router.post("/inbox/{mail_id}/read", operation_id="inbox.read")
async def read_mail(by: ByAdministrator, mail_id: str, reason: Reason = "") -> MailShape:
    """Show a mail to the human, and mark it as read."""
    async with by.making(reason, id=mail_id):
        return MailShape.of(await _inbox(by).read(by.tenant.key, mail_id))


@router.post("/inbox/{mail_id}/reply", operation_id="inbox.reply", status_code=201)
async def reply(
    by: ByAdministrator, mail_id: str, answer: Answer, reason: Reason = ""
) -> MailShape:
    """Answer the agent that sent a mail; it gets the answer in its own inbox."""
    author = by.principal.subject
    async with by.making(reason, id=mail_id):
        sent = await _inbox(by).reply(by.tenant.key, mail_id, answer.body, author=author)
    return MailShape.of(sent)


def _inbox(by: Administrator) -> HumanInbox:
    return by.services.inbox
