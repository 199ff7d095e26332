"""The form of what raises alerts: its fields, and what was entered in them (S2.48)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from remit.client.alerts import Rules
from remit.doors.console.visitor import Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A threshold.

    Attributes:
        key: As a declaration has it.
        kind: Of the input: `number`, or `time` of a day in UTC.
        step: Of a number: `any` if it may have a fraction.
    """

    key: str
    label: str
    kind: str = "number"
    step: str = "1"

    @property
    def attributes(self) -> Mapping[str, str]:
        """What the input has beside its value."""
        needed = {"required": ""}
        return needed | ({"step": self.step, "min": "0"} if self.kind == "number" else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What raises alerts of one type, for people."""

    title: str
    raised: str
    fields: Sequence[Field] = ()


RULES: Final[Mapping[str, Rule]] = {
    "sql_injection_detected": Rule(
        title="SQL injection",
        raised="A value looks like an attempt to change the statement.",
    ),
    "unusual_query_volume": Rule(
        title="Unusual volume",
        raised="A caller runs so many times what is usual within an hour.",
        fields=(
            Field(key="multiplier", label="Times what is usual", step="any"),
            Field(key="usual_per_hour", label="Usual statements an hour"),
        ),
    ),
    "sensitive_table_access": Rule(
        title="Sensitive table", raised="A table is used that is declared to be sensitive."
    ),
    "large_data_export": Rule(
        title="Large export",
        raised="A caller reads so many rows in one answer, or in all answers of an hour.",
        fields=(
            Field(key="rows", label="Rows in one answer"),
            Field(key="rows_per_hour", label="Rows an hour"),
        ),
    ),
    "after_hours_access": Rule(
        title="Out of hours",
        raised="A call is made outside of the usual hours, which are UTC.",
        fields=(
            Field(key="from", label="Usual from", kind="time"),
            Field(key="until", label="Usual until", kind="time"),
        ),
    ),
    "new_user_high_volume": Rule(
        title="Busy newcomer",
        raised="A caller runs so many statements within so many hours of its first one.",
        fields=(Field(key="queries", label="Statements"), Field(key="hours", label="Hours")),
    ),
    "repeated_errors": Rule(
        title="Repeated errors",
        raised="The same error comes so often within so many minutes.",
        fields=(Field(key="errors", label="Errors"), Field(key="minutes", label="Minutes")),
    ),
}
"""Every type of alert, in the order of the page."""


def entered(visitor: Visitor) -> Rules:
    """Return what was entered; what is no number stays as it is, for the API to refuse."""
    return {
        type_: {
            "enabled": visitor.is_sent(f"{type_}.enabled"),
            "severity": visitor.sent(f"{type_}.severity"),
            **{
                field.key: _read(field, visitor.sent(f"{type_}.{field.key}"))
                for field in rule.fields
            },
        }
        for type_, rule in RULES.items()
    }


def in_words(type_: str, rule: Mapping[str, Any]) -> str:
    """Return the thresholds of a rule, such as `rows in one answer: 500`."""
    fields = RULES[type_].fields if type_ in RULES else ()
    return ", ".join(f"{each.label.lower()}: {rule[each.key]}" for each in fields)


def _read(field: Field, text: str) -> object:
    if field.kind != "number":
        return text
    try:
        number = float(text) if field.step == "any" else int(text)
    except ValueError:
        return text
    if isinstance(number, float) and not isfinite(number):
        return text  # JSON has no such number, and the answer says what one is
    return number
