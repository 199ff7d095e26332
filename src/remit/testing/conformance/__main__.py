"""Run the published conformance suite against a real `remit serve` with the fixture behind it.

    python -m remit.testing.conformance --suite .tools/conformance

The last two lines say how many of the required scenarios passed; it ends with 1 unless all did.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from remit.testing.conformance.behind import open_behind, open_fixture
from remit.testing.conformance.suite import REVISIONS, Report, Suite

_ACTOR: Final = f"{sys.executable} -m remit.testing.conformance.actor"
_NOT_YET: Final = "auth/"
"""Scenarios of OAuth towards a server, which remit does not speak as a client."""


async def _serve_and_test(suite: Suite, *, direct: bool) -> list[Report]:
    with tempfile.TemporaryDirectory() as folder, open_fixture() as upstream:
        if direct:
            return [suite.server(upstream, revision) for revision in REVISIONS]
        async with open_behind(Path(folder), upstream) as url:
            return [
                await anyio.to_thread.run_sync(suite.server, url, revision)
                for revision in REVISIONS
            ]


def _act(suite: Suite) -> list[str]:
    """Let remit be the client of the suite's own servers; return a line for each scenario."""
    lines: list[str] = []
    for revision in REVISIONS:
        required = suite.required(revision, "Client")
        for scenario in [name for name in required if not name.startswith(_NOT_YET)]:
            passed, output = suite.client(_ACTOR, scenario, revision)
            lines.append(f"{revision}: client {scenario} {'passed' if passed else 'failed'}")
            if not passed:
                sys.stdout.write(output)
    return lines


def main() -> int:
    """Run everything and return the exit status."""
    parser = argparse.ArgumentParser(description="Run the published conformance suite.")
    parser.add_argument("--suite", type=Path, required=True, help="where npm installed it")
    parser.add_argument("--direct", action="store_true", help="test the fixture without remit")
    parser.add_argument("--verbose", action="store_true", help="print all that the suite prints")
    given = parser.parse_args()
    suite = Suite(given.suite)

    async def run() -> list[Report]:
        return await _serve_and_test(suite, direct=given.direct)

    acted = [] if given.direct else _act(suite)
    reports = anyio.run(run)
    for report in reports:
        if given.verbose:
            sys.stdout.write(report.output)
        for name in report.failed:
            sys.stdout.write(f"{report.revision}: {name} failed\n")
    failed = [line for line in acted if line.endswith("failed")]
    for line in failed:
        sys.stdout.write(f"{line}\n")
    if acted:
        passed = len(acted) - len(failed)
        sys.stdout.write(f"as a client: {passed}/{len(acted)} required but for {_NOT_YET}*\n")
    for report in reports:
        sys.stdout.write(f"{report.line}\n")
    is_missing = any(report.failed or not report.required for report in reports)
    return 1 if failed or is_missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
