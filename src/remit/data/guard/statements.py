"""What a statement is, found by parsing it, and whether it may run (S2.34, S2.40).

The first of two walls: the second is the engine, which refuses by its own means
(`data/engines/`). What may run:

    READ    SELECT, WITH … SELECT, VALUES, set operations      anybody's
    MODIFY  INSERT, UPDATE, DELETE, MERGE, CALL                approved queries, `execute`
    DEFINE  CREATE, ALTER, DROP, TRUNCATE of a table           `execute`
    OTHER   everything else, and what cannot be understood     nobody's
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from remit.data.engines.engine import Allowed, Prepared, Relied
from remit.data.guard.vocabulary import allowed_functions, is_system_table
from remit.errors import DataFailure
from remit.model.data import Bound, DataCode, EngineKind

if TYPE_CHECKING:
    from remit.data.guard.reading import Contents


class StatementKind(StrEnum):
    """What a statement does."""

    READ = "read"
    MODIFY = "modify"
    DEFINE = "define"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement, parsed.

    Attributes:
        sql: As it was given, without a semicolon at its end.
        rendered: The same with the engine's numbered placeholders, and its own way to say that
            something is in a list; on PostgreSQL with the schema of the functions that are its own.
        names: Of the placeholders, in the order of their numbers; each once (S2.31), and on
            PostgreSQL once more for each test for NULL.
        kind: READ is one of SELECT, WITH … SELECT, VALUES and set operations of them; MODIFY one
            of INSERT, UPDATE, DELETE, MERGE, CALL; DEFINE is DDL.
        tables: `(schema, table)` of every table it names, in order; the schema is empty where it
            names none. Names of its own CTEs are none.
        functions: Lower-case names of the functions it calls, in order; with what is written
            before them where that is no schema of the engine's.
        word: What it is in the words of SQL, such as `PRAGMA`, for whoever is refused.
        refused: What it holds that no statement may, or empty.
        relied: What has to be so in the database for it to be what is said here.
    """

    engine: EngineKind
    sql: str
    rendered: str
    names: tuple[str, ...] = ()
    kind: StatementKind
    tables: tuple[tuple[str, str], ...] = ()
    functions: tuple[str, ...] = ()
    word: str = ""
    refused: str = ""
    relied: Relied = field(default_factory=Relied)

    def prepare(self, values: Sequence[Bound] = ()) -> Prepared:
        """Return it as an engine runs it, with a value for each of `names`."""
        return Prepared(sql=self.rendered, values=values, relied=self.relied)


def parse_statement(
    sql: str, engine: EngineKind, *, placeholders: bool = False, lists: Collection[str] = ()
) -> Statement:
    """Parse exactly one statement.

    Args:
        sql: As the caller gives it.
        engine: Whose dialect it is in.
        placeholders: Whether `{{name}}` stands for a value; elsewhere it is a mistake.
        lists: Names of placeholders that stand for a list (`lists.py`).

    Raises:
        DataFailure: `invalid_sql` where it is not one statement that can be read, or has a
            placeholder where none may be, or a list where it would be taken for a text.
    """
    # deferred: the parser is several megabytes, which a gateway without a data server spares
    from remit.data.guard.reading import contents  # noqa: PLC0415

    found: Contents = contents(sql, engine, placeholders=placeholders, lists=lists)
    return Statement(
        engine=engine,
        sql=found.sql,
        rendered=found.rendered,
        names=found.names,
        kind=StatementKind(found.kind),
        tables=found.tables,
        functions=found.functions,
        word=found.word,
        refused=found.refused,
        relied=found.relied,
    )


def require_reading(statement: Statement, allowed: Allowed) -> None:
    """Let only a statement pass that reads, from tables and by functions that are allowed.

    Raises:
        DataFailure: `invalid_sql_type`, `table_not_selected` or `security_violation`.
    """
    if statement.kind is not StatementKind.READ:
        raise DataFailure(
            DataCode.INVALID_SQL_TYPE,
            f"only SELECT reads; this is {statement.word}"
            + (", which has to be an approved query" if _changes(statement) else ""),
            details={"statement": statement.word},
        )
    _require_contents(statement, allowed)


def require_modifying(statement: Statement, allowed: Allowed) -> None:
    """Let only a statement pass that modifies rows, in tables and by functions that are allowed.

    Raises:
        DataFailure: `invalid_sql_type`, `table_not_selected` or `security_violation`.
    """
    if statement.kind is not StatementKind.MODIFY:
        raise DataFailure(
            DataCode.INVALID_SQL_TYPE,
            "only INSERT, UPDATE, DELETE, MERGE and CALL modify rows; this is " + statement.word,
            details={"statement": statement.word},
        )
    _require_contents(statement, allowed)


def require_executing(statement: Statement, allowed: Allowed) -> None:
    """Let pass what a developer may `execute`: reading, modifying rows and defining tables.

    Raises:
        DataFailure: `invalid_sql_type`, `table_not_selected` or `security_violation`.
    """
    if statement.kind is StatementKind.OTHER:
        raise DataFailure(
            DataCode.INVALID_SQL_TYPE,
            "give a SELECT, INSERT, UPDATE, DELETE or MERGE, or CREATE, ALTER, DROP or TRUNCATE of"
            f" a table, view or index; this is {statement.word}",
            details={"statement": statement.word},
        )
    _require_contents(statement, allowed)


def _changes(statement: Statement) -> bool:
    return statement.kind is StatementKind.MODIFY


def _require_contents(statement: Statement, allowed: Allowed) -> None:
    if statement.refused:
        raise DataFailure(
            DataCode.SECURITY_VIOLATION, f"a statement may not hold {statement.refused}"
        )
    for schema, table in statement.tables:
        if is_system_table(schema, table, statement.engine) or not allowed(schema, table):
            name = f"{schema}.{table}" if schema else table
            raise DataFailure(
                DataCode.TABLE_NOT_SELECTED,
                f"the table {name[:130]!r} is not selected; search_schema finds those that are",
                details={"table": name[:130]},
            )
    usable = allowed_functions(statement.engine)
    for function in statement.functions:
        if function not in usable:
            raise DataFailure(
                DataCode.SECURITY_VIOLATION,
                f"the function {function[:130]!r} may not be called here;"
                " do without it, or ask for an approved query",
                details={"function": function[:130]},
            )
