"""A file that is not what is in force: what counts then, and how it is said (R18)."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer.testing
from typer.testing import Result

from remit.cli.changes import operator
from remit.cli.main import app

DOCUMENT = """\
mcp_servers:
  git: {builtin: git}
roles:
  dev: {tools: {git: [git_status]}}
"""
OTHER = DOCUMENT.replace("git_status", "git_status, git_log")
CASES = "- {as: role:dev, tool: git/git_log, expect: allow}\n"

JUDGING: Sequence[Sequence[str]] = [
    ("explain", "--as", "role:dev", "git/git_log"),
    ("who-can", "git/git_log"),
    ("tools", "--as", "role:dev"),
    ("test", "cases.yaml"),
]
CALL = ("call", "--as", "role:dev", "git/git_log")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.yaml").write_text(CASES)
    path = tmp_path / "remit.yaml"
    path.write_text(DOCUMENT)
    return path


def remit(*arguments: str) -> Result:
    return typer.testing.CliRunner().invoke(app, arguments)


def authors() -> list[str]:
    return [one["author"] for one in json.loads(remit("revisions", "--json").stdout)]


def note_of(told: Result) -> str:
    notes = [line for line in told.stderr.splitlines() if "not what is in force" in line]
    assert len(notes) <= 1
    return "".join(notes)


def test_a_call_goes_by_the_revision_in_force_and_writes_none(config: Path) -> None:
    remit("apply", "remit.yaml")
    config.write_text(OTHER)

    told = remit(*CALL)

    assert told.exit_code == 1
    assert "denied: no role allows it" in told.stderr
    assert note_of(told) == (
        "note: remit.yaml is not what is in force (revision 1):"
        " 'remit apply remit.yaml' makes it count"
    )
    assert len(authors()) == 1
    remit("apply", "remit.yaml")
    assert "denied" not in (again := remit(*CALL)).stderr
    assert note_of(again) == ""


def test_the_first_call_writes_the_first_revision() -> None:
    # R18: each row of the record carries the number of a revision
    told = remit(*CALL)

    assert "denied" in told.stderr
    assert note_of(told) == ""
    assert authors() == [operator()]
    (row,) = json.loads(remit("audit", "search", "--json").stdout)
    assert row["revision"] == 1


@pytest.mark.parametrize("asked", JUDGING, ids=lambda asked: asked[0])
def test_a_question_is_about_the_file_and_says_that_it_is_not_in_force(
    config: Path, asked: Sequence[str]
) -> None:
    remit("apply", "remit.yaml")
    config.write_text(OTHER)

    told = remit(*asked, "--json")

    assert told.exit_code == 0
    json.loads(told.stdout)
    assert note_of(told) == (
        "note: remit.yaml is not what is in force (revision 1):"
        " this is what it would do as revision 2"
    )
    assert len(authors()) == 1
    remit("apply", "remit.yaml")
    assert note_of(remit(*asked)) == ""


@pytest.mark.parametrize("asked", [*JUDGING, CALL], ids=lambda asked: asked[0])
def test_of_a_file_that_others_overtook_nothing_is_said_until_it_is_edited(
    config: Path, asked: Sequence[str]
) -> None:
    remit("apply", "remit.yaml")
    config.write_text(OTHER)
    remit("apply", "remit.yaml")
    remit("rollback", "1")

    told = remit(*asked)
    config.write_text(OTHER.replace("git_log", "git_diff"))
    edited = remit(*asked)

    assert note_of(told) == ""
    assert note_of(edited) == (
        "note: remit.yaml is not what is in force (revision 3): 'remit apply remit.yaml' says what"
        " it would overwrite, and with --replace makes it count"
    )


def test_before_anything_was_declared_there_is_nothing_to_differ_from() -> None:
    assert note_of(remit(*JUDGING[0])) == ""
    assert authors() == []
