"""audit export and audit verify: the record leaves remit whole, and tampering shows."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import msgspec
import pytest
import typer.testing

from remit.admin.audit_rows import PAGE, report_entry
from remit.cli.changes import operator
from remit.cli.main import app
from remit.cli.remote_values import report_of
from remit.client.audit import Report
from remit.model.events import AuditEvent
from remit.model.retention import Cut
from remit.storage.chain import Break, ChainReport
from remit.storage.cuts import SignedCut
from remit.storage.database import default_url, open_database
from remit.storage.insertion import insert_events
from remit.testing.fakes import sample_event

MANY = PAGE * 2 + 7


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "remit.yaml"
    path.write_text('version: "1.0"\n')
    return path


def remit(config: Path, *arguments: str, status: int = 0) -> str:
    result = typer.testing.CliRunner().invoke(app, ["audit", *arguments, "--config", str(config)])
    assert result.exit_code == status, result.output
    return result.output


def record(config: Path, *events: AuditEvent) -> None:
    async def insert() -> None:
        async with (
            open_database(default_url(config.parent / ".remit")) as database,
            database.writing() as connection,
        ):
            await connection.run_sync(insert_events, events)

    anyio.run(insert)


def test_everything_is_exported_as_lines_of_json_page_by_page(config: Path) -> None:
    events = [sample_event(number) for number in range(MANY)]
    record(config, *events)

    lines = [json.loads(line) for line in remit(config, "export").splitlines()]

    assert [line["id"] for line in lines] == [event.call_id for event in reversed(events)]
    assert lines[0]["tool"] == "git_status"
    assert len(remit(config, "export", "--limit", str(PAGE + 1)).splitlines()) == PAGE + 1
    assert [json.loads(line) for line in remit(config, "export", "--json").splitlines()] == lines
    remit(config, "export", "--json", "--format", "csv", status=2)


def test_what_is_exported_can_be_chosen_as_in_a_search(config: Path) -> None:
    late = datetime(2026, 11, 28, tzinfo=UTC)
    record(
        config,
        sample_event(1, tool="git_push", decision="deny", role="a,b"),
        # the id of an event tells its time, as UUIDv7 does
        sample_event(int(late.timestamp() * 1000), call_id="call-2", tool="git_push", time=late),
        sample_event(3, principal="key:other"),
    )

    def ids(*arguments: str) -> list[str]:
        return [json.loads(line)["id"] for line in remit(config, "export", *arguments).splitlines()]

    for spelling in ("git_push", "git/git_push", "git__git_push"):
        assert ids("--tool", spelling) == ["call-2", "call-1"]
    assert ids("--tool", "other/git_push") == []
    assert ids("--decision", "deny") == ids("--role", "b") == ["call-1"]
    assert ids("--since", "2026-11-28T00:00") == ["call-2"]
    assert ids("--principal", "key:other", "--text", "status") == ["call-3"]
    assert ids("--code", "NONE") == []


@pytest.mark.parametrize(
    ("option", "moment"),
    [("--until", "9999-12-31T23:59:59-10:00"), ("--since", "0001-01-01T00:00:00+10:00")],
)
def test_a_time_beyond_the_calendar_is_a_wrong_use(config: Path, option: str, moment: str) -> None:
    for command in ("search", "export"):
        said = remit(config, command, option, moment, status=2)
        assert said == f"error: {moment} is beyond the calendar in UTC\n"


@pytest.mark.parametrize(
    ("option", "moment", "found"),
    [
        *(("--until", "9999-12-31T23:59:59+00:00", 1), ("--since", "0001-01-01T00:00", 1)),
        *(("--since", "9999-12-31T23:59:59", 0), ("--until", "0001-01-01T00:00", 0)),
    ],
)
def test_the_ends_of_the_calendar_can_be_asked_for(
    config: Path, option: str, moment: str, found: int
) -> None:
    record(config, sample_event(1))

    assert len(remit(config, "export", option, moment).splitlines()) == found


def test_csv_has_a_header_and_no_cell_that_a_spreadsheet_would_run(config: Path) -> None:
    formulas = ["=cmd|'/c calc'!A0", "+1", "-1", "@x", "\tx", "\n=1", "\uff1d1"]
    error = 'a "b", c\nd'
    record(config, *(sample_event(n, tool=text, error=error) for n, text in enumerate(formulas)))

    rows = list(csv.DictReader(io.StringIO(remit(config, "export", "--format", "csv"), newline="")))

    assert [row["tool"] for row in reversed(rows)] == [f"'{text}" for text in formulas]
    assert rows[0]["error"] == 'a "b", c\nd'
    assert rows[0]["arguments"] == '{"repository":"."}'


def test_a_file_is_private_and_there_only_when_it_is_whole(config: Path, tmp_path: Path) -> None:
    record(config, sample_event(1))
    output = tmp_path / "record.jsonl"

    assert "1 call written to" in remit(config, "export", "--output", str(output))
    assert json.loads(output.read_text())["id"] == "call-1"
    assert output.stat().st_mode & 0o777 == 0o600
    missing = tmp_path / "no" / "folder"
    assert "cannot write" in remit(config, "export", "-o", str(missing), status=1)
    assert {path.name for path in tmp_path.iterdir()} == {"remit.yaml", ".remit", "record.jsonl"}


def test_a_whole_record_verifies_with_its_count_and_last_hash(config: Path) -> None:
    assert remit(config, "verify") == "OK: 0 rows, the last one's hash is -\n"
    record(config, *(sample_event(number) for number in range(3)))

    told = json.loads(remit(config, "verify", "--json"))

    assert (told["ok"], told["rows"], told["broken"]) == (True, 3, None)
    assert remit(config, "verify") == f"OK: 3 rows, the last one's hash is {told['hash']}\n"


def test_a_record_that_was_tampered_with_names_the_row(config: Path) -> None:
    events = [sample_event(number) for number in range(1, 6)]
    record(config, *events)
    with closing(sqlite3.connect(config.parent / ".remit" / "remit.db")) as database, database:
        database.execute("UPDATE audit_events SET principal = 'key:innocent' WHERE seq = 3")

    told = json.loads(remit(config, "verify", "--json", status=1))

    assert (told["ok"], told["rows"]) == (False, 2)
    assert told["broken"] == {
        "kind": "changed",
        "seq": 3,
        "id": events[2].id,
        "number": 3,
        "message": f"row 3 (event {events[2].id}) was changed: it does not fit its hash",
    }
    assert remit(config, "verify", status=1).startswith("BROKEN: row 3 (event ")


def declare(config: Path, **audit: int) -> None:
    config.write_text(json.dumps({"version": "1.0", "audit": audit}))


def test_what_is_beyond_retention_goes_and_a_signed_marker_is_reported(config: Path) -> None:
    record(config, *(sample_event(number) for number in range(30)))
    assert "nothing is removed: neither" in remit(config, "prune")
    declare(config, retention_rows=10)

    assert remit(config, "prune").startswith("marker 1: 20 rows up to number 20 removed ")
    assert remit(config, "prune") == "nothing is beyond retention_rows: 10\n"
    assert json.loads(remit(config, "prune", "--json")) == {"removed": 0}
    shown = remit(config, "verify").splitlines()
    assert shown[0].startswith("OK: 10 rows, the last one's hash is ")
    assert shown[1].startswith("marker 1: 20 rows up to number 20 removed ")
    report = json.loads(remit(config, "verify", "--json"))
    (marker,) = report["markers"]
    assert {key: marker[key] for key in ("number", "by", "reason", "up_to", "removed")} == {
        "number": 1,
        "by": operator(),
        "reason": "retention_rows: 10",
        "up_to": 20,
        "removed": 20,
    }


def test_a_marker_is_verified_elsewhere_with_the_public_keys_and_not_without(
    config: Path, tmp_path: Path
) -> None:
    record(config, *(sample_event(number) for number in range(5)))
    declare(config, retention_rows=2)
    remit(config, "prune")
    state = tmp_path / ".remit"
    public = (state / "audit.jwks").rename(tmp_path / "published.jwks")
    assert "OK: 2 rows" in remit(config, "verify")  # its own key is known
    secret = (state / "audit.key").read_text()
    assert (state / "audit.key").stat().st_mode & 0o777 == 0o600
    assert json.loads(secret)["d"] not in public.read_text()
    (state / "audit.key").unlink()

    lost = remit(config, "verify", status=1)
    assert lost.startswith("BROKEN: marker 1, of rows removed up to number 3, is not signed by")
    assert "OK: 2 rows" in remit(config, "verify", "--keys", str(public))
    public.write_text("[]")
    assert "holds no public keys" in remit_error(config, "verify", "--keys", str(public))


def test_machines_with_one_master_key_trust_each_others_markers(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_MASTER_KEY", "one secret for all")
    record(config, *(sample_event(number) for number in range(5)))
    declare(config, retention_rows=2)
    remit(config, "prune")
    state = tmp_path / ".remit"
    assert not (state / "audit.key").exists()
    (state / "audit.jwks").unlink()  # as on a machine that has never pruned

    assert "OK: 2 rows" in remit(config, "verify")
    monkeypatch.setenv("REMIT_MASTER_KEY", "another")
    assert "BROKEN: marker 1" in remit(config, "verify", status=1)


def test_what_a_gateway_says_of_its_record_is_shown_as_what_is_found_beside_it() -> None:
    broken = Break(kind="changed", link=4, seq=9, id="e-9", message="row 4 was changed")
    cut = Cut(
        tenant="default",
        number=1,
        time=datetime(2026, 11, 27, 12, 0, 0, 5000, tzinfo=UTC),
        author="serve",
        reason="retention_rows: 2",
        link=3,
        hash="ab",
        removed=3,
        previous="",
    )
    found = ChainReport(rows=3, hash="cd", broken=broken, cuts=[SignedCut(cut=cut, signed="a.b.c")])

    for report in (found, ChainReport(rows=0, hash="")):
        sent = json.dumps(report_entry(report))
        heard = report_of(msgspec.json.decode(sent, type=Report))
        assert report_entry(heard) == report_entry(report)
        assert [marker.cut for marker in heard.cuts] == [marker.cut for marker in report.cuts]


def test_a_record_that_does_not_hold_is_not_pruned(config: Path, tmp_path: Path) -> None:
    record(config, *(sample_event(number) for number in range(5)))
    with closing(sqlite3.connect(tmp_path / ".remit" / "remit.db")) as database, database:
        database.execute("UPDATE audit_events SET tool = 'x' WHERE seq = 2")
    declare(config, retention_rows=2)

    assert "it does not hold at row 2" in remit_error(config, "prune", status=1)
    assert "BROKEN: row 2" in remit(config, "verify", status=1)


def remit_error(config: Path, *arguments: str, status: int = 3) -> str:
    result = typer.testing.CliRunner().invoke(app, ["audit", *arguments, "--config", str(config)])
    assert result.exit_code == status, result.output
    return result.stderr
