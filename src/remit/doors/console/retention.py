"""A part of the page "Audit": how long the record is kept, and changing that."""

from typing import Final

from starlette.responses import Response

from remit.client import data_audit
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action
from remit.doors.console.proposals import ETAG, seen_after
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

AT: Final = "/audit/retention"

_MOST_DIGITS: Final = 20
_FIELDS: Final = ("days", "rows", "reason")


async def show(visitor: Visitor) -> Response:
    """Show how long the record is kept, in a form for whoever may change it."""
    read = await visitor.ask_tagged(data_audit.retention(visitor.tenant))
    given = {"days": _shown(read.value.days), "rows": _shown(read.value.rows), "reason": ""}
    return _page(visitor, given, read.etag)


async def change(visitor: Visitor) -> Response:
    """Change how long it is kept, unless somebody else did since the form was loaded."""
    given = {name: visitor.sent(name) for name in _FIELDS}
    now = (await visitor.ask_tagged(data_audit.retention(visitor.tenant))).etag
    try:
        await visitor.ask(
            data_audit.retain(
                visitor.tenant,
                days=_bound("days", given["days"]),
                rows=_bound("rows", given["rows"]),
                if_match=visitor.sent(ETAG) or now,
                reason=given["reason"],
            )
        )
    except ProblemDetails as problem:
        return _page(visitor, given, seen_after(visitor, problem, now), problem)
    return visitor.go(AT, said="How long the record is kept is declared, as a new revision.")


def _page(
    visitor: Visitor, given: dict[str, str], etag: str, problem: ProblemDetails | None = None
) -> Response:
    return visitor.render(
        "audit_retention.html",
        status=status_of(problem),
        here=visitor.url("/audit"),
        given=given,
        etag_field=ETAG,
        etag=etag,
        problem=problem,
    )


def _shown(bound: int | None) -> str:
    return "" if bound is None else str(bound)


def _bound(name: str, text: str) -> int | None:
    """Return a bound; None for none.

    Raises:
        ProblemDetails: It is no number.
    """
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise ProblemDetails(
            f"{name}: write a whole number, or nothing for no bound", status=422, code="", title=""
        )
    return int(text)


ACTIONS: Final = (
    Action(path=AT, run=show, who=READERS, method="GET"),
    Action(path=AT, run=change, who=ADMINISTRATORS, makes="data_audit.retain"),
)
"""They belong to the page "Audit"."""
