"""apply, revisions, rollback, export, test: how they are used, and misused (R18)."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from remit.cli.changes import operator
from remit.cli.main import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "nine-roles"
DOCUMENT = """\
version: "1.0"
mcp_servers:
  git: {builtin: git, env: {TOKEN: not-for-anybody}}
roles:
  dev:
    tools: {git: [git_log, git_status]}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "remit.yaml"
    path.write_text(DOCUMENT)
    return path


def remit(config: Path, *arguments: str, status: int = 0) -> str:
    result = typer.testing.CliRunner().invoke(app, [*arguments, "--config", str(config)])
    assert result.exit_code == status, result.output
    assert isinstance(result.exception, SystemExit | None)
    return result.output


def listed(config: Path) -> list[dict[str, Any]]:
    return json.loads(remit(config, "revisions", "--json"))


def test_a_dry_run_shows_who_gains_and_loses_what_and_writes_nothing(config: Path) -> None:
    remit(config, "apply", str(config))
    other = config.with_name("other.yaml")
    other.write_text(DOCUMENT.replace("git_log", "git_diff"))

    told = remit(config, "apply", str(other), "--dry-run")

    assert told.splitlines() == [
        '- roles.dev.tools.git: "git_log"',
        '+ roles.dev.tools.git: "git_diff"',
        "role:dev gains git/git_diff: roles.dev.tools.git[0]",
        "role:dev loses git/git_log: " + told.partition("loses git/git_log: ")[2].splitlines()[0],
        "2 changes, 1 tool gained, 1 tool lost; would be revision 2, nothing was written",
    ]
    assert [one["number"] for one in listed(config)] == [1]


def test_whoever_a_grant_names_is_told_to_gain_or_lose_by_it(config: Path) -> None:
    remit(config, "apply", str(config))
    remit(config, "keys", "create", "ci", "--role", "dev")
    config.write_text(f"{DOCUMENT}grants: [{{key: ci, effect: deny, tool: git/git_log}}]\n")

    told = remit(config, "apply", str(config), "--dry-run").splitlines()
    done = json.loads(remit(config, "apply", str(config), "--json"))

    assert told[1].startswith("key:ci loses git/git_log: ")
    assert told[2].startswith("1 change, 0 tools gained, 1 tool lost; would be revision 2")
    assert [(one["subject"], one["change"]) for one in done["authority"]] == [("key:ci", "loses")]


def test_a_file_is_applied_with_its_reason_and_once(config: Path) -> None:
    first = json.loads(remit(config, "apply", str(config), "--reason", "day one", "--json"))
    again = json.loads(remit(config, "apply", str(config), "--json"))

    assert (first["revision"], first["written"], first["conflict"]) == (1, True, "")
    assert [one["tool"] for one in first["authority"]] == ["git/git_log", "git/git_status"]
    assert (again["revision"], again["written"], again["changes"]) == (1, False, [])
    (revision,) = listed(config)
    assert {key: revision[key] for key in ("number", "author", "reason")} == {
        "number": 1,
        "author": operator(),
        "reason": "day one",
    }


def test_a_file_that_is_wrong_changes_nothing(config: Path) -> None:
    remit(config, "apply", str(config))
    config.write_text(DOCUMENT + "rolls: {}\n")

    assert f"{config}:7: " in remit(config, "apply", str(config), status=1)
    assert "no such file" in remit(config, "apply", "nowhere.yaml", status=1)
    assert len(listed(config)) == 1


def test_a_rollback_is_a_new_revision_that_a_file_does_not_undo_in_passing(config: Path) -> None:
    remit(config, "apply", str(config))
    config.write_text(DOCUMENT.replace("git_log", "git_diff"))
    remit(config, "apply", str(config))

    assert "revision 3 says what revision 1 said" in remit(config, "rollback", "1")
    first, _, third = reversed(listed(config))
    assert first["digest"] == third["digest"]
    assert third["reason"] == "rollback to revision 1"

    assert "revision 3 by cli" in remit(config, "apply", str(config), status=1)
    assert "see --replace" in remit(config, "apply", str(config), "--dry-run", status=1)
    assert "revision 4" in remit(config, "apply", str(config), "--replace")
    assert "there is no revision 9" in remit(config, "rollback", "9", status=2)


def test_what_is_exported_is_no_change_when_it_is_applied(config: Path, tmp_path: Path) -> None:
    remit(config, "apply", str(config))
    config.write_text(DOCUMENT.replace("git_log", "git_diff"))
    remit(config, "apply", str(config))
    exported = tmp_path / "exported.yaml"

    assert remit(config, "export") == remit(config, "export", "2")
    remit(config, "export", "--output", str(exported))
    assert "no change: revision 2" in remit(config, "apply", str(exported))
    assert exported.stat().st_mode & 0o777 == 0o600

    remit(config, "export", "1", "--output", str(exported))
    assert "git_log" in exported.read_text()
    remit(config, "export", "--json", "--output", str(exported))
    assert list(json.loads(exported.read_text())["roles"]) == ["dev"]
    assert "no change: revision 2" in remit(config, "apply", str(exported))
    assert [path.name for path in tmp_path.glob(".exp*")] == []
    assert "cannot write" in remit(config, "export", "-o", str(tmp_path / "no" / "f"), status=1)


def test_one_revision_is_shown_with_what_it_changed_and_no_secret(config: Path) -> None:
    assert "nothing was declared yet" in remit(config, "revisions")
    assert "nothing was declared yet" in remit(config, "export", status=1)
    remit(config, "apply", str(config))
    config.write_text(DOCUMENT.replace("not-for-anybody", "hunter2-hunter2"))
    remit(config, "apply", str(config))

    shown = remit(config, "revisions", "2")
    assert "~ mcp_servers.git.env.TOKEN: [redacted] → [redacted]" in shown
    assert "hunter2" not in shown + remit(config, "revisions")
    document = json.loads(remit(config, "revisions", "1", "--json"))["document"]
    assert list(document) == ["version", "mcp_servers", "roles"]


def test_a_file_beside_no_other_declaration_has_its_state_beside_it(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for name in ("REMIT_CONFIG", "MCP_CONFIG_PATH", "REMIT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)

    result = typer.testing.CliRunner().invoke(app, ["apply", str(config)])

    assert result.exit_code == 0
    assert (tmp_path / ".remit").is_dir()
    assert not (elsewhere / ".remit").exists()


def test_making_a_key_does_not_apply_a_file_that_changed(config: Path) -> None:
    remit(config, "apply", str(config))
    config.write_text(DOCUMENT.replace("git_log", "git_diff"))

    remit(config, "keys", "create", "ci", "--role", "dev")

    assert len(listed(config)) == 1


def test_the_example_tests_every_grant_of_the_nine_roles(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")

    told = json.loads(remit(folder / "remit.yaml", "test", "--json"))

    assert told["summary"] == {"cases": 143, "passed": 143, "failed": 0, "uncovered": 0}
    assert told["missing"] == []


def test_a_failing_policy_test_ends_with_status_1_and_says_where(config: Path) -> None:
    cases = config.with_name("cases.yaml")
    cases.write_text(
        "- {as: role:dev, tool: git/git_push, expect: allow}\n"
        "- {as: role:nobody, tool: git/git_log, expect: deny}\n"
        "- {as: agent-type:WORKER, tool: git/git_log, expect: deny}\n"
        "- {as: role:dev, tool: git/git_pussh, expect: deny}\n"
    )

    output = remit(config, "test", str(cases), "--json", status=1)
    told = json.loads(output[output.index("{") :])
    shown = remit(config, "test", str(cases), status=1)

    assert told["summary"] == {"cases": 4, "passed": 2, "failed": 2, "uncovered": 2}
    assert [one["line"] for one in told["failures"]] == [1, 2]
    assert told["failures"][0]["got"]["decision"] == "deny"
    assert told["failures"][1]["got"] is None
    assert told["uncovered"][0] == {
        "rule": "roles.dev.tools.git[0]",
        "file": str(config),
        "line": 6,
    }
    assert f"{cases}:1: role:dev git/git_push: expected allow, got deny" in shown
    assert f"{config}:6: no case reaches roles.dev.tools.git[1]" in shown
    assert told["missing"] == [{"tool": "git/git_pussh", "file": str(cases), "line": 4}]
    assert f"{cases}:4: no server has offered the tool git/git_pussh so far" in shown
    assert "4 cases, 2 failed, 2 rules uncovered" in shown


def test_no_policy_tests_at_all_is_a_wrong_use(config: Path) -> None:
    assert "there are no tests" in remit(config, "test", status=2)
    empty = config.with_name("empty.yaml")
    empty.write_text("cases: []\n")
    assert "there is no case" in remit(config, "test", str(empty), status=1)
