"""PostgreSQL's errors in the words of S2.45."""

from collections.abc import Mapping
from typing import Final

import psycopg
import structlog

from remit.data.engines.failures import said, unreachable
from remit.errors import DataFailure
from remit.model.data import DataCode

log = structlog.get_logger(__name__)

BY_STATE: Final[Mapping[str, DataCode]] = {
    "42601": DataCode.SYNTAX_ERROR,
    "42703": DataCode.UNDEFINED_COLUMN,
    "42P01": DataCode.UNDEFINED_TABLE,
    "3F000": DataCode.UNDEFINED_TABLE,
    "23505": DataCode.UNIQUE_VIOLATION,
    "23503": DataCode.FOREIGN_KEY_VIOLATION,
    "23502": DataCode.NOT_NULL_VIOLATION,
    "23514": DataCode.CHECK_VIOLATION,
    "22001": DataCode.VALUE_TOO_LONG,
    "22003": DataCode.NUMERIC_OUT_OF_RANGE,
    "22007": DataCode.INVALID_DATETIME,
    "22008": DataCode.INVALID_DATETIME,
    "22012": DataCode.DIVISION_BY_ZERO,
    "22P02": DataCode.INVALID_INPUT,
    "22P03": DataCode.INVALID_INPUT,
    "22021": DataCode.INVALID_INPUT,
    "42501": DataCode.SECURITY_VIOLATION,
    "25006": DataCode.SECURITY_VIOLATION,
    "25001": DataCode.SECURITY_VIOLATION,
    "57014": DataCode.QUERY_ERROR,
    "40001": DataCode.QUERY_ERROR,
    "40P01": DataCode.QUERY_ERROR,
}

BY_CLASS: Final[Mapping[str, DataCode]] = {
    "22": DataCode.DATA_EXCEPTION,
    "23": DataCode.CONSTRAINT_VIOLATION,
    "53": DataCode.QUERY_ERROR,
    "54": DataCode.QUERY_ERROR,
}

UNUSABLE: Final[Mapping[str, str]] = {
    "28P01": "it does not take the password",
    "28000": "it does not let this user in",
    "3D000": "it has no database of that name",
    "53300": "it has no connection free; try again",
    "57P01": "it is being shut down",
    "57P02": "one of its processes crashed; try again",
    "57P03": "it is starting or stopping; try again",
}


def failure_of(error: psycopg.Error) -> DataFailure:
    """Return what PostgreSQL, or the driver, says against a statement, as a failure."""
    state = error.sqlstate or ""
    if state in UNUSABLE:
        return unreachable(UNUSABLE[state])
    if not state:
        return _failure_of_driver(error)
    code = BY_STATE.get(state) or BY_CLASS.get(state[:2], DataCode.SQL_ERROR)
    message = error.diag.message_primary or ""
    if hint := error.diag.message_hint:
        message = f"{message}; {hint}"
    return said(code, message, sqlstate=state)


def cannot_connect(error: psycopg.Error) -> DataFailure:
    """Return why there is no connection, without naming where to, and by whom."""
    log.warning("datasource unreachable", engine="postgresql", sqlstate=error.sqlstate)
    known = UNUSABLE.get(error.sqlstate or "")
    if known is None:
        words = str(error).lower()
        known = next((why for part, why in BY_WORDS if part in words), "it does not answer")
    return unreachable(known)


BY_WORDS: Final = (
    ("password authentication failed", UNUSABLE["28P01"]),
    ("no password supplied", "it wants a password, and the URL has none"),
    ("no pg_hba.conf entry", UNUSABLE["28000"]),
    ("too many clients", UNUSABLE["53300"]),
    ("remaining connection slots", UNUSABLE["53300"]),
    ("does not exist", "it has no such database or user"),
    ("resolve", "the name of its host cannot be found"),
    ("refused", "nothing listens where it should be"),
    ("no such file", "nothing listens where it should be"),
    ("ssl", "no encrypted connection to it comes about"),
)
"""What the driver's messages hold, and what it means; they have no code while connecting."""


def _failure_of_driver(error: psycopg.Error) -> DataFailure:
    """Return what happened without PostgreSQL saying so."""
    if isinstance(error, psycopg.DataError):  # such as a NUL in a text
        return said(DataCode.INVALID_INPUT, str(error))
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return unreachable("the connection was lost; try again")
    return said(DataCode.SQL_ERROR, str(error))
