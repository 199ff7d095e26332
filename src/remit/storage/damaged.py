"""Rows of the record that another hand changed so that they cannot be read as what they were.

SQLite stores anything in any column. Such a row is shown with what can be read of it, and says in
its `error` that it was changed; only `remit audit verify` tells what holds.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from remit.model.calls import OutcomeKind
from remit.model.events import AuditEvent, EventKind
from remit.model.times import in_utc
from remit.storage.chain import FIELDS
from remit.storage.event_ids import time_of

_OPTIONAL: Final = frozenset({"member", "result", "error", "agent"})
_SIZES: Final = frozenset({"revision", "arguments_size", "result_size"})
_WORDS: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "kind": (frozenset(EventKind), EventKind.FINISHED),
    "decision": (frozenset({"allow", "deny"}), "deny"),
    "outcome": (frozenset(OutcomeKind), OutcomeKind.UNKNOWN),
}
"""What a column may say, and what stands for anything else."""

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST: Final = 2**63


def is_sound(values: Mapping[str, Any]) -> bool:
    """Whether every field holds what an event's may."""
    return all(
        (name in _OPTIONAL and values[name] is None) or check(values[name])
        for name, check in _CHECKS.items()
    )


def mended(seq: int, raw: Mapping[str, Any]) -> AuditEvent:
    """Return a row as an event, with something in the place of whatever cannot be read.

    Args:
        seq: Its number in the table.
        raw: Its fields as the driver gave them.
    """
    values = {name: _read(name, raw[name]) for name in FIELDS}
    unreadable = [
        name
        for name, value in values.items()
        if not (name in _OPTIONAL and value is None) and not _CHECKS[name](value)
    ]
    for name in unreadable:
        values[name] = _substitute(name, values[name], values["id"])
    if unreadable:
        note = (
            f"row {seq} was changed by another hand, its {', '.join(unreadable)} cannot be read:"
            " 'remit audit verify' says more"
        )
        values["error"] = f"{note}; {values['error']}" if values["error"] else note
    values["kind"] = EventKind(values["kind"])
    return AuditEvent(**values)


def _read(name: str, value: Any) -> Any:
    """Return what a driver gave as what it stands for, if it can be read."""
    if name == "time":
        return _time(value)
    if name == "ms" and type(value) is int:
        return float(value)
    return str(value) if isinstance(value, UUID) else value


def _time(value: Any) -> Any:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return in_utc(moment) if isinstance(moment, datetime) else value
    except (ValueError, OverflowError):
        return value


def _substitute(name: str, value: Any, event_id: Any) -> Any:
    if name == "time":
        return _time_in(event_id)
    if name == "ms":
        return 0.0
    if name in _SIZES:
        return 0
    if name in _WORDS:
        return _WORDS[name][1]
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _time_in(event_id: Any) -> datetime:
    """Return when an event was made, by its own id, if that can be read."""
    try:
        return time_of(str(UUID(event_id)))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return _BEGINNING


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_size(value: Any) -> bool:
    return type(value) is int and -_LARGEST <= value < _LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _is_time(value: Any) -> bool:
    return isinstance(value, datetime)


def _check_of(name: str) -> Callable[[Any], bool]:
    if name == "time":
        return _is_time
    if name == "ms":
        return _is_number
    if name in _SIZES:
        return _is_size
    if name in _WORDS:
        return _WORDS[name][0].__contains__
    return _is_text


_CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {name: _check_of(name) for name in FIELDS}
