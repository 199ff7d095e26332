"""Revisions that several processes write at once."""

from collections.abc import Sequence
from datetime import UTC, datetime

import anyio
import pytest
import sqlalchemy.event
from sqlalchemy import Connection

from remit.admin.revisions import latest_usable, standing_of
from remit.storage.database import Database
from remit.storage.revisions import Revisions

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


async def test_revisions_written_at_once_get_numbers_without_gap(database: Database) -> None:
    revisions = Revisions(database)

    async def write(number: int) -> None:
        await revisions.write("default", {"a": number}, author="x", reason="", now=NOW)

    async with anyio.create_task_group() as writers:
        for number in range(8):
            writers.start_soon(write, number)

    numbers = [revision.number for revision in await revisions.summaries("default")]
    assert numbers == [8, 7, 6, 5, 4, 3, 2, 1]


async def test_texts_that_postgresql_refuses_are_spelled_out(database: Database) -> None:
    revisions = Revisions(database)
    document = {"a\0": "b\0\ud800"}

    await revisions.write("default", document, author="x\0", reason="y\ud800", now=NOW)

    latest = await revisions.latest("default")
    assert latest is not None
    assert (latest.author, latest.reason) == ("x\\u0000", "y\\ud800")
    assert latest.document == document


@pytest.fixture
def documents(database: Database) -> list[str]:
    """Give a list that gets each statement that reads what revisions say, with its values."""
    found: list[str] = []

    def note(_: Connection, __: object, statement: str, values: object, *___: object) -> None:
        if statement.startswith("SELECT") and "revisions.document" in statement:
            found.append(f"{statement} {values}")

    sqlalchemy.event.listen(database.engine.sync_engine, "after_cursor_execute", note)
    return found


async def _written(database: Database, usable: Sequence[bool]) -> Revisions:
    revisions = Revisions(database)
    for number, is_usable in enumerate(usable):
        document = {"roles": {f"r{number}": {"allow": ["git/*"]} if is_usable else "none"}}
        await revisions.write("default", document, author="x", reason="", now=NOW)
    return revisions


async def test_of_many_revisions_only_what_may_be_in_force_is_read(
    database: Database, documents: list[str]
) -> None:
    revisions = await _written(database, [True] * 30 + [False, False])
    documents.clear()

    loaded, number = await latest_usable(revisions, "default")

    assert (number, list(loaded.declaration.roles)) == (30, ["r29"])
    assert len(documents) == 3
    assert all("LIMIT" in statement for statement in documents)


async def test_a_list_of_revisions_reads_no_document(
    database: Database, documents: list[str]
) -> None:
    revisions = await _written(database, [True] * 5)
    documents.clear()

    assert [one.number for one in await revisions.summaries("default", limit=2)] == [5, 4]
    assert not documents

    standing = await standing_of(revisions, "default", {})

    assert [one.number for one in standing.newer] == [5, 4, 3, 2, 1]
    assert ["LIMIT" in statement for statement in documents] == [True, True]
