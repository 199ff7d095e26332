"""The tables and functions that a statement names.

Tables come from the tree, functions from the tokens: the parser gives functions names of its own,
and an engine calls whatever stands before a parenthesis.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from remit.data.guard.vocabulary import words
from remit.model.data import EngineKind

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
"""What an engine takes for one letter; not what Unicode does, such as a k and the Kelvin."""

_WORD: Final = re.compile(r"\w+")


def folded(name: exp.Identifier, engine: EngineKind) -> str:
    """Return a name as the engine keeps it."""
    if engine is EngineKind.POSTGRESQL and not name.args.get("quoted"):
        return name.name.translate(_LOWER)
    return name.name


def same(one: str, other: str, engine: EngineKind) -> bool:
    """Return whether the engine takes both names for one."""
    if engine is not EngineKind.POSTGRESQL:
        one, other = one.translate(_LOWER), other.translate(_LOWER)
    return one == other


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A name that stands before a parenthesis, or calls a function without one.

    Attributes:
        name: As the engine folds it, with what is written before it where that is no schema of the
            engine's.
        start: Where it begins in the text.
        is_qualified: Whether something stands before it.
        is_function: Whether it is sure to be one; else it is a word or a type by what is known of
            SQL, and a function only where the database has one of that name.
    """

    name: str
    start: int
    is_qualified: bool
    is_function: bool


def calls(tokens: Sequence[Token], tree: exp.Expr, engine: EngineKind) -> tuple[Call, ...]:
    """Return what may be a call of a function, in order."""
    aliases = _places_of_names(tree)
    plain = words("before_parentheses") | words("types")
    if isinstance(tree, (exp.Create, exp.Alter, exp.Drop)):
        plain |= words("defining")
    found: list[Call] = []
    for at, token in enumerate(tokens):
        if not is_name(token) or token.start in aliases:
            continue
        quoted = token.token_type is TokenType.IDENTIFIER
        word = token.text if quoted else token.text.translate(_LOWER)
        is_qualified = at > 0 and tokens[at - 1].token_type is TokenType.DOT
        if at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN:
            name = _qualified(tokens, at, word, engine)
            is_function = quoted or word.split()[-1] not in plain
        elif (
            engine is EngineKind.POSTGRESQL
            and not quoted
            and not is_qualified
            and word in words("without_parentheses")
        ):
            name, is_function = word, True
        else:
            continue
        found.append(
            Call(name=name, start=token.start, is_qualified=is_qualified, is_function=is_function)
        )
    return tuple(found)


def is_name(token: Token) -> bool:
    """Return whether a token may be a name: a word, be it one of SQL's, or one in quotes."""
    if token.token_type is TokenType.IDENTIFIER:
        return True
    return _WORD.match(token.text) is not None and token.token_type not in {
        TokenType.STRING,
        TokenType.NUMBER,
        TokenType.HEREDOC_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.BYTE_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
        TokenType.RAW_STRING,
    }


def _places_of_names(tree: exp.Expr) -> frozenset[int]:
    """Return where aliases, and tables whose columns are listed, begin: they are no functions."""
    return frozenset(
        int(node.meta["start"])
        for node in tree.find_all(exp.Identifier)
        if "start" in node.meta and _lists_columns(node)
    )


def _lists_columns(name: exp.Identifier) -> bool:
    parent = name.parent
    if isinstance(parent, exp.TableAlias):
        return name.arg_key == "this"
    if isinstance(parent, exp.Table):
        return name.arg_key == "this" and isinstance(parent.parent, (exp.Schema, exp.Index))
    return False


def _qualified(tokens: Sequence[Token], at: int, word: str, engine: EngineKind) -> str:
    """Return a function's name, with what stands before it where that is not the engine's own."""
    name = word if engine is EngineKind.POSTGRESQL else word.lower()
    if at < 1 or tokens[at - 1].token_type is not TokenType.DOT:
        return name
    if engine is EngineKind.DUCKDB:
        return name  # a method: `x.upper()` is `upper(x)`
    if at < 2:  # noqa: PLR2004 - nothing stands before the dot
        return f".{name}"
    before = tokens[at - 2]
    is_quoted = before.token_type is TokenType.IDENTIFIER
    schema = before.text if is_quoted else before.text.translate(_LOWER)
    return name if schema == "pg_catalog" else f"{schema}.{name}"


def tables(tree: exp.Expr, engine: EngineKind) -> Iterator[exp.Table]:
    """Return the tables that a statement names, in their order.

    A name is a CTE's only where the engine is sure to see it so: elsewhere it may be a table's.
    """
    for table in sorted(tree.find_all(exp.Table), key=_place):
        name = table.this
        if name is None or isinstance(name, exp.Func):
            continue  # a function, which the tokens tell of
        if (
            not isinstance(name, exp.Identifier)
            or table.args.get("db")
            or _is_target(table)
            or not _is_cte(table, folded(name, engine), engine)
        ):
            yield table


def _place(table: exp.Table) -> int:
    name = table.this
    return int(name.meta.get("start", 0)) if isinstance(name, exp.Expr) else 0


_TARGETED: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter)


def _is_target(table: exp.Table) -> bool:
    """Return whether it is what a statement changes, which a CTE never is."""
    node: exp.Expr = table
    if isinstance(node.parent, exp.Schema):
        node = node.parent
    return isinstance(node.parent, _TARGETED) and node.arg_key in {"this", "tables"}


def _is_cte(table: exp.Table, name: str, engine: EngineKind) -> bool:
    node: exp.Expr = table
    repeated = False
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.Union) and isinstance(parent.parent, exp.CTE):
            repeated = node.arg_key == "expression"
        if isinstance(parent, exp.With) and isinstance(node, exp.CTE):
            if _is_earlier(parent, node, name, engine, repeated=repeated):
                return True
            # what the WITH belongs to shows its parts nothing more
            parent = parent.parent or parent
            repeated = False
        else:
            with_ = parent.args.get("with_")
            if isinstance(with_, exp.With) and any(
                same(_name_of(cte, engine), name, engine) for cte in with_.expressions
            ):
                return True
        node = parent
    return False


def _is_earlier(
    with_: exp.With, inside: exp.CTE, name: str, engine: EngineKind, *, repeated: bool
) -> bool:
    """Return whether a part of a WITH sees a name as one of its parts.

    That is an earlier one or, in the repeated half of a recursive one, itself.
    """
    for cte in with_.expressions:
        if cte is inside:
            recursive = bool(with_.args.get("recursive")) or engine is EngineKind.SQLITE
            return recursive and repeated and same(_name_of(cte, engine), name, engine)
        if same(_name_of(cte, engine), name, engine):
            return True
    return False


def _name_of(cte: exp.CTE, engine: EngineKind) -> str:
    alias = cte.args.get("alias")
    name = alias.this if isinstance(alias, exp.TableAlias) else None
    return folded(name, engine) if isinstance(name, exp.Identifier) else ""
