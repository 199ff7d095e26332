"""What the tools ask of a database, whichever it is.

An engine refuses by its own means whatever the guard may have let through: `read` and `explain`
change nothing, run no longer and give no more than they are told, and read nothing outside of what
is allowed. The modules beside this one say how.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from remit.model.data import Bound, Column, Rows
from remit.model.ontology import SchemaTable

Allowed = Callable[[str, str], bool]
"""Says of a schema, or an empty text for the usual one, and a table whether it may be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A name that has to be a column, since the engine would take it for something else (`Relied`).

    Attributes:
        tables: `(schema, table)` of those of which one has to have it, the schema as in a
            statement; without any, nothing else may have that name.
        is_row: Whether it would be a whole row of a table, else it would be a function.
    """

    name: str
    tables: tuple[tuple[str, str], ...] = ()
    is_row: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relied:
    """What has to be so in a database for a statement to be what the guard took it for.

    A database can have functions, operators and casts of its own that run in the place of the
    engine's. Each engine looks at what it cannot refuse otherwise.

    Attributes:
        functions: Names that are called, or may be, without saying whose they are.
        tables: `(schema, table)` of every table that is named, as in the statement.
        claims: Names that have to be columns.
        operators: Signs of operators, as they stand together, and those that words mean.
        has_casts: Whether it makes values into another type, by saying so or by assigning them.
    """

    functions: tuple[str, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    claims: tuple[Claim, ...] = ()
    operators: tuple[str, ...] = ()
    has_casts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A statement that is ready to be run.

    Attributes:
        sql: In the engine's own dialect, with the engine's own numbered placeholders (`$1` on
            PostgreSQL and DuckDB, `?1` on SQLite).
        values: What is bound to them, in their order.
        relied: What has to be so in the database, of a statement that a caller wrote.
    """

    sql: str
    values: Sequence[Bound] = ()
    relied: Relied | None = None


class Engine(Protocol):
    """An open datasource.

    Every method raises DataFailure with what the database says against the statement, `query_error`
    where it ran out of its time, and `service_unavailable` where the database cannot be used or is
    too busy. Whoever is cancelled stops the statement in the database, too. What values look like
    in rows is said in `data/engines/values.py`.
    """

    async def read(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        """Run a statement that reads, where the engine itself refuses whatever changes anything.

        Args:
            prepared: What to run.
            limit: Most rows; they are not read further than one more.
            seconds: How long it may run.
        """
        ...

    async def write(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        """Run a statement that changes something, in a transaction of its own.

        Args:
            prepared: What to run.
            limit: Most rows of what it returns, such as by RETURNING; all it changes is changed.
            seconds: How long it may run.
        """
        ...

    async def explain(self, prepared: Prepared, *, seconds: float) -> Sequence[str]:
        """Return the plan, line by line, and run nothing."""
        ...

    async def describe(self, prepared: Prepared, *, seconds: float) -> Sequence[Column]:
        """Return the columns that a reading statement would give, and run nothing."""
        ...

    async def schema(self) -> Sequence[SchemaTable]:
        """Return the tables and views within the allowed schemas, by schema and name."""
        ...

    async def ping(self) -> None:
        """Answer, if the database does."""
        ...

    async def warnings(self) -> Sequence[str]:
        """Return what whoever reads could do to the database beyond reading, a sentence each.

        Empty where nothing but the engine's own walls is needed: on SQLite and DuckDB always, on
        PostgreSQL where the role that reads has no other privilege.
        """
        ...

    async def aclose(self) -> None:
        """Let go of every connection, and stop what runs on them."""
        ...
