"""What a parsed statement holds: its kind, tables, functions, and what no statement may hold."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from remit.data.engines.engine import Relied
from remit.data.guard.lists import require_lists
from remit.data.guard.meant import relied_on, with_schema
from remit.data.guard.names import Call, calls, folded, tables
from remit.data.guard.nodes import (
    CHANGES,
    READS,
    is_defining,
    locks_or_writes,
    reaches_further,
    what_refuses,
)
from remit.data.guard.parsing import Parsed, parse
from remit.data.guard.references import claims
from remit.data.guard.text import invalid
from remit.data.guard.vocabulary import words
from remit.model.data import EngineKind

Kind = Literal["read", "modify", "define", "other"]

_LONGEST_NAME: Final = 63  # bytes on PostgreSQL, which cuts a longer one and takes another
_FILE: Final = re.compile(r"[./\\:*?\[\]{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What `statements.py: Statement` says of a statement."""

    sql: str
    rendered: str
    names: tuple[str, ...]
    kind: Kind
    tables: tuple[tuple[str, str], ...]
    functions: tuple[str, ...]
    word: str
    refused: str
    relied: Relied


def contents(
    sql: str, engine: EngineKind, *, placeholders: bool, lists: Collection[str] = ()
) -> Contents:
    """Parse one statement and say what it holds.

    Raises:
        DataFailure: `invalid_sql`.
    """
    parsed = parse(sql, engine, placeholders=placeholders, lists=lists)
    kind, word = _kind(parsed)
    _check_placeholders(parsed)
    require_lists(parsed.tokens, parsed.rendered.lists, engine, parsed.rendered.parsed)
    oddities = [] if kind == "other" else [_odd_nodes(parsed.tree, kind, engine)]
    found: dict[tuple[str, str], None] = {}
    for table in tables(parsed.tree, engine):
        odd = _oddity(parsed, table, engine)
        if odd:
            oddities.append(odd)
        else:
            schema = table.args.get("db")
            named = folded(schema, engine) if isinstance(schema, exp.Identifier) else ""
            found[named, folded(table.this, engine)] = None
    called = calls(parsed.tokens, parsed.tree, engine)
    rendered, relied, odd = _meant(parsed, called, tuple(found), engine)
    oddities += [_typed_literal(parsed, engine), odd]
    return Contents(
        sql=_without(sql, parsed.tail),
        rendered=_without(rendered, parsed.tail),
        names=parsed.rendered.names,
        kind=kind,
        tables=tuple(found),
        functions=tuple(dict.fromkeys(each.name for each in called if each.is_function)),
        word=word,
        refused=next((odd for odd in oddities if odd), ""),
        relied=relied,
    )


def _meant(
    parsed: Parsed, called: Sequence[Call], found: tuple[tuple[str, str], ...], engine: EngineKind
) -> tuple[str, Relied, str]:
    """Return a statement as it is run, what it relies on, and what it may not hold."""
    text = parsed.rendered.text
    if engine is not EngineKind.POSTGRESQL:
        names = dict.fromkeys(each.name for each in called)
        return text, Relied(functions=tuple(names), tables=found), ""
    relied = relied_on(parsed.rendered.parsed, parsed.pieces, parsed.tokens, parsed.tree, called)
    try:
        columns, odd = claims(parsed.tree, parsed.tokens)
    except RecursionError:
        raise invalid("it is nested too deeply") from None
    return with_schema(text, called), replace(relied, tables=found, claims=columns), odd


def _odd_nodes(tree: exp.Expr, kind: Kind, engine: EngineKind) -> str:
    if kind != "define":
        return what_refuses(tree, engine)
    query = tree.args.get("expression")
    return reaches_further(tree) or (
        what_refuses(query, engine) if isinstance(query, exp.Query) else ""
    )


def _without(text: str, tail: int) -> str:
    """Return a text without so many characters at its end: a semicolon, and comments behind it."""
    return text[: len(text) - tail].strip()


def _kind(parsed: Parsed) -> tuple[Kind, str]:
    """Return what a statement does, and what it is in the words of SQL."""
    tree = parsed.tree
    if parsed.procedure:
        system = parsed.procedure.lower().startswith("pg_")
        return ("other", "CALL of a procedure of the system") if system else ("modify", "CALL")
    more = locks_or_writes(tree)
    if more:
        return "other", more
    if isinstance(tree, READS):
        return "read", "SELECT"
    word = str(tree.this) if isinstance(tree, exp.Command) else tree.key.removesuffix("table")
    word = f"{word} {tree.args.get('kind') or ''}".strip().upper()
    if isinstance(tree, CHANGES):
        return "modify", word
    return ("define", word) if is_defining(tree) else ("other", word or "no statement")


def _check_placeholders(parsed: Parsed) -> None:
    """Refuse a placeholder that stands for anything but a value."""
    rendered = parsed.rendered
    seen = 0
    for node in parsed.tree.find_all(exp.Placeholder, exp.Parameter, exp.SessionParameter):
        if not rendered.places:
            raise invalid("values are bound by approved queries, as {{name}}")
        if not _is_value(node):
            break
        seen += 1
    if seen != len(rendered.places):
        raise invalid("a placeholder stands for a value: it names no table, column, order or type")


_NAMED: Final = (
    exp.Column,
    exp.CTE,
    exp.DataType,
    exp.Dot,
    exp.From,
    exp.Group,
    exp.Identifier,
    exp.Join,
    exp.Lateral,
    exp.Order,
    exp.Ordered,
    exp.Schema,
    exp.Table,
    exp.TableAlias,
    exp.With,
)
"""What a placeholder may not be a part of; sorting by one would be sorting by a constant."""


def _is_value(node: exp.Expr) -> bool:
    parent = node.parent
    if isinstance(parent, exp.Anonymous):
        return node.arg_key == "expressions"
    if isinstance(parent, exp.Alias):
        return node.arg_key == "this"
    if isinstance(parent, exp.EQ) and isinstance(parent.parent, exp.Update):
        return node.arg_key == "expression" or parent.arg_key != "expressions"
    return parent is not None and not isinstance(parent, _NAMED)


def _oddity(parsed: Parsed, table: exp.Table, engine: EngineKind) -> str:
    """Return what is odd about a table's name: a file's, or one in another database."""
    name = table.this
    if table.args.get("catalog") or not isinstance(name, exp.Identifier):
        return "a table of another database"
    start = name.meta.get("start")
    text = parsed.rendered.parsed
    if isinstance(start, int) and text[start] == "'":
        return "a file in the place of a table"
    if engine is EngineKind.POSTGRESQL and len(name.name.encode()) > _LONGEST_NAME:
        return "a name that the database would cut"
    if not name.args.get("quoted") and name.name.lower() in words("in_place_of_tables"):
        return f"{name.name.upper()} in the place of a table"
    if engine is EngineKind.DUCKDB and _FILE.search(name.name):
        return "a file in the place of a table"
    return ""


def _typed_literal(parsed: Parsed, engine: EngineKind) -> str:
    """Return the type that stands before a literal, such as regclass 'x', if it is no plain one.

    The parser takes it for a name and its alias; the engine looks something up.
    """
    if engine is EngineKind.SQLITE:
        return ""
    before = None
    for token in parsed.tokens:
        if token.token_type is TokenType.STRING and before is not None:
            word = before.text.lower()
            named = before.token_type in {
                TokenType.VAR,
                TokenType.IDENTIFIER,
                TokenType.OBJECT_IDENTIFIER,
                TokenType.PSEUDO_TYPE,
            }
            if named and word not in words("before_literals"):
                return f"{before.text[:80]} before a literal"
        before = token
    return ""
