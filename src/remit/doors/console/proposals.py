"""A change of the declaration: first what it would do, then, when that was seen, its saving.

    form ──▶ rehearsed by the API, shown with who gains and loses ──▶ sent again to be saved
                      ▲                                                     │
                      └────── somebody was faster: shown anew ◀─────────────┘

What was entered travels through the preview in hidden fields, so saving is the same request again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

from starlette.responses import Response

from remit.client.edits import Edited
from remit.client.operations import Operation
from remit.doors.console.forms import status_of
from remit.doors.console.visitor import OF_TENANT, Visitor
from remit.errors import ProblemDetails

ETAG: Final = "etag"
"""The hidden field with the tag of what a form was made from."""
STEP: Final = "step"
SAVE: Final = "save"
"""What `step` is when the preview was seen; anything else asks for the preview."""
AGAIN: Final = "again"
"""What `step` is when the preview was seen and the form is to be changed further."""

_OF_THE_PREVIEW: Final = frozenset({"csrf", OF_TENANT, STEP, "reason", ETAG})

Again = Callable[[ProblemDetails | None], Awaitable[Response]]
"""Shows a form again with what was entered, and why it was refused if it was."""


class Change(Protocol):
    """Makes the operation of a change, such as `partial(roles.change, name, patch)`."""

    def __call__(self, *, if_match: str, dry_run: bool, reason: str) -> Operation[Edited]:
        """Return it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change that somebody proposes by a form.

    Attributes:
        heading: Of its preview.
        action: Where the form is sent, and the preview as well; below `/console`.
        back: Where the preview leads that is not saved.
        then: Where the browser goes when it is saved; *back* if empty.
        query: Of both ways.
        change: Makes the operation.
        said: What was done, said afterwards, before the number of the revision.
        now: The tag of what is declared now, for whoever was too slow.
        note: What the preview says beside what the change does.
    """

    heading: str
    action: str
    back: str
    change: Change = field(repr=False)
    said: str
    now: str
    then: str = ""
    query: dict[str, str] = field(default_factory=dict[str, str])
    note: str = ""


def unguarded(make: Callable[..., Operation[Edited]]) -> Change:
    """Return a change that is the same whatever somebody wrote meanwhile, so asks for no tag."""

    def change(*, if_match: str, dry_run: bool, reason: str) -> Operation[Edited]:
        del if_match
        return make(dry_run=dry_run, reason=reason)

    return change


def is_saving(visitor: Visitor) -> bool:
    """Whether the preview was seen."""
    return visitor.sent(STEP) == SAVE


def is_outdated(problem: ProblemDetails | None) -> bool:
    """Whether a change was refused because somebody else was faster."""
    return problem is not None and problem.status == HTTPStatus.PRECONDITION_FAILED


def seen_after(visitor: Visitor, problem: ProblemDetails | None, now: str) -> str:
    """Return the tag for a form that is shown again: *now* only where what is there is shown, too.

    Else it is what was seen before, so that nothing of somebody else's is overwritten unseen.
    """
    return now if is_outdated(problem) else visitor.sent(ETAG)


async def settle(visitor: Visitor, proposal: Proposal, again: Again | None = None) -> Response:
    """Show what a change would do, or make it when that was seen.

    Args:
        visitor: Has sent the form.
        proposal: What it proposes.
        again: Shows the form that cannot be taken as it is; without one, what is in the way of a
            change that was too slow is shown with its preview.

    Raises:
        ProblemDetails: The API refuses, and there is no form to show again.
    """
    if again is not None and visitor.sent(STEP) == AGAIN:
        return await again(None)
    saving, seen = is_saving(visitor), visitor.sent(ETAG) or proposal.now
    try:
        edited = await visitor.ask(
            proposal.change(
                if_match=seen, dry_run=not saving, reason=visitor.sent("reason") if saving else ""
            )
        )
    except ProblemDetails as problem:
        if again is not None:
            return await again(problem)
        if not is_outdated(problem):
            raise
        edited = await visitor.ask(proposal.change(if_match=proposal.now, dry_run=True, reason=""))
        return _preview(visitor, proposal, edited, etag=proposal.now, problem=problem)
    if saving:
        revision = f" It is revision {edited.revision}." if edited.written else ""
        where = proposal.then or proposal.back
        query = {} if proposal.then else proposal.query
        return visitor.go(where, said=f"{proposal.said}.{revision}", query=query)
    return _preview(visitor, proposal, edited, etag=seen, can_go_on=again is not None)


def _preview(
    visitor: Visitor,
    proposal: Proposal,
    edited: Edited,
    *,
    etag: str,
    problem: ProblemDetails | None = None,
    can_go_on: bool = False,
) -> Response:
    kept = [(name, text) for name, text in visitor.form.pairs if name not in _OF_THE_PREVIEW]
    return visitor.render(
        "preview.html",
        status=status_of(problem),
        heading=proposal.heading,
        edited=edited,
        action=proposal.action,
        fields=[*kept, (ETAG, etag)],
        back=proposal.back,
        query=proposal.query,
        reason=visitor.sent("reason"),
        problem=problem,
        again=can_go_on,
        note=proposal.note,
    )
