"""What another hand made unreadable is shown with what can be read of it, and named."""

import csv
import io
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remit.admin.audit_rows import exported
from remit.doors.api.audit import RowShape
from remit.model.events import AuditEvent, AuditQuery
from remit.storage.audit import AuditLog, open_audit
from remit.storage.chain import FIELDS
from remit.storage.database import default_url, open_database
from remit.testing.fakes import sample_event

QUERY = AuditQuery(tenant="default")
ROW = 2
"""The number of the row that is changed; there are three."""

STRANGE: dict[str, Any] = {
    "blob": b"\xff\x00",
    "words": "what is this",
    "number": 12,
    "huge": 10**18,
    "infinite": float("inf"),
    "day": "2026-11-28",
    "before_time": "0001-01-01T00:00:00+05:00",
}
COLUMNS = [name for name in FIELDS if name != "tenant"]


async def _recorded(folder: Path) -> None:
    (folder / ".remit").mkdir()
    async with (
        open_database(default_url(folder / ".remit")) as database,
        open_audit(database, folder, durability="process") as audit,
    ):
        for number in range(3):
            await audit.record(sample_event(number))


def _set(folder: Path, column: str, value: object) -> object:
    """Change a row as another hand does; return what was there."""
    with closing(sqlite3.connect(folder / ".remit" / "remit.db")) as other:
        read = f"SELECT {column} FROM audit_events WHERE seq = ?"  # noqa: S608 - our own names
        [(before,)] = other.execute(read, (ROW,)).fetchall()
        other.execute(f"UPDATE audit_events SET {column} = ? WHERE seq = ?", (value, ROW))  # noqa: S608
        other.commit()
    return before


async def _exported(audit: AuditLog) -> tuple[list[Any], list[list[str]]]:
    lines = "".join([text async for _, text in exported(audit, QUERY, "jsonl")])
    table = "".join([text async for _, text in exported(audit, QUERY, "csv")])
    return [json.loads(line) for line in lines.splitlines()], list(csv.reader(io.StringIO(table)))


@pytest.mark.parametrize("value", STRANGE)
async def test_no_change_of_a_row_keeps_the_record_from_being_read(
    tmp_path: Path, value: str
) -> None:
    await _recorded(tmp_path)
    async with (
        open_database(default_url(tmp_path / ".remit")) as database,
        open_audit(database, tmp_path, durability="process") as audit,
    ):
        for column in COLUMNS:
            before = _set(tmp_path, column, STRANGE[value])
            followed = [event for _, event in await audit.after("default", 0)]
            found = await audit.search(QUERY)
            lines, table = await _exported(audit)
            report = await audit.verify("default")
            _set(tmp_path, column, before)

            assert len(followed) == len(found) == len(lines) == len(table) - 1 == 3, column
            assert [RowShape.model_validate(line) for line in lines]
            assert report.broken is not None
            assert report.broken.seq == ROW


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("time", "yesterday"),
        ("time", 12),
        ("time", "0001-01-01T00:00:00+05:00"),
        ("ms", "long"),
        ("revision", "first"),
        ("arguments_size", b"\x01"),
        ("arguments", b"{}"),
        ("outcome", "fine"),
        ("decision", "perhaps"),
        ("kind", "odd"),
    ],
)
async def test_a_row_that_cannot_be_read_says_so_and_keeps_the_rest(
    tmp_path: Path, column: str, value: object
) -> None:
    await _recorded(tmp_path)
    _set(tmp_path, column, value)
    async with (
        open_database(default_url(tmp_path / ".remit")) as database,
        open_audit(database, tmp_path, durability="process") as audit,
    ):
        events = [event for _, event in await audit.after("default", 0)]

    whole, event = [sample_event(number) for number in range(3)], events[1]
    assert [events[0], events[2]] == [whole[0], whole[2]]
    assert (event.error or "").startswith(
        f"row 2 was changed by another hand, its {column} cannot be read: 'remit audit verify' says"
    )
    for name in set(FIELDS) - {column, "error"}:
        assert getattr(event, name) == getattr(whole[1], name), name


async def test_a_time_that_cannot_be_read_is_that_of_the_events_id(tmp_path: Path) -> None:
    await _recorded(tmp_path)
    _set(tmp_path, "time", "yesterday")
    shown: Sequence[AuditEvent] = ()
    async with (
        open_database(default_url(tmp_path / ".remit")) as database,
        open_audit(database, tmp_path, durability="process") as audit,
    ):
        shown = [event for _, event in await audit.after("default", 0)]

    millis = int(shown[1].id.replace("-", "")[:12], 16)
    assert shown[1].time == datetime.fromtimestamp(millis / 1000, UTC)
