"""`remit explain`: its arguments and its limits, without a call and without a server started."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from remit.cli.main import app

DOCUMENT = """\
version: "1.0"
mcp_servers:
  git: {builtin: git, args: [--repository, .]}
roles:
  dev: {tools: {git: [git_log, git_push]}}
limits:
  - {role: dev, tool: "git/*", calls: 5, per: hour}
"""


def remit(folder: Path, *words: str, status: int = 0, **environ: str) -> str:
    config = ["--config", str(folder / "remit.yaml")]
    done = typer.testing.CliRunner().invoke(app, [*words, *config], env=environ)
    assert done.exit_code == status, done.output
    return done.output


def explained(folder: Path, *words: str, **more: Any) -> dict[str, Any]:
    asked = ("explain", "--as", "role:dev", "git/git_log", "--json", *words)
    return json.loads(remit(folder, *asked, **more))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder whose server was called once, so that what it offers is known."""
    folder = tmp_path_factory.mktemp("seen")
    (folder / "remit.yaml").write_text(DOCUMENT)
    subprocess.run(["git", "init", "--quiet", "."], cwd=folder, check=True)
    remit(folder, "call", "--as", "role:dev", "git/git_log")
    return folder


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"max_count": 3}, None),
        ({"max_count": "three"}, 'max_count: the value is not of type "integer"'),
    ],
)
def test_arguments_are_checked_by_what_the_server_offered_last(
    seen: Path, arguments: dict[str, Any], problem: str | None
) -> None:
    # product.md: `remit explain --as SUBJECT TOOL [--args JSON] [--json]`
    answer = explained(seen, "--args", json.dumps(arguments))

    assert answer["arguments"] == {"checked": True, "valid": not problem, "problem": problem}
    assert answer["allowed"]  # R36: no rule is about arguments


def test_people_are_told_whether_arguments_fit(seen: Path) -> None:
    asked = ("explain", "--as", "role:dev", "git/git_log", "--args")

    assert remit(seen, *asked, "{}").endswith("\nthe arguments fit\n")
    told = remit(seen, *asked, '{"max_count": "three"}').splitlines()[-1]
    assert told.startswith("the arguments do not fit: max_count: ")


def test_of_what_no_server_has_offered_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(DOCUMENT)

    assert explained(tmp_path, "--args", "{}")["arguments"] is None
    asked = ("explain", "--as", "role:dev", "git/git_log", "--args", "{}")
    assert "not checked: no server has offered" in remit(tmp_path, *asked)


@pytest.mark.parametrize("arguments", ["[]", "{", "3", "[" * 9999])
def test_what_is_no_object_is_a_wrong_use(seen: Path, arguments: str) -> None:
    for command in ("explain", "call"):
        asked = (command, "--as", "role:dev", "git/git_log", "--args", arguments)
        assert "--args must be a JSON object" in remit(seen, *asked, status=2)


def test_limits_tell_how_many_calls_count_now(seen: Path) -> None:
    # T23
    limit = {"rule": "limits[0]", "calls": 5, "seconds": 3600}
    asked = ("explain", "--as", "role:dev", "git/git_log")

    assert explained(seen)["limits"] == [{**limit, "used": 1}]
    assert "limited to 5 calls per hour (limits[0]): 1 used now\n" in remit(seen, *asked)
    # each worker counts in its own memory, which cannot be seen from here
    assert explained(seen, REMIT_SHARED_URL="memory://")["limits"] == [{**limit, "used": None}]
    assert explained(seen, REMIT_SHARED_URL="redis://127.0.0.1:1/0")["limits"][0]["used"] is None
