"""What a database says against a statement, in the words of S2.45."""

from typing import Final

from remit.errors import DataFailure
from remit.model.data import DataCode

MOST_WORDS: Final = 500
"""Characters of a database's message that are passed on."""


def said(code: DataCode, message: str, **details: object) -> DataFailure:
    """Return a failure with a database's own message, in one line."""
    line = " ".join(message.split())[:MOST_WORDS] or "the database gives no reason"
    if line.split(" ", 1)[0].istitle():  # a word, and no keyword or name
        line = line[0].lower() + line[1:]
    return DataFailure(code, line, details=details)


def unreachable(why: str) -> DataFailure:
    """Return what is said where a database cannot be used.

    Args:
        why: Without addresses, names of users and passwords.
    """
    return DataFailure(
        DataCode.SERVICE_UNAVAILABLE,
        f"the database cannot be used: {why}; an administrator can look with "
        "`remit datasources test`",
    )


def not_reading(what: str) -> DataFailure:
    """Return what is said of a statement that does more than read."""
    return DataFailure(DataCode.SECURITY_VIOLATION, f"refused: {what} is not allowed here")


def not_writable() -> DataFailure:
    """Return what is said where nothing may be changed."""
    return DataFailure(
        DataCode.QUERY_NOT_AUTHORIZED,
        "this datasource is not writable; an administrator can make it so",
    )
