"""A database that is not where it is said to be: no new one answers for it."""

from pathlib import Path

import pytest
from tests.cli.inside import run_inside

from remit.testing.gateway import start_gateway

DECLARATION = "mcp_servers:\n  git: {builtin: git}\nroles:\n  r: {allow: [git/*]}\n"

LOOKS = (
    "audit verify",
    "audit search",
    "audit prune",
    "revisions",
    "rollback 1",
    "export",
    "keys list",
    "keys revoke k",
    "agents list",
    "tenants list",
    "users list",
    "users disable ann",
    "inbox",
    "alerts list",
    "events list",
    "queries pending",
    "datasources list",
)

BEGINS = (
    "apply remit.yaml",
    "keys create k --role r",
    "agents create a --type WORKER",
    "tenants create t",
    "token issue --sub ann",
    "explain --as role:r git/git_log",
    "who-can git/git_log",
    "tools --as role:r",
)


def _named(variable: str, file: Path) -> dict[str, str]:
    """Return the environment in which *variable* leads to *file*."""
    return {variable: str(file.parent) if variable == "REMIT_STATE_DIR" else f"sqlite:///{file}"}


@pytest.mark.parametrize("variable", ["REMIT_DATABASE_URL", "REMIT_STATE_DIR"])
@pytest.mark.parametrize("command", LOOKS)
def test_what_looks_at_an_installation_refuses_a_database_that_is_not_there(
    command: str, variable: str, tmp_path: Path
) -> None:
    (tmp_path / "remit.yaml").write_text(DECLARATION)
    file = tmp_path / "slip" / "remit.db"

    ended = run_inside(*command.split(), folder=tmp_path, environ=_named(variable, file))

    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == (
        f"error: there is no database {str(file)!r}, to which {variable} leads: correct it,"
        " or begin with `remit serve`, which makes one\n"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["remit.yaml"]


@pytest.mark.parametrize("variable", ["REMIT_DATABASE_URL", "REMIT_STATE_DIR"])
@pytest.mark.parametrize("command", BEGINS)
def test_what_an_installation_may_begin_with_makes_it(
    command: str, variable: str, tmp_path: Path
) -> None:
    (tmp_path / "remit.yaml").write_text(DECLARATION)
    file = tmp_path / "new" / "remit.db"

    ended = run_inside(*command.split(), folder=tmp_path, environ=_named(variable, file))

    assert (ended.returncode, file.exists()) == (0, True)


@pytest.mark.parametrize("command", ["revisions", "export", "tenants list"])
def test_a_folder_without_declaration_and_database_stays_as_it_is(
    command: str, tmp_path: Path
) -> None:
    ended = run_inside(*command.split(), "--config", "slip/remit.yaml", folder=tmp_path)

    assert ended.returncode == 3
    assert ended.stderr == (
        "error: there is neither a declaration 'slip/remit.yaml' nor a database beside it:"
        " name the declaration with --config\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_beside_a_declaration_there_simply_is_nothing_yet(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(DECLARATION)

    ended = run_inside("audit", "search", folder=tmp_path)

    assert (ended.returncode, ended.stdout) == (0, "no calls match\n")


def test_a_gateway_says_that_it_makes_the_database_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text("mcp_servers: {}\n")
    file = tmp_path / "slip.db"
    environ = {"REMIT_DATABASE_URL": f"sqlite:///{file}"}

    for new in (True, False):
        running = start_gateway(tmp_path, tmp_path / "remit.yaml", environ)
        assert running.stop() == 0
        said = running.log.read_text()
        running.log.unlink()
        assert (f'"file": "{file}", "event": "a new database is made"' in said) == new
