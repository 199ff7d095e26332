"""Journals of the dead, the living and the damaged reach the database (R29)."""

import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from remit.errors import AuditUnavailable
from remit.model.events import AuditEvent, AuditQuery
from remit.storage.audit import open_audit
from remit.storage.database import Database
from remit.storage.intake import BATCH, Intake, decode_line, encode_line
from remit.testing.fakes import sample_event

EVERYTHING = AuditQuery(tenant="default", limit=100_000)


def _leave(directory: Path, *lines: bytes) -> Path:
    """Write a journal as a killed process leaves it."""
    folder = directory / "journal"
    folder.mkdir(exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}-killed.jsonl"
    path.write_bytes(b"".join(lines))
    return path


async def _found(database: Database, directory: Path) -> Sequence[AuditEvent]:
    async with open_audit(database, directory, durability="process") as audit:
        return (await audit.search(EVERYTHING))[::-1]


def test_a_line_leaves_out_what_is_as_it_mostly_is_and_one_that_does_not_says_the_same() -> None:
    # earlier versions left nothing out, and their journals are taken in
    event = sample_event(1)
    whole = msgspec.json.encode(msgspec.structs.asdict(event))

    line = encode_line(event)

    assert decode_line(line) == decode_line(whole) == event
    assert b'"member"' in whole
    assert b'"member"' not in line


async def test_a_torn_last_line_is_skipped_with_a_word_in_the_log(
    database: Database, tmp_path: Path, logged: Callable[[str], anyio.Event]
) -> None:
    torn = logged("journal ends in a torn line")
    path = _leave(tmp_path, encode_line(sample_event(1)), encode_line(sample_event(2))[:-9])

    assert await _found(database, tmp_path) == [sample_event(1)]
    assert torn.is_set()
    assert not path.exists()


async def test_damaged_lines_are_set_aside_and_the_others_taken(
    database: Database, tmp_path: Path, logged: Callable[[str], anyio.Event]
) -> None:
    damaged = [b"\0\0\0\n", b'{"id":1}\n', b'{"id":"\xff"}\n', b"\n"]
    aside = logged("journal lines set aside")
    path = _leave(tmp_path, encode_line(sample_event(1)), *damaged, encode_line(sample_event(2)))

    assert await _found(database, tmp_path) == [sample_event(1), sample_event(2)]
    assert aside.is_set()
    assert path.with_name("0-killed.jsonl.rejected").read_bytes() == b"".join(damaged)


async def test_an_event_that_no_database_takes_is_set_aside_and_the_others_taken(
    database: Database, tmp_path: Path
) -> None:
    impossible = encode_line(sample_event(2, arguments_size=2**70))
    impossible += encode_line(sample_event(4, time=datetime(2026, 1, 1)))  # noqa: DTZ001 - the point
    path = _leave(tmp_path, encode_line(sample_event(1)), impossible, encode_line(sample_event(3)))

    assert await _found(database, tmp_path) == [sample_event(1), sample_event(3)]
    assert path.with_name("0-killed.jsonl.rejected").read_bytes() == impossible


async def test_one_that_no_database_takes_costs_the_others_a_few_transactions(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [sample_event(number) for number in range(1000)]
    impossible = sample_event(500, arguments_size=2**70)
    lines = [*map(encode_line, events[:500]), encode_line(impossible)]
    path = _leave(tmp_path, *lines, *map(encode_line, events[501:]))
    stored, store = list[int](), Intake.store

    async def counted(self: Intake, given: Sequence[AuditEvent], **how: Any) -> None:
        stored.append(len(given))
        await store(self, given, **how)

    monkeypatch.setattr(Intake, "store", counted)
    assert await _found(database, tmp_path) == events[:500] + events[501:]

    assert path.with_name("0-killed.jsonl.rejected").read_bytes() == encode_line(impossible)
    assert len(stored) < 30


async def test_taking_a_journal_in_twice_changes_nothing(
    database: Database, tmp_path: Path
) -> None:
    events = [sample_event(number) for number in range(2 * BATCH + 1)]
    path = _leave(tmp_path, *map(encode_line, events))
    kept = shutil.copy(path, tmp_path / "kept")

    assert await _found(database, tmp_path) == events
    shutil.copy(kept, path)
    assert await _found(database, tmp_path) == events


async def test_a_line_of_several_megabytes_is_taken(database: Database, tmp_path: Path) -> None:
    large = sample_event(1, arguments='{"a":"' + "x" * 3_000_000 + '"}')
    _leave(tmp_path, encode_line(large), encode_line(sample_event(2)))

    assert await _found(database, tmp_path) == [large, sample_event(2)]


async def test_an_empty_journal_is_removed(database: Database, tmp_path: Path) -> None:
    path = _leave(tmp_path)

    assert await _found(database, tmp_path) == []
    assert not path.exists()


async def test_the_journal_of_a_living_process_is_read_and_left_alone(
    database: Database, tmp_path: Path
) -> None:
    async with open_audit(database, tmp_path, durability="process") as living:
        await living.record(sample_event(1))
        (path,) = (tmp_path / "journal").iterdir()
        with path.open("ab") as file:  # its own process sets it aside, nobody else
            file.write(b"damaged\n" + encode_line(sample_event(2)) + b"torn")

        assert await _found(database, tmp_path) == [sample_event(1), sample_event(2)]
        assert list((tmp_path / "journal").iterdir()) == [path]


async def test_a_journal_that_somebody_cut_does_not_stop_what_follows(
    database: Database, tmp_path: Path, logged: Callable[[str], anyio.Event]
) -> None:
    cut = logged("journal was cut by somebody else")
    async with open_audit(database, tmp_path, durability="process") as audit:
        await audit.record(sample_event(1))
        (path,) = (tmp_path / "journal").iterdir()
        path.write_bytes(b"")
        with anyio.fail_after(30):
            await audit.flush()

        assert cut.is_set()
        assert await audit.search(EVERYTHING) == []


async def test_a_line_that_cannot_be_set_aside_keeps_its_journal(
    database: Database, tmp_path: Path
) -> None:
    path = _leave(tmp_path, b"damaged\n", encode_line(sample_event(1)))
    aside = path.with_name("0-killed.jsonl.rejected")
    aside.mkdir()

    with pytest.raises(AuditUnavailable, match="cannot be taken in"):
        await _found(database, tmp_path)
    assert path.exists()
    aside.rmdir()

    assert await _found(database, tmp_path) == [sample_event(1)]
    assert aside.read_bytes() == b"damaged\n"


async def test_texts_that_databases_refuse_are_spelled_out(
    database: Database, tmp_path: Path
) -> None:
    nasty = "a\0b\ud800c\udfff🎉"
    event = sample_event(
        1,
        call_id=nasty,
        principal=nasty,
        role=nasty,
        member=nasty,
        server=nasty,
        tool=nasty,
        rule=nasty,
        code=nasty,
        error=nasty,
        arguments=f'{{"a":"\\u0000 \\\\u0000 \\ud800 {nasty}"}}',
        result='{"a":"\\ud83c\\udf89 \\udc00"}',
    )
    async with open_audit(database, tmp_path, durability="process") as audit:
        await audit.record(event)
        (found,) = await audit.search(AuditQuery(tenant="default", principal=nasty, text="\0"))

    assert found.tool == found.error == found.member == "a\\u0000b\\ud800c\\udfff🎉"
    assert found.arguments == (
        '{"a":"\\\\u0000 \\\\u0000 \\\\ud800 a\\\\u0000b\\\\ud800c\\\\udfff🎉"}'
    )
    assert found.result == '{"a":"\\ud83c\\udf89 \\\\udc00"}'


def test_a_line_gives_back_its_event() -> None:
    event = sample_event(1, result=None, error="line\nbreak \u2028", arguments='{"ü":"\\u0000"}')

    line = encode_line(event)

    assert line.count(b"\n") == 1
    assert decode_line(line[:-1]) == event
    assert decode_line(line[:-2]) is None
