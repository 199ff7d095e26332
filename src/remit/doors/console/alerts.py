"""Page: what somebody should look at in what callers do with data, and when that is (S2.48)."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from remit.client import alerts
from remit.client.alerts import Alert, Rules
from remit.client.operations import Operation
from remit.client.projects import Answer
from remit.doors.console.alert_form import RULES, entered, in_words
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.proposals import ETAG, seen_after
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

PATH: Final = "/alerts"
_ONE: Final = f"{PATH}/{{id}}"
_RULES: Final = f"{PATH}/rules"

SEVERITIES: Final[Mapping[str, str]] = {"info": "plain", "warning": "warn", "critical": "bad"}
"""How much an alert matters to the tone of its badge."""

STATUSES: Final[Mapping[str, str]] = {"open": "warn", "resolved": "good", "dismissed": "plain"}
"""Where an alert stands to the tone of its badge."""

ALL: Final = "all"
"""What a filter or a form says that means every one."""

_FILTERS: Final = ("status", "type", "severity", "user")
_MINUTE: Final = timedelta(minutes=1)
_LONGEST_REASON: Final = 500  # characters that the API takes of one

_Close = Callable[..., Operation[Answer[Alert]]]


async def show(visitor: Visitor) -> Response:
    """Show alerts, newest first; open ones, unless it is asked for others."""
    return await _shown(visitor, {name: visitor.asked(name) for name in _FILTERS})


async def resolve(visitor: Visitor) -> Response:
    """Close an alert about which something was done."""
    return await _close(visitor, alerts.resolve, "resolved")


async def dismiss(visitor: Visitor) -> Response:
    """Close an alert about which nothing need be done."""
    return await _close(visitor, alerts.dismiss, "dismissed")


async def resolve_all(visitor: Visitor) -> Response:
    """Resolve the open alerts of a type; of every type only where that is said."""
    type_, note = visitor.sent("of"), visitor.sent("note")
    wanted = None if type_ == ALL else type_
    try:
        answer = await visitor.ask(
            alerts.resolve_all(visitor.tenant, type_=wanted, note=note, reason=_reason_of(note))
        )
    except ProblemDetails as problem:
        return await _shown(visitor, {}, problem=problem, of=type_, note=note)
    count = answer.data.resolved
    said = f"{count} open alerts are resolved." if count != 1 else "One open alert is resolved."
    return visitor.go(PATH, said=said)


async def show_rules(visitor: Visitor) -> Response:
    """Show what raises alerts, in a form for whoever may change it."""
    read = await visitor.ask_tagged(alerts.config(visitor.tenant))
    return _rules_shown(visitor, read.value.data, read.etag)


async def change_rules(visitor: Visitor) -> Response:
    """Change what raises alerts, unless somebody else did since the form was loaded."""
    rules, reason = entered(visitor), visitor.sent("reason")
    now = (await visitor.ask_tagged(alerts.config(visitor.tenant))).etag
    change = alerts.configure(
        visitor.tenant, rules, if_match=visitor.sent(ETAG) or now, reason=reason
    )
    try:
        await visitor.ask(change)
    except ProblemDetails as problem:
        seen = seen_after(visitor, problem, now)
        return _rules_shown(visitor, rules, seen, problem=problem, reason=reason)
    return visitor.go(_RULES, said="The rules are in force, as a new revision.")


async def _close(visitor: Visitor, close: _Close, how: str) -> Response:
    id_, note = visitor.path["id"], visitor.sent("note")
    filters = {name: visitor.sent(name) for name in _FILTERS}
    try:
        closed = await visitor.ask(close(visitor.tenant, id_, note=note, reason=_reason_of(note)))
    except ProblemDetails as problem:
        return await _shown(visitor, filters, problem=problem, entered=(id_, note))
    return visitor.go(PATH, said=f"It is {how}: {closed.data.title}.", query=filters)


def _reason_of(note: str) -> str:
    """Return as much of a note as the record takes of a reason; the alert has all of it."""
    return note[:_LONGEST_REASON]


async def _shown(
    visitor: Visitor,
    filters: Mapping[str, str],
    *,
    problem: ProblemDetails | None = None,
    entered: tuple[str, str] = ("", ""),
    of: str = "",
    note: str = "",
) -> Response:
    """Return the page.

    Args:
        visitor: Who looks.
        filters: What is asked for, by name of the filter.
        problem: Why the API refused.
        entered: Id of the alert that was to be closed, and the note with it.
        of: Type of those that were to be resolved together.
        note: The note with them.
    """
    status = filters.get("status") or "open"
    wanted = {name: filters.get(name, "") for name in _FILTERS}
    found = await visitor.ask(
        alerts.list_newest(
            visitor.tenant,
            status=None if status == ALL else status,
            type_=wanted["type"] or None,
            severity=wanted["severity"] or None,
            user=wanted["user"] or None,
            limit=50,
            cursor=visitor.asked("cursor") or None,
        )
    )
    rules = (await visitor.ask(alerts.config(visitor.tenant))).data
    return visitor.render(
        "alerts.html",
        status=status_of(problem),
        here=visitor.url(PATH),
        tab="list",
        found=found.data,
        standing=status,
        wanted=wanted,
        calls={each.id: _calls(each, rules) for each in found.data.items},
        kinds=RULES,
        severities=SEVERITIES,
        statuses=STATUSES,
        problem=problem,
        entered=entered,
        of=of,
        note=note,
    )


def _calls(alert: Alert, rules: Rules) -> Mapping[str, str]:
    """Return what finds the calls of an alert in the record: whose they are, when, and how."""
    rule = rules.get(alert.type, {})
    spans: Mapping[str, timedelta] = {
        "unusual_query_volume": timedelta(hours=1),
        "large_data_export": timedelta(hours=1),
        "new_user_high_volume": timedelta(hours=rule.get("hours", 1)),
        "repeated_errors": timedelta(minutes=rule.get("minutes", 1)),
    }
    since = alert.opened - spans.get(alert.type, _MINUTE) - _MINUTE
    until = alert.opened + _MINUTE
    found = {
        "principal": alert.user,
        "since": since.isoformat(timespec="seconds"),
        "until": until.isoformat(timespec="seconds"),
    }
    # what comes by the API is on record as its operation, not as a call of the tool
    is_api = alert.details.get("source") == "api"
    tool = "" if is_api else alert.details.get("tool")
    error = alert.details.get("error")
    return found | ({"tool": str(tool)} if tool else {}) | ({"code": str(error)} if error else {})


def _rules_shown(
    visitor: Visitor,
    rules: Rules,
    etag: str,
    *,
    problem: ProblemDetails | None = None,
    reason: str = "",
) -> Response:
    return visitor.render(
        "alert_rules.html",
        status=status_of(problem),
        here=visitor.url(PATH),
        tab="rules",
        rules=rules,
        etag_field=ETAG,
        etag=etag,
        kinds=RULES,
        in_words=in_words,
        severities=SEVERITIES,
        problem=problem,
        reason=reason,
    )


PAGE: Final = Page(
    key="alerts",
    path=PATH,
    title="Alerts",
    group="Overview",
    show=show,
    who=READERS,
    actions=(
        Action(path=_RULES, run=show_rules, who=READERS, method="GET"),
        Action(path=_RULES, run=change_rules, who=ADMINISTRATORS, makes="alerts.configure"),
        Action(
            path=f"{PATH}/resolve-all",
            run=resolve_all,
            who=ADMINISTRATORS,
            makes="alerts.resolve_all",
        ),
        Action(path=f"{_ONE}/resolve", run=resolve, who=ADMINISTRATORS, makes="alerts.resolve"),
        Action(path=f"{_ONE}/dismiss", run=dismiss, who=ADMINISTRATORS, makes="alerts.dismiss"),
    ),
)
