"""`remit test`: does the policy still say what it is meant to say?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from remit.admin.authority import Authority
from remit.admin.changes import known_tools, published_tools
from remit.admin.declaration import parse_document
from remit.admin.policy_tests import (
    Case,
    Result,
    read_cases,
    result_of,
    run_cases,
    uncovered_rules,
)
from remit.app.installation import Installation, open_installation
from remit.cli.file_note import note_file
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_NO,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    fail,
    run,
)
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.remote_values import answer_of, tool_of
from remit.cli.subjects import find_subject
from remit.client import authority
from remit.client import declaration as client_declaration
from remit.errors import BadCall, DeclarationError, Problem
from remit.model.counts import counted
from remit.model.decisions import Explanation
from remit.model.declaration import Declaration
from remit.model.principals import Principal
from remit.model.tools import ToolId
from remit.policy.snapshot import compile_snapshot
from remit.settings import Settings
from remit.upstreams.names import Names

_MOST_TOOLS = 100

FOLDER = "policy-tests"
"""Where tests are looked for, beside the declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of all cases.

    Attributes:
        uncovered: Rules that no case reached, each with where it is declared.
    """

    results: Sequence[Result]
    uncovered: Sequence[tuple[str, str, int]]

    @property
    def failures(self) -> Sequence[Result]:
        """The cases that did not end as expected."""
        return [result for result in self.results if not result.passed]

    @property
    def missing(self) -> Sequence[Result]:
        """The cases about a tool that no server has."""
        return [result for result in self.results if result.is_missing]

    def to_json(self) -> dict[str, object]:
        """Return the shape of `--json`."""
        return {
            "summary": {
                "cases": len(self.results),
                "passed": len(self.results) - len(self.failures),
                "failed": len(self.failures),
                "uncovered": len(self.uncovered),
            },
            "failures": [_failure(result) for result in self.failures],
            "uncovered": [
                {"rule": rule, "file": file, "line": line} for rule, file, line in self.uncovered
            ],
            "missing": [
                {"tool": result.case.tool, "file": result.case.file, "line": result.case.line}
                for result in self.missing
            ],
        }


def policy_test(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help=f"Default: {FOLDER}/*.yaml beside the declaration."
        ),
    ] = None,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Run policy tests: files of cases {as, tool, args, expect: allow|deny, rule}.

    Shows failures, tools that no server has and the rules that no case reaches. Exit status 1 on a
    failure.
    """
    settings = Settings.read(config, tenant=tenant)
    chosen = files or sorted((settings.config.parent / FOLDER).glob("*.y*ml"))
    if not chosen:
        where = settings.config.parent / FOLDER
        fail(f"there are no tests in {str(where)!r}: write some, or name a file", EXIT_USAGE)
    if (remote := reach(url, key, tenant)) is not None:
        report = _asked(remote, run(lambda: _read(chosen)))
    else:
        report = run(lambda: _tested(settings, chosen))
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    if report.failures:
        raise typer.Exit(EXIT_NO)


async def _read(files: Sequence[Path]) -> Sequence[Case]:
    cases = [case for file in files for case in read_cases(file)]
    if not cases:
        raise DeclarationError(
            [Problem(code="no-cases", message="there is no case in these files")]
        )
    return cases


def _asked(remote: Remote, cases: Sequence[Case]) -> Report:
    """Ask a gateway, by what is in force there; it knows no file and no line."""
    declared = parse_document(remote.ask(client_declaration.get())).declaration
    there = _authority_over(declared, _offered(remote), tenant="", revision=0)
    results = [result_of(case, partial(_explained, remote, case, there)) for case in cases]
    return Report(
        results=results,
        uncovered=[(rule, "", 0) for rule in uncovered_rules(declared, results)],
    )


def _offered(remote: Remote) -> set[ToolId]:
    """Return every tool that a server there is known to offer."""
    found: set[ToolId] = set()
    done, total = 0, 1
    while done < total:
        part = remote.ask(
            authority.matrix(callers_limit=1, tools_limit=_MOST_TOOLS, tools_offset=done)
        )
        found |= {tool_of(tool.tool) for tool in part.tools if tool.available}
        done, total = done + _MOST_TOOLS, part.tools_total
    return found


def _explained(remote: Remote, case: Case, there: Authority) -> tuple[Explanation, bool]:
    try:
        answer = answer_of(remote.ask(authority.explain(case.subject, case.tool)))
    except typer.Exit as refused:  # it has said why
        if refused.exit_code == EXIT_UNREACHABLE:
            raise
        raise BadCall(f"the gateway knows no {case.subject!r}, or no such tool") from None
    is_missing = answer.tool is None or (not answer.available and there.is_missing(answer.tool))
    return answer.explanation, is_missing


async def _tested(settings: Settings, files: Sequence[Path]) -> Report:
    cases = await _read(files)
    async with open_installation(settings, author="", may_begin=True) as installation:
        await note_file(installation, installation.file)

        async def subject(text: str) -> Principal | None:
            return await _subject(installation, text)

        loaded = installation.loaded
        results = await run_cases(cases, await _authority(installation), subject)
        return Report(
            results=results,
            uncovered=[
                (rule, loaded.file, loaded.positions.get(rule, 0))
                for rule in uncovered_rules(loaded.declaration, results)
            ],
        )


async def _authority(installation: Installation) -> Authority:
    """Return what answers: what is tested is the policy, not what can be started here."""
    tenant = installation.tenant.name
    return _authority_over(
        installation.loaded.declaration,
        {tool.id for tool in await installation.seen.all_tools(tenant)},
        tenant=tenant,
        revision=installation.policy.revision,
    )


def _authority_over(
    declaration: Declaration, seen: set[ToolId], *, tenant: str, revision: int
) -> Authority:
    now = datetime.now(UTC)
    snapshot = compile_snapshot(declaration, tenant=tenant, revision=revision, now=now)
    return Authority(
        snapshot, Names.build(seen | known_tools(declaration)), seen | published_tools(declaration)
    )


async def _subject(installation: Installation, text: str) -> Principal | None:
    """Return the caller that *text* means; what it lacks is said on standard error."""
    try:
        return await find_subject(installation, text)
    except typer.Exit:
        return None


def _print(report: Report) -> None:
    for result in report.failures:
        say(str(result))
    for result in report.missing:
        case = result.case
        say(f"{case.file}:{case.line}: no server has offered the tool {case.tool} so far")
    for rule, file, line in report.uncovered:
        where = f"{file}:{line}: " if line else ""
        say(f"{where}no case reaches {rule}")
    say(
        f"{counted(len(report.results), 'case')}, {len(report.failures)} failed,"
        f" {counted(len(report.uncovered), 'rule')} uncovered"
    )


def _failure(result: Result) -> dict[str, object]:
    case, decision = result.case, result.decision
    return {
        "file": case.file,
        "line": case.line,
        "as": case.subject,
        "tool": case.tool,
        "expected": {"decision": case.expect, "rule": case.rule},
        "got": None
        if decision is None
        else {
            "decision": "allow" if decision.allowed else "deny",
            "layer": decision.layer.value,
            "rule": decision.rule,
            "reason": decision.reason,
        },
        "problem": result.problem,
    }
