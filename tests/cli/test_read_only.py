"""Storage that can only be read: a copy, as an auditor has it, is read, and not changed.

A declaration on such storage, as a container has it, has its state elsewhere.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from remit.testing.gateway import Ended, environment, run_remit, start_gateway

pytestmark = pytest.mark.timeout(180)

_INSIDE = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec "$@"'


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an installation with a key, on which nobody works any more."""
    probe = ["unshare", "-rm", "sh", "-c", _INSIDE, "sh", "/tmp", "true"]  # noqa: S108 - not written
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    folder = tmp_path_factory.mktemp("backup")
    for words in (("init",), ("keys", "create", "k", "--role", "reader"), ("apply", "remit.yaml")):
        assert run_remit(*words, folder=folder).returncode == 0
    (folder / ".remit" / ".gitignore").unlink()
    return folder


def remit(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Ended:
    """Run a command in a world in which nobody can write to *folder*."""
    words = ["unshare", "-rm", "sh", "-c", _INSIDE, "sh", str(folder)]
    return subprocess.run(
        [*words, sys.executable, "-m", "remit", *arguments],
        env=environment(environ),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("audit verify", "OK: "),
        ("audit search --tool keys.create", "keys.create"),
        ("who-can git/git_status", "reader"),
        ("revisions", "digest"),
        ("keys list", "reader"),
    ],
)
def test_what_only_reads_reads_it(backup: Path, command: str, told: str) -> None:
    ended = remit(backup, *command.split())

    assert (ended.returncode, ended.stderr) == (0, "")
    assert told in ended.stdout


@pytest.mark.parametrize(
    "command", ["keys create z --role reader", "tools --as role:reader", "serve --port 0"]
)
def test_what_writes_is_refused_in_plain_words(backup: Path, command: str) -> None:
    ended = remit(backup, *command.split())

    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    assert "writable" in ended.stderr


def test_what_stands_in_the_log_of_a_copy_is_not_passed_over(backup: Path, tmp_path: Path) -> None:
    database = backup / ".remit" / "remit.db"
    shutil.copy(backup / "remit.yaml", tmp_path)
    state = tmp_path / ".remit"
    state.mkdir()
    with closing(sqlite3.connect(database)) as somebody:
        somebody.execute("UPDATE api_keys SET name = 'renamed'")
        somebody.commit()
        for path in (database, database.with_name("remit.db-wal")):
            shutil.copy(path, state)

    ended = remit(tmp_path, "keys", "list")

    assert ended.returncode == 3
    assert "copy it, with the files `-wal` and `-shm` beside it" in ended.stderr
    assert "renamed" in run_remit("keys", "list", folder=tmp_path).stdout


def test_doctor_says_what_helps_there(backup: Path) -> None:
    ended = remit(backup, "doctor", "--json")

    remedies = {one["code"]: one["remedy"] for one in json.loads(ended.stdout)["findings"]}
    way = "mount its storage so that it can be written"
    assert remedies["database-away"] == f"{way}, or correct REMIT_DATABASE_URL"
    assert remedies["state-unwritable"] == f"{way}, or name another folder in REMIT_STATE_DIR"


def test_a_declaration_there_has_its_state_elsewhere(backup: Path, tmp_path: Path) -> None:
    elsewhere = {"REMIT_STATE_DIR": str(tmp_path / "new" / "state")}
    for command, told in (
        ("keys create elsewhere --role reader", "Keep it now"),
        ("keys list", "elsewhere"),
        ("tools --as role:reader", "git_status"),
        ("audit search --changes", "keys.create"),
        ("doctor --json", f"{tmp_path / 'new' / 'state'} is private"),
    ):
        ended = remit(backup, *command.split(), environ=elsewhere)

        assert told in ended.stdout + ended.stderr
        assert ended.returncode == 0, ended.stderr
    assert "elsewhere" not in remit(backup, "keys", "list").stdout


def test_a_gateway_writes_nothing_beside_a_declaration_whose_state_is_elsewhere(
    tmp_path: Path,
) -> None:
    place, folder = tmp_path / "declared", tmp_path / "run"
    place.mkdir()
    folder.mkdir()
    (place / "remit.yaml").write_text('version: "1.0"\n')
    state = folder / "state"
    running = start_gateway(folder, place / "remit.yaml", {"REMIT_STATE_DIR": str(state)})
    try:
        assert running.servers() == {}  # which the administrator's key shows
    finally:
        running.stop()
    assert [path.name for path in place.iterdir()] == ["remit.yaml"]
    assert state.stat().st_mode & 0o777 == 0o700
    assert {"remit.db", "session.key", "journal"} <= {path.name for path in state.iterdir()}
