"""The published suite, run in a process of its own, and what its report says."""

import re
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

REVISIONS: Final = ("2025-11-25", "2026-07-28")

PATIENCE: Final = 600.0
"""Seconds that all scenarios of one revision have."""

_VERDICT = re.compile(
    r"^(?P<mark>[✓✗]) (?P<name>[a-z0-9/-]+): \d+ passed, \d+ failed", re.MULTILINE
)
_LISTED = re.compile(r"^  - (?P<name>\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How one revision's scenarios ended.

    Attributes:
        required: Those that the revision requires.
        passed: Those that passed, required or not.
        output: All that the suite printed.
    """

    revision: str
    required: Sequence[str]
    passed: Collection[str]
    output: str = field(repr=False)

    @property
    def failed(self) -> list[str]:
        """The required scenarios that did not pass."""
        return [name for name in self.required if name not in self.passed]

    @property
    def line(self) -> str:
        """The report in one line."""
        done = len(self.required) - len(self.failed)
        return f"{self.revision}: {done}/{len(self.required)} required"


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite as npm installed it.

    Attributes:
        folder: That of `scripts/conformance-tools`.
    """

    folder: Path

    def required(self, revision: str, side: str) -> list[str]:
        """Return the scenarios that a revision requires of a `Server` or a `Client`."""
        listed = self._run("list", "--requirements", revision).partition("Run and reported")[0]
        _, _, rest = listed.partition(f"{side} scenarios")
        return _LISTED.findall(rest.partition("scenarios (")[0])

    def server(self, url: str, revision: str) -> Report:
        """Test the server at *url*."""
        output = self._run("server", "--url", url, "--requirements", revision)
        passed = {found["name"] for found in _VERDICT.finditer(output) if found["mark"] == "✓"}
        required = self.required(revision, "Server")
        return Report(revision=revision, required=required, passed=passed, output=output)

    def client(self, command: str, scenario: str, revision: str) -> tuple[bool, str]:
        """Test a client in one scenario; return whether it passed, and what was printed."""
        done = self._start(
            *("client", "--command", command, "--scenario", scenario),
            *("--spec-version", revision, "--timeout", "60000"),
        )
        return done.returncode == 0, done.stdout

    def _run(self, *arguments: str) -> str:
        return self._start(*arguments).stdout

    def _start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        modules = self.folder.absolute() / "node_modules"
        script = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
        return subprocess.run(
            [str(modules / ".bin" / "node"), str(script), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
