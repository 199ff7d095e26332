r"""What the values of a database look like in JSON: one rule for every engine.

| value | in JSON |
|---|---|
| null, booleans | as they are |
| integers | numbers, exact whatever their size |
| floating point | numbers; `NaN`, `Infinity` and `-Infinity` as text |
| decimals | text, every digit of them: `"12.50"` |
| dates, times | text, ISO 8601: `"2026-11-29"`, `"10:30:00"` |
| timestamps | text, RFC 3339: `"2026-11-29T10:30:00+00:00"`, or without the offset |
| intervals | text, ISO 8601: `"P1DT2H"` |
| UUIDs, addresses, ranges, enumerations | text, as the engine writes it |
| bytes | text, `\x` and hexadecimal digits |
| JSON, arrays, structs, maps | as they are; a number in JSON that a float cannot hold as text |

What is longer than `MOST_CELL` characters is cut, and says so at its end. An answer ends before
`MOST_BYTES`, and is `truncated` then; a first row that is larger by itself is refused. So that no
row fills the memory of the gateway before it is looked at, engines give none above `LARGEST_ROW`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import starmap
from math import isfinite
from typing import Final, cast
from uuid import UUID

import msgspec

from remit.errors import DataFailure
from remit.model.data import DataCode

MOST_CELL: Final = 65_536
"""Characters of one text in an answer."""

MOST_OCTETS: Final = 4_096
"""Bytes of one binary value in an answer, each of which becomes two characters."""

MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of the rows of an answer, as JSON."""

LARGEST_ROW: Final = 64 * 1024 * 1024
"""Bytes of the values of one row, as an engine gives them; each has its equal share at least."""


_CUT: Final = "… (cut)"


class Answer:
    """Rows of an answer as they come, until there are enough of them."""

    def __init__(self, limit: int) -> None:
        self.rows: list[list[object]] = []
        self.size = 0
        self.is_truncated = False
        self._limit = limit

    def add(self, row: Sequence[object]) -> bool:
        """Take a row, unless that would be too much; return whether another may follow.

        Raises:
            DataFailure: `data_exception`: it is the first, and too large or nested too deeply.
        """
        if self.is_truncated or len(self.rows) >= self._limit:
            self.is_truncated = True
            return False
        try:
            ready = [in_json(each) for each in row]
            self.size += len(msgspec.json.encode(ready))
        except RecursionError:
            raise too_deep() from None
        if self.size > MOST_BYTES:
            if not self.rows:
                raise too_large()
            self.is_truncated = True
            return False
        self.rows.append(ready)
        return True

    @property
    def wanted(self) -> int:
        """How many rows it takes to know whether there are too many."""
        return self._limit + 1 - len(self.rows)


def too_large() -> DataFailure:
    """Return what is said of a row that no answer has room for."""
    return DataFailure(
        DataCode.DATA_EXCEPTION,
        f"one row takes more than {MOST_BYTES >> 20} MiB: ask for fewer columns, or for parts of"
        " long values",
    )


def too_deep() -> DataFailure:
    """Return what is said of a value that is nested without end."""
    return DataFailure(DataCode.DATA_EXCEPTION, "a value is nested too deeply to be given as JSON")


def in_json(value: object) -> object:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, bool | int):
        return value
    convert = _CONVERSIONS.get(type(value))
    if convert is not None:
        return convert(value)
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        return dict(starmap(_field, fields.items()))
    if isinstance(value, list | tuple | set):
        return [in_json(each) for each in cast("Sequence[object]", value)]
    return shortened(str(value))


def from_json(text: str) -> object:
    """Return what a JSON text says, or the text where it was cut or nothing can hold it.

    Its numbers are as they are, or text with every digit.
    """
    try:
        return json.loads(text, parse_float=_number)
    except (ValueError, RecursionError):
        return text


def _number(digits: str) -> float | str:
    """Return a number, or its digits where it would be another one."""
    number = float(digits)
    is_same = isfinite(number) and Decimal(repr(number)) == Decimal(digits)
    return number if is_same else digits


def shortened(text: str, most: int = MOST_CELL) -> str:
    """Return a text that is no longer than a cell may be."""
    if len(text) <= most:
        return text
    return f"{text[:most]}{_CUT}"


def in_hex(octets: bytes) -> str:
    """Return bytes in hexadecimal digits."""
    if len(octets) <= MOST_OCTETS:
        return f"\\x{octets.hex()}"
    return f"\\x{octets[:MOST_OCTETS].hex()}{_CUT}"


def _field(key: object, value: object) -> tuple[str, object]:
    return str(in_json(key)), in_json(value)


def _float(value: float) -> object:
    if isfinite(value):
        return value
    if value != value:  # noqa: PLR0124 - that is what a NaN is
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> str:
    return format(value, "f")  # `str` writes small ones with an exponent


def _interval(value: timedelta) -> str:
    sign = "-" if value < timedelta() else ""
    value = abs(value)
    seconds, micros = value.seconds, value.microseconds
    hours, minutes = seconds // 3600, seconds // 60 % 60
    rest = f"{seconds % 60}.{micros:06}".rstrip("0").rstrip(".") if micros else f"{seconds % 60}"
    days = f"{value.days}D" if value.days else ""
    parts = ((hours, "H"), (minutes, "M"))
    clock = "".join(f"{number}{unit}" for number, unit in parts if number)
    clock += f"{rest}S" if rest != "0" else ""
    whole = f"P{days}T{clock}" if clock else f"P{days}"
    return f"{sign}{whole}" if days or clock else "PT0S"


_CONVERSIONS: Final[Mapping[type, Callable[..., object]]] = {
    str: shortened,
    float: _float,
    Decimal: _decimal,
    bytes: in_hex,
    bytearray: in_hex,
    memoryview: in_hex,
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    timedelta: _interval,
    UUID: str,
}
