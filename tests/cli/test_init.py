"""`remit init`: a first declaration, or one from the files of other programs."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from remit.admin.declaration import load_declaration
from remit.cli.main import app

CLIENT = """\
{
  // as an editor writes it
  "mcpServers": {
    "time": {"command": "TIME", "args": ["--local-timezone=UTC"]},
    "wiki": {
      "type": "streamable-http",
      "url": "https://wiki.example.test/mcp",
      "headers": {"Authorization": "Bearer 8f3c0a61b2d94e57"},
    },
  }
}
"""
SECRET = "8f3c0a61b2d94e57"


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """Write a client's file, with a server that really runs and one that does not."""
    program = Path(sys.executable).with_name("mcp-server-time")
    path = tmp_path / "client.json"
    path.write_text(CLIENT.replace("TIME", str(program)))
    return path


def remit(folder: Path, *arguments: str, status: int = 0) -> str:
    config = ("--config", str(folder / "remit.yaml"))
    result = typer.testing.CliRunner().invoke(app, [*arguments, *config])
    assert isinstance(result.exception, SystemExit | None)
    assert result.exit_code == status, result.output
    return result.output


def init(folder: Path, files: Sequence[Path], *more: str, status: int = 0) -> str:
    named = [word for file in files for word in ("--from", str(file))]
    return remit(folder, "init", *named, *more, status=status)


def test_without_a_file_a_starter_is_written_that_check_has_nothing_against(tmp_path: Path) -> None:
    assert "wrote" in remit(tmp_path, "init")

    report = json.loads(remit(tmp_path, "check", "--json"))
    seen = json.loads(remit(tmp_path, "tools", "--as", "role:reader", "--json"))

    assert report["errors"] == []
    assert {problem["code"] for problem in report["warnings"]} <= {"role-without-callers"}
    assert {tool["tool"] for tool in seen} == {"git_status", "git_diff", "git_log"}


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path, client: Path) -> None:
    mine = tmp_path / "remit.yaml"
    mine.write_text("mine\n")

    for files in ([], [client]):
        assert "--force" in init(tmp_path, files, status=1)

    assert mine.read_text() == "mine\n"


def test_force_replaces_it(tmp_path: Path, client: Path) -> None:
    (tmp_path / "remit.yaml").write_text("mine\n")

    init(tmp_path, [client], "--force")

    assert set(load_declaration(tmp_path / "remit.yaml").declaration.servers) == {"time", "wiki"}


def test_a_refused_file_leaves_nothing_behind(tmp_path: Path, client: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"mcpServers": {\n  "a": {"command": "c"\n')

    said = init(tmp_path, [client, broken], status=1)

    assert f"{broken}:" in said
    assert "not valid JSON" in said
    assert "→" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.json", "client.json"]


def test_a_refusal_as_json_has_the_shape_of_check(tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    file.write_text('{"theme": "dark"}')
    done = typer.testing.CliRunner().invoke(
        app, ["init", "--from", str(file), "--json", "--config", str(tmp_path / "remit.yaml")]
    )

    (error,) = json.loads(done.stdout)["errors"]
    assert done.exit_code == 1
    assert error["code"] == "no-server"
    assert error["file"] == str(file)
    assert set(error) == {"code", "message", "file", "line", "remedy"}


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, client: Path) -> None:
    said = init(tmp_path / "absent", [client], status=3)

    assert said.startswith("error: cannot write ")


@pytest.mark.parametrize("more", [["client.json"], ["--connect"]])
def test_what_only_files_have_needs_a_file(tmp_path: Path, more: list[str]) -> None:
    assert "--from" in remit(tmp_path, "init", *more, status=2)


def test_several_files_are_merged_whichever_way_they_are_named(
    tmp_path: Path, client: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "mcpServers:\n  time: {command: other-time}\n  extra: {url: 'http://x.test'}\n"
    )

    init(tmp_path, [client, other])
    first = (tmp_path / "remit.yaml").read_text()
    said = remit(tmp_path, "init", "--from", str(client), str(other), "--force")

    assert (tmp_path / "remit.yaml").read_text() == first
    servers = load_declaration(tmp_path / "remit.yaml").declaration.servers
    assert list(servers) == ["time", "wiki", "time-2", "extra"]
    assert servers["time-2"].command == "other-time"
    assert f"{other}:2: time: is called 'time-2' here" in said


def test_the_report_as_json_names_everything_and_no_secret(tmp_path: Path, client: Path) -> None:
    printed = init(tmp_path, [client], "--json")

    report: Any = json.loads(printed)
    assert [server["name"] for server in report["servers"]] == ["time", "wiki"]
    assert report["servers"][1]["transport"] == "http"
    assert report["servers"][1]["line"] == 5
    assert report["variables"] == [{"name": "WIKI_TOKEN", "servers": ["wiki"]}]
    noted = {note["code"]: note for note in report["notes"]}
    assert noted["secret-in-clear"]["field"] == "headers.Authorization"
    assert noted["secret-in-clear"]["line"] == 8
    assert "WIKI_TOKEN" in noted["secret-in-clear"]["remedy"]
    assert SECRET not in printed + (tmp_path / "remit.yaml").read_text()


def test_the_report_for_people_names_what_to_set(tmp_path: Path, client: Path) -> None:
    printed = init(tmp_path, [client])

    assert "set in the environment of remit: WIKI_TOKEN" in printed
    assert f"{client}:8: wiki headers.Authorization: its value is not written" in printed
    assert SECRET not in printed


def test_a_known_program_gives_roles_without_being_started(tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    known = {"command": "uvx", "args": ["mcp-server-git"]}
    file.write_text(json.dumps({"mcpServers": {"git": known}}))

    init(tmp_path, [file])

    roles = load_declaration(tmp_path / "remit.yaml").declaration.roles
    assert "git_log" in roles["reader"].tools["git"]
    assert "git_commit" not in roles["reader"].tools["git"]
    assert "git_commit" in roles["writer"].tools["git"]
    assert "git_reset" not in roles["writer"].tools["git"]
    assert roles["admin"].allow == ("git/*",)


def test_connecting_asks_servers_and_says_which_could_not_be_asked(
    tmp_path: Path, client: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the same program under another name is in no catalogue
    unknown = tmp_path / "unknown-clock"
    unknown.symlink_to(Path(sys.executable).with_name("mcp-server-time"))
    client.write_text(client.read_text().replace("mcp-server-time", "nobody-knows-it"))
    client.write_text(
        client.read_text().replace(
            str(Path(sys.executable).with_name("nobody-knows-it")), str(unknown)
        )
    )
    monkeypatch.setenv("WIKI_TOKEN", "x")

    said = init(tmp_path, [client], "--connect")

    roles = load_declaration(tmp_path / "remit.yaml").declaration.roles
    assert set(roles["reader"].tools["time"]) == {"get_current_time", "convert_time"}
    assert "wiki: could not be asked" in said


def test_it_is_written_whole_under_its_name_and_readable_by_others(
    tmp_path: Path, client: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "remit", "init", "--from", client.name],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["client.json", "remit.yaml"]
