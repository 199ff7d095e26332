"""`remit tenants`, and `--tenant` of everything else: what is of one tenant is of no other."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from remit.cli.main import app

FILE = """\
version: "1.0"
mcp_servers:
  git: {builtin: git}
roles:
  dev:
    tools: {git: [git_log, git_status]}
"""
ACME = FILE.replace("git_log, git_status", "git_diff")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "remit.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def acme(config: Path) -> str:
    """Make a tenant that declares something else; give its UUID."""
    made = json.loads(remit(config, "tenants", "create", "acme", "--json"))
    remit(config, "apply", str(config))
    other = config.with_name("acme.yaml")
    other.write_text(ACME)
    remit(config, "apply", str(other), "--tenant", "acme")
    return str(made["id"])


def remit(config: Path, *arguments: str, status: int = 0) -> str:
    result = typer.testing.CliRunner().invoke(app, [*arguments, "--config", str(config)])
    assert result.exit_code == status, result.output
    assert isinstance(result.exception, SystemExit | None)
    return result.output


def read(config: Path, *arguments: str) -> Any:
    return json.loads(remit(config, *arguments, "--json"))


def test_a_tenant_is_made_and_listed_beside_the_first(config: Path) -> None:
    made = read(config, "tenants", "create", "acme")
    listed = read(config, "tenants", "list")

    assert [tenant["name"] for tenant in listed] == ["default", "acme"]
    assert listed[1] == made
    assert set(made) == {"id", "name", "created"}


def test_a_tenant_is_made_once_and_under_a_name_that_does(config: Path) -> None:
    remit(config, "tenants", "create", "acme")

    assert "exists already" in remit(config, "tenants", "create", "acme", status=1)
    assert "a tenant's name is" in remit(config, "tenants", "create", "a/b", status=2)


def test_an_unknown_tenant_is_named_with_those_that_there_are(config: Path) -> None:
    told = remit(config, "keys", "list", "--tenant", "nobody", status=2)

    assert told == "error: there is no tenant 'nobody'; tenants: default\n"


def test_each_tenant_has_a_history_of_its_own(config: Path, acme: str) -> None:
    config.with_name("acme.yaml").write_text(FILE)
    remit(config, "apply", str(config.with_name("acme.yaml")), "--tenant", acme)

    remit(config, "rollback", "1", "--tenant", "acme")

    assert [one["number"] for one in read(config, "revisions", "--tenant", "acme")] == [3, 2, 1]
    assert [one["number"] for one in read(config, "revisions")] == [1]
    assert "git_diff" in remit(config, "export", "--tenant", "acme")
    assert "git_diff" not in remit(config, "export")


def test_the_file_is_the_declaration_of_default_alone(config: Path, acme: str) -> None:
    config.write_text("rolls: {}")

    assert "git_diff" in remit(config, "export", "--tenant", "acme")
    assert read(config, "check", "--tenant", "acme")["errors"] == []
    assert read(config, "explain", "--as", "role:dev", "git/git_diff", "--tenant", acme)["allowed"]
    remit(config, "check", status=1)


def test_rules_of_another_tenant_never_matter(config: Path, acme: str) -> None:
    ask = ("explain", "--as", "role:dev", "git/git_log")

    assert json.loads(remit(config, *ask, "--json"))["allowed"]
    assert not json.loads(remit(config, *ask, "--json", "--tenant", acme, status=1))["allowed"]
    assert read(config, "who-can", "git/git_diff", "--tenant", "acme")["roles"] == ["dev"]
    assert "nobody can call" in remit(config, "who-can", "git/git_diff", status=1)


def test_keys_agents_and_users_are_of_one_tenant(config: Path, acme: str) -> None:
    there = ("--tenant", acme)
    for _ in range(2):
        remit(config, "keys", "create", "ci", "--role", "dev", *there)
        remit(config, "agents", "create", "w1", "--type", "WORKER", *there)
        remit(config, "users", "disable", "ann", *there)
        there = ()

    assert [key["name"] for key in read(config, "keys", "list")] == ["ci"]
    remit(config, "keys", "revoke", "ci", "--tenant", acme)
    remit(config, "users", "enable", "ann", "--tenant", acme)

    assert [key["state"] for key in read(config, "keys", "list")] == ["holds"]
    assert [key["state"] for key in read(config, "keys", "list", "--tenant", acme)] == ["revoked"]
    assert [user["name"] for user in read(config, "users", "list")] == ["ann"]
    assert read(config, "users", "list", "--tenant", acme) == []
    assert [agent["id"] for agent in read(config, "agents", "list", "--tenant", acme)] == ["w1"]


def test_a_tenant_that_declares_nothing_offers_nothing(config: Path) -> None:
    remit(config, "tenants", "create", "empty")

    told = remit(config, "keys", "create", "ci", "--role", "dev", "--tenant", "empty", status=2)

    assert "no role 'dev' is declared" in told
    assert read(config, "revisions", "--tenant", "empty") == []


def test_the_record_of_one_tenant_is_not_shown_in_another(config: Path, acme: str) -> None:
    call = ("call", "--as", "role:dev", "git/git_push")
    remit(config, *call, status=1)
    for _ in range(2):
        remit(config, *call, "--tenant", acme, status=1)

    here, there = (read(config, "audit", "search", *where) for where in ((), ("--tenant", "acme")))

    assert {row["tenant"] for row in here} == {"default"}
    assert {row["tenant"] for row in there} == {"acme"}
    assert [sum(row["tool"] == "git_push" for row in rows) for rows in (here, there)] == [1, 2]
    assert read(config, "audit", "verify")["ok"]
    assert read(config, "audit", "verify", "--tenant", "acme")["ok"]


def test_no_token_is_issued_for_a_tenant_that_does_not_exist(config: Path) -> None:
    told = remit(config, "token", "issue", "--sub", "ann", "--tenant", "nobody", status=2)

    assert "there is no tenant 'nobody'" in told
