"""What a command changes is on record as what the API changes is (R18, R28, R29)."""

import json
import os
import pwd
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer.testing

from remit.cli.changes import operator
from remit.cli.main import app
from remit.errors import AuditUnavailable
from remit.storage.audit import AuditLog

DOCUMENT = """\
mcp_servers: {tools: {url: "https://tools.example.test/mcp"}}
roles: {worker: {allow: ["tools/*"]}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "remit.yaml"
    path.write_text(DOCUMENT)
    return path


def remit(config: Path, command: str, status: int = 0) -> str:
    words = [*command.split(), "--config", str(config)]
    done = typer.testing.CliRunner().invoke(app, words)
    assert done.exit_code == status, (command, done.output, done.exception)
    return done.output


def record_of(config: Path, *more: str) -> Sequence[dict[str, Any]]:
    """Return the changes on record, the oldest first."""
    command = " ".join(("audit search --json --server /admin", *more))
    return json.loads(remit(config, command))[::-1]


def test_every_command_that_changes_something_is_on_record(config: Path) -> None:
    changes = {
        "agents create w1 --type WORKER": "agents.create",
        "agents change w1 --role worker": "agents.change",
        "keys create ci --role worker --act-for w1 --expires 30d": "keys.create",
        "keys rotate ci --overlap 60": "keys.rotate",
        "keys revoke ci": "keys.revoke",
        "users disable ann": "users.disable",
        "users enable ann": "users.enable",
        "tenants create acme": "tenants.create",
        f"apply {config}": "declaration.apply",
        "rollback 1": "revisions.rollback",
    }

    for command in changes:
        remit(config, command)

    rows = record_of(config)
    assert [row["tool"] for row in rows] == list(changes.values())
    for row in rows:
        assert (row["principal"], row["tenant"], row["decision"], row["outcome"]) == (
            operator(),
            "default",
            "allow",
            "ok",
        )
    told = {row["tool"]: json.loads(row["arguments"]) for row in rows}
    assert told["keys.create"] == {
        "name": "ci",
        "role": "worker",
        "act_for": ["w1"],
        "expires": "30d",
        "reason": "keys.create",
    }
    assert told["agents.change"] == {"id": "w1", "role": "worker", "reason": "agents.change"}
    assert told["declaration.apply"]["reason"] == "from remit.yaml"
    assert [row["revision"] for row in rows[-3:]] == [0, 1, 1]
    assert "OK: " in remit(config, "audit verify")


def test_whoever_typed_it_is_named_by_the_machine(config: Path) -> None:
    remit(config, "users disable ann")

    (row,) = record_of(config)
    assert row["principal"] == f"cli:{pwd.getpwuid(os.getuid()).pw_name}"


def test_whoever_has_no_name_on_the_machine_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)

    assert operator() == "cli:4000000"


def test_a_change_that_fails_is_on_record_as_one(config: Path) -> None:
    remit(config, "keys revoke nobody", status=2)
    remit(config, "users enable ann", status=1)
    remit(config, "keys create k --agent w9", status=2)
    remit(config, "tenants create Default", status=1)

    rows = record_of(config)

    assert [(row["tool"], row["outcome"], row["code"]) for row in rows] == [
        ("keys.revoke", "error", "RESOURCE_NOT_FOUND"),
        ("users.enable", "error", "INVALID_INPUT"),
        ("keys.create", "error", "RESOURCE_NOT_FOUND"),
        ("tenants.create", "error", "INVALID_INPUT"),
    ]
    assert rows[0]["error"] == "no key named 'nobody' is in use"


def test_what_cannot_be_recorded_is_not_changed(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # R29
    async def fail(*_: object) -> NoReturn:
        raise AuditUnavailable("the journal cannot be written")

    with monkeypatch.context() as patched:
        patched.setattr(AuditLog, "record", fail)
        told = remit(config, "keys create ci --role worker", status=3)

    assert "the journal cannot be written" in told
    assert json.loads(remit(config, "keys list --json")) == []


def test_a_change_is_on_the_record_of_its_own_tenant(config: Path) -> None:
    remit(config, "tenants create acme")
    remit(config, "users disable ann --tenant acme")

    assert [row["tool"] for row in record_of(config)] == ["tenants.create"]
    assert [row["tool"] for row in record_of(config, "--tenant acme")] == ["users.disable"]


def test_no_secret_is_on_record(config: Path) -> None:
    made = json.loads(remit(config, "keys create ci --role worker --json"))
    secret = made["key"].split("_", 2)[2]  # which may hold more of these

    for file in (config.parent / ".remit").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()


def test_looking_and_trying_change_nothing_on_record(config: Path) -> None:
    for command in ("keys list", "agents list", f"apply {config} --dry-run", "revisions"):
        remit(config, command)
    remit(config, "keys create k", status=2)  # a wrong use, told before anything is opened

    assert record_of(config) == []


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("keys revoke ci", {"name": "ci", "state": "revoked", "role": "worker"}),
        ("users disable ann", {"name": "ann"}),
        ("users enable bob", {"name": "bob", "disabled": None}),
    ],
)
def test_what_was_changed_is_told_in_json(
    command: str, shown: dict[str, object], config: Path
) -> None:
    remit(config, "keys create ci --role worker")
    remit(config, "users disable bob")

    told = json.loads(remit(config, f"{command} --json"))

    assert told | shown == told
    assert command == "users enable bob" or (told.get("disabled") or told.get("revoked"))


def test_a_search_shows_calls_and_changes_too_when_asked(config: Path) -> None:
    remit(config, "keys create ci --role worker")

    calls = json.loads(remit(config, "audit search --json"))
    both = json.loads(remit(config, "audit search --json --changes"))

    named = json.loads(remit(config, "audit search --json --tool keys.create"))

    assert calls == []
    assert named == both
    assert [row["tool"] for row in both] == ["keys.create"]
