"""Functions of SQLite that take the product of the lengths of what they are given, done anew.

SQLite cannot be stopped within a function, and within these a single call can take hours: looking
for a text of two million characters in one of four. Python's own take the sum of the lengths.
"""

import sqlite3
from collections.abc import Callable
from typing import Final

MOST_TRIMMED: Final = 1000
"""Different characters that `trim` takes away, at most."""

Value = str | bytes | int | float | None


def bound_functions(connection: sqlite3.Connection, largest: int) -> None:
    """Have a connection use `instr`, `replace` and the three trims as they are here.

    Args:
        connection: Any.
        largest: Characters of what `replace` gives.
    """

    def replace(text: Value, old: Value, new: Value) -> Value:
        if text is None or old is None or new is None:
            return None
        if not _text(old):
            return _text(text) if isinstance(text, bytes) else text
        return _replaced(_text(text), _text(old), _text(new), largest)

    connection.create_function("replace", 3, replace, deterministic=True)
    connection.create_function("instr", 2, _instr, deterministic=True)
    connection.create_function("trim", 2, _trimming(str.strip), deterministic=True)
    connection.create_function("ltrim", 2, _trimming(str.lstrip), deterministic=True)
    connection.create_function("rtrim", 2, _trimming(str.rstrip), deterministic=True)


def _replaced(text: str, old: str, new: str, largest: int) -> str:
    if len(text) + text.count(old) * (len(new) - len(old)) > largest:
        raise OverflowError  # which is how a value too large is told to SQLite
    return text.replace(old, new)


def _trimming(trim: Callable[[str, str], str]) -> Callable[[Value, Value], Value]:
    def trimmed(text: Value, characters: Value) -> Value:
        if text is None or characters is None:
            return None
        return trim(_text(text), _few(_text(characters)))

    return trimmed


def _instr(text: Value, part: Value) -> Value:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _text(text).find(_text(part)) + 1


def _few(characters: str) -> str:
    few = "".join(set(characters[: 2 * MOST_TRIMMED]))
    if len(characters) > 2 * MOST_TRIMMED or len(few) > MOST_TRIMMED:
        raise OverflowError
    return few


def _text(value: Value) -> str:
    match value:
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case float():
            return _written(value)
        case _:
            return str(value)


def _written(number: float) -> str:
    """Return a number as SQLite writes it, which it alone knows."""
    scratch = sqlite3.connect(":memory:")
    try:
        return str(scratch.execute("SELECT CAST(? AS TEXT)", [number]).fetchone()[0])
    finally:
        scratch.close()
