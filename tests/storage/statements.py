"""The statements that stores send, for tests of what is read."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

Statements = list[tuple[str, Any]]


@contextmanager
def statements() -> Generator[Statements]:
    """Give the statements that are sent meanwhile."""
    sent: Statements = []

    def note(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH", "UPDATE", "DELETE")):
            sent.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)
