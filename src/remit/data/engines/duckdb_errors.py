"""DuckDB's errors in the words of S2.45."""

from typing import Final

import duckdb

from remit.data.engines.duckdb_bounds import TOO_LARGE
from remit.data.engines.failures import said, unreachable
from remit.data.engines.values import too_large
from remit.errors import DataFailure
from remit.model.data import DataCode

BY_KIND: Final[tuple[tuple[type[Exception], DataCode], ...]] = (
    (duckdb.ParserException, DataCode.SYNTAX_ERROR),
    (duckdb.SyntaxException, DataCode.SYNTAX_ERROR),
    (duckdb.OutOfRangeException, DataCode.NUMERIC_OUT_OF_RANGE),
    (duckdb.ConversionException, DataCode.INVALID_INPUT),
    (duckdb.TypeMismatchException, DataCode.INVALID_INPUT),
    (duckdb.PermissionException, DataCode.SECURITY_VIOLATION),
    (duckdb.ConstraintException, DataCode.CONSTRAINT_VIOLATION),
    (duckdb.OutOfMemoryException, DataCode.QUERY_ERROR),
    (duckdb.TransactionException, DataCode.QUERY_ERROR),
)

BY_WORDS: Final = (
    ("violates foreign key", DataCode.FOREIGN_KEY_VIOLATION),
    ("duplicate key", DataCode.UNIQUE_VIOLATION),
    ("violates primary key", DataCode.UNIQUE_VIOLATION),
    ("violates unique", DataCode.UNIQUE_VIOLATION),
    ("not null constraint failed", DataCode.NOT_NULL_VIOLATION),
    ("check constraint failed", DataCode.CHECK_VIOLATION),
    ("table with name", DataCode.UNDEFINED_TABLE),
    ("referenced table", DataCode.UNDEFINED_TABLE),
    ("referenced column", DataCode.UNDEFINED_COLUMN),
    ("does not have a column", DataCode.UNDEFINED_COLUMN),
    ("division by zero", DataCode.DIVISION_BY_ZERO),
    ("out of range", DataCode.NUMERIC_OUT_OF_RANGE),
    ("invalid date", DataCode.INVALID_DATETIME),
    ("invalid timestamp", DataCode.INVALID_DATETIME),
    ("invalid time", DataCode.INVALID_DATETIME),
    ("read-only mode", DataCode.SECURITY_VIOLATION),
    ("configuration has been locked", DataCode.SECURITY_VIOLATION),
    ("values were not provided", DataCode.PARAMETER_VALIDATION),
    ("parameter", DataCode.PARAMETER_VALIDATION),
)


def failure_of(error: Exception) -> DataFailure:
    """Return an error of DuckDB, or of a value that Python cannot hold, as a failure."""
    if not isinstance(error, duckdb.Error):
        return said(DataCode.DATA_EXCEPTION, str(error))
    message = _first_line(str(error))
    if TOO_LARGE in message:
        return too_large()
    if isinstance(error, duckdb.IOException):
        if "lock" in message.lower():
            return unreachable("another program has its file open; try again")
        return unreachable("its file cannot be read as a DuckDB database")
    words = message.lower()
    named = next((code for part, code in BY_WORDS if part in words), None)
    known = next((code for kind, code in BY_KIND if isinstance(error, kind)), DataCode.SQL_ERROR)
    if isinstance(error, duckdb.ParserException):
        named = None
    if isinstance(error, duckdb.PermissionException):
        message = "reading and writing files is not allowed here"
        named = None
    return said(named or known, message)


def _first_line(text: str) -> str:
    """Return what it says, without its kind and without the statement that it repeats."""
    line = text.strip().split("\n", 1)[0]
    _, found, rest = line.partition(" Error: ")
    return rest if found else line
