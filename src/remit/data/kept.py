"""What is kept of a statement that ran, or was refused: no secrets, and not without end (S2.47)."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, cast
from uuid import UUID

from remit.calls.redact import is_secret_name, recorded_text, redacted
from remit.data.guard.text import Piece, spans
from remit.errors import DataFailure
from remit.model.data import EngineKind

MOST_SQL: Final = 10 * 1024
"""Bytes of a statement that are kept."""

MOST_VALUE: Final = 1000
"""Characters of a parameter's value that are kept."""

MOST_ERROR: Final = 500
"""Characters of an error that are kept."""

MOST_ITEMS: Final = 100
"""Values of a list that are kept."""

_DIGITS: Final = 12

# For texts that are no statement, and never run: comments and quoted names are passed over, so that
# a quote in them opens nothing, and what no quote closes goes on to the end.
_PARTS: Final = re.compile(
    r"(?P<comment>--[^\n]*|/\*(?s:.*?)(?:\*/|\Z))"
    r"|(?P<name>\"[^\"]*(?:\"\"[^\"]*)*(?:\"|\Z))"
    r"|'[^']*(?:''[^']*)*(?:'|\Z)"
    r"|(?<![A-Za-z0-9_$])\$(?P<tag>\w*)\$(?s:.*?)(?:\$(?P=tag)\$|\Z)"
)

_NAME: Final = r"\"[^\"]*(?:\"\"[^\"]*)*(?:\"|\Z)"
_TEXT: Final = r"'[^']*(?:''[^']*)*(?:'|\Z)"
_ANYWHERE: Final = (
    # SQLite: more ways to quote a name, and no escapes
    re.compile(
        r"(?P<comment>--[^\n]*|/\*(?s:.*?)(?:\*/|\Z))"
        rf"|(?P<name>{_NAME}|`[^`]*(?:``[^`]*)*(?:`|\Z)|\[[^\]]*(?:\]|\Z))"
        rf"|{_TEXT}"
    ),
    # PostgreSQL and DuckDB: comments within comments, of which the first hides all that follows
    re.compile(
        r"(?P<comment>--[^\r\n]*|/\*(?:[^/*]|/(?!\*)|\*(?!/))*+\*/|/\*(?s:.*))"
        rf"|(?P<name>{_NAME})"
        r"|(?<![\w$])[eE]'(?:[^'\\]|''|\\(?s:.))*+(?:'|\Z)"
        rf"|{_TEXT}"
        r"|(?<![\w$])\$(?P<tag>(?:[A-Za-z_]\w*)?)\$(?s:.*?)(?:\$(?P=tag)\$|\Z)"
    ),
)
"""What is not code, to one engine and to the others; what does not end goes on to the end."""

_SHOWN: Final[Mapping[Piece, str]] = {Piece.STRING: "''", Piece.COMMENT: " "}


def kept_sql(sql: str, engine: EngineKind) -> str:
    """Return a statement as it is kept: string literals blanked, comments gone, 10 KB at most."""
    try:
        pieces = [_SHOWN.get(span.piece, sql[span.start : span.end]) for span in spans(sql, engine)]
        blanked = "".join(pieces)
    except DataFailure:
        blanked = _PARTS.sub(_blanked, sql)
    return blanked.encode("utf-8", "replace")[:MOST_SQL].decode("utf-8", "ignore")


def kept_sql_anywhere(sql: str) -> str:
    """Return a statement as it is kept where nobody knows for which engine it is.

    What is a literal or a comment to any of them is none of what is kept.
    """
    text = sql[:MOST_SQL]
    hidden: list[tuple[int, int, str]] = []
    for parts in _ANYWHERE:
        hidden += [
            (part.start(), part.end(), " " if part["comment"] is not None else "''")
            for part in parts.finditer(text)
            if part["name"] is None
        ]
    pieces: list[str] = []
    at = 0
    for start, end, shown in sorted(hidden):
        if start >= at:
            pieces += (text[at:start], shown)
        at = max(at, end)
    pieces.append(text[at:])
    return "".join(pieces).encode("utf-8", "replace")[:MOST_SQL].decode("utf-8", "ignore")


def _blanked(part: re.Match[str]) -> str:
    if part["name"] is not None:
        return part["name"]
    return " " if part["comment"] is not None else "''"


def kept_values(values: Mapping[str, object]) -> dict[str, object]:
    """Return parameters as they are kept, as JSON has them.

    The value of a name that means a secret is replaced by the beginning of its SHA-256: equal ones
    can be told to be equal, and not what they are.
    """
    return {
        name[:MOST_VALUE]: _digest(value) if is_secret_name(name) else _kept(value)
        for name, value in values.items()
    }


def kept_error(message: str) -> str:
    """Return an error as it is kept."""
    return recorded_text(message, MOST_ERROR)


def as_json(value: object) -> object:
    """Return a bound value as JSON has it; decimals, times and ids are texts."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, list | tuple):
        return [as_json(each) for each in cast("Sequence[object]", value)]
    return value


def _kept(value: object) -> object:
    plain = as_json(value)
    if isinstance(plain, str):
        return recorded_text(plain, MOST_VALUE)
    if isinstance(plain, list):
        return [_kept(each) for each in cast("list[object]", plain)[:MOST_ITEMS]]
    if isinstance(plain, dict):
        return recorded_text(json.dumps(redacted(cast("object", plain)), default=str), MOST_VALUE)
    return plain


def _digest(value: object) -> str:
    text = json.dumps(as_json(value), default=str, sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"
