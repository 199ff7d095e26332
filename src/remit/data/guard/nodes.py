"""What a statement may be made of, and what it does: everything else is refused (S2.34)."""

from typing import Final

from sqlglot import exp

from remit.data.guard.vocabulary import words
from remit.model.data import EngineKind

READS: Final = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)
CHANGES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
DEFINES: Final = (exp.Create, exp.Drop, exp.Alter, exp.TruncateTable)

_DEFINED: Final = frozenset({"TABLE", "VIEW", "INDEX"})


def what_refuses(root: exp.Expr, engine: EngineKind) -> str:
    """Return what a reading or modifying statement holds that it may not, or an empty text."""
    for node in root.walk():
        name = type(node).__name__
        if isinstance(node, exp.In) and node.args.get("field") and engine is EngineKind.SQLITE:
            return "IN and a table's name; write IN (SELECT ...)"
        if isinstance(node, exp.Pivot) and node.arg_key != "pivots":
            return "a PIVOT that is no part of a FROM"
        if isinstance(node, (exp.DataType, exp.ObjectIdentifier, exp.PseudoType)):
            refused = _refused_type(node, engine)
            if refused:
                return f"the type {refused}"
            continue
        if name in words("nodes"):
            continue
        if name in words("forbidden_nodes"):
            return f"the operator or function {name.upper()}"
        if not isinstance(node, (exp.Func, exp.Binary, exp.Unary)):
            return f"{name.upper()}, which is no part of a query"
    return ""


def _refused_type(node: exp.Expr, engine: EngineKind) -> str:
    """Name a type that is none of the engine's plain ones: such a cast can look things up."""
    if isinstance(node, (exp.ObjectIdentifier, exp.PseudoType)):
        return str(node.this).lower()
    if engine is EngineKind.SQLITE or node.this is not exp.DType.USERDEFINED:
        return ""
    kind = node.args.get("kind")
    written = kind if isinstance(kind, str) else kind.sql() if isinstance(kind, exp.Expr) else ""
    return "" if written.lower() in words("casts") else (written[:80] or "of its own")


def locks_or_writes(root: exp.Expr) -> str:
    """Return by what a statement that looks like a SELECT does more than read, or an empty text."""
    for node in root.walk():
        if isinstance(node, exp.Select):
            if node.args.get("into"):
                return "SELECT INTO"
            if node.args.get("locks"):
                return "a SELECT that locks rows"
        if isinstance(node, exp.Lock):
            return "a SELECT that locks rows"
        within = node is not root and isinstance(node, (*CHANGES, *DEFINES))
        if within and not (isinstance(node, exp.Drop) and isinstance(node.parent, exp.Alter)):
            return "a statement that changes something within another"
    return ""


def reaches_further(root: exp.Expr) -> str:
    """Return by what a definition reaches tables that it does not name, or an empty text."""
    dropped = any(each.args.get("cascade") for each in root.find_all(exp.Drop, exp.Alter))
    emptied = any(
        str(each.args.get("option") or "").upper() == "CASCADE"
        for each in root.find_all(exp.TruncateTable)
    )
    return "CASCADE, which reaches what it does not name" if dropped or emptied else ""


def is_defining(root: exp.Expr) -> bool:
    """Return whether it is DDL of the kinds that are understood: tables, views and indexes."""
    if isinstance(root, exp.TruncateTable):
        return True
    kind = str(root.args.get("kind") or "").upper()
    return isinstance(root, DEFINES) and kind in _DEFINED
