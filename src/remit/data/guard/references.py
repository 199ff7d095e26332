"""What has to be a column for a statement to mean no more than it seems to (PostgreSQL).

Where `x.y` or `(x).y` names no column, PostgreSQL calls the function y, whichever it is, and where
`x` names none, it means the whole row of a table of that name, for which a database can have casts,
operators and functions of its own. Which columns a table has, the database alone knows
(`engines/postgresql_own.py`); here is found which names have to be columns of which tables.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from remit.data.engines.engine import Claim
from remit.data.guard.names import folded, is_name, tables
from remit.data.guard.relations import ENGINE, Relations

_SETTING: Final = (exp.OnConflict, exp.Update)


def claims(tree: exp.Expr, tokens: Sequence[Token]) -> tuple[tuple[Claim, ...], str]:
    """Return what has to be a column, each once, and what is none for sure, or an empty text.

    Args:
        tree: Of a statement on PostgreSQL.
        tokens: Its words and signs.
    """
    relations = Relations(tree, tables(tree, ENGINE))
    found: dict[Claim, None] = {}
    for node in tree.walk():
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            found[Claim(name=folded(node.expression, ENGINE))] = None
        if not isinstance(node, exp.Column) or _is_assigned(node):
            continue
        if isinstance(node.this, exp.Star):
            row = _row_by_star(node, relations)
        elif node.args.get("table"):
            found |= dict.fromkeys(_qualified(node, relations))
            continue
        else:
            claim = _bare(node, relations)
            row = claim.name if claim and not claim.tables else ""
            found |= {claim: None} if claim else {}
        if row:
            return (), f"{row!r} for a whole row; name its columns"
    for claim in _untold(tokens, tree, relations.tables()):
        if claim.is_row:
            return (), f"{claim.name!r}, the name of a table, in this place"
        found[claim] = None
    return tuple(found), ""


def _qualified(column: exp.Column, relations: Relations) -> Iterator[Claim]:
    """Give what has to be so for `x.y` to be a column."""
    name, table = _folded(column.this), _folded(column.args.get("table"))
    found = list(relations.named(table, column))
    if not found:
        yield Claim(name=name)
    for relation in found:
        for columns in relation.meanings:
            if name not in columns.names:
                yield Claim(name=name, tables=tuple(sorted(columns.tables)))


def _bare(column: exp.Column, relations: Relations) -> Claim | None:
    """Return what has to be so for `x` to be a column, if it may be a whole row."""
    name = _folded(column.this)
    if not relations.may_be_row(name, column) or _is_of_output(column, name):
        return None
    known = relations.columns(column)
    if name in known.names:
        return None
    return Claim(name=name, tables=tuple(sorted(known.tables)), is_row=True)


def _row_by_star(star: exp.Column, relations: Relations) -> str:
    """Return whose row `x.*` is, where it does not stand for columns, or an empty text."""
    listed = isinstance(star.parent, (exp.Select, exp.Returning)) and star.arg_key == "expressions"
    if listed:
        return ""
    table = _folded(star.args.get("table"))
    return f"{table}.*" if any(each.is_table for each in relations.named(table, star)) else ""


def _is_assigned(column: exp.Column) -> bool:
    """Return whether it is what a statement sets, and no value."""
    node: exp.Expr = column
    if isinstance(node.parent, exp.Tuple):
        node = node.parent
    parent = node.parent
    if isinstance(parent, exp.Insert):
        return node.arg_key == "this"
    if not isinstance(parent, exp.EQ) or node.arg_key != "this":
        return False
    return isinstance(parent.parent, _SETTING) and parent.arg_key == "expressions"


def _is_of_output(column: exp.Column, name: str) -> bool:
    """Return whether ORDER BY or GROUP BY names by it what SELECT gives that name to."""
    parent = column.parent
    if isinstance(parent, exp.Ordered) and isinstance(parent.parent, exp.Order):
        parent = parent.parent
    elif not isinstance(parent, exp.Group):
        return False
    query = parent.parent
    return isinstance(query, exp.Select) and any(
        isinstance(each, exp.Alias) and _folded(each.args.get("alias")) == name
        for each in query.expressions
    )


def _untold(tokens: Sequence[Token], tree: exp.Expr, rows: frozenset[str]) -> Iterator[Claim]:
    """Give what was not looked at in the tree: names behind a dot, and names of tables."""
    parents = {
        int(each.meta["start"]): each.parent for each in tree.find_all(exp.Identifier) if each.meta
    }
    for at, token in enumerate(tokens):
        if not is_name(token) or _is_called(tokens, at):
            continue
        is_quoted = token.token_type is TokenType.IDENTIFIER
        name = folded(exp.to_identifier(token.text, quoted=is_quoted), ENGINE)
        parent = parents.get(token.start)
        before = tokens[at - 1].token_type if at else None
        if before is TokenType.DOT:
            if not isinstance(parent, (exp.Column, exp.Dot, exp.Table)):
                yield Claim(name=name)
        elif name in rows and not isinstance(parent, _NAMING) and before not in _BEFORE_TYPES:
            yield Claim(name=name, is_row=True)


_BEFORE_TYPES: Final = (TokenType.DCOLON, TokenType.ALIAS)

_NAMING: Final = (
    exp.Alias,
    exp.Column,
    exp.ColumnDef,
    exp.CTE,
    exp.Index,
    exp.Insert,
    exp.Join,
    exp.Schema,
    exp.Table,
    exp.TableAlias,
    exp.Window,
)
"""What a name may stand in that is looked at, or is no value."""


def _is_called(tokens: Sequence[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN


def _folded(name: object) -> str:
    return folded(name, ENGINE) if isinstance(name, exp.Identifier) else ""
