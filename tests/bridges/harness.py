"""What every bridge is tested with: environments of frameworks, and an office with two roles.

A test starts a program of `tests/bridges/programs` in the environment of its framework and reads
the one JSON document that the program prints. `programs/inside.py` is the programs' side of this.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.published import PublishedTools
from tests.docs.blocks import blocks_of
from tests.docs.rules import RULES
from tests.docs.scratch import Scratch

from remit.testing.gateway import (
    Running,
    environment,
    fixture_entry,
    start_gateway,
)
from remit.testing.upstream import executed, received

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
LONGEST = 120.0
"""Seconds that a program may take; importing a framework alone takes some on a busy machine."""

INSTALLATION = 420.0
"""Seconds for the test that installs an environment: for `pytest.mark.timeout`."""

_QUIET = {
    "AGNO_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LANGSMITH_TRACING": "false",
    "NO_GCE_CHECK": "true",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "PYTHONDONTWRITEBYTECODE": "",
}
"""Frameworks tell nobody of the tests, and are compiled once."""

PNG, MP3 = "iVBORw0KGgo=", "SUQzBAA="
"""How a picture and a sound begin; nobody looks further."""

_PLACE = {"type": "string", "description": "Where to look"}
TOOLS: Sequence[Mapping[str, Any]] = (
    {
        "name": "read",
        "description": "Read a thing",
        "inputSchema": {
            "type": "object",
            "properties": {"of": {"$ref": "#/$defs/Place"}},
            "required": ["of"],
            "$defs": {"Place": _PLACE},
        },
    },
    {"name": "write", "description": "Write a thing"},
    {
        "name": "look",
        "description": "Look at a thing and listen to it",
        "x-fixture": {
            "result": {
                "content": [
                    {"type": "text", "text": "a shelf"},
                    {"type": "image", "mimeType": "image/png", "data": PNG},
                    {"type": "audio", "mimeType": "audio/mpeg", "data": MP3},
                ]
            }
        },
    },
    {
        "name": "measure",
        "description": "Gives a value and no text",
        "x-fixture": {"result": {"content": [], "structuredContent": {"n": 3}}},
    },
    {"name": "slow", "description": "Never ends", "x-fixture": {"silent": True}},
    {
        "name": "steps",
        "description": "Takes two steps",
        "x-fixture": {
            "progress": [
                '"progress":1,"total":2,"message":"half of it"',
                '"progress":2,"total":2,"message":"all of it"',
            ]
        },
    },
    {"name": "die", "description": "Takes its server down", "x-fixture": {"exit": 3}},
)
"""What the server `desk` offers; each is published as `desk__NAME`."""

READER = {"allow": ["desk/*"], "deny": ["desk/write"]}
WRITER = {"allow": ["desk/*"]}
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "promoted": {"reader": WRITER},
    "demoted": {"reader": {**READER, "deny": ["desk/write", "desk/read"]}},
    "as before": {"reader": READER},
}
"""Roles after each change that a program can ask for."""


def framework(name: str) -> Path:
    """Return the Python of an environment (`all`, `adk` or `crewai`), or skip without it."""
    done = subprocess.run(
        [REPOSITORY / "scripts" / "framework-tools", name],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the frameworks of {name!r} cannot be installed: {done.stderr[-500:]}")
    return REPOSITORY / ".tools" / "frameworks" / name / "bin" / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a program said.

    Attributes:
        value: The document on the last line that it printed.
        errors: Everything else, logs among it.
    """

    value: Any
    errors: str


def run_program(
    python: Path, arguments: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> Told:
    """Run a program to its end in an environment, from *folder*, which is its home, too."""
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env={**environment(), **_QUIET, "HOME": os.fspath(folder), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    said, _, answer = done.stdout.strip().rpartition("\n")  # some frameworks log to stdout
    return Told(value=json.loads(answer), errors=said + done.stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """A gateway in front of one server, `desk`, with the roles `reader` and `writer`.

    Attributes:
        count_file: Where the server counts; see `ran` and `cancelled`.
    """

    folder: Path
    count_file: Path
    gateway: Running

    def run(self, python: Path, program: str, **given: Any) -> Told:
        """Run `programs/{program}.py`; it finds *given*, and this office, in `inside.GIVEN`."""
        told = json.dumps(self._given() | given)
        return run_program(
            python, [os.fspath(PROGRAMS / f"{program}.py")], self.folder, {"GIVEN": told}
        )

    def ran(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return name and arguments of every call that reached the server, oldest first."""
        return [(one.name, one.arguments) for one in executed(self.count_file)]

    def cancelled(self) -> int:
        """Return how many calls the server was told to cancel."""
        return len(received(self.count_file, "notifications/cancelled"))

    def _given(self) -> dict[str, Any]:
        config = os.fspath(self.gateway.config)
        return {
            "url": self.gateway.base,
            "keys": {role: self.gateway.key(role) for role in ("reader", "writer")},
            "config": config,
            "apply": [sys.executable, "-m", "remit", "apply", config],
            "changes": {name: self._document(roles) for name, roles in CHANGES.items()},
        }

    def _document(self, roles: Mapping[str, Any]) -> dict[str, Any]:
        return declaration(self.count_file, roles)


def declaration(
    count_file: Path,
    roles: Mapping[str, Any] | None = None,
    tools: Sequence[str | Mapping[str, Any]] = TOOLS,
) -> dict[str, Any]:
    """Return the declaration of an office, with *roles* in place of its own."""
    return {
        "version": "1.0",
        "mcp_servers": {"desk": fixture_entry(tools, count_file)},
        "roles": {"reader": READER, "writer": WRITER, **(roles or {})},
    }


@contextmanager
def open_office(folder: Path, document: Mapping[str, Any] | None = None) -> Generator[Office]:
    """Start an office in an empty folder.

    Args:
        folder: Holds everything.
        document: Its declaration, where that is another than `declaration`.
    """
    count_file = folder / "ran.jsonl"
    config = folder / "remit.yaml"
    config.write_text(json.dumps(document or declaration(count_file)))
    gateway = start_gateway(folder, config)
    try:
        yield Office(folder=folder, count_file=count_file, gateway=gateway.settle())
    finally:
        gateway.stop()


WAYS = ("remote", "local")
READERS = ["desk__die", "desk__look", "desk__measure", "desk__read", "desk__slow", "desk__steps"]
WRITERS = [*READERS, "desk__write"]


def assert_day(day: Mapping[str, Any], *, unlisted: str = "desk__write") -> None:
    """Fail unless an agent went through `inside.working_day` as it must (issue 7, must show 2, 3).

    Args:
        day: `reader` and `writer` are the names that the model is offered; `heard` is what it read
            of each call, with whether that was a failure; then `last`, `progress`, `demoted`,
            `promoted` and `cancelled`.
        unlisted: Is in what it reads of a call of a tool that it was not offered.
    """
    assert (sorted(day["reader"]), sorted(day["writer"])) == (READERS, WRITERS)
    read, write, wrong, died, again, steps, value, taken = day["heard"]
    assert read == ['read {"of": "shelf"}', False]
    assert unlisted in write[0]
    assert wrong[0].startswith('"of" is a required property. Correct the arguments')
    assert "server 'desk' exited with code 3" in died[0]
    assert again == ['read {"of": "again"}', False]
    assert steps == ["steps {}", False]
    assert value == ['{"n": 3}', False]
    assert "desk__read was not called" in taken[0]
    assert "Calling it again does not help" in taken[0]
    assert [has_failed for _, has_failed in (wrong, died, taken)] == [True] * 3
    assert day["last"] == "done"
    assert [step[-3:] for step in day["progress"]] == [[1, 2, "half of it"], [2, 2, "all of it"]]
    assert sorted(day["demoted"]) == [name for name in READERS if name != "desk__read"]
    assert sorted(day["promoted"]) == WRITERS
    assert day["cancelled"] is True


def run_published(python: Path, program: str, tools: PublishedTools, folder: Path) -> Any:
    """Have `programs/{program}.py` call every published tool as `reader`; return what it told.

    It finds the arguments by name in `inside.GIVEN["arguments"]`.
    """
    config = folder / "published.yaml"
    roles = {"reader": {"allow": [f"{name}/*" for name in tools.servers]}}
    document = {"version": "1.0", "mcp_servers": tools.servers, "roles": roles}
    config.write_text(json.dumps(document))
    given = {"config": os.fspath(config), "arguments": tools.arguments}
    file = folder / "given.json"  # too much for a variable
    file.write_text(json.dumps(given))
    program_file = os.fspath(PROGRAMS / f"{program}.py")
    return run_program(python, [program_file], folder, {"GIVEN_FILE": os.fspath(file)}).value


def run_page(name: str, python: Path, scratch: Scratch) -> None:
    """Run every block of `docs/NAME.md`, its programs in an environment."""
    made = scratch.run("git init -q && git commit -q --allow-empty -m 'First commit'")
    assert made.status == 0, made.text
    scratch.python = python
    for block in blocks_of(REPOSITORY / "docs" / f"{name}.md"):
        try:
            RULES[block.language](block, scratch)
        except AssertionError as error:
            raise AssertionError(f"{block.place}: {error}") from error
