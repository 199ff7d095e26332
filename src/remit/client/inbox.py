"""The mail of the tenant's human, who is whoever administers it."""

from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail.

    Attributes:
        from_agent: The agent that wrote it, or whose failed call it tells of; or None.
        sender: Who wrote it, such as `agent:w1`, or `remit`.
        to_agent: The agent that it is for; None for one to the human.
        read: When it was first read, or None.
    """

    id: str
    from_agent: str | None
    from_type: str | None
    sender: str
    to_agent: str | None
    subject: str
    body: str
    created: datetime
    read: datetime | None


def list_newest(
    *, every: bool = False, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Mail]]:
    """The mail to the human, newest first.

    Args:
        every: What was read, too.
        limit: Most mails; 100 if None. There are fewer in a page where they are large.
        cursor: The `next` of the page before; None for the first.
    """
    return Operation(
        id="inbox.list",
        method="GET",
        path=at("inbox"),
        answer=Page[Mail],
        query={"all": every or None, "limit": limit, "cursor": cursor},
    )


def thread(mail_id: str) -> Operation[Page[Mail]]:
    """One mail and the answers to and fro, oldest first; none counts as read by that."""
    return Operation(
        id="inbox.thread", method="GET", path=at("inbox", mail_id, "thread"), answer=Page[Mail]
    )


def read(mail_id: str, *, reason: str = "") -> Operation[Mail]:
    """One mail, which counts as read from then on."""
    return Operation(
        id="inbox.read",
        method="POST",
        path=at("inbox", mail_id, "read"),
        answer=Mail,
        query={"reason": reason or None},
    )


def reply(mail_id: str, body: str, *, reason: str = "") -> Operation[Mail]:
    """Answer the agent that sent a mail; the answer is returned."""
    return Operation(
        id="inbox.reply",
        method="POST",
        path=at("inbox", mail_id, "reply"),
        answer=Mail,
        query={"reason": reason or None},
        body={"body": body},
    )
