"""`remit.bridges.claude` in Claude Code's own loop, with a stub of its API on the loopback."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.harness import (
    INSTALLATION,
    READERS,
    WAYS,
    WRITERS,
    Office,
    assert_day,
    run_page,
    run_published,
)
from tests.bridges.published import published_tools
from tests.docs.scratch import Scratch

pytestmark = pytest.mark.timeout(INSTALLATION)


def test_an_agent_works_with_what_its_principal_may_do(python: Path, office: Office) -> None:
    told = office.run(python, "claude_agent").value

    for way in WAYS:
        day = told[way]
        assert_day(day, unlisted="No such tool available: mcp__remit__desk__write")
        assert sorted(day["taken at a prompt"]) == READERS
        assert sorted(day["given at a prompt"]) == WRITERS
    assert office.cancelled() == 2
    # Claude Code goes on without a server that cannot list its tools, so this is for the program.
    assert "does not take the key" in told["broken"]["remote"]
    assert "cannot reach http://127.0.0.1:9" in told["broken"]["away"]
    assert "no role 'nobody' is declared" in told["broken"]["local"]
    assert "secret" not in str(office.ran())


def test_every_published_schema_becomes_a_tool(python: Path, tmp_path: Path, shared: Path) -> None:
    tools = published_tools(shared, tmp_path)

    told = run_published(python, "claude_agent", tools, tmp_path)

    tools.assert_usable(
        told, tmp_path, as_shown=in_ascii_dots, may_leave_out=["awkward__taken_names"]
    )
    assert told["left_out"]["awkward__taken_names"] == "Claude takes no argument called 'näme'"


def in_ascii_dots(schema: Mapping[str, Any]) -> Any:
    """Return a schema as Claude Code shows it."""
    return json.loads(json.dumps({"properties": {}, **schema}).replace("\\u2026", "..."))


def test_its_page_does_what_it_says(python: Path, scratch: Scratch) -> None:
    run_page("bridge-claude", python, scratch)
