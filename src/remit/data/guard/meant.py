"""Functions and operators of PostgreSQL meant as its own, whatever else a database has.

A name without a schema means whichever function of that name fits best, and an operator likewise:
one that takes the very type of an argument goes before the engine's own. So the schema is written
before each function, where PostgreSQL lets it stand; of the rest the names are told, and the
database is asked whether it has any of its own (`engines/postgresql_own.py`).
"""

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from remit.data.engines.engine import Relied
from remit.data.guard.names import Call
from remit.data.guard.text import Piece, Span
from remit.data.guard.vocabulary import allowed_functions, words
from remit.model.data import EngineKind

SCHEMA: Final = "pg_catalog."

_SIGNS: Final = re.compile(r"[-+*/<>=~!@#%^&|`?]+")
_ASSIGNING: Final = (exp.Insert, exp.Update, exp.Merge, exp.Create, exp.Alter)


def with_schema(text: str, called: Sequence[Call]) -> str:
    """Return a statement with the engine's schema before each function that is called by name."""
    parts: list[str] = []
    at = 0
    for call in called:
        if _takes_schema(call):
            parts += [text[at : call.start], SCHEMA]
            at = call.start
    return "".join([*parts, text[at:]])


def relied_on(
    text: str,
    found: Sequence[Span],
    tokens: Sequence[Token],
    tree: exp.Expr,
    called: Sequence[Call],
) -> Relied:
    """Return what has to be so for functions, operators and casts to be the engine's own.

    Args:
        text: What the parser was given.
        found: Its pieces.
        tokens: Its words and signs.
        tree: What was made of it.
        called: What may be a call in it.
    """
    names = {
        each.name: None
        for each in called
        if not each.is_qualified and not _takes_schema(each) and each.name not in words("reserved")
    }
    return Relied(
        functions=tuple(names),
        operators=_operators(text, found, tokens),
        has_casts=isinstance(tree, _ASSIGNING)
        or any(True for _ in tree.find_all(exp.Cast, exp.TryCast))
        or any(each.token_type is TokenType.DCOLON for each in tokens)
        or any(each.name in words("types") for each in called),
    )


def _takes_schema(call: Call) -> bool:
    """Return whether it is a function that is the engine's own as soon as its schema is named.

    What has its name in quotes begins with one, and is found by what it is.
    """
    builtin = allowed_functions(EngineKind.POSTGRESQL) - words("unqualified")
    return call.is_function and not call.is_qualified and call.name in builtin


def _operators(text: str, found: Sequence[Span], tokens: Sequence[Token]) -> tuple[str, ...]:
    signs = {
        sign: None
        for span in found
        if span.piece is Piece.CODE
        for sign in _SIGNS.findall(text, span.start, span.end)
    }
    said = {word for token in tokens for word in token.text.lower().split()}
    for each in words("operating"):
        word, _, sign = each.partition(":")
        if word in said:
            signs[sign] = None
    return tuple(signs)
