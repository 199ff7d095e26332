"""Page: the record of calls and changes; searched, followed, exported, verified."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from remit.client import agents, audit
from remit.client.audit import Event, Rows
from remit.doors.console import retention
from remit.doors.console.agents import MOST as MOST_AGENTS
from remit.doors.console.audit_filter import Asked, asked_of
from remit.doors.console.forms import status_of
from remit.doors.console.page import READERS, Action, Page
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.calls import OutcomeKind
from remit.model.events import ADMINISTRATION, EventKind

PATH: Final = "/audit"
ROWS: Final = 50
"""Of one page."""

SPANS: Final[Mapping[str, timedelta]] = {
    "Last hour": timedelta(hours=1),
    "Last day": timedelta(days=1),
    "Last week": timedelta(days=7),
}
"""What a link reaches back to."""

TONES: Final[Mapping[str, str]] = {
    OutcomeKind.OK.value: "good",
    OutcomeKind.TOOL_ERROR.value: "warn",
    OutcomeKind.ERROR.value: "bad",
    OutcomeKind.UNKNOWN.value: "warn",
}
"""Outcome to the tone of its badge."""

OUTCOMES: Final = (
    ("", "any"),
    (OutcomeKind.OK.value, "ok: it ran"),
    (OutcomeKind.TOOL_ERROR.value, "tool_error: the tool says it failed"),
    (OutcomeKind.ERROR.value, "error: the server failed"),
    (OutcomeKind.UNKNOWN.value, "unknown: it may have run"),
    (OutcomeKind.NONE.value, "none: it never ran"),
)

STEPS: Final[Mapping[str, str]] = {
    EventKind.REFUSED.value: "Turned away",
    EventKind.INVOKED.value: "Sent to the server",
    EventKind.ATTEMPTED.value: "An attempt failed, another is made",
    EventKind.FINISHED.value: "Ended",
}
"""Kind of an event to what it is called."""

MOST_DECISIONS: Final = ("100", "500", "1000")
"""How many rows of the decision log can be asked for."""


async def show(visitor: Visitor) -> Response:
    """Search the record, newest first."""
    asked = asked_of(visitor)
    found: Rows | None = None
    problem: ProblemDetails | None = None
    if not asked.problems:
        cursor = visitor.asked("cursor") or None
        wanted = audit.search(asked.filter, changes=asked.changes, limit=ROWS, cursor=cursor)
        try:
            found = await visitor.ask(wanted)
        except ProblemDetails as refused:
            problem = refused
    return visitor.render(
        "audit.html",
        status=422 if asked.problems else status_of(problem),
        asked=asked,
        found=found,
        problem=problem,
        spans=_spans(asked),
        outcomes=OUTCOMES,
        **_shown(),
    )


async def show_one(visitor: Visitor) -> Response:
    """Show one call: each attempt at it, and what its caller did around it."""
    call = await visitor.ask(audit.get(visitor.path["id"]))
    last = _last_of(call.events)
    return visitor.render(
        "audit_call.html",
        call=call,
        last=last,
        came=last.time - timedelta(milliseconds=last.ms),
        cut=_size_if_cut(last.arguments),
        result_cut=_size_if_cut(last.result or ""),
        is_change=last.server == ADMINISTRATION,
        steps=STEPS,
        **_shown(),
    )


async def decisions(visitor: Visitor) -> Response:
    """Show what agents did and decided (S3.22)."""
    agent, most = visitor.asked("agent"), visitor.asked("limit")
    limit = int(most) if most in MOST_DECISIONS else None
    return visitor.render(
        "audit_decisions.html",
        rows=(await visitor.ask(audit.decisions(agent or None, limit=limit))).items,
        agents=(await visitor.ask(agents.list_all(limit=MOST_AGENTS))).items,
        agent=agent,
        most=most,
        limits=(("", "the usual number"), *MOST_DECISIONS),
        **_shown(),
    )


async def verify(visitor: Visitor) -> Response:
    """Look at every row, and say whether each is as it was written."""
    report = await visitor.ask(audit.verify()) if visitor.asked("now") else None
    return visitor.render("audit_verify.html", report=report, **_shown())


async def export(visitor: Visitor) -> Response:
    """Give every row that is as the search wants it, as a file."""
    asked = asked_of(visitor)
    if asked.problems:
        return visitor.go(PATH, query=asked.entered)
    form = "csv" if visitor.asked("format") == "csv" else "jsonl"
    wanted = audit.export(asked.filter, form=form, changes=asked.changes)
    named = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return visitor.forward(wanted, f"audit-{visitor.tenant}-{named}.{form}")


def _shown() -> Mapping[str, Any]:
    """Return what all templates of the page use."""
    return {"tones": TONES, "admin": ADMINISTRATION}


def _spans(asked: Asked) -> Mapping[str, Mapping[str, str]]:
    """Return links to the last hour, day and week: title to query."""
    now = datetime.now(UTC)
    rest = {name: value for name, value in asked.entered.items() if name not in {"since", "until"}}
    return {
        title: rest | {"since": (now - span).isoformat(timespec="seconds")}
        for title, span in SPANS.items()
    }


def _last_of(events: Sequence[Event]) -> Event:
    """Return the event that tells how a call ended, or else that it began."""
    ends = [each for each in events if each.kind in {EventKind.REFUSED, EventKind.FINISHED}]
    return ends[-1] if ends else events[0]


def _size_if_cut(text: str) -> int | None:
    """Return the bytes of what was too long to be kept whole; None for what is whole."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"truncated": True, "size": int(size), "head": str()}:
            return size
        case _:
            return None


PAGE: Final = Page(
    key="audit",
    path=PATH,
    title="Audit",
    group="Record",
    show=show,
    who=READERS,
    actions=(
        *retention.ACTIONS,
        Action(path=f"{PATH}/export", run=export, who=READERS, method="GET"),
        Action(path=f"{PATH}/decisions", run=decisions, who=READERS, method="GET"),
        Action(path=f"{PATH}/verify", run=verify, who=READERS, method="GET"),
        Action(path=f"{PATH}/{{id}}", run=show_one, who=READERS, method="GET"),
    ),
)
