"""`docs/check.md` has every finding of `remit check`, and each of its rows is true (issue 3)."""

import ast
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.docs.blocks import REPOSITORY
from tests.docs.rules import assert_fits

from remit.admin.check import Report, check_declaration
from remit.admin.declaration import load_declaration
from remit.admin.exposed_files import exposed_files
from remit.errors import DeclarationError, Problem
from remit.testing.gateway import run_remit

PAGE = (REPOSITORY / "docs" / "check.md").read_text()
ROW = re.compile(r"(?m)^\| `([a-z-]+)` \| (.+?) \| (.+?) \|$")
TITLED = re.compile(r"(?m)^### (Errors|Warnings|Warnings of what is around it)$")
SOURCES = [
    *(
        path
        for path in (REPOSITORY / "src/remit/admin").glob("*.py")
        if not path.name.startswith("doctor")  # whose findings are on a page of their own
    ),
    *(REPOSITORY / "src/remit/policy").glob("lint*.py"),
    REPOSITORY / "src/remit/policy/patterns.py",
    REPOSITORY / "src/remit/cli/check.py",
]
NOT_OF_CHECK = {"bad-case"}
"""Codes of `remit test`, whose files are others."""

WHOLE_FILES = {
    "empty-file": b"\n",
    "not-text": b"version: \x01\n",
    "not-yaml": b"roles: {reader\n",
    "too-large": b"[" * 300,
    "wrong-encoding": b"roles: {caf\xe9: {}}\n",
}
"""What an example cannot show; for `unreadable-file` there is no file."""

IN_USE = {"role:used", "key:ci"}
NOW = datetime(2026, 11, 28, tzinfo=UTC)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Give the section, the code, the example and the remedy of each row."""
    sections = TITLED.split(PAGE)
    for title, text in zip(sections[1::2], sections[2::2], strict=True):
        for code, example, remedy in ROW.findall(text):
            yield title, code, example, remedy


ROWS = list(rows())


def codes_in(path: Path) -> Iterator[str]:
    """Give every code that a module makes problems or findings with."""
    for node in ast.walk(ast.parse(path.read_text())):
        said: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            said += [word.value for word in node.keywords if word.arg == "code"]
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("at", "_refusal", "PydanticCustomError"):
                said += node.args[:1]
        elif isinstance(node, ast.FunctionDef):
            parts = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            said += [default for argument, default in parts if argument.arg == "code"]
        for value in said:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def test_every_code_of_the_source_has_a_row_and_every_row_a_code() -> None:
    known = {code for path in SOURCES for code in codes_in(path)} - NOT_OF_CHECK

    assert {code for _, code, _, _ in ROWS} == known
    assert len(known) > 40


def written(folder: Path, code: str, example: str) -> Path:
    path = folder / "remit.yaml"
    if code in WHOLE_FILES:
        path.write_bytes(WHOLE_FILES[code])
    elif example.startswith("`"):
        text = example.strip("`")
        one_server = ", mcp_servers: {db: {command: 'true'}}}"
        path.write_text(text if "mcp_servers" in text else text.removesuffix("}") + one_server)
    return path


def check(path: Path) -> Report:
    try:
        return check_declaration(
            load_declaration(path),
            offered={"db": frozenset({"query", "drop_table"})},
            environ={"PATH": os.environ["PATH"]},
            now=NOW,
            in_use=IN_USE,
        )
    except DeclarationError as error:
        return Report(errors=error.problems)


@pytest.mark.parametrize(
    ("section", "code", "example", "remedy"),
    [row for row in ROWS if row[0] != "Warnings of what is around it"],
)
def test_an_example_gets_its_finding_with_file_line_and_remedy(
    section: str, code: str, example: str, remedy: str, tmp_path: Path
) -> None:
    path = written(tmp_path, code, example)

    report = check(path)

    found = report.errors if section == "Errors" else report.warnings
    (problem,) = [one for one in found if one.code == code]
    assert_fits(remedy, problem.remedy)
    assert problem.file == str(path)
    assert problem.line == (1 if example.startswith("`") else problem.line)


def test_a_file_that_everybody_can_read_is_found_unless_its_folder_lets_nobody_in(
    tmp_path: Path,
) -> None:
    state, elsewhere = tmp_path / ".remit", tmp_path / "other.db"
    state.mkdir(mode=0o755)
    (state / "journal").mkdir(mode=0o700)
    for name in ("admin.key", "remit.db", ".gitignore", "session.key", "journal/1"):
        (state / name).write_text("x")
        (state / name).chmod(0o644)
    (state / "session.key").chmod(0o640)
    elsewhere.write_text("x")
    elsewhere.chmod(0o602)
    tmp_path.chmod(0o711)

    found = list(exposed_files(state, [elsewhere, tmp_path / "absent.db"]))

    assert [Path(one.file).name for one in found] == ["admin.key", "remit.db", "other.db"]
    assert_fits(remedy_of("exposed-file"), found[0].remedy)
    state.chmod(0o700)
    assert list(exposed_files(state)) == []
    assert list(exposed_files(tmp_path / "nowhere")) == []


def remedy_of(code: str) -> str:
    (remedy,) = [remedy for _, one, _, remedy in ROWS if one == code]
    return remedy


def asked(folder: Path, document: str, *flags: str, **environ: str) -> list[Problem]:
    """Return the warnings of the command itself."""
    (folder / "remit.yaml").write_text(document)
    done = run_remit("check", "--json", *flags, folder=folder, environ=environ)
    assert done.returncode == 0, done.stderr
    return [Problem(**warning) for warning in json.loads(done.stdout)["warnings"]]


def test_servers_that_are_away_or_odd_are_found_when_they_are_asked(tmp_path: Path) -> None:
    document = json.dumps(
        {
            "mcp_servers": {
                "away": {"command": "false"},
                "odd": {"builtin": "git", "tool_names": {"ours": "theirs"}},
            },
            "roles": {"r": {"allow": ["odd/*"]}},
        }
    )

    found = {one.code: one for one in asked(tmp_path, document, "--connect")}

    for code, name in (("server-absent", "away"), ("server-note", "odd")):
        assert f"server {name!r}" in found[code].message
        assert found[code].line > 0
        assert_fits(remedy_of(code), found[code].remedy)


def test_a_database_that_is_away_is_a_warning_and_no_end(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    found = asked(tmp_path, "roles: {}\n", REMIT_DATABASE_URL=f"sqlite:///{tmp_path}/folder")

    (away,) = [one for one in found if one.code == "database-away"]
    assert_fits(remedy_of("database-away"), away.remedy)
