"""The list of commands, and what a command need not wait for."""

import json
import subprocess
import sys

import pytest

from remit.cli.deferred import Deferred
from remit.cli.main import Commands

HEAVY = ("sqlalchemy", "mcp", "mcp_types", "aiohttp", "fastapi", "pydantic")


def imported_by(*arguments: str) -> set[str]:
    script = (
        "import json, sys; from remit.cli.main import app;"
        " app(sys.argv[1:], standalone_mode=False);"
        " print('\\n' + json.dumps(sorted(sys.modules)))"
    )
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("entry", Commands.table, ids=lambda entry: entry.name)
def test_the_list_says_what_the_command_says_of_itself(entry: Deferred) -> None:
    said = entry.load().help.split("\n\n")[0]

    assert " ".join(said.split()) == entry.summary


def test_help_imports_nothing_that_only_commands_need() -> None:
    modules = imported_by("--help")

    assert not modules.intersection(HEAVY)


def test_a_command_does_not_import_what_only_others_need() -> None:
    modules = imported_by("keys", "--help")

    assert not modules.intersection(("mcp", "mcp_types", "fastapi"))
    assert "remit.cli.serve" not in modules
