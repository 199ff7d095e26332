"""A statement's text made into a tree, in bounded time, and held to a second opinion.

What the parser reads is, character by character, what the engine will read. It is refused where
the parser's tokens are not what our own reader finds in the text (`text.py`).
"""

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from remit.data.guard.placeholders import Rendered, render
from remit.data.guard.text import Piece, Span, invalid, spans
from remit.model.data import EngineKind

DIALECTS: Final = {
    EngineKind.SQLITE: "sqlite",
    EngineKind.POSTGRESQL: "postgres",
    EngineKind.DUCKDB: "duckdb",
}
MOST_TOKENS: Final = 10_000
"""Words and signs of a statement."""

_STEPS: Final = 3
"""Steps that the parser takes at most for each token; one or two are usual."""

_QUOTED: Final = frozenset(
    {
        TokenType.STRING,
        TokenType.IDENTIFIER,
        TokenType.BYTE_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
    }
)
_CALL: Final = re.compile(r"\bcall\b", re.IGNORECASE | re.ASCII)
_WORD_OR_SIGN: Final = re.compile(r"\w+|[^\w\s]")
_PREFIXES: Final = frozenset({"", "e", "x", "b", "n"})

# it warns of every statement that it cannot parse; we refuse those
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One statement.

    Attributes:
        pieces: Of what the parser was given.
        tokens: Without a semicolon at the end.
        tree: Of a CALL, what it would be as a SELECT of that function.
        procedure: What a CALL calls, with its schema if one is named, or empty.
        tail: Characters from the semicolon at the end on; 0 without one.
    """

    rendered: Rendered
    pieces: tuple[Span, ...]
    tokens: tuple[Token, ...]
    tree: exp.Expr
    procedure: str = ""
    tail: int = 0


def parse(
    sql: str, engine: EngineKind, *, placeholders: bool, lists: Collection[str] = ()
) -> Parsed:
    """Parse exactly one statement.

    Raises:
        DataFailure: `invalid_sql`, with line and column.
    """
    pieces = spans(sql, engine)
    rendered = render(sql, pieces, engine, placeholders=placeholders, lists=lists)
    found = spans(rendered.parsed, engine)
    text = rendered.parsed
    dialect = Dialect.get_or_raise(DIALECTS[engine])
    call = _CALL.search(text) if engine is EngineKind.POSTGRESQL else None
    if call and _is_first(text, call.start(), found):
        # the tokenizer takes a CALL for a command whose rest it need not understand
        text = text[: call.start()] + "xxxx" + text[call.end() :]
    else:
        call = None
    tokens = _tokens(text, found, dialect)
    if tokens and tokens[0].token_type in dialect.tokenizer_class.COMMANDS:
        command = exp.Command(this=tokens[0].text.upper())
        return Parsed(rendered=rendered, pieces=found, tokens=(), tree=command)
    _compare(text, tokens, found)
    body = _one_statement(text, tokens)
    ended = tokens[-1].token_type is TokenType.SEMICOLON
    procedure = ""
    if call:
        procedure, called = _as_select(text, body)
        tree = _tree(text, called, dialect)
        body = body[len(procedure.split(".")) * 2 :]
    else:
        tree = _tree(text, body, dialect)
    return Parsed(
        rendered=rendered,
        pieces=found,
        tokens=tuple(body),
        tree=tree,
        procedure=procedure,
        tail=len(text) - tokens[-1].start if ended else 0,
    )


def _is_first(text: str, at: int, found: tuple[Span, ...]) -> bool:
    """Return whether nothing but comments and blanks stands before a place."""
    return all(
        span.piece is Piece.COMMENT
        or (span.piece is Piece.CODE and not text[span.start : min(span.end, at)].strip())
        for span in found
        if span.start < at
    )


def _tokens(text: str, found: tuple[Span, ...], dialect: Dialect) -> list[Token]:
    count = len(found) + sum(
        len(_WORD_OR_SIGN.findall(text, span.start, span.end))
        for span in found
        if span.piece is Piece.CODE
    )
    if count > MOST_TOKENS:  # counted first: to tokenize them would take seconds
        raise invalid(f"a statement has at most {MOST_TOKENS} words and signs")
    try:
        return dialect.tokenize(text)
    except SqlglotError:
        raise invalid("it cannot be read as SQL; is a quote missing?") from None


def _compare(text: str, tokens: list[Token], found: tuple[Span, ...]) -> None:
    """Refuse a text of which parser and reader do not see the same pieces."""
    ours = {span.end: span for span in found if span.piece in {Piece.STRING, Piece.NAME}}
    covered = bytearray(len(text))
    for token in tokens:
        start, end = token.start, token.end + 1
        covered[start:end] = b"\x01" * (end - start)
        if token.token_type in _QUOTED:
            span = ours.pop(end, None)
            if span is None or text[start : span.start].lower() not in _PREFIXES:
                raise _doubtful(text, start)
        elif not text[start:end].isascii() and token.token_type is not TokenType.VAR:
            raise _doubtful(text, start)
    for span in ours.values():
        raise _doubtful(text, span.start)
    for span in found:
        at = _differs(text, span, covered)
        if at is not None:
            raise _doubtful(text, at)


def _differs(text: str, span: Span, covered: bytearray) -> int | None:
    """Return where a comment was read, or code was passed over, or None."""
    for at in range(span.start, span.end):
        if span.piece is Piece.COMMENT and covered[at]:
            return at
        if span.piece is Piece.CODE and not covered[at] and not text[at].isspace():
            return at
    return None


def _doubtful(text: str, at: int) -> Exception:
    return invalid("this can be read in two ways; write it more plainly", text, at)


def _one_statement(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens without a semicolon at the end."""
    body = tokens[:-1] if tokens and tokens[-1].token_type is TokenType.SEMICOLON else tokens
    if not body:
        raise invalid("it holds no statement")
    for token in body:
        if token.token_type is TokenType.SEMICOLON:
            raise invalid("give one statement, not several", text, token.start)
    return body


def _as_select(text: str, tokens: list[Token]) -> tuple[str, list[Token]]:
    """Return what a CALL calls, and the tokens with SELECT in its place, which can be parsed."""
    opening = next(
        (at for at, token in enumerate(tokens) if token.token_type is TokenType.L_PAREN), 0
    )
    names = tokens[1:opening]
    if len(names) not in {1, 3} or any(
        (token.token_type is TokenType.DOT) is not (at == 1) for at, token in enumerate(names)
    ):
        raise invalid("name what is called as CALL name(…)", text, tokens[0].start)
    first = tokens[0]
    select = Token(
        TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.end, first.comments
    )
    return ".".join(token.text for token in names[::2]), [select, *tokens[1:]]


class _Exhausted(Exception):
    """The parser goes back and forth without end."""


def _tree(text: str, tokens: list[Token], dialect: Dialect) -> exp.Expr:
    parser = _bounded(dialect, _STEPS * len(tokens) + 1_000)
    try:
        trees = parser.parse(tokens, text)
    except ParseError as error:
        raise _unparsed(text, error) from None
    except SqlglotError:
        raise invalid("it cannot be read as SQL") from None
    except (RecursionError, _Exhausted):
        raise invalid("it is nested too deeply") from None
    if len(trees) != 1 or trees[0] is None:
        raise invalid("give one statement, not several")
    return trees[0]


def _unparsed(text: str, error: ParseError) -> Exception:
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    if not isinstance(line, int) or not isinstance(column, int):
        return invalid("it cannot be read as SQL")
    lines = text.splitlines(keepends=True)
    position = sum(len(each) for each in lines[: line - 1]) + max(column - 1, 0)
    near = str(first.get("highlight", ""))[:40]
    return invalid(f"it cannot be read as SQL near {near!r}", text, min(position, len(text)))


def _bounded(dialect: Dialect, steps: int) -> Parser:
    """Return a parser of the dialect that gives up after so many steps.

    It tries alternatives by going back, which takes twice as long with each of some nestings.
    """
    left = steps

    class Bounded(dialect.parser_class):
        def _advance(self, times: int = 1) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise _Exhausted
            super()._advance(times)

    return Bounded(dialect=dialect)
