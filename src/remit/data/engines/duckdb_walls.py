"""What a statement on DuckDB may do: its own parser says what it is, and what it names.

A database that is opened to read only still takes statements of other kinds (`CREATE TEMP TABLE`,
`CALL`), and tells everybody of every table. So a statement that reads has to be a SELECT by
DuckDB's own word, and every table, every function in the place of a table, and every function that
could fill the memory of the gateway is looked for in its own tree of it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from duckdb import DuckDBPyConnection, Error, StatementType

from remit.data.engines.duckdb_own import Own, require_no_macro
from remit.data.engines.engine import Allowed
from remit.data.engines.failures import not_reading, said
from remit.model.data import DataCode

Node: TypeAlias = Mapping[str, object]

TABLE_FUNCTIONS: Final = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})

REFUSED: Final = frozenset(
    {
        "current_setting",
        "currval",
        "damerau_levenshtein",
        "getenv",
        "getvariable",
        "json_merge_patch",
        "nextval",
        "query",
        "query_table",
        "read_blob",
        "read_text",
        "which_secret",
        "write_log",
    }
)
"""Functions that tell of the installation, read files, change something, or know no bounds."""

GROWING: Final = frozenset(
    {
        "array_resize",
        "bar",
        "bitstring",
        "generate_series",
        "list_resize",
        "lpad",
        "range",
        "repeat",
        "rpad",
    }
)
"""Functions whose result is as large as a number says, outside of DuckDB's memory limit."""

FORMATS: Final = frozenset({"printf", "format"})

MOST_FIELDS: Final = 16
"""Signs in a format that stand for a value, each of which may be a large one."""

REPLACING: Final = frozenset({"replace", "regexp_replace"})

SHORT: Final = 12
"""Characters that may take another's place; what is made of a large text is as often larger."""

MEASURING: Final = frozenset({"editdist3", "levenshtein"})
"""Functions that take the product of two lengths, and cannot be stopped within."""

MEASURED: Final = 1000
"""Characters of the shorter of the two."""

LARGEST: Final = 10_000
"""What such a number may be at most; it has to stand in the statement."""

READING: Final = frozenset({StatementType.SELECT})

PLANNED: Final = READING | {
    StatementType.INSERT,
    StatementType.UPDATE,
    StatementType.DELETE,
    StatementType.MERGE_INTO,
}
"""Statements whose plan may be shown."""

DEFINING: Final = frozenset(
    {StatementType.CREATE, StatementType.DROP, StatementType.ALTER, StatementType.ANALYZE}
)
"""Statements that return no rows."""

CHANGING: Final = PLANNED | DEFINING | {StatementType.EXPLAIN}


LONGEST: Final = 100
"""Characters that a literal stays below with which a text is filled."""


def require_kind(
    connection: DuckDBPyConnection, sql: str, kinds: frozenset[StatementType]
) -> StatementType:
    """Return what a single statement is, if it is one of *kinds*.

    Raises:
        DataFailure: It is another, or there is not exactly one.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise said(DataCode.INVALID_SQL, f"give one statement, not {len(statements)}")
    kind = statements[0].type
    if kind not in kinds:
        raise not_reading(f"a statement of the kind {kind.name.replace('_', ' ')}")
    return kind


def require_reading(
    connection: DuckDBPyConnection,
    sql: str,
    allowed: Allowed,
    *,
    usual: str,
    tables: frozenset[tuple[str, str]],
    own: Own,
) -> None:
    """Let only a statement pass that reads from what is allowed.

    Args:
        connection: Any of the database.
        sql: One statement.
        allowed: Which tables may be used.
        usual: The schema of names without one.
        tables: `(schema, name)` of everything that can be read in the database, lower case.
        own: Its macros.

    Raises:
        DataFailure: It does something else, or names what is not allowed.
    """
    require_kind(connection, sql, READING)
    nodes = list(_nodes(_tree(connection, sql)))
    ctes = {name for node in nodes for name in _ctes(node)}
    # a series in the place of a table comes row by row, whatever its size
    series = {id(node.get("function")) for node in nodes if node.get("type") == "TABLE_FUNCTION"}
    for node in nodes:
        require_no_macro(node, own)
        match node.get("type"):
            case "BASE_TABLE":
                _check_table(node, allowed, usual=usual, tables=tables, ctes=ctes)
            case "TABLE_FUNCTION":
                _check_table_function(node)
            case "SHOW_REF":
                raise not_reading("DESCRIBE, SHOW and SUMMARIZE")
            case "FUNCTION" if id(node) not in series:
                _check_function(node)
            case _:
                pass


def _tree(connection: DuckDBPyConnection, sql: str) -> object:
    try:
        row = connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchone()
    except Error as error:  # it has no tree that DuckDB can tell
        raise not_reading("a statement of this shape") from error
    tree: object = json.loads(str(row[0])) if row else None
    if not isinstance(tree, dict) or cast("Node", tree).get("error"):
        raise not_reading("a statement of this shape")
    return cast("Node", tree)


def _nodes(tree: object) -> Iterator[Node]:
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            node = cast("Node", each)
            yield node
            waiting.extend(node.values())
        elif isinstance(each, list):
            waiting.extend(cast("list[object]", each))


def _ctes(node: Node) -> Iterator[str]:
    ctes = node.get("cte_map")
    if isinstance(ctes, dict):
        for entry in cast("Sequence[Node]", cast("Node", ctes).get("map") or ()):
            yield str(entry.get("key")).lower()


def _check_table(
    node: Node,
    allowed: Allowed,
    *,
    usual: str,
    tables: frozenset[tuple[str, str]],
    ctes: set[str],
) -> None:
    schema, name = _text(node, "schema_name").lower(), _text(node, "table_name").lower()
    exists = (schema or usual, name) in tables
    if not schema and name in ctes and not any(each == name for _, each in tables):
        return  # it is one of its own, and can be nothing else
    if _text(node, "catalog_name") or not exists or not allowed(schema, name):
        # in the same words whether it is there or not
        raise said(DataCode.UNDEFINED_TABLE, f"there is no table {_text(node, 'table_name')!r}")


def _check_table_function(node: Node) -> None:
    function = node.get("function")
    name = _text(cast("Node", function), "function_name") if isinstance(function, dict) else ""
    if name.lower() not in TABLE_FUNCTIONS:
        raise not_reading(f"the function {name}")


def _check_function(node: Node) -> None:
    name = _text(node, "function_name").lower()
    if name in REFUSED:
        raise not_reading(f"the function {name}")
    arguments = list(_arguments(node))
    if name in GROWING and not all(_is_small(each) for each in arguments[_first_size(name) :]):
        raise not_reading(
            f"the function {name} with a number above {LARGEST}, or none in its place"
        )
    if name in FORMATS and not _is_plain_format(arguments[0] if arguments else ""):
        raise not_reading(
            f"the function {name} with a width in its format, or more than {MOST_FIELDS} values"
        )
    if name in REPLACING and not _is_short_for(arguments, in_place=name == "replace"):
        raise not_reading(
            f"the function {name} with another replacement than a literal of at most {SHORT}"
            " characters"
        )
    if name in MEASURING and not any(map(_is_measured, _expressions(node))):
        raise not_reading(
            f"the function {name} on two texts of any length; write left(…, {MEASURED}) for one"
        )


def _first_size(name: str) -> int:
    return 0 if name in ("range", "generate_series", "repeat") else 1


def _arguments(node: Node) -> Iterator[object]:
    """Give the literals among what a function is called with, as text; None for what is none."""
    for expression in _expressions(node):
        literal = expression.get("literal")
        yield cast("Node", literal).get("text") if isinstance(literal, dict) else None


def _expressions(node: Node) -> Iterator[Node]:
    for each in cast("Sequence[Node]", node.get("arguments") or ()):
        expression = each.get("expression")
        yield cast("Node", expression) if isinstance(expression, dict) else {}


def _is_short_for(arguments: Sequence[object], *, in_place: bool) -> bool:
    """Say whether the third argument makes a text little longer than it was.

    One that is put in place of a text, and not of what fits a pattern, may be as long as that.
    """
    _, old, new, *_ = [*arguments, None, None, None]
    if not isinstance(new, str):
        return False
    longest = 2 * len(old) if in_place and isinstance(old, str) else 0
    return len(new) <= max(SHORT, longest)


def _is_measured(expression: Node) -> bool:
    """Say whether a text is a short literal, or cut to a length that stands there."""
    literal = expression.get("literal")
    if isinstance(literal, dict):
        return len(str(cast("Node", literal).get("text"))) <= MEASURED
    if _text(expression, "function_name").lower() != "left":
        return False
    length = [*_arguments(expression), None, None][1]
    return isinstance(length, str) and length.isdigit() and int(length) <= MEASURED


def _is_small(literal: object) -> bool:
    """Say whether a literal is no large number; a short text may be what is filled with."""
    if not isinstance(literal, str):
        return False
    is_short = len(literal) < LONGEST
    return is_short and not (literal.isdigit() and int(literal) > LARGEST)


def _is_plain_format(literal: object) -> bool:
    if not isinstance(literal, str) or len(re.findall("[%{]", literal)) > MOST_FIELDS:
        return False
    return re.search(r"\d{4,}|\*|\{[^}]*\{", literal) is None


def _text(node: Node, key: str) -> str:
    return str(node.get(key) or "")
