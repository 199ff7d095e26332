"""When an alert is raised: one pure function for each type, over what one caller did (S2.48).

What happened before an alert of the type was closed is dealt with: nobody hears of it again. While
one is open, the next is raised an hour later at the earliest.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate
from typing import Final, TypeVar

from remit.model.alert_rules import (
    AlertRules,
    ErrorsRule,
    ExportRule,
    HoursRule,
    NewUserRule,
    VolumeRule,
)
from remit.model.alerts import Alert, AlertType, EndedCall, Past, Severity, Statement

HOUR: Final = timedelta(hours=1)
"""How long an open alert of a type stands for everything of its kind that a caller does."""

INJECTION: Final = "injection"
"""Flag of an execution one of whose values looks like an injection (R35)."""

SENSITIVE: Final = "sensitive"
"""Flag of an execution that used a table declared to be sensitive."""

API: Final = "api"
"""Source of a statement that came by `/api/projects` or the console."""

Happened = TypeVar("Happened", Statement, EndedCall)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An alert that is due.

    Attributes:
        about: Id of what raised it.
        at: When that was.
    """

    type: AlertType
    severity: Severity
    about: str
    at: datetime
    title: str
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sign:
    """Why an alert would be raised, without any value that the caller sent."""

    title: str
    details: Mapping[str, object]


class _History:
    """What a caller did, by time.

    Attributes:
        first: When its first statement was begun.
    """

    def __init__(self, past: Past) -> None:
        self.first = past.first
        self._statements = sorted(past.statements, key=lambda each: each.at)
        self._failed = sorted(past.failed, key=lambda each: each.at)
        self._times = [each.at for each in self._statements]
        self._failed_times = [each.at for each in self._failed]
        answers = sorted(past.answers)
        self._answered = [at for at, _ in answers]
        self._rows = [0, *accumulate(rows for _, rows in answers)]

    def statements(self, after: datetime, until: datetime) -> Sequence[Statement]:
        """Return what was run after one moment, up to another."""
        times = self._times
        return self._statements[bisect_right(times, after) : bisect_right(times, until)]

    def rows(self, after: datetime, until: datetime) -> int:
        """Return how many rows answers had after one moment, up to another."""
        times, sums = self._answered, self._rows
        return sums[bisect_right(times, until)] - sums[bisect_right(times, after)]

    def failed(self, after: datetime, until: datetime) -> Sequence[EndedCall]:
        """Return calls that failed after one moment, up to another."""
        times = self._failed_times
        return self._failed[bisect_right(times, after) : bisect_right(times, until)]


_Look = Callable[[Happened, _History, datetime], _Sign | None]
"""Looks at what happened, at what was before, and not back beyond a moment."""


def findings(
    rules: AlertRules, past: Past, *, statements: Sequence[Statement], calls: Sequence[EndedCall]
) -> Iterator[Finding]:
    """Give the alerts that are due for what one caller did, in the order of what raised them.

    Args:
        rules: When any is.
        past: What the caller did before, and these as well.
        statements: What is new.
        calls: Likewise.
    """
    history, latest = _History(past), dict(past.alerts)
    yield from _found(rules, _of_statements(rules), statements, history, latest)
    yield from _found(rules, _of_calls(rules), calls, history, latest)


def stands_for(alert: Alert, at: datetime) -> bool:
    """Whether what happened at that moment is dealt with by an alert of its kind."""
    if alert.closed is not None:
        return at <= alert.closed
    return abs(at - alert.opened) < HOUR


def _found(
    rules: AlertRules,
    looks: "Mapping[AlertType, _Look[Happened]]",
    news: Sequence[Happened],
    history: _History,
    latest: dict[AlertType, Alert],
) -> Iterator[Finding]:
    raised: dict[AlertType, datetime] = {}
    for each in sorted(news, key=lambda one: one.at):
        for type_, look in looks.items():
            rule, last = rules.rule(type_), latest.get(type_)
            if not rule.enabled or (last is not None and stands_for(last, each.at)):
                continue
            if type_ in raised and each.at - raised[type_] < HOUR:
                continue
            closed = last.closed if last is not None else None
            sign = look(each, history, closed or datetime.min.replace(tzinfo=each.at.tzinfo))
            if sign is not None:
                raised[type_] = each.at
                yield Finding(
                    type=type_,
                    severity=rule.severity,
                    about=each.id,
                    at=each.at,
                    title=sign.title,
                    details=sign.details,
                )


def _of_statements(rules: AlertRules) -> "Mapping[AlertType, _Look[Statement]]":
    return {
        AlertType.SQL_INJECTION_DETECTED: _injection,
        AlertType.SENSITIVE_TABLE_ACCESS: _sensitive,
        AlertType.LARGE_DATA_EXPORT: partial(_export, rules.large_data_export),
        AlertType.UNUSUAL_QUERY_VOLUME: partial(_volume, rules.unusual_query_volume),
        AlertType.NEW_USER_HIGH_VOLUME: partial(_new_user, rules.new_user_high_volume),
    }


def _of_calls(rules: AlertRules) -> "Mapping[AlertType, _Look[EndedCall]]":
    return {
        AlertType.AFTER_HOURS_ACCESS: partial(_after_hours, rules.after_hours_access),
        AlertType.REPEATED_ERRORS: partial(_errors, rules.repeated_errors),
    }


def _injection(now: Statement, history: _History, after: datetime) -> _Sign | None:  # noqa: ARG001 - a look
    if INJECTION not in now.flags:
        return None
    title = f"a value that looks like an SQL injection was sent to {now.tool}"
    return _Sign(title=title, details=_means(now))


def _sensitive(now: Statement, history: _History, after: datetime) -> _Sign | None:  # noqa: ARG001 - a look
    if SENSITIVE not in now.flags:
        return None
    title = f"a table that is declared to be sensitive was used by {now.tool}"
    return _Sign(title=title, details=_means(now))


def _means(now: Statement) -> Mapping[str, object]:
    """Return by which tool a statement was run; the record has a call of it only if by MCP."""
    return {"tool": now.tool} | ({"source": API} if now.source == API else {})


def _export(rule: ExportRule, now: Statement, history: _History, after: datetime) -> _Sign | None:
    if now.rows >= rule.rows:
        title = f"{now.rows} rows were read in one answer"
        return _Sign(title=title, details={"rows": now.rows, "threshold": rule.rows})
    if not now.rows:
        return None
    rows = history.rows(max(after, now.at - HOUR), now.at)
    if rows < rule.rows_per_hour:
        return None
    title = f"{rows} rows were read within an hour"
    return _Sign(title=title, details={"rows": rows, "threshold": rule.rows_per_hour})


def _volume(rule: VolumeRule, now: Statement, history: _History, after: datetime) -> _Sign | None:
    count = len(history.statements(max(after, now.at - HOUR), now.at))
    if count < rule.threshold:
        return None
    title = f"{count} statements were run within an hour"
    return _Sign(title=title, details={"statements": count, "threshold": rule.threshold})


def _new_user(
    rule: NewUserRule, now: Statement, history: _History, after: datetime
) -> _Sign | None:
    first = now.at if history.first is None else history.first
    if now.at - first >= timedelta(hours=rule.hours):
        return None
    before_first = first - timedelta(microseconds=1)
    count = len(history.statements(max(after, before_first), now.at))
    if count < rule.queries:
        return None
    title = f"{count} statements were run within {rule.hours} hours of the caller's first one"
    return _Sign(title=title, details={"statements": count, "threshold": rule.queries})


def _after_hours(
    rule: HoursRule,
    now: EndedCall,
    history: _History,  # noqa: ARG001 - a look
    after: datetime,  # noqa: ARG001 - a look
) -> _Sign | None:
    if rule.holds(now.at):
        return None
    hours = f"{rule.begins:%H:%M}-{rule.ends:%H:%M} UTC"
    return _Sign(title=f"a call was made outside of {hours}", details={"hours": hours})


def _errors(rule: ErrorsRule, now: EndedCall, history: _History, after: datetime) -> _Sign | None:
    if not now.error:
        return None
    span = timedelta(minutes=rule.minutes)
    failed = history.failed(max(after, now.at - span), now.at)
    count = sum(each.error == now.error for each in failed)
    if count < rule.errors:
        return None
    title = f"the error {now.error} came {count} times within {rule.minutes} minutes"
    return _Sign(
        title=title, details={"error": now.error, "errors": count, "threshold": rule.errors}
    )
