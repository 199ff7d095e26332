"""The `alerts` section: rules from what is written, and what must hold of it beyond its types.

    alerts:
      sql_injection_detected: {severity: critical}
      unusual_query_volume: {multiplier: 5, usual_per_hour: 10}
      after_hours_access: {enabled: true, from: "06:00", until: "22:00"}

What is not written is as S2.48 has it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import time
from typing import Any

from remit.admin.complaints import Complaints
from remit.admin.schema import MOST_COUNTED, AlertShape, AlertsShape
from remit.errors import Problem
from remit.model.alert_rules import (
    AlertRule,
    AlertRules,
    ErrorsRule,
    ExportRule,
    HoursRule,
    NewUserRule,
    VolumeRule,
)
from remit.model.alerts import Severity


def alert_rules_of(shape: AlertsShape) -> AlertRules:
    """Return the rules that a sound section states."""
    usual = AlertRules()
    return AlertRules(
        sql_injection_detected=AlertRule(
            **_values(usual.sql_injection_detected, shape.sql_injection_detected)
        ),
        unusual_query_volume=VolumeRule(
            **_values(usual.unusual_query_volume, shape.unusual_query_volume)
        ),
        sensitive_table_access=AlertRule(
            **_values(usual.sensitive_table_access, shape.sensitive_table_access)
        ),
        large_data_export=ExportRule(**_values(usual.large_data_export, shape.large_data_export)),
        after_hours_access=HoursRule(**_values(usual.after_hours_access, shape.after_hours_access)),
        new_user_high_volume=NewUserRule(
            **_values(usual.new_user_high_volume, shape.new_user_high_volume)
        ),
        repeated_errors=ErrorsRule(**_values(usual.repeated_errors, shape.repeated_errors)),
    )


def alert_problems(complaints: Complaints, shape: AlertsShape) -> Iterator[Problem]:
    """Give what is wrong with a well-typed section."""
    rules = alert_rules_of(shape)
    volume, hours = rules.unusual_query_volume, rules.after_hours_access
    if volume.multiplier * volume.usual_per_hour > MOST_COUNTED:
        yield complaints.at(
            "bad-value",
            f"asks for more than {MOST_COUNTED} statements within an hour, which are not counted",
            where=("alerts", "unusual_query_volume"),
            remedy="lower `multiplier` or `usual_per_hour`, or write `enabled: false`",
        )
    if hours.begins == hours.ends:
        yield complaints.at(
            "bad-value",
            "begins when it ends, so that no hour is a usual one",
            where=("alerts", "after_hours_access"),
            remedy='write two times of a day, such as from: "06:00", until: "22:00"',
        )


def alerts_document(rules: AlertRules) -> dict[str, dict[str, object]]:
    """Return rules as the section has them, every key written."""
    return {
        each.name: {
            _written(key.name): _plain(getattr(rule, key.name))
            for rule in (getattr(rules, each.name),)
            for key in fields(rule)
        }
        for each in fields(rules)
    }


def _values(usual: AlertRule, shape: AlertShape) -> dict[str, Any]:
    written: Mapping[str, object] = shape.model_dump(exclude_unset=True)
    known = {key.name: getattr(usual, key.name) for key in fields(usual)}
    return {**known, **{key: _read(key, value) for key, value in written.items()}}


def _read(key: str, value: object) -> object:
    if key == "severity":
        return Severity(str(value))
    return time.fromisoformat(str(value)) if key in _ALIASES else value


_ALIASES = {"begins": "from", "ends": "until"}


def _written(key: str) -> str:
    return _ALIASES.get(key, key)


def _plain(value: object) -> object:
    if isinstance(value, time):
        return f"{value:%H:%M}"
    return value.value if isinstance(value, Severity) else value
