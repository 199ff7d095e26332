"""The list of commands, and what a command need not wait for."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

from remit.cli.deferred import Deferred
from remit.cli.main import Commands

RARE = (
    "mcp", "mcp_types", "fastapi", "aiohttp", "alembic", "joserfc", "cryptography",
    "opentelemetry", "rich", "redis", "psycopg", "sqlalchemy.orm",
    "sqlalchemy.dialects.postgresql",
)  # fmt: skip
"""What costs megabytes and tens of milliseconds each, and what few installations ever use."""

NEEDS = {
    "demo": {"mcp", "mcp_types", "cryptography", "opentelemetry", "rich"},
    "token": {"joserfc", "cryptography"},
}
"""Commands that cannot do without."""

HEAVY = (*RARE, "sqlalchemy", "pydantic", "structlog", "httpx2", "uvicorn")


def imported_by(*arguments: str) -> set[str]:
    return loaded_by(
        "from remit.cli.main import app; app(sys.argv[1:], standalone_mode=False)", *arguments
    )


def loaded_by(code: str, *arguments: str) -> set[str]:
    script = f"import json, sys; {code}; print('\\n' + json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("entry", Commands.table, ids=lambda entry: entry.name)
def test_the_list_says_what_the_command_says_of_itself(entry: Deferred) -> None:
    said = entry.load().help.split("\n\n")[0]

    assert " ".join(said.split()) == entry.summary


def test_help_imports_nothing_that_only_commands_need() -> None:
    modules = imported_by("--help")

    assert modules.intersection(HEAVY) <= {"rich"}  # which draws it


def test_a_command_does_not_import_what_only_others_need() -> None:
    modules = imported_by("keys", "--help")

    assert "remit.cli.serve" not in modules
    assert "httpx2" not in modules


def test_garbage_is_looked_for_again_once_a_command_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some_command.py").write_text(
        "import gc\nIS_LOOKED_FOR = gc.isenabled()\ndef run() -> None: ...\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    Deferred(name="run", place="some_command:run", panel=None, summary="").load()

    assert not sys.modules["some_command"].IS_LOOKED_FOR
    assert gc.isenabled()


@pytest.mark.parametrize("entry", Commands.table, ids=lambda entry: entry.name)
def test_no_command_imports_what_few_installations_use(entry: Deferred) -> None:
    modules = loaded_by(
        "from remit.cli.main import Commands;"
        f" next(entry for entry in Commands.table if entry.name == {entry.name!r}).load()"
    )

    assert modules.intersection(RARE) <= NEEDS.get(entry.name, set())
