"""Page: the revisions of the declaration, going back to one, and writing the next as text."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from starlette.responses import Response

from remit.client import declaration, revisions
from remit.client.edits import Difference, Edited
from remit.client.operations import Operation
from remit.doors.console.declared_text import DeclaredText, read_declaration
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.proposals import ETAG, Proposal, is_outdated, seen_after, settle, unguarded
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

ROWS: Final = 50
"""Revisions on a page of the list."""
LONGEST_NUMBER: Final = 9
"""Digits of a revision's number."""

LIST: Final = "/revisions"
EDIT: Final = "/revisions/edit"


async def show(visitor: Visitor) -> Response:
    """Show every revision, newest first."""
    cursor = visitor.asked("cursor")
    page = await visitor.ask(revisions.list_all(limit=ROWS, cursor=cursor or None))
    return visitor.render("revisions.html", page=page, current=await _current(visitor))


async def show_one(visitor: Visitor) -> Response:
    """Show one revision: what it changed, against the one before it or any other, and its text."""
    number, against = _number(visitor), visitor.asked("against")
    compared = int(against) if _is_number(against) else None
    return visitor.render(
        "revision.html",
        revision=await visitor.ask(revisions.get(number)),
        difference=await _difference(visitor, number, compared),
        against=number - 1 if compared is None else compared,
        text=await visitor.ask(declaration.text(revision=number)),
        current=await _current(visitor),
    )


async def export(visitor: Visitor) -> Response:
    """Give the text of one revision as a file."""
    number = _number(visitor)
    return visitor.forward(declaration.text(revision=number), f"remit-revision-{number}.yaml")


async def roll_back(visitor: Visitor) -> Response:
    """Show what going back to a revision would do, or go back."""
    number = _number(visitor)

    proposal = Proposal(
        heading=f"Go back to revision {number}",
        action=f"{LIST}/{number}/rollback",
        back=f"{LIST}/{number}",
        then=LIST,
        change=unguarded(partial(revisions.rollback, number)),
        said=f"What revision {number} says is in force again",
        now="",
        note="History is kept: going back is a revision of its own.",
    )
    return await settle(visitor, proposal)


async def edit(visitor: Visitor) -> Response:
    """Show the declaration in force as text that can be changed."""
    read = await visitor.ask_tagged(declaration.text())
    return _form(visitor, read.value, read.etag)


async def change(visitor: Visitor) -> Response:
    """Show what a text would change, or make it the declaration."""
    text = visitor.sent("text")
    now = await visitor.ask_tagged(declaration.text())

    async def again(problem: ProblemDetails | None) -> Response:
        # Whoever was too slow sees what is there now, and has seen it when sending again.
        seen = seen_after(visitor, problem, now.etag)
        shown = now.value if is_outdated(problem) else ""
        told = read.with_lines(problem) if read and problem else problem
        return _form(visitor, text, seen, problem=told, now=shown)

    read: DeclaredText | None = None
    try:
        read = await read_declaration(text)
    except ProblemDetails as problem:
        return await again(problem)
    document = read.document

    def making(*, if_match: str, dry_run: bool, reason: str) -> Operation[Edited]:
        return declaration.apply(document, if_match=if_match, dry_run=dry_run, reason=reason)

    proposal = Proposal(
        heading="Change the declaration",
        action=EDIT,
        back=EDIT,
        then=LIST,
        change=making,
        said="The declaration is changed",
        now=now.etag,
    )
    return await settle(visitor, proposal, again)


def _form(
    visitor: Visitor,
    text: str,
    etag: str,
    *,
    problem: ProblemDetails | None = None,
    now: str = "",
) -> Response:
    return visitor.render(
        "declaration_form.html",
        status=status_of(problem),
        text=text,
        etag_field=ETAG,
        etag=etag,
        problem=problem,
        now=now,
        rows=min(max(len(text.splitlines()) + 2, 12), 40),
    )


async def _difference(visitor: Visitor, number: int, compared: int | None) -> Difference | None:
    """Return what a revision changed; of the first that is everything, told only when asked for."""
    if compared is None and number == 1:
        return None
    return await visitor.ask(revisions.diff(number, against=compared))


async def _current(visitor: Visitor) -> int:
    """Return the number of the revision in force, 0 before the first."""
    newest: Sequence[revisions.Revision] = (await visitor.ask(revisions.list_all(limit=1))).items
    return newest[0].number if newest else 0


def _number(visitor: Visitor) -> int:
    text = visitor.path["number"]
    if not _is_number(text):
        raise ProblemDetails(
            f"there is no revision {text[:80]!r}; revisions have numbers, from 1 on",
            status=404,
            code="RESOURCE_NOT_FOUND",
            title="Not Found",
        )
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER


PAGE: Final = Page(
    key="revisions",
    path=LIST,
    title="Revisions",
    group="Access",
    show=show,
    who=READERS,
    actions=(
        Action(path=EDIT, run=edit, who=ADMINISTRATORS, method="GET"),
        Action(path=EDIT, run=change, who=ADMINISTRATORS, makes="declaration.apply"),
        Action(path=f"{LIST}/{{number}}", run=show_one, who=READERS, method="GET"),
        Action(path=f"{LIST}/{{number}}/export", run=export, who=READERS, method="GET"),
        Action(
            path=f"{LIST}/{{number}}/rollback",
            run=roll_back,
            who=ADMINISTRATORS,
            makes="revisions.rollback",
        ),
    ),
)
