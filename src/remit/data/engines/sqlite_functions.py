"""Functions of SQLite that take too long for what they are given, done anew.

SQLite cannot be stopped within a function, and within these a single call can take hours: looking
for a text of two million characters in one of four. Python's own take the sum of the lengths.
`printf` is SQLite's own, on a connection beside, but for what it would write in vain: it goes on
repeating a character when the text has long become too large.
"""

import re
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import Final

MOST_TRIMMED: Final = 1000
"""Different characters that `trim` takes away, at most."""

_REPEATED: Final = re.compile(r"%[-+ !#,0-9*.l]*?\.([0-9]+|\*)l*c")
"""A character, and how often `printf` repeats it; a star is told by an argument."""

Value = str | bytes | int | float | None


@contextmanager
def bounded_functions(connection: sqlite3.Connection, largest: int) -> Generator[None]:
    """Have a connection use `instr`, `replace`, the trims and `printf` as they are here.

    Args:
        connection: Any, which is not used for these afterwards.
        largest: Characters of what `replace` gives, and that `printf` repeats.
    """
    with closing(sqlite3.connect(":memory:")) as own:
        own.text_factory = _decoded
        own.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, largest)
        _replace_functions(connection, own, largest)
        yield


def _replace_functions(
    connection: sqlite3.Connection, own: sqlite3.Connection, largest: int
) -> None:
    def printf(*values: Value) -> Value:
        if values and values[0] is not None and _repeats(own, values) > largest:
            raise OverflowError
        marks = ",".join("?" * len(values))
        written: Value = own.execute(f"SELECT printf({marks})", values).fetchone()[0]
        return written

    def replace(text: Value, old: Value, new: Value) -> Value:
        if text is None or old is None or new is None:
            return None
        if not _text(old):
            return _text(text) if isinstance(text, bytes) else text
        return _replaced(_text(text), _text(old), _text(new), largest)

    connection.create_function("printf", -1, printf, deterministic=True)
    connection.create_function("format", -1, printf, deterministic=True)
    connection.create_function("replace", 3, replace, deterministic=True)
    connection.create_function("instr", 2, _instr, deterministic=True)
    connection.create_function("trim", 2, _trimming(str.strip), deterministic=True)
    connection.create_function("ltrim", 2, _trimming(str.lstrip), deterministic=True)
    connection.create_function("rtrim", 2, _trimming(str.rstrip), deterministic=True)


def _repeats(own: sqlite3.Connection, values: Sequence[Value]) -> int:
    """Return how many characters a `printf` repeats, at most.

    A star may be any of the arguments: only SQLite knows which one it takes for it.
    """
    counts = _REPEATED.findall(_text(values[0]))
    if not counts:
        return 0
    most = max((_whole(own, each) for each in values[1:]), default=0) if "*" in counts else 0
    return sum(most if each == "*" else int(each.lstrip("0")[:20] or 0) for each in counts)


def _whole(own: sqlite3.Connection, value: Value) -> int:
    return abs(int(own.execute("SELECT coalesce(CAST(? AS INTEGER), 0)", [value]).fetchone()[0]))


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
            return _decoded(value)
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


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")
