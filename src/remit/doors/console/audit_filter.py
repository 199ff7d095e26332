"""What the page of the audit is asked for: the parameters of the API, as people write them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from remit.client.audit import Filter
from remit.doors.console.visitor import Visitor
from remit.model.times import in_utc

NAMES: Final = ("principal", "server", "tool", "decision", "outcome", "code", "role", "text")
"""Parameters that are texts; named as those of `GET /api/v1/audit`."""

TIMES: Final = ("since", "until")

NO_TIME: Final = "write a time like 2027-01-31T18:00; it is UTC unless it names its zone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is searched for.

    Attributes:
        changes: Also what administrators changed.
        entered: Parameter to what was given for it; only those that were.
        moments: `since` and `until` as a field of local time takes them, in UTC.
        problems: Name of a field to what is wrong with it.
    """

    filter: Filter
    changes: bool
    entered: Mapping[str, str]
    moments: Mapping[str, str]
    problems: Mapping[str, str]


def asked_of(visitor: Visitor) -> Asked:
    """Read what is asked for from the address of the page."""
    entered = {name: given for name in (*NAMES, *TIMES) if (given := visitor.asked(name))}
    times: dict[str, datetime] = {}
    problems: dict[str, str] = {}
    for name in TIMES:
        if name in entered:
            try:
                times[name] = _moment(entered[name])
            except (ValueError, OverflowError):
                problems[name] = NO_TIME
    is_without = visitor.asked("changes").lower() in {"false", "0", "no", "off"}
    texts = {name: entered[name] for name in NAMES if name in entered}
    return Asked(
        filter=Filter(**texts, since=times.get("since"), until=times.get("until")),
        changes=not is_without,
        entered=entered | ({"changes": "false"} if is_without else {}),
        moments={name: _in_a_field(moment) for name, moment in times.items()},
        problems=problems,
    )


def _moment(text: str) -> datetime:
    """Return a time in UTC.

    Raises:
        ValueError: It is none.
        OverflowError: It is beyond the calendar in UTC.
    """
    return in_utc(datetime.fromisoformat(text))


def _in_a_field(moment: datetime) -> str:
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision)
