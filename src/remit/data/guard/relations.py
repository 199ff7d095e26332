"""What the names in a FROM stand for, and which columns they have, as far as the text tells.

PostgreSQL calls a function where `x.y` names no column of x: whoever is to say that `y` is one has
to know what x is. What is told here errs to one side: `named` gives everything that a name may
mean, `columns` nothing that is not sure to be a column.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from remit.data.guard.names import folded
from remit.data.guard.nodes import CHANGES
from remit.model.data import EngineKind

ENGINE: Final = EngineKind.POSTGRESQL
"""The others call nothing that is written as a column."""

Table = tuple[str, str]
"""Schema, or an empty text for the usual one, and name."""

_ROWS: Final = ("excluded", "old", "new")
"""Names by which a statement that changes rows calls those of its table."""

_UNSEEN: Final = frozenset({"from_", "joins", "laterals", "using", "this", "expression"})
"""Parts of a statement in which not everything of its FROM, or not its table, is seen."""

_NAMED_LIKE_CALLED: Final = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns of something.

    Attributes:
        names: Of those that the text tells.
        tables: Whose columns are among them as well.
    """

    names: frozenset[str] = frozenset()
    tables: frozenset[Table] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Something that a name in a FROM stands for.

    Attributes:
        meanings: Its columns, by each of the things that it may be: a name can be a table's and
            that of a part of a WITH.
        is_table: Whether it may be a table, whose rows have a type of the database's own.
        is_plain: Whether it is listed by itself, so that it is seen wherever the FROM is.
    """

    meanings: tuple[Columns, ...]
    is_table: bool
    is_plain: bool


class Relations:
    """The relations of a statement.

    Args:
        tree: The whole statement.
        tables: Those of its nodes that may name a table of the database.
    """

    def __init__(self, tree: exp.Expr, tables: Iterable[exp.Table]) -> None:
        self._tables = frozenset(id(each) for each in tables)
        self._known: dict[int, Columns] = {}
        self._ctes: dict[str, list[exp.CTE]] = {}
        self._scopes: dict[int, dict[str, list[Relation]]] = {}
        self._all: dict[int, Columns] = {}
        self._plain: dict[int, frozenset[int]] = {}
        ctes = tuple(tree.find_all(exp.CTE))
        for cte in ctes:
            self._ctes.setdefault(_alias(cte), []).append(cte)
        for cte in ctes:  # in their order, so that none has to look deep
            self._columns_of(cte)
        for node in tree.walk():
            if isinstance(node, exp.Table):
                self._collect(node)
            elif isinstance(node, exp.TableAlias) and not isinstance(node.parent, _HANDLED):
                self._collect(node.parent or node)

    def named(self, name: str, at: exp.Expr) -> Iterator[Relation]:
        """Give every relation that a name before a dot may mean where a node stands.

        The nearest one alone where that is sure to be seen from there.
        """
        for scope, argument in _scopes(at):
            found = self._scopes.get(id(scope), {}).get(name, ())
            yield from found
            is_seen = isinstance(scope, exp.Select) and argument not in _UNSEEN
            if is_seen and any(each.is_plain for each in found):
                return

    def may_be_row(self, name: str, at: exp.Expr) -> bool:
        """Return whether a name without a dot may mean a whole row of a table."""
        return any(
            each.is_table
            for scope, _ in _scopes(at)
            for each in self._scopes.get(id(scope), {}).get(name, ())
        )

    def columns(self, at: exp.Expr) -> Columns:
        """Return columns that a name without a dot is sure to mean where a node stands."""
        return _either(
            self._all_of(scope) for scope, argument in _scopes(at) if _sees_all(scope, argument)
        )

    def tables(self) -> frozenset[str]:
        """Return every name that may mean a whole row of a table, somewhere."""
        return frozenset(
            name
            for named in self._scopes.values()
            for name, found in named.items()
            if any(each.is_table for each in found)
        )

    def _collect(self, node: exp.Expr) -> None:
        name = _alias(node) or _name(node)
        scope = next((scope for scope, _ in _scopes(node)), node)
        is_table = id(node) in self._tables
        relation = Relation(
            meanings=self._meanings(node),
            is_table=is_table,
            is_plain=id(node) in self._plain_in(scope),
        )
        here = self._scopes.setdefault(id(scope), {})
        is_changed = isinstance(scope, CHANGES) and node is next(_listed(scope), None)
        rows = _ROWS if is_changed else ()
        for each in (name, *rows):
            here.setdefault(each, []).append(relation)

    def _meanings(self, node: exp.Expr) -> tuple[Columns, ...]:
        if _given(node) or not isinstance(node, exp.Table):
            return (self._columns_of(node),)
        if not isinstance(node.this, exp.Identifier):
            return (Columns(),)  # a function
        found: list[Columns] = []
        schema, name = node.args.get("db"), folded(node.this, ENGINE)
        if id(node) in self._tables:
            named = folded(schema, ENGINE) if isinstance(schema, exp.Identifier) else ""
            found.append(Columns(tables=frozenset({(named, name)})))
        if schema is None:
            found += [self._columns_of(cte) for cte in self._ctes.get(name, ())]
        return tuple(found) or (Columns(),)

    def _columns_of(self, node: exp.Expr) -> Columns:
        """Return the columns of a query, or of something in a FROM that may have names for them."""
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = Columns()  # of a part of a WITH RECURSIVE, within itself
            known = self._known[id(node)] = self._found_in(node)
        return known

    def _found_in(self, node: exp.Expr) -> Columns:
        given = _given(node)
        if given:
            return Columns(names=given)
        match node:
            case exp.Table():
                return _only(self._meanings(node))
            case exp.SetOperation() | exp.CTE() | exp.Subquery() | exp.Lateral():
                return (
                    self._columns_of(node.this) if isinstance(node.this, exp.Query) else Columns()
                )
            case exp.Select():
                return _either(self._columns_by(each, node) for each in node.expressions)
            case _:
                return Columns()

    def _columns_by(self, selected: exp.Expr, scope: exp.Select) -> Columns:
        """Return what one expression between SELECT and FROM adds to the columns."""
        if isinstance(selected, exp.Star):
            return self._all_of(scope)
        if isinstance(selected, exp.Column) and isinstance(selected.this, exp.Star):
            table = selected.args.get("table")
            listed = [each for each in _listed(scope) if _is_called(each, table)]
            return self._columns_of(listed[0]) if len(listed) == 1 else Columns()
        name = _name_of(selected)
        return Columns(names=frozenset({name} if name else ()))

    def _all_of(self, scope: exp.Expr) -> Columns:
        known = self._all.get(id(scope))
        if known is None:
            known = _either(self._columns_of(node) for node in _listed(scope))
            self._all[id(scope)] = known
        return known

    def _plain_in(self, scope: exp.Expr) -> frozenset[int]:
        known = self._plain.get(id(scope))
        if known is None:
            known = self._plain[id(scope)] = frozenset(id(each) for each in _listed(scope))
        return known


_HANDLED: Final = (exp.CTE, exp.Table)


def _only(meanings: tuple[Columns, ...]) -> Columns:
    return meanings[0] if len(meanings) == 1 else Columns()


def _is_called(node: exp.Expr, name: object) -> bool:
    called = _alias(node) or _name(node)
    return isinstance(name, exp.Identifier) and folded(name, ENGINE) == called


def _scopes(node: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Give the statements around a node, the nearest first, and which part of each it is in.

    A part of a WITH sees nothing of the FROM that the WITH stands before.
    """
    hidden: exp.Expr | None = None
    while node.parent is not None:
        argument = node.arg_key or ""
        node = node.parent
        if isinstance(node, exp.With):
            hidden = node.parent
        elif node is not hidden and (node.parent is None or isinstance(node, _SCOPES)):
            yield node, argument


_SCOPES: Final = (exp.Select, *CHANGES)


def _sees_all(scope: exp.Expr, argument: str) -> bool:
    """Return whether all of a FROM, or the table, is seen in a part of a statement."""
    if isinstance(scope, _SCOPES):
        return argument not in _UNSEEN and not isinstance(scope, exp.Merge)
    return argument in {"this", "actions"}  # such as an index


def _listed(scope: exp.Expr) -> Iterator[exp.Expr]:
    """Give what a FROM lists, where that is no more than it seems: no joins in parentheses.

    Of a statement that changes or defines something, its table as well.
    """
    listed: list[object] = []
    if not isinstance(scope, exp.Query):
        target = scope.this
        if isinstance(target, exp.Index):
            target = target.args.get("table")
        listed.append(target.this if isinstance(target, exp.Schema) else target)
        using = scope.args.get("using")
        listed += using if isinstance(using, list) else [using]
    from_ = scope.args.get("from_")
    listed += [from_.this] if isinstance(from_, exp.From) else []
    listed += [join.this for join in scope.args.get("joins") or ()]
    for node in listed:
        if isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Query):
            continue
        if isinstance(node, (exp.Table, exp.DerivedTable)) and not node.args.get("pivots"):
            yield node


def _either(columns: Iterable[Columns]) -> Columns:
    names: set[str] = set()
    tables: set[Table] = set()
    for each in columns:
        names |= each.names
        tables |= each.tables
    return Columns(names=frozenset(names), tables=frozenset(tables))


def _alias(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    name = alias.this if isinstance(alias, exp.TableAlias) else None
    return folded(name, ENGINE) if isinstance(name, exp.Identifier) else ""


def _name(node: exp.Expr) -> str:
    name = node.this
    return folded(name, ENGINE) if isinstance(name, exp.Identifier) else ""


def _given(node: exp.Expr) -> frozenset[str]:
    """Return the names that a list behind an alias gives to columns; others keep theirs."""
    alias = node.args.get("alias")
    listed = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    names = [each.this if isinstance(each, exp.ColumnDef) else each for each in listed or ()]
    offset = node.args.get("offset")
    return frozenset(
        folded(each, ENGINE) for each in [*names, offset] if isinstance(each, exp.Identifier)
    )


def _name_of(selected: exp.Expr) -> str:
    """Return the name that PostgreSQL gives to a column; empty where that takes more to know."""
    while isinstance(selected, (exp.Paren, exp.Cast, exp.Window, exp.Filter)):
        selected = selected.this
    match selected:
        case exp.Alias():
            alias = selected.args.get("alias")
            return folded(alias, ENGINE) if isinstance(alias, exp.Identifier) else ""
        case exp.Column():
            return _name(selected)
        case _:
            return selected.key if isinstance(selected, _NAMED_LIKE_CALLED) else ""
