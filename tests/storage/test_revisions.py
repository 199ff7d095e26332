"""Revisions that several processes write at once."""

from datetime import UTC, datetime

import anyio

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

    numbers = [revision.number for revision in await revisions.all_revisions("default")]
    assert numbers == [8, 7, 6, 5, 4, 3, 2, 1]


async def test_texts_that_postgresql_refuses_are_spelled_out(database: Database) -> None:
    revisions = Revisions(database)
    document = {"a\0": "b\0\ud800"}

    await revisions.write("default", document, author="x\0", reason="y\ud800", now=NOW)

    latest = await revisions.latest("default")
    assert latest is not None
    assert (latest.author, latest.reason) == ("x\\u0000", "y\\ud800")
    assert latest.document == document
