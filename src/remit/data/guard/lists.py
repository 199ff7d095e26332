"""Lists: `IN ({{ids}})` means the elements of one, and a text is never made of it in silence.

No engine takes a list in the parentheses of IN: SQLite compares with its JSON, and PostgreSQL with
its text where that is what it expects. So those parentheses are written anew, before the statement
is parsed and judged; where a list stands anywhere else, it has to be where the engine takes it for
one. A list that is not given is null, of which neither IN nor NOT IN is true.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from remit.data.guard.text import invalid
from remit.data.guard.vocabulary import words
from remit.model.data import EngineKind

ELEMENTS: Final = re.compile(
    r"(?<![\w.])(?:(?P<no>not)(?P<a>\s+))?(?P<in>in)(?P<b>\s*)\((?P<c>\s*)"
    r"(?P<placeholder>\{\{(?P<name>[A-Za-z_][A-Za-z_0-9]*)\}\})(?P<d>\s*)\)",
    re.IGNORECASE,
)
"""A placeholder alone in the parentheses of an IN."""

_WITHIN: Final = {
    EngineKind.SQLITE: ("(SELECT value FROM json_each(coalesce(", ", '[null]')))"),
    EngineKind.DUCKDB: ("(SELECT unnest(coalesce(", ", [NULL])))"),
}

_PASSING: Final = frozenset(("coalesce", "ifnull"))
"""Functions that hand on what they are given."""

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_ALIKE: Final = frozenset({TokenType.AT_GT, TokenType.LT_AT, TokenType.DAMP})
"""Operators of lists, of which both sides are of one type."""

_BEGINNING: Final = frozenset(
    {
        TokenType.AND,
        TokenType.COMMA,
        TokenType.ELSE,
        TokenType.HAVING,
        TokenType.L_PAREN,
        TokenType.NOT,
        TokenType.ON,
        TokenType.OR,
        TokenType.SELECT,
        TokenType.THEN,
        TokenType.WHEN,
        TokenType.WHERE,
    }
)
"""After what a condition begins."""

_ENDING: Final = frozenset(
    {
        TokenType.ALIAS,
        TokenType.AND,
        TokenType.COMMA,
        TokenType.ELSE,
        TokenType.END,
        TokenType.GROUP_BY,
        TokenType.LIMIT,
        TokenType.OR,
        TokenType.ORDER_BY,
        TokenType.R_PAREN,
        TokenType.THEN,
    }
)
"""Before what one ends; so it does where the statement does."""

_REMEDIES: Final = {
    EngineKind.SQLITE: "json_each({0}) for its rows, or json({0}) for its JSON",
    EngineKind.POSTGRESQL: "CAST({0} AS text[]) or CAST({0} AS bigint[]) for an array",
    EngineKind.DUCKDB: "CAST({0} AS text[]) or CAST({0} AS bigint[]) for a list",
}


def around(found: re.Match[str], engine: EngineKind) -> tuple[str, str]:
    """Return what the engine is given around a list instead of the parentheses of an IN.

    Args:
        found: Of `ELEMENTS`; its lines stay what they are.
        engine: Whose dialect it is in.
    """
    no, *blanks = (found[each] or "" for each in ("no", "a", "b", "c", "d"))
    if engine is EngineKind.POSTGRESQL:
        said = f"<>{blanks[0]}ALL" if no else "= ANY"
        before, after = "(", ")"
    else:
        said = f"{no}{blanks[0]}{found['in']}"
        before, after = _WITHIN[engine]
    return f"{said}{blanks[1]}{before}{blanks[2]}", f"{blanks[3]}{after}"


def require_lists(
    tokens: Sequence[Token], lists: Mapping[int, str], engine: EngineKind, text: str
) -> None:
    """Let a list stand only where the engine takes it for one.

    Args:
        tokens: Of the statement.
        lists: Names of the placeholders that stand for one, by where they begin.
        engine: Whose dialect it is in.
        text: What the tokens are of.

    Raises:
        DataFailure: `invalid_sql`, which says what to write instead.
    """
    if not lists:
        return
    places = {token.start: at for at, token in enumerate(tokens)}
    statement = _Bracketed(tokens)
    for start, name in lists.items():
        if start not in places or not _is_list(_Operand(statement, places[start]), engine):
            written = f"{{{{{name}}}}}"
            raise invalid(
                f"the list {written} would be taken for a text here; write IN ({written}) or"
                f" NOT IN ({written}), with nothing else in the parentheses, for its elements,"
                f" and {_REMEDIES[engine].format(written)}",
                text,
                start,
            )


class _Bracketed:
    """The tokens of a statement, and what each of them stands in.

    Attributes:
        opening: For each token, where the bracket around it begins, or None.
        closing: Where each bracket ends, by where it begins.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.opening: list[int | None] = []
        self.closing: dict[int, int] = {}
        open_: list[int] = []
        for at, token in enumerate(tokens):
            if token.token_type in _CLOSING and open_:
                self.closing[open_.pop()] = at
            self.opening.append(open_[-1] if open_ else None)
            if token.token_type in _OPENING:
                open_.append(at)


@dataclass(slots=True)
class _Operand:
    """A placeholder, or what hands on its value: from the token *first* to *last*."""

    within: _Bracketed
    first: int
    last: int = -1

    def __post_init__(self) -> None:
        self.last = max(self.first, self.last)

    def kind(self, distance: int) -> TokenType | None:
        """Return what stands so far before it (negative) or behind it, or None."""
        token = self._token(distance)
        return token.token_type if token else None

    def word(self, distance: int) -> str:
        """Return the same as text, in lower case, or an empty one."""
        token = self._token(distance)
        return token.text.lower() if token else ""

    @property
    def is_argument(self) -> bool:
        """Whether it stands between parentheses or commas."""
        return self.kind(-1) in {TokenType.L_PAREN, TokenType.COMMA} and self.kind(1) in {
            TokenType.R_PAREN,
            TokenType.COMMA,
        }

    @property
    def opening(self) -> int | None:
        """The parenthesis or bracket that it stands in, or None."""
        return self.within.opening[self.first]

    @property
    def closing(self) -> int:
        """The end of what it stands in."""
        opening = self.opening
        last = len(self.within.tokens) - 1
        return last if opening is None else self.within.closing.get(opening, last)

    def _token(self, distance: int) -> Token | None:
        at = (self.first if distance < 0 else self.last) + distance
        return self.within.tokens[at] if 0 <= at < len(self.within.tokens) else None


def _is_list(operand: _Operand, engine: EngineKind) -> bool:
    """Return whether the engine takes it for a list, or asks only whether there is one."""
    statement, opening = operand.within, operand.opening
    if operand.is_argument and opening is not None:
        within = _Operand(statement, opening, operand.closing)
        name = within.word(-1)
        if statement.tokens[opening].token_type is not TokenType.L_PAREN:
            return False
        if _takes(name, engine, is_first=operand.first == opening + 1):
            return True
        if name in _PASSING:
            return _is_list(_Operand(statement, opening - 1, within.last), engine)
        is_alone = operand.first == opening + 1 and operand.last == within.last - 1
        return is_alone and within.kind(-1) in _BEGINNING and _is_list(within, engine)
    if engine is not EngineKind.SQLITE and (_is_cast(operand) or _is_compared(operand)):
        return True
    return _is_asked_for(operand)


def _takes(name: str, engine: EngineKind, *, is_first: bool) -> bool:
    if engine is EngineKind.DUCKDB and name.startswith(("list_", "array_")):
        return True  # it tells lists from texts, and refuses what is none
    return name in words(f"lists_{engine.value}") or (
        engine is EngineKind.POSTGRESQL and is_first and name in words("lists_first")
    )


def _is_cast(operand: _Operand) -> bool:
    """Return whether it is made into an array by `CAST(… AS type[])` or `…::type[]`."""
    if operand.kind(1) is TokenType.DCOLON:
        return operand.kind(3) is TokenType.L_BRACKET
    if operand.word(-2) not in {"cast", "try_cast"} or operand.kind(1) is not TokenType.ALIAS:
        return False
    return operand.within.tokens[operand.closing - 1].token_type is TokenType.R_BRACKET


def _is_compared(operand: _Operand) -> bool:
    """Return whether it is a side of an operator of lists, and of nothing else."""
    before, after = operand.kind(-1), operand.kind(1)
    ends = after is None or after in _ENDING
    return (before in _ALIKE and ends) or (after in _ALIKE and before in _BEGINNING)


def _is_asked_for(operand: _Operand) -> bool:
    """Return whether it is only asked whether it is null."""
    if operand.kind(-1) not in _BEGINNING:
        return False
    if operand.kind(1) is TokenType.IS:
        negated = operand.kind(2) is TokenType.NOT
        return operand.kind(3 if negated else 2) is TokenType.NULL
    return operand.kind(1) in {TokenType.ISNULL, TokenType.NOTNULL}
