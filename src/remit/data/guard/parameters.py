"""Parameters of approved queries: what they are declared as, and what a call gives (S2.31, S2.32).

In this order: what is required is there, each value becomes one of its type, and none is unknown.
The screen (`screen.py`) and the database come after that. No message says a value.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, cast
from uuid import UUID

from remit.errors import DataFailure
from remit.model.data import Bound, DataCode, Parameter, ParameterType

MOST_ITEMS: Final = 10_000
"""Values of a list."""

MOST_DIGITS: Final = 400
"""Digits before or behind the point of a decimal, and characters of one that is given as text."""

_INT64: Final = range(-(2**63), 2**63)

_NAME: Final = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_LISTS: Final = (ParameterType.STRINGS, ParameterType.INTEGERS)


class _Unfit(Exception):
    """A value is none of the type."""


def list_names(parameters: Sequence[Parameter]) -> frozenset[str]:
    """Return the names of those whose values are lists."""
    return frozenset(each.name for each in parameters if each.type in _LISTS)


def require_matching(parameters: Sequence[Parameter], names: Sequence[str]) -> None:
    """Let only definitions pass that are the placeholders of a statement, no more and no fewer.

    Args:
        parameters: As they are declared.
        names: Of the statement's placeholders.

    Raises:
        DataFailure: `parameter_validation` where they do not match, or a name is none or comes
            twice; `type_validation` where a default or an example is none of the type.
    """
    declared: set[str] = set()
    for parameter in parameters:
        name = parameter.name
        if not _NAME.fullmatch(name):
            raise _wrong(name, "a parameter's name is a letter or _, then letters, digits or _")
        if name in declared:
            raise _wrong(name, f"the parameter {name!r} is declared twice")
        declared.add(name)
        if name not in names:
            raise _wrong(name, f"the parameter {name!r} is declared and has no {{{{{name}}}}}")
        for field, value in (("default", parameter.default), ("example", parameter.example)):
            if value is not None:
                _fit(parameter, value, field)
    for name in names:
        if name not in declared:
            raise _wrong(name, f"the placeholder {{{{{name}}}}} has no parameter; declare {name!r}")


def bind_values(
    parameters: Sequence[Parameter], given: Mapping[str, object]
) -> Mapping[str, Bound]:
    """Return a value for each parameter, in their order.

    An empty text or list is as good as none, and a null as well: the default takes its place, or
    NULL if there is none and none is required.

    Args:
        parameters: As they are declared.
        given: Values as JSON has them, by name; lists as JSON text, too.

    Raises:
        DataFailure: `parameter_validation` where a required one is missing, or one is unknown;
            `type_validation` where one is none of its type.
    """
    values = {each.name: _given(each, given.get(each.name)) for each in parameters}
    for parameter in parameters:
        if parameter.required and parameter.default is None and values[parameter.name] is None:
            raise _wrong(parameter.name, f"the parameter {parameter.name!r} is required; give it")
    bound: dict[str, Bound] = {}
    for parameter in parameters:
        value = values[parameter.name]
        if value is not None:
            bound[parameter.name] = _fit(parameter, value, "value")
        elif parameter.default is not None:
            bound[parameter.name] = _fit(parameter, parameter.default, "default")
        else:
            bound[parameter.name] = None
    for name in given:
        if name not in values:
            known = ", ".join(values) or "none"
            raise _wrong(name[:80], f"the parameter {name[:80]!r} is unknown; there are: {known}")
    return bound


def _given(parameter: Parameter, value: object) -> object:
    """Return a value as it is to be read, or None where it counts as missing."""
    if parameter.type in _LISTS and isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = cast("object", json.loads(value))
        except (ValueError, RecursionError):
            return value  # which is no list, as is said when it is read
    return None if value in ("", []) else value


def _fit(parameter: Parameter, value: object, field: str) -> Bound:
    """Return a value as one of a parameter's type."""
    value = _given(parameter, value) if parameter.type in _LISTS and value != [] else value
    try:
        return _FITTING[parameter.type](value)
    except (_Unfit, ValueError, OverflowError, ArithmeticError):
        what = "" if field == "value" else f"the {field} of "
        raise DataFailure(
            DataCode.TYPE_VALIDATION,
            f"{what}the parameter {parameter.name!r} has to be {_EXPECTED[parameter.type]}",
            details={"parameter": parameter.name, "type": parameter.type.value, "field": field},
        ) from None


def _wrong(name: str, message: str) -> DataFailure:
    return DataFailure(DataCode.PARAMETER_VALIDATION, message, details={"parameter": name})


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _Unfit
    value.encode()  # lone surrogates are no text
    return value


def _integer(value: object) -> int:
    match value:
        case bool():
            raise _Unfit
        case int():
            number = value
        case float() if value.is_integer() and abs(value) <= 2**53:
            number = int(value)
        case str() if _INTEGER.fullmatch(value):
            number = int(value)
        case _:
            raise _Unfit
    if number not in _INT64:
        raise _Unfit
    return number


def _decimal(value: object) -> Decimal:
    match value:
        case bool():
            raise _Unfit
        case Decimal():
            number = value
        case int() if value.bit_length() <= MOST_DIGITS * 3:
            number = Decimal(value)
        case float() if math.isfinite(value):
            number = Decimal(repr(value))
        case str() if len(value) <= MOST_DIGITS and _DECIMAL.fullmatch(value):
            number = Decimal(value)
        case _:
            raise _Unfit
    if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
        raise _Unfit
    return number


def _boolean(value: object) -> bool:
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise _Unfit
    return value


def _date(value: object) -> date:
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise _Unfit
    return date.fromisoformat(value)


def _timestamp(value: object) -> datetime:
    if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
        raise _Unfit
    return datetime.fromisoformat(value.upper())


def _uuid(value: object) -> UUID:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise _Unfit
    return UUID(value)


def _items(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _Unfit
    items = cast("Sequence[object]", value)
    if len(items) > MOST_ITEMS:
        raise _Unfit
    return items


def _strings(value: object) -> list[str]:
    return [_string(each) for each in _items(value)]


def _integers(value: object) -> list[int]:
    return [_integer(each) for each in _items(value)]


_FITTING: Final[Mapping[ParameterType, Callable[[object], Bound]]] = {
    ParameterType.STRING: _string,
    ParameterType.INTEGER: _integer,
    ParameterType.DECIMAL: _decimal,
    ParameterType.BOOLEAN: _boolean,
    ParameterType.DATE: _date,
    ParameterType.TIMESTAMP: _timestamp,
    ParameterType.UUID: _uuid,
    ParameterType.STRINGS: _strings,
    ParameterType.INTEGERS: _integers,
}
_EXPECTED: Final[Mapping[ParameterType, str]] = {
    ParameterType.STRING: "text",
    ParameterType.INTEGER: "a whole number of 64 bits",
    ParameterType.DECIMAL: "a number, such as 12.50 or '12.50'",
    ParameterType.BOOLEAN: "true or false",
    ParameterType.DATE: "a date, such as 2026-01-31",
    ParameterType.TIMESTAMP: "a time of RFC 3339, such as 2026-01-31T12:00:00Z",
    ParameterType.UUID: "a UUID",
    ParameterType.STRINGS: f"a list of at most {MOST_ITEMS} texts",
    ParameterType.INTEGERS: f"a list of at most {MOST_ITEMS} whole numbers of 64 bits",
}
