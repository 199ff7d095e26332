"""`remit init --server`: a server of one's own, declared, granted and callable at once (S0.29)."""

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from remit.admin.declaration import load_declaration
from remit.cli.main import app

MINE = """\
# Written by hand.
mcp_servers:
  # remit's own
  git: {builtin: git, args: [--repository, .]}
roles:
  reader:
    tools:
      git: [git_log]
"""
ARGUMENTS = json.dumps({"start": "2026-11-23", "end": "2026-11-29"})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def remit(*arguments: str, status: int = 0) -> str:
    result = typer.testing.CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, SystemExit | None)
    assert result.exit_code == status, result.output
    return result.output


def made(*arguments: str) -> Mapping[str, Any]:
    return json.loads(remit("init", "--server", *arguments, "--json"))


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_what_is_written_passes_check_and_its_tool_can_be_called() -> None:
    said = made("team-calendar")

    assert said == {
        "config": "remit.yaml",
        "server": "team-calendar",
        "file": "team_calendar_server.py",
        "tool": "working_days",
        "role": "team-calendar",
        "declared": True,
        "paste": "",
    }
    report = json.loads(remit("check", "--connect", "--json"))
    assert report["errors"] == []
    assert report["warnings"] == []
    called = ("call", "--as", f"role:{said['role']}", f"{said['server']}/{said['tool']}")
    assert json.loads(remit(*called, "--args", ARGUMENTS)) == {"days": 5}
    backwards = json.dumps({"start": "2026-11-29", "end": "2026-11-23"})
    assert "end is before start" in remit(*called, "--args", backwards, status=1)


def test_it_ends_with_the_command_that_calls_the_tool() -> None:
    said = remit("init", "--server", "estimates")

    (line,) = [line.strip() for line in said.splitlines() if line.startswith("  remit call")]
    assert line.removeprefix("remit ").split(" --args ")[0].split() == [
        *("call", "--as", "role:estimates", "estimates/working_days"),
    ]
    assert line.endswith(f"--args '{ARGUMENTS}'")


def test_only_roles_that_are_granted_it_reach_it(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(f"{MINE}  all: {{allow: ['*/*']}}\n")
    made("estimates", "--role", "reader")

    for role, may in (("reader", True), ("all", False)):
        seen = json.loads(remit("tools", "--as", f"role:{role}", "--json"))
        assert ("estimates" in {tool["server"] for tool in seen}) is may


def test_a_declaration_keeps_every_line_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "remit.yaml"
    path.write_text(MINE)
    path.chmod(0o600)

    made("estimates", "--role", "reader")

    lines = path.read_text().splitlines()
    assert [line for line in lines if "estimates" not in line and line in MINE.splitlines()] == (
        MINE.splitlines()
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_declaration(path).declaration.roles["reader"].tools == {
        "git": ("git_log",),
        "estimates": ("working_days",),
    }


def test_a_declaration_that_lines_cannot_be_put_into_stays_and_the_entry_is_shown(
    tmp_path: Path,
) -> None:
    path = tmp_path / "remit.yaml"
    path.write_text('{"mcp_servers": {}, "roles": {}}')

    said = made("estimates")

    assert path.read_text() == '{"mcp_servers": {}, "roles": {}}'
    assert said["declared"] is False
    assert (tmp_path / "estimates_server.py").exists()
    path.write_text(said["paste"])
    remit("call", "--as", "role:estimates", "estimates/working_days", "--args", ARGUMENTS)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["a__b"], 2, "choose another name"),
        (["../up"], 2, "choose another name"),
        (["execute"], 2, "choose another name"),
        (["x", "--role", "a,b"], 2, "choose another name"),
        (["git"], 1, "remit.yaml:4: there is a server 'git' already"),
        (["reader"], 1, "say with --role"),
        (["taken"], 1, "stays as it is"),
        (["x", "--force"], 2, "alone"),
        (["x", "--connect"], 2, "alone"),
    ],
)
def test_what_is_refused_changes_nothing_and_says_what_to_do(
    arguments: list[str], status: int, words: str, tmp_path: Path
) -> None:
    (tmp_path / "remit.yaml").write_text(MINE)
    (tmp_path / "taken_server.py").write_text("mine\n")
    before = files(tmp_path)

    assert words in remit("init", "--server", *arguments, status=status)

    assert files(tmp_path) == before


def test_a_declaration_that_is_wrong_is_to_be_mended_first(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text("rols: {}\n")

    assert "remit.yaml:1" in remit("init", "--server", "x", status=1)

    assert not (tmp_path / "x_server.py").exists()


def test_a_role_alone_says_nothing() -> None:
    assert "--server" in remit("init", "--role", "r", status=2)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    config = ("--config", str(tmp_path / "absent" / "remit.yaml"))

    said = remit("init", "--server", "x", *config, status=3)

    assert said.startswith("error: cannot write ")
    assert len(said.splitlines()) == 1


def test_from_another_folder_the_program_is_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    config = ("--config", str(tmp_path / "project" / "remit.yaml"))

    remit("init", "--server", "estimates", *config)

    called = ("call", "--as", "role:estimates", "estimates/working_days", "--args", ARGUMENTS)
    assert json.loads(remit(*called, *config)) == {"days": 5}
