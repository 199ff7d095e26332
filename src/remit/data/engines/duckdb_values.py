"""DuckDB's values where Python's would be others (`values.py`), in lists, structs and maps as well.

The driver gives `infinity` as a day of the year 9999, an interval without its months, a time
without its nanoseconds, and a FLOAT with digits that it does not have. So DuckDB is asked for
their text. What a change returns is as the driver gives it: it cannot be asked again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from duckdb.sqltypes import DuckDBPyType

from remit.data.engines.identifiers import quoted
from remit.data.engines.values import from_json

Load: TypeAlias = Callable[[object], object]

_BEFORE_CHRIST: Final = " (BC)"
_UNITS: Final = {"year": "Y", "month": "M", "day": "D"}
_QUOTED: Final = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How values of a type are taken.

    Attributes:
        type: Which they have to be made, in SQL; it may be their own.
        is_cast: Whether it is another one.
        load: What makes values of an answer of them, or None where they are that.
    """

    type: str
    is_cast: bool = False
    load: Load | None = None


def type_name(type_: object) -> str:
    """Return the name of a type in lower case, but for what it quotes: labels and fields."""
    parts = _QUOTED.split(str(type_))
    return "".join(part if at % 2 else part.lower() for at, part in enumerate(parts))


def loads_of(how: Sequence[Taken], *, is_cast: bool) -> Mapping[int, Load]:
    """Return what makes values of an answer, by their places in a row.

    Args:
        how: The values of each column are taken.
        is_cast: Whether they were cast as it says.
    """
    return {
        place: each.load
        for place, each in enumerate(how)
        if each.load is not None and (is_cast or not each.is_cast)
    }


def loaded(row: Sequence[object], loads: Mapping[int, Load]) -> Sequence[object]:
    """Return a row as it is in an answer."""
    if not loads:
        return row
    ready = list(row)
    for place, load in loads.items():
        if ready[place] is not None:
            ready[place] = load(ready[place])
    return ready


def take(type_: DuckDBPyType) -> Taken:
    """Return how values of a type are taken."""
    name = type_.id
    if (leaf := _LEAVES.get(name)) is not None:
        return Taken(type="VARCHAR", is_cast=True, load=leaf)
    if str(type_) == "JSON":
        return Taken(type="JSON", load=_document)
    if name in _NESTED:
        return _NESTED[name](type_)
    return Taken(type=str(type_))


def _list(type_: DuckDBPyType) -> Taken:
    parts = dict(cast("Sequence[tuple[str, object]]", type_.children))
    inner = take(cast("DuckDBPyType", parts["child"]))
    return Taken(
        type=f"{inner.type}[{parts.get('size', '')}]",
        is_cast=inner.is_cast,
        load=inner.load and (lambda value: _each(value, inner)),
    )


def _tuple(type_: DuckDBPyType) -> Taken:
    fields = [take(each) for _, each in _children(type_)]
    return Taken(
        type=f"TUPLE({', '.join(each.type for each in fields)})",
        is_cast=any(each.is_cast for each in fields),
        load=lambda value: [
            _loaded(each, how)
            for each, how in zip(cast("Sequence[object]", value), fields, strict=True)
        ],
    )


def _struct(type_: DuckDBPyType) -> Taken:
    fields = {name: take(each) for name, each in _children(type_)}
    named = ", ".join(f"{quoted(name)} {each.type}" for name, each in fields.items())
    return Taken(
        type=f"STRUCT({named})",
        is_cast=any(each.is_cast for each in fields.values()),
        load=lambda value: {
            name: _loaded(each, fields[name])
            for name, each in cast("Mapping[str, object]", value).items()
        },
    )


def _map(type_: DuckDBPyType) -> Taken:
    """Take a map, which is a list of keys and one of values where Python has no such keys."""
    (_, key_type), (_, value_type) = _children(type_)
    key, value = take(key_type), take(value_type)
    has_lists = key_type.id in _NESTED

    def load(given: object) -> object:
        pairs = cast("Mapping[object, object]", given)
        if has_lists and pairs:
            return {"key": _each(pairs["key"], key), "value": _each(pairs["value"], value)}
        return {_loaded(name, key): _loaded(each, value) for name, each in pairs.items()}

    return Taken(
        type=f"MAP({key.type}, {value.type})", is_cast=key.is_cast or value.is_cast, load=load
    )


def _children(type_: DuckDBPyType) -> Sequence[tuple[str, DuckDBPyType]]:
    return cast("Sequence[tuple[str, DuckDBPyType]]", type_.children)


def _each(values: object, how: Taken) -> Sequence[object]:
    return [_loaded(each, how) for each in cast("Sequence[object]", values)]


def _loaded(value: object, how: Taken) -> object:
    return value if value is None or how.load is None else how.load(value)


def _document(value: object) -> object:
    return from_json(value) if isinstance(value, str) else value


def _moment(value: object) -> object:
    """Return a date or a point in time as RFC 3339 has it, BC behind it; `infinity` stays."""
    text = str(value)
    plain = text.replace(_BEFORE_CHRIST, "")
    plain = plain.replace(" ", "T", 1).replace("+00", "+00:00")  # sessions are in UTC
    return plain if _BEFORE_CHRIST not in text else f"{plain} BC"


def _interval(value: object) -> object:
    """Return `1 year 2 days -00:00:01.5` as ISO 8601 has it, with each sign where it belongs."""
    *words, last = f" {value}".split(" ")
    if ":" not in last:
        words, last = [*words, last], "00:00:00"
    numbers, units = words[1::2], words[2::2]
    date = "".join(
        f"{number}{_UNITS[unit.rstrip('s')]}" for number, unit in zip(numbers, units, strict=True)
    )
    sign = "-" if last.startswith("-") else ""
    parts = zip(last.removeprefix("-").split(":"), "HMS", strict=True)
    clock = "".join(
        f"{sign}{number.lstrip('0') if '.' not in number else _plain(number)}{unit}"
        for number, unit in parts
        if number.strip("0")
    )
    return f"P{date}T{clock}" if clock else f"P{date}" if date else "PT0S"


def _plain(number: str) -> str:
    """Return seconds without a zero before them: `1.5` of `01.5`."""
    whole, _, rest = number.partition(".")
    return f"{int(whole)}.{rest}"


_LEAVES: Final[Mapping[str, Load]] = {
    "date": _moment,
    "timestamp": _moment,
    "timestamp_s": _moment,
    "timestamp_ms": _moment,
    "timestamp_ns": _moment,
    "timestamp with time zone": _moment,
    "time_ns": str,
    "interval": _interval,
    "float": lambda value: float(str(value)),
}

_NESTED: Final[Mapping[str, Callable[[DuckDBPyType], Taken]]] = {
    "list": _list,
    "array": _list,
    "tuple": _tuple,
    "struct": _struct,
    "map": _map,
}
