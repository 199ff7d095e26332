"""SQLite's errors in the words of S2.45."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from remit.data.engines.failures import said, unreachable
from remit.errors import DataFailure
from remit.model.data import DataCode

BY_CODE: Final[Mapping[int, DataCode]] = {
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: DataCode.UNIQUE_VIOLATION,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: DataCode.UNIQUE_VIOLATION,
    sqlite3.SQLITE_CONSTRAINT_ROWID: DataCode.UNIQUE_VIOLATION,
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: DataCode.FOREIGN_KEY_VIOLATION,
    sqlite3.SQLITE_CONSTRAINT_NOTNULL: DataCode.NOT_NULL_VIOLATION,
    sqlite3.SQLITE_CONSTRAINT_CHECK: DataCode.CHECK_VIOLATION,
    sqlite3.SQLITE_CONSTRAINT: DataCode.CONSTRAINT_VIOLATION,
    sqlite3.SQLITE_TOOBIG: DataCode.VALUE_TOO_LONG,
    sqlite3.SQLITE_MISMATCH: DataCode.INVALID_INPUT,
    sqlite3.SQLITE_RANGE: DataCode.PARAMETER_VALIDATION,
    sqlite3.SQLITE_NOMEM: DataCode.QUERY_ERROR,
}

BY_WORDS: Final = (
    ("no such table", DataCode.UNDEFINED_TABLE),
    ("no such column", DataCode.UNDEFINED_COLUMN),
    ("has no column named", DataCode.UNDEFINED_COLUMN),
    ("syntax error", DataCode.SYNTAX_ERROR),
    ("incomplete input", DataCode.SYNTAX_ERROR),
    ("unrecognized token", DataCode.SYNTAX_ERROR),
    ("parser stack overflow", DataCode.SYNTAX_ERROR),
    ("one statement at a time", DataCode.INVALID_SQL),
    ("number of bindings", DataCode.PARAMETER_VALIDATION),
    ("integer overflow", DataCode.NUMERIC_OUT_OF_RANGE),
    ("malformed json", DataCode.INVALID_INPUT),
)

UNUSABLE: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_BUSY: "another program is writing to its file; try again",
    sqlite3.SQLITE_LOCKED: "another program is writing to its file; try again",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened",
    sqlite3.SQLITE_NOTADB: "its file is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "its file is damaged",
    sqlite3.SQLITE_IOERR: "its file cannot be read",
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_READONLY: "its file may only be read",
}


def failure_of(error: Exception) -> DataFailure:
    """Return an error of SQLite, or of binding a value to it, as a failure."""
    if isinstance(error, OverflowError):
        return said(DataCode.NUMERIC_OUT_OF_RANGE, "an integer is larger than 64 bits can hold")
    number = getattr(error, "sqlite_errorcode", None)
    message = str(error)
    if isinstance(number, int):
        if (why := UNUSABLE.get(number & 0xFF)) is not None:
            return unreachable(why)
        if number & 0xFF == sqlite3.SQLITE_TOOBIG:
            message = f"{message}: ask for fewer columns, or for parts of long values"
        code = BY_CODE.get(number) or BY_CODE.get(number & 0xFF)
        if code is not None:
            return said(code, message)
    words = message.lower()
    found = (code for part, code in BY_WORDS if part in words)
    return said(next(found, DataCode.SQL_ERROR), message)
