"""Page: the mail of the tenant's human, who is whoever administers it (R25)."""

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from remit.client import inbox
from remit.client.crew import Member
from remit.client.inbox import Mail
from remit.client.operations import Page as Part
from remit.doors.console.agents import STATES, members_of
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.rendering import as_part, as_visible
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.crew import CRITICAL, GATEWAY

_PATH: Final = "/inbox"
_SHOWN: Final = 100
_CONFLICT: Final = 409

Mails = Part[Mail]


async def show(visitor: Visitor) -> Response:
    """Show the mail, what is not read first, each newest first; older mail is on pages behind."""
    unread, both = await _pages(visitor)
    waiting = [mail for mail in unread.items if mail.read is None]
    return visitor.render(
        "inbox.html",
        unread=waiting,
        read=[mail for mail in both.items if mail.read is not None],
        is_first=not (visitor.asked("unread") or visitor.asked("older")),
        more_unread=unread.next if unread is not both else None,
        more=both.next,
        members=await members_of(visitor, [mail.from_agent for mail in waiting if mail.from_agent]),
        states=STATES,
        at=at,
        is_critical=is_critical,
        subject_of=subject_of,
        gateway=GATEWAY,
    )


async def _pages(visitor: Visitor) -> tuple[Mails, Mails]:
    """Return the part of what is not read, and the part of all mail, that are asked for.

    Behind the first page they go on apart: `unread` is the cursor of the one, `older` of the other.
    """
    unread, older = visitor.asked("unread"), visitor.asked("older")
    if older:
        both = await visitor.ask(inbox.list_newest(every=True, limit=_SHOWN, cursor=older))
        return both, both
    first = await visitor.ask(inbox.list_newest(limit=_SHOWN, cursor=unread or None))
    if unread:
        return first, Mails(items=())
    return first, await visitor.ask(inbox.list_newest(every=True, limit=_SHOWN))


async def show_one(visitor: Visitor) -> Response:
    """Show a mail and what was answered; that alone does not mark it as read."""
    return await _shown(visitor, await _thread(visitor))


async def mark_as_read(visitor: Visitor) -> Response:
    """Mark a mail as read."""
    mail = await visitor.ask(inbox.read(visitor.path["id"]))
    return visitor.go(_PATH, said=f"Marked as read: {subject_of(mail)}")


async def reply(visitor: Visitor) -> Response:
    """Answer the agent, unless somebody else did since the page was loaded."""
    mail_id, body = visitor.path["id"], visitor.sent("body")
    thread = await _thread(visitor)
    try:
        _check_same_thread(thread, visitor.sent("newest"))
        answer = await visitor.ask(inbox.reply(mail_id, body))
    except ProblemDetails as problem:
        return await _shown(visitor, thread, problem)
    said = f"Your answer is sent: {answer.to_agent} finds it in its mail."
    return visitor.go(at(mail_id), said=said)


async def _thread(visitor: Visitor) -> Sequence[Mail]:
    return (await visitor.ask(inbox.thread(visitor.path["id"]))).items


async def _shown(
    visitor: Visitor, thread: Sequence[Mail], problem: ProblemDetails | None = None
) -> Response:
    (mail,) = (each for each in thread if each.id == visitor.path["id"])
    return visitor.render(
        "mail.html",
        status=status_of(problem),
        here=visitor.url(_PATH),
        mail=mail,
        thread=thread,
        member=await _waiting(visitor, mail),
        body=visitor.sent("body"),
        problem=problem,
        states=STATES,
        at=at,
        is_critical=is_critical,
        subject_of=subject_of,
        gateway=GATEWAY,
    )


async def _waiting(visitor: Visitor, mail: Mail) -> Member | None:
    """Return the agent that an answer goes to, and what it is at; None where there is none."""
    if mail.from_agent is None:
        return None
    return (await members_of(visitor, [mail.from_agent])).get(mail.from_agent)


def _check_same_thread(thread: Sequence[Mail], newest: str) -> None:
    """Refuse an answer to less than was said.

    Raises:
        ProblemDetails: There is mail that whoever answers has not seen.
    """
    if thread[-1].id != newest:
        raise ProblemDetails(
            "nothing was sent: read what is new below, then send yours again if it still fits",
            status=_CONFLICT,
            code="",
            title="There is newer mail since this page was loaded",
        )


def is_critical(mail: Mail) -> bool:
    """Whether nobody can go on without what failed."""
    return mail.sender == GATEWAY and mail.subject.startswith(CRITICAL)


def subject_of(mail: Mail) -> str:
    """Return what a mail is about, its mark taken off, as it can be shown."""
    return as_visible(mail.subject.removeprefix(CRITICAL) if is_critical(mail) else mail.subject)


def at(mail_id: str) -> str:
    """Return where the page of a mail is."""
    return f"{_PATH}/{as_part(mail_id)}"


PAGE: Final = Page(
    key="inbox",
    path=_PATH,
    title="Inbox",
    group="People",
    show=show,
    who=READERS,
    actions=(
        Action(path=f"{_PATH}/{{id}}", run=show_one, who=READERS, method="GET"),
        Action(
            path=f"{_PATH}/{{id}}/read", run=mark_as_read, who=ADMINISTRATORS, makes="inbox.read"
        ),
        Action(path=f"{_PATH}/{{id}}/reply", run=reply, who=ADMINISTRATORS, makes="inbox.reply"),
    ),
)
