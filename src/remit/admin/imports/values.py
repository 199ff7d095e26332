"""Single values of other programs' entries, however loosely they were written."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from remit.model.servers import LONGEST_TIMEOUT

Complain = Callable[[str, str, str], None]
"""Takes key, path and what is wrong."""

FEWEST_MILLISECONDS = 1000
"""From here on a bare `timeout` is taken to be in milliseconds."""

_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|secs?|seconds?|m|mins?|minutes?)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value with the key it was written under, and where."""

    key: str
    path: str
    value: object = field(repr=False)


def read_texts(value: Value | None, complain: Complain) -> list[str]:
    """Return a list of texts; one text is split as a shell would."""
    if value is None:
        return []
    written = value.value
    if isinstance(written, str):
        return _words(written)
    if not isinstance(written, list):
        complain(value.key, value.path, "is no list of texts")
        return []
    texts = [_text(item) for item in cast("list[object]", written)]
    if None in texts:
        complain(value.key, value.path, "holds something that is no text, which is left out")
    return [text for text in texts if text is not None]


def read_pairs(value: Value | None, sign: str, complain: Complain) -> dict[str, str]:
    """Return names and texts, from a mapping or from a list such as `["NAME=text"]`."""
    if value is None:
        return {}
    pairs = _pairs(value.value, sign)
    if pairs is None:
        complain(value.key, value.path, "is no mapping of names to texts")
        return {}
    read = {name.strip(): _text(item) for name, item in pairs}
    if None in read.values():
        complain(value.key, value.path, "holds something that is no text, which is left out")
    return {name: text for name, text in read.items() if name and text is not None}


def read_flag(value: object) -> bool | None:
    """Return yes or no, or None where it says neither."""
    if isinstance(value, bool):
        return value
    return _FLAGS.get(value.strip().lower()) if isinstance(value, str) else None


def seconds_of(key: str, value: object, milliseconds: bool | None) -> float | None:
    """Return the seconds of a span of time, or None where it is none.

    A unit in the text counts first, then one in the key (`startup_timeout_ms`), then what the
    file's program means, then the number: nobody waits `FEWEST_MILLISECONDS` seconds.
    """
    if isinstance(value, bool):
        return None
    match = _SPAN.fullmatch(f"{value:f}" if isinstance(value, float) else str(value).strip())
    if match is None:
        return None
    number, unit = float(match[1]), match[2] or ""
    if unit:
        return number * (_UNITS["ms"] if unit == "ms" else _UNITS[unit[0]])
    ends = key.lower()
    if ends.endswith("ms"):
        return number / 1000
    if ends.endswith(("sec", "secs", "seconds")):
        return number
    if milliseconds is None:
        milliseconds = number >= FEWEST_MILLISECONDS > LONGEST_TIMEOUT
    return number / 1000 if milliseconds else number


def _pairs(value: object, sign: str) -> list[tuple[str, object]] | None:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, object]", value).items())
    if not isinstance(value, list):
        return None
    pairs: list[tuple[str, object]] = []
    for item in cast("list[object]", value):
        if isinstance(item, Mapping):
            named = cast("Mapping[str, object]", item)
            pairs.append((str(named.get("name", named.get("key", ""))), named.get("value")))
        else:
            name, _, text = str(item).partition(sign)
            pairs.append((name, text.strip() if sign == ":" else text))
    return pairs


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) else None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
