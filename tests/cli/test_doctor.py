"""`remit doctor`: really connects, changes nothing, and exits by the contract (issue 4)."""

import json
import shlex
import socket
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from remit.cli.main import app
from remit.testing.gateway import fixture_entry
from remit.testing.upstream import received


def doctor(folder: Path, *arguments: str, status: int = 0, **environ: str) -> dict[str, Any]:
    words = ["doctor", "--config", str(folder / "remit.yaml"), "--json", *arguments]
    done = typer.testing.CliRunner().invoke(app, words, env=environ)
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


def declare(folder: Path, **servers: Any) -> None:
    document = {
        "version": "1.0",
        "mcp_servers": servers,
        "roles": {"r": {"allow": [f"{name}/*" for name in servers]}},
    }
    (folder / "remit.yaml").write_text(json.dumps(document))


def codes(found: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in found["findings"]} - {"ok"}


def test_each_server_is_started_once_asked_and_left(tmp_path: Path) -> None:
    declare(tmp_path, files=fixture_entry(["read", "write"], tmp_path / "ran"))
    (port,) = free_ports(1)

    found = doctor(tmp_path, "--port", str(port))

    assert found["healthy"]
    (server,) = found["servers"]
    assert (server["name"], server["protocol"], server["tools"]) == ("files", "2026-07-28", 2)
    assert server["tokens"] > 20
    assert server["memory"] > 1_000_000
    assert server["skew"] is None
    assert len(received(tmp_path / "ran", "tools/list")) == 1
    assert not (tmp_path / ".remit").exists()


def test_a_server_that_cannot_start_is_status_1(tmp_path: Path) -> None:
    declare(
        tmp_path,
        files=fixture_entry(["read"], tmp_path / "ran"),
        gone={"command": "no-such-program"},
        off={"command": "no-such-program", "enabled": False},
    )

    found = doctor(tmp_path, status=1)

    wrong = [one for one in found["findings"] if one["code"] == "server-unreachable"]
    assert [one["about"] for one in wrong] == ["server gone"]
    assert "no-such-program" in wrong[0]["message"]
    assert [server["enabled"] for server in found["servers"]] == [True, True, False]


def test_a_wrong_declaration_is_a_finding_and_the_rest_is_still_looked_at(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text("version: '1.0'\nrolls: {}\n")

    found = doctor(tmp_path, status=1)

    assert "declaration-errors" in codes(found)
    assert {"database", "disk"} <= {finding["about"] for finding in found["findings"]}


def test_a_database_away_is_status_3(tmp_path: Path) -> None:
    declare(tmp_path)
    url = "postgresql://remit:hunter2@127.0.0.1:9/remit"

    found = doctor(tmp_path, status=3, REMIT_DATABASE_URL=url)

    assert "database-away" in codes(found)
    assert "hunter2" not in json.dumps(found)


@pytest.mark.bound_by_modes
@pytest.mark.parametrize(("name", "mode"), [("", 0o000), ("remit.db", 0o400)])
def test_a_state_folder_or_database_of_somebody_else_is_a_finding_and_stays_as_it_is(
    tmp_path: Path, name: str, mode: int
) -> None:
    declare(tmp_path)
    apply(tmp_path)
    state = tmp_path / ".remit"
    closed = state / name
    before = sorted(state.iterdir())
    (port,) = free_ports(1)
    closed.chmod(mode)
    try:
        found = doctor(tmp_path, "--port", str(port), status=3)
        checked = typer.testing.CliRunner().invoke(
            app, ["check", "--config", str(tmp_path / "remit.yaml")]
        )
    finally:
        closed.chmod(0o700)

    assert "database-away" in codes(found)
    assert (checked.exit_code, "[database-away]" in checked.output) == (0, True)
    assert ("state-unwritable" in codes(found)) == (closed == state)
    assert sorted(state.iterdir()) == before


def test_a_port_that_something_else_has_is_a_warning(tmp_path: Path) -> None:
    declare(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = doctor(tmp_path, "--port", str(taken.getsockname()[1]))

    assert "port-taken" in codes(found)


def test_people_read_a_table_with_remedies(tmp_path: Path) -> None:
    declare(tmp_path, gone={"command": "no-such-program"})
    words = ["doctor", "--config", str(tmp_path / "remit.yaml")]

    done = typer.testing.CliRunner().invoke(app, words)

    assert done.exit_code == 1
    assert "error: server gone: cannot start" in done.output
    assert "    → correct its entry" in done.output


def apply(folder: Path) -> None:
    words = ["apply", str(folder / "remit.yaml")]
    done = typer.testing.CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


def test_a_file_that_was_edited_and_not_applied_is_a_warning(tmp_path: Path) -> None:
    declare(tmp_path, off={"command": "no-such-program", "enabled": False})
    assert "file-not-in-force" not in codes(doctor(tmp_path))
    apply(tmp_path)
    assert "file-not-in-force" not in codes(doctor(tmp_path))

    declare(tmp_path, out={"command": "no-such-program", "enabled": False})
    found = doctor(tmp_path)

    (drift,) = [one for one in found["findings"] if one["code"] == "file-not-in-force"]
    assert (drift["grade"], drift["message"]) == (
        "warning",
        "it is not what is in force, revision 1",
    )
    assert drift["remedy"] == f"'remit apply {tmp_path}/remit.yaml' makes it count"


def test_a_file_that_no_gateway_would_start_with_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text("rolls: {}\n")
    found = doctor(tmp_path, status=1)

    (wrong,) = [one for one in found["findings"] if one["code"] == "file-wrong"]
    words = shlex.split(wrong["remedy"].split("`")[1])
    done = typer.testing.CliRunner().invoke(app, words[1:])
    assert (words[0], done.exit_code) == ("remit", 1)
    assert "rolls" in done.output


def test_a_store_of_limits_that_is_away_is_a_warning(tmp_path: Path) -> None:
    declare(tmp_path)
    url = "redis://somebody:hunter2@127.0.0.1:9/0"

    found = doctor(tmp_path, REMIT_SHARED_URL=url)

    (away,) = [one for one in found["findings"] if one["code"] == "limits-away"]
    assert away["grade"] == "warning"
    assert "127.0.0.1:9" in away["message"]
    assert "hunter2" not in json.dumps(found)
    for elsewhere in ("", "memory://"):
        assert "limits-away" not in codes(doctor(tmp_path, REMIT_SHARED_URL=elsewhere))


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@pytest.mark.parametrize("words", [("--key", "rmt_x"), ("--url", "nonsense", "--key", "rmt_x")])
def test_a_wrong_use_is_status_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    declare(tmp_path)
    done = typer.testing.CliRunner().invoke(app, ["doctor", *words])

    assert done.exit_code == 2
