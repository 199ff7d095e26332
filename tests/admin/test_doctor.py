"""What `remit doctor` makes of what it sees (issue 4)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from remit.admin.check import Report
from remit.admin.doctor import Patient, Premises, examine
from remit.admin.secret_files import session_key
from remit.errors import Problem, StartupError
from remit.model.health import DatabaseHealth, DatasourceHealth, Finding, Grade
from remit.model.servers import ServerConfig, ServerTrial

GOOD = ServerTrial(protocol="2026-07-28", tools=("read",), tokens=50)


async def found(
    trials: Mapping[str, ServerTrial] | None = None,
    report: Report | None = None,
    *,
    off: tuple[str, ...] = (),
    state: Path | None = None,
    database: DatabaseHealth | None = None,
    looks: Sequence[Callable[[], Awaitable[Finding | None]]] = (),
) -> dict[str, Finding]:
    """Examine servers that show *trials*; return what is found by code, `ok` left out."""
    given = trials or {}

    async def try_out(name: str) -> ServerTrial:
        assert name not in off
        return given[name]

    async def look() -> DatabaseHealth:
        return database or DatabaseHealth(name="'db'")

    servers = {name: ServerConfig(name=name, enabled=name not in off) for name in (*given, *off)}
    examination = await examine(
        Patient(servers=servers, try_out=try_out, check=lambda _: report or Report()),
        None
        if state is None
        else Premises(state=state, files=(), look_at_database=look, looks=looks),
    )
    assert [server.name for server in examination.servers] == list(servers)
    wrong = [finding for finding in examination.findings if finding.grade is not Grade.OK]
    assert all(finding.remedy for finding in wrong)
    assert all(not finding.remedy for finding in examination.findings if finding not in wrong)
    return {finding.code: finding for finding in wrong}


async def test_what_is_fine_is_no_finding(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    assert await found({"git": GOOD}, off=("wiki",), state=tmp_path) == {}


@pytest.mark.parametrize(
    ("trial", "code"),
    [
        ({"tokens": 10_001}, "server-heavy"),
        ({"memory": 2**30 + 1}, "server-memory"),
        ({"skew": 31.0}, "server-clock"),
        ({"skew": -31.0}, "server-clock"),
        ({"tools": ()}, "server-empty"),
        ({"notes": ("a tool has no schema",)}, "server-notes"),
    ],
)
async def test_what_is_odd_about_a_server_is_a_warning(trial: dict[str, Any], code: str) -> None:
    fields: dict[str, Any] = {"protocol": "2026-07-28", "tools": ("read",), **trial}

    told = await found({"git": ServerTrial(**fields)})

    assert list(told) == [code]
    assert (told[code].grade, told[code].about) == (Grade.WARNING, "server git")


async def test_what_a_list_costs_is_told_as_elsewhere() -> None:
    trial = ServerTrial(protocol="2026-07-28", tools=("read",), tokens=23_285)

    told = await found({"git": trial})

    assert "about 23,285 tokens" in told["server-heavy"].message


async def test_a_server_that_cannot_be_used_is_an_error_with_its_reason() -> None:
    told = await found({"git": ServerTrial(reason="exited with code 3"), "time": GOOD})

    assert list(told) == ["server-unreachable"]
    assert (told["server-unreachable"].grade, told["server-unreachable"].message) == (
        Grade.ERROR,
        "exited with code 3",
    )


async def test_servers_are_tried_at_once_and_what_they_offer_is_checked() -> None:
    both, judged = anyio.Event(), list[Mapping[str, frozenset[str]]]()
    waiting: set[str] = set()

    async def try_out(name: str) -> ServerTrial:
        waiting.add(name)
        if len(waiting) == 2:
            both.set()
        await both.wait()
        return GOOD if name == "a" else ServerTrial(reason="is away")

    def check(offered: Mapping[str, frozenset[str]]) -> Report:
        judged.append(offered)
        return Report()

    servers = {name: ServerConfig(name=name) for name in "ab"}
    with anyio.fail_after(30):
        await examine(Patient(servers=servers, try_out=try_out, check=check), None)

    assert judged == [{"a": frozenset({"read"})}]


async def test_the_check_is_summed_up_by_code() -> None:
    def problem(code: str) -> Problem:
        return Problem(code=code, message="m", file="f", line=1, remedy="r")

    report = Report(
        errors=(problem("unknown-key"),),
        warnings=(problem("unclaimed-package"), problem("never-matches"), problem("never-matches")),
    )

    told = await found(report=report)

    assert told["declaration-errors"].message == "`remit check` has 1: 1 unknown-key"
    warning = told["declaration-warnings"].message
    assert warning == "`remit check` has 3: 2 never-matches, 1 unclaimed-package"


@pytest.mark.parametrize(
    ("health", "code", "grade"),
    [
        ({"problem": "nobody answers"}, "database-away", Grade.ERROR),
        ({"problem": "tables of tomorrow", "is_newer": True}, "database-newer", Grade.ERROR),
        ({"is_current": False}, "database-behind", Grade.WARNING),
        ({"ms": 251.0}, "database-slow", Grade.WARNING),
        ({"skew": 40.0}, "database-clock", Grade.WARNING),
        ({"broken_heads": ("acme",)}, "record-broken", Grade.ERROR),
        ({"backlog": 2**20 + 1}, "journal-backlog", Grade.WARNING),
    ],
)
async def test_what_is_wrong_with_the_database(
    tmp_path: Path, health: dict[str, Any], code: str, grade: Grade
) -> None:
    tmp_path.chmod(0o700)

    told = await found(state=tmp_path, database=DatabaseHealth(name="'db'", **health))

    assert list(told) == [code]
    assert told[code].grade is grade


@pytest.mark.parametrize(
    ("health", "words"),
    [
        ({}, "start it, or"),
        ({"is_file": True}, "let whoever runs remit read and write the file"),
        ({"is_file": True, "is_read_only": True}, "mount its storage so that it can be written"),
        ({"is_file": True, "is_damaged": True}, "put a backup in its place"),
        ({"is_read_only": True}, "let its user make, read and write"),
    ],
)
async def test_what_to_do_about_a_database_fits_its_kind(
    tmp_path: Path, health: dict[str, Any], words: str
) -> None:
    tmp_path.chmod(0o700)

    told = await found(
        state=tmp_path, database=DatabaseHealth(name="'db'", problem="no answer", **health)
    )

    assert told["database-away"].remedy.startswith(words)


async def test_what_is_wrong_with_the_state_folder(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    rejected = tmp_path / "journal" / "1-a.jsonl.rejected"
    rejected.write_text("{}\n")
    rejected.chmod(0o600)
    (tmp_path / "admin.key").write_text("k")
    (tmp_path / "admin.key").chmod(0o644)
    tmp_path.chmod(0o777)

    told = await found(state=tmp_path)

    assert set(told) == {"state-open", "exposed-file", "journal-rejected"}
    assert "admin.key" in told["exposed-file"].about


@pytest.mark.bound_by_modes
async def test_a_journal_that_cannot_be_written_is_found(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    journal = tmp_path / "journal"
    journal.mkdir(mode=0o500)

    told = await found(state=tmp_path)

    assert told["state-unwritable"].message == f"{journal} cannot be written"


@pytest.mark.parametrize("text", ["", "no key", "ab" * 31])
async def test_a_file_without_the_key_of_sessions_is_an_error(tmp_path: Path, text: str) -> None:
    tmp_path.chmod(0o700)
    key = tmp_path / "session.key"
    session_key(tmp_path)
    assert await found(state=tmp_path) == {}
    key.write_text(text)

    told = (await found(state=tmp_path))["session-key"]

    assert (told.grade, told.about) == (Grade.ERROR, str(key))
    assert told.message == "it holds no key, and without it no gateway starts"
    with pytest.raises(StartupError, match="remove it"):
        session_key(tmp_path)


@pytest.mark.bound_by_modes
async def test_a_key_of_sessions_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    session_key(tmp_path)
    (tmp_path / "session.key").chmod(0o000)

    told = (await found(state=tmp_path))["session-key"]

    assert told.remedy == "make it belong to whoever runs remit"


@pytest.mark.parametrize(
    ("free", "code"), [(2**30 - 1, "disk-low"), (100 * 2**20 - 1, "disk-full")]
)
async def test_a_disk_that_fills_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, code: str
) -> None:
    def usage(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=free)

    monkeypatch.setattr("shutil.disk_usage", usage)
    tmp_path.chmod(0o700)

    assert list(await found(state=tmp_path)) == [code]


async def test_datasources_are_looked_at_where_there_is_a_data_server() -> None:
    async def look() -> list[DatasourceHealth]:
        return [
            DatasourceHealth(name="shop", ms=3.2),
            DatasourceHealth(name="lake", problem="is away"),
            DatasourceHealth(name="books", warnings=("could write",)),
        ]

    patient = Patient(servers={}, try_out=_never, check=lambda _: Report(), look_at_data=look)
    findings = (await examine(patient, None)).findings

    assert [
        (each.code, each.about, each.grade)
        for each in findings
        if each.about.startswith("datasource")
    ] == [
        ("ok", "datasource shop", Grade.OK),
        ("datasource-unreachable", "datasource lake", Grade.ERROR),
        ("datasource-role", "datasource books", Grade.WARNING),
    ]


async def _never(name: str) -> ServerTrial:
    raise AssertionError(name)


async def test_what_else_is_looked_at_is_told_where_there_is_something_to_say(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    odd = Finding(code="odd", about="x", grade=Grade.WARNING, message="m", remedy="r")

    async def says() -> Finding | None:
        return odd

    async def is_silent() -> Finding | None:
        return None

    assert await found(state=tmp_path, looks=(is_silent, says)) == {"odd": odd}
