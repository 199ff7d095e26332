"""When an alert is due: the rules alone, with the defaults of S2.48."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.data.alerts.rules import HOUR, Finding, findings
from remit.model.alert_rules import (
    AlertRule,
    AlertRules,
    ErrorsRule,
    ExportRule,
    HoursRule,
    NewUserRule,
    VolumeRule,
)
from remit.model.alerts import (
    Alert,
    AlertStatus,
    AlertType,
    EndedCall,
    Past,
    Severity,
    Statement,
)

NOON = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=30)


def statement(
    number: int, *, minute: float = 0, rows: int = 1, flags: tuple[str, ...] = ()
) -> Statement:
    return Statement(
        seq=number,
        id=f"x{number}",
        tenant="default",
        user="user:ann",
        tool="query",
        at=NOON + timedelta(minutes=minute),
        rows=rows,
        flags=flags,
    )


def call(number: int, *, minute: float = 0, error: str = "") -> EndedCall:
    return EndedCall(
        seq=number,
        id=f"c{number}",
        tenant="default",
        user="user:ann",
        at=NOON + timedelta(minutes=minute),
        error=error,
    )


def alert(type_: AlertType, *, minute: float, closed: float | None = None) -> Alert:
    return Alert(
        id="a1",
        tenant="default",
        type=type_,
        user="user:ann",
        about="before",
        severity=Severity.WARNING,
        title="before",
        status=AlertStatus.OPEN if closed is None else AlertStatus.RESOLVED,
        opened=NOON + timedelta(minutes=minute),
        closed=None if closed is None else NOON + timedelta(minutes=closed),
    )


def of_statements(
    news: Sequence[Statement],
    *,
    before: Sequence[Statement] = (),
    first: datetime | None = LONG_AGO,
    rules: AlertRules | None = None,
    alerts: Sequence[Alert] = (),
) -> list[Finding]:
    past = Past(
        first=first,
        statements=[*before, *news],
        answers=[(one.at, one.rows) for one in (*before, *news) if one.rows],
        alerts={one.type: one for one in alerts},
    )
    return list(findings(rules or AlertRules(), past, statements=news, calls=()))


def of_calls(
    news: Sequence[EndedCall],
    *,
    before: Sequence[EndedCall] = (),
    rules: AlertRules | None = None,
    alerts: Sequence[Alert] = (),
) -> list[Finding]:
    past = Past(
        first=LONG_AGO,
        failed=[one for one in (*before, *news) if one.error],
        alerts={one.type: one for one in alerts},
    )
    return list(findings(rules or AlertRules(), past, statements=(), calls=news))


def types(found: Sequence[Finding]) -> list[AlertType]:
    return [one.type for one in found]


def test_the_defaults_are_those_of_s2_48() -> None:
    rules = AlertRules()

    assert {
        type_.value: (rules.rule(type_).enabled, rules.rule(type_).severity.value)
        for type_ in AlertType
    } == {
        "sql_injection_detected": (True, "critical"),
        "unusual_query_volume": (True, "warning"),
        "sensitive_table_access": (True, "warning"),
        "large_data_export": (True, "info"),
        "after_hours_access": (False, "info"),
        "new_user_high_volume": (True, "warning"),
        "repeated_errors": (True, "warning"),
    }
    assert rules.unusual_query_volume.threshold == 50
    assert (rules.new_user_high_volume.queries, rules.new_user_high_volume.hours) == (20, 24)
    assert (rules.repeated_errors.errors, rules.repeated_errors.minutes) == (5, 10)
    assert rules.large_data_export.rows <= 1000  # S2.37: it can be reached


def test_nothing_is_due_for_a_usual_statement() -> None:
    assert of_statements([statement(1)]) == []


def test_a_value_that_looks_like_an_injection_is_critical() -> None:
    [found] = of_statements([statement(1, flags=("injection",))])

    assert (found.type, found.severity) == (
        AlertType.SQL_INJECTION_DETECTED,
        Severity.CRITICAL,
    )
    assert (found.about, found.at) == ("x1", NOON)
    assert found.title == "a value that looks like an SQL injection was sent to query"


def test_what_came_by_the_api_says_so() -> None:
    sent = replace(statement(1, flags=("injection",)), source="api")

    (found,) = of_statements([sent])

    assert found.details == {"tool": "query", "source": "api"}


def test_a_sensitive_table_is_a_warning() -> None:
    assert types(of_statements([statement(1, flags=("sensitive",))])) == [
        AlertType.SENSITIVE_TABLE_ACCESS
    ]


@pytest.mark.parametrize(("rows", "due"), [(499, False), (500, True), (1000, True)])
def test_a_large_answer_is_an_export(rows: int, due: bool) -> None:
    found = types(of_statements([statement(1, rows=rows)]))

    assert found == ([AlertType.LARGE_DATA_EXPORT] if due else [])


def test_many_small_answers_of_an_hour_are_an_export_and_older_ones_do_not_count() -> None:
    before = [statement(number, minute=-59, rows=400) for number in range(12)]
    old = [statement(100 + number, minute=-61, rows=400) for number in range(12)]

    assert of_statements([statement(50, rows=199)], before=before) == []
    assert of_statements([statement(50, rows=400)], before=old) == []
    [found] = of_statements([statement(50, rows=200)], before=before)
    assert found.details == {"rows": 5000, "threshold": 5000}
    # an answer without rows is no part of an export
    assert of_statements([statement(51, minute=0.1, rows=0)], before=[*before, *before]) == []


def test_the_fiftieth_statement_of_an_hour_is_unusual_volume() -> None:
    before = [statement(number, minute=-59 + number) for number in range(48)]

    assert of_statements([statement(50)], before=before) == []
    [found] = of_statements([statement(50), statement(51, minute=0.1)], before=before)
    assert (found.type, found.about) == (AlertType.UNUSUAL_QUERY_VOLUME, "x51")
    assert found.details == {"statements": 50, "threshold": 50}


@pytest.mark.parametrize(("hours", "due"), [(23.9, True), (24, False)])
def test_twenty_statements_within_a_day_of_the_first_are_a_new_user_in_a_hurry(
    hours: float, due: bool
) -> None:
    first = NOON - timedelta(hours=hours)
    before = [statement(0, minute=-hours * 60)]
    before += [statement(number, minute=-number) for number in range(1, 19)]

    found = types(of_statements([statement(50)], before=before, first=first))

    assert found == ([AlertType.NEW_USER_HIGH_VOLUME] if due else [])
    assert of_statements([statement(50)], before=before[:-1], first=first) == []


def test_the_same_error_five_times_in_ten_minutes_is_an_alert() -> None:
    before = [call(number, minute=-9.9, error="invalid_sql") for number in range(4)]
    [found] = of_calls([call(9, error="invalid_sql")], before=before)

    assert found.type is AlertType.REPEATED_ERRORS
    assert found.title == "the error invalid_sql came 5 times within 10 minutes"
    assert of_calls([call(9, error="query_error")], before=before) == []
    assert of_calls([call(9)], before=before) == []
    assert of_calls([call(9, minute=0.2, error="invalid_sql")], before=before) == []


@pytest.mark.parametrize(
    ("hours", "clock", "due"),
    [
        ((6, 22), 5, True),
        ((6, 22), 6, False),
        ((6, 22), 21, False),
        ((6, 22), 22, True),
        ((22, 6), 21, True),
        ((22, 6), 22, False),
        ((22, 6), 5, False),
        ((22, 6), 6, True),
    ],
)
def test_a_call_outside_of_hours_is_an_alert_where_that_is_on(
    hours: tuple[int, int], clock: int, due: bool
) -> None:
    begins, ends = (NOON.replace(hour=hour).time() for hour in hours)
    news = [call(1, minute=(clock - 12) * 60)]

    found = of_calls(
        news, rules=AlertRules(after_hours_access=HoursRule(enabled=True, begins=begins, ends=ends))
    )

    assert types(found) == ([AlertType.AFTER_HOURS_ACCESS] if due else [])
    assert of_calls(news) == []


def test_while_one_is_open_the_next_comes_an_hour_later() -> None:
    news = [statement(number, minute=number * 20, flags=("injection",)) for number in range(7)]
    open_one = alert(AlertType.SQL_INJECTION_DETECTED, minute=-50)

    assert [one.about for one in of_statements(news)] == ["x0", "x3", "x6"]
    assert [one.about for one in of_statements(news, alerts=[open_one])] == ["x1", "x4"]


def test_what_was_before_an_alert_was_closed_is_dealt_with() -> None:
    news = [statement(number, minute=number * 10, flags=("injection",)) for number in range(3)]
    closed = alert(AlertType.SQL_INJECTION_DETECTED, minute=-5, closed=10)

    assert [one.about for one in of_statements(news, alerts=[closed])] == ["x2"]


def test_counting_begins_anew_when_an_alert_is_closed() -> None:
    before = [statement(number, minute=-30 + number / 10) for number in range(60)]
    closed = alert(AlertType.UNUSUAL_QUERY_VOLUME, minute=-25, closed=-20)

    assert types(of_statements([statement(99)], before=before)) == [AlertType.UNUSUAL_QUERY_VOLUME]
    assert of_statements([statement(99)], before=before, alerts=[closed]) == []


def test_a_rule_that_is_off_raises_nothing_and_a_changed_one_as_it_says() -> None:
    off = AlertRules(sql_injection_detected=AlertRule(enabled=False))
    info = AlertRules(sql_injection_detected=AlertRule(severity=Severity.INFO))
    low = AlertRules(
        unusual_query_volume=VolumeRule(multiplier=1.5, usual_per_hour=2),
        large_data_export=ExportRule(rows=10, rows_per_hour=20),
        new_user_high_volume=NewUserRule(queries=2, hours=1),
        repeated_errors=ErrorsRule(errors=2, minutes=1),
    )
    news = [statement(1, flags=("injection",))]

    assert of_statements(news, rules=off) == []
    assert [one.severity for one in of_statements(news, rules=info)] == [Severity.INFO]
    some = [statement(number, minute=number, rows=8) for number in range(3)]
    assert types(of_statements(some, rules=low, first=NOON)) == [
        AlertType.NEW_USER_HIGH_VOLUME,
        AlertType.LARGE_DATA_EXPORT,
        AlertType.UNUSUAL_QUERY_VOLUME,
    ]
    failed = [call(number, minute=number / 2, error="invalid_sql") for number in range(2)]
    assert types(of_calls(failed, rules=low)) == [AlertType.REPEATED_ERRORS]


@given(
    minutes=st.lists(st.integers(min_value=0, max_value=600), min_size=1, max_size=60),
    cuts=st.integers(min_value=0, max_value=60),
)
def test_law_two_alerts_of_a_type_are_an_hour_apart_however_the_news_are_cut(
    minutes: list[int], cuts: int
) -> None:
    news = [
        statement(number, minute=minute, flags=("injection",))
        for number, minute in enumerate(sorted(minutes))
    ]
    first = of_statements(news[:cuts])
    injections = [one for one in first if one.type is AlertType.SQL_INJECTION_DETECTED]
    known = [
        alert(one.type, minute=(one.at - NOON).total_seconds() / 60) for one in injections[-1:]
    ]
    found = [*first, *of_statements(news[cuts:], before=news[:cuts], alerts=known)]

    moments = [one.at for one in found if one.type is AlertType.SQL_INJECTION_DETECTED]
    assert all(later - earlier >= HOUR for earlier, later in pairwise(moments))
    whole = [one.at for one in of_statements(news) if one.type is AlertType.SQL_INJECTION_DETECTED]
    assert moments == whole
