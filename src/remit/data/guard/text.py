"""The text of a statement in pieces: code, strings, quoted names and comments.

A small reader of our own, by the rules of each engine, so that what the parser makes of a text can
be held to a second opinion (`parsing.py`): where the two disagree, the statement is refused.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind

MOST_CHARACTERS: Final = 100_000
"""Characters of a statement."""

MOST_NESTING: Final = 30
"""Parentheses, brackets, braces and CASEs within one another."""

_DOLLAR: Final = re.compile(r"\$(?:[A-Za-z_]\w*)?\$", re.ASCII)
_UNICODE_ESCAPE: Final = re.compile(r"[uU]&['\"]")
_DEPTH: Final = re.compile(r"[(\[{]|[)\]}]|\bcase\b|\bend\b", re.IGNORECASE)


class Piece(StrEnum):
    """What a part of a statement's text is."""

    CODE = "code"
    STRING = "string"
    NAME = "quoted name"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a statement's text: from *start* up to, not including, *end*."""

    piece: Piece
    start: int
    end: int


def invalid(message: str, text: str = "", position: int | None = None) -> DataFailure:
    """Return the failure of a text that is no statement, with line and column if they are known."""
    if position is None:
        return DataFailure(DataCode.INVALID_SQL, message)
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return DataFailure(
        DataCode.INVALID_SQL,
        f"{message} (line {line}, column {column})",
        details={"line": line, "column": column},
    )


def spans(text: str, engine: EngineKind) -> tuple[Span, ...]:
    """Take a text apart.

    Raises:
        DataFailure: `invalid_sql` where it is too long, is nested too deeply, does not end what it
            begins, or holds characters by which parser and engine could read it differently.
    """
    if len(text) > MOST_CHARACTERS:
        raise invalid(f"a statement has at most {MOST_CHARACTERS} characters")
    found = tuple(_merged(_pieces(text, engine)))
    for span in found:
        _check_characters(text, span)
    _check_nesting(text, found)
    return found


def _pieces(text: str, engine: EngineKind) -> Iterator[Span]:
    at = 0
    while at < len(text):
        end, piece = _piece_at(text, at, engine)
        yield Span(piece, at, end)
        at = end


def _merged(pieces: Iterator[Span]) -> Iterator[Span]:
    """Join neighbouring code, one character each, into one span."""
    code: Span | None = None
    for span in pieces:
        if span.piece is Piece.CODE:
            code = Span(Piece.CODE, code.start if code else span.start, span.end)
            continue
        if code:
            yield code
            code = None
        yield span
    if code:
        yield code


def _piece_at(text: str, at: int, engine: EngineKind) -> tuple[int, Piece]:
    """Return where the piece that begins at *at* ends, and what it is."""
    if text.startswith("--", at):
        return _end_of_line(text, at, engine), Piece.COMMENT
    if text.startswith("/*", at):
        return _end_of_comment(text, at, nests=engine is not EngineKind.SQLITE), Piece.COMMENT
    match text[at]:
        case "'":
            escapes = engine is not EngineKind.SQLITE and _is_prefixed(text, at, "eE")
            return _end_of_quoted(text, at, "'", escapes=escapes), Piece.STRING
        case '"':
            return _end_of_quoted(text, at, '"'), Piece.NAME
        case "`" if engine is EngineKind.SQLITE:
            return _end_of_quoted(text, at, "`"), Piece.NAME
        case "[" if engine is EngineKind.SQLITE:
            return _after(text, "]", at + 1, at), Piece.NAME
        case "$" if engine is not EngineKind.SQLITE:
            return _dollar(text, at)
        case _:
            return at + 1, Piece.CODE


def _is_prefixed(text: str, at: int, letters: str) -> bool:
    """Return whether one of *letters*, and it alone, stands directly before a quote."""
    return at > 0 and text[at - 1] in letters and not (at > 1 and _is_word(text[at - 2]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character in "_$"


def _end_of_line(text: str, at: int, engine: EngineKind) -> int:
    ends = "\n" if engine is EngineKind.SQLITE else "\r\n"
    return next((place for place in range(at, len(text)) if text[place] in ends), len(text))


def _end_of_comment(text: str, at: int, *, nests: bool) -> int:
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, at):
        if found.group() == "*/":
            depth -= 1
        elif nests or not depth:
            depth += 1
        if not depth:
            return found.end()
    raise invalid("a comment does not end", text, at)


def _end_of_quoted(text: str, at: int, quote: str, *, escapes: bool = False) -> int:
    place = at + 1
    while place < len(text):
        if escapes and text[place] == "\\":
            place += 2
        elif text[place] != quote:
            place += 1
        elif text.startswith(quote, place + 1):
            place += 2
        else:
            return place + 1
    raise invalid("a quote does not end", text, at)


def _dollar(text: str, at: int) -> tuple[int, Piece]:
    if at and _is_word(text[at - 1]):
        raise invalid("quote a name that holds a dollar sign", text, at)
    opening = _DOLLAR.match(text, at)
    if opening is None:
        return at + 1, Piece.CODE
    return _after(text, opening.group(), opening.end(), at), Piece.STRING


def _after(text: str, ending: str, start: int, began: int) -> int:
    end = text.find(ending, start)
    if end < 0:
        raise invalid("a quote does not end", text, began)
    return end + len(ending)


def _check_characters(text: str, span: Span) -> None:
    for at in range(span.start, span.end):
        character = text[at]
        if character.isascii():
            harmless = character.isprintable() or character in "\t\n\r"
        else:
            category = unicodedata.category(character)
            harmless = category != "Cs" if span.piece is not Piece.CODE else category[0] in "LM"
        if not harmless:
            raise invalid(f"the character U+{ord(character):04X} may not stand here", text, at)
    if span.piece is Piece.CODE:
        # the piece may end in U& before a quote
        escaped = _UNICODE_ESCAPE.search(text, max(span.start - 2, 0), span.end + 1)
        if escaped:
            raise invalid("unicode escapes are not read; write the character", text, span.start)


def _check_nesting(text: str, found: tuple[Span, ...]) -> None:
    depth = 0
    for span in found:
        if span.piece is not Piece.CODE:
            continue
        for bracket in _DEPTH.finditer(text, span.start, span.end):
            opens = bracket.group().lower() in {"(", "[", "{", "case"}
            depth += 1 if opens else -1
            if depth > MOST_NESTING:
                raise invalid("it is nested too deeply", text, bracket.start())
