"""Tests for policy: files of cases that say who may call what, and by which rule.

    - {as: role:designer, tool: github/get_repository, expect: allow}
    - {as: role:designer, tool: git/git_push, expect: deny, rule: ""}

A case is decided by the `explain` of every call (R10). A rule that no case reaches is reported: a
test suite that leaves it out would not notice if it went.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, cast

from remit.admin.authority import Authority
from remit.admin.spelling import nearest
from remit.admin.yaml_source import child_path, read_file
from remit.errors import BadCall, DeclarationError, Problem
from remit.model.decisions import Decision, Explanation
from remit.model.declaration import Declaration
from remit.model.principals import Principal

CASES = "cases"
"""The key under which a file may have its list of cases, if it is not all of the file."""

_KEYS = ("as", "tool", "args", "expect", "rule")

Subjects = Callable[[str], Awaitable[Principal | None]]
"""Finds the caller that a SUBJECT spelling means; None when it means none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question and the answer that is expected.

    Attributes:
        rule: The rule that has to decide, empty for none of its own; None when any may.
        line: Of the case in its file, 1-based.
    """

    subject: str
    tool: str
    expect: Literal["allow", "deny"]
    rule: str | None
    file: str
    line: int
    arguments: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a case.

    Attributes:
        decision: What was decided, or None when it could not be asked.
        problem: Why it could not be asked, or empty.
        reached: Every rule that had a say, also those that did not decide.
        is_missing: Whether no server has the tool, so that a no says little.
    """

    case: Case
    decision: Decision | None
    problem: str = ""
    reached: frozenset[str] = frozenset()
    is_missing: bool = False

    @property
    def passed(self) -> bool:
        """Whether the answer is the expected one, by the expected rule."""
        if self.decision is None or self.decision.allowed is not (self.case.expect == "allow"):
            return False
        return self.case.rule is None or self.case.rule == self.decision.rule

    def __str__(self) -> str:
        """Return `file:line: caller tool: expected …, got …`."""
        case = self.case
        asked = f"{case.file}:{case.line}: {case.subject} {case.tool}"
        expected = (
            case.expect if case.rule is None else f"{case.expect} by {case.rule or 'no rule'}"
        )
        if self.decision is None:
            return f"{asked}: expected {expected}, cannot be asked: {self.problem}"
        word = "allow" if self.decision.allowed else "deny"
        return (
            f"{asked}: expected {expected}, got {word} by {self.decision.rule or 'no rule'}"
            f" ({self.decision.layer.value}: {self.decision.reason})"
        )


def read_cases(path: Path) -> Sequence[Case]:
    """Read a file of cases: a list of them, or a mapping with such a list under `cases`.

    Raises:
        DeclarationError: With everything that is wrong in it.
    """
    source = read_file(path, items=CASES)
    problems = list(source.problems)
    cases: list[Case] = []
    for key in source.data:
        if key != CASES:
            line = source.positions.get(key, 0)
            problems.append(
                _problem(source.file, line, f"{key!r} is no key of a policy test", "put `cases:`")
            )
    listed = source.data.get(CASES)
    if not isinstance(listed, list):
        line = source.positions.get(CASES, 1)
        text = "holds no list of cases"
        problems.append(_problem(source.file, line, text, "write one case an item, under `cases:`"))
        listed = []
    for at, entry in enumerate(cast("list[object]", listed)):
        line = source.positions.get(child_path(CASES, at), 0)
        wrong = [_problem(source.file, line, *found) for found in _wrong_with(entry)]
        problems += wrong
        if not wrong:
            cases.append(_case(cast("Mapping[str, object]", entry), source.file, line))
    if problems:
        raise DeclarationError(sorted(problems, key=lambda problem: problem.line))
    return cases


async def run_cases(
    cases: Sequence[Case], authority: Authority, subjects: Subjects
) -> Sequence[Result]:
    """Ask every case, in order."""
    callers: dict[str, Principal | None] = {}
    results: list[Result] = []
    for case in cases:
        if case.subject not in callers:
            callers[case.subject] = await subjects(case.subject)
        caller = callers[case.subject]
        if caller is None:
            text = f"{case.subject!r} means no caller"
            results.append(Result(case=case, decision=None, problem=text))
            continue
        results.append(result_of(case, partial(_explained, authority, caller, case.tool)))
    return results


def result_of(case: Case, explain: Callable[[], tuple[Explanation, bool]]) -> Result:
    """Ask one case by *explain*, which tells whether the tool is missing as well.

    Its `BadCall` is why the case cannot be asked.
    """
    try:
        explanation, is_missing = explain()
    except BadCall as error:
        return Result(case=case, decision=None, problem=str(error))
    return Result(
        case=case,
        decision=explanation.decision,
        reached=frozenset(verdict.rule for verdict in explanation.layers),
        is_missing=is_missing,
    )


def _explained(authority: Authority, caller: Principal, tool: str) -> tuple[Explanation, bool]:
    answer = authority.explain(caller, tool)
    return answer.explanation, answer.tool is None or authority.is_missing(answer.tool)


def uncovered_rules(declaration: Declaration, results: Sequence[Result]) -> tuple[str, ...]:
    """Return every grant and pattern that no case reached, in the order of the declaration."""
    reached = frozenset[str]().union(*(result.reached for result in results))
    return tuple(rule for rule in _rules_of(declaration) if rule not in reached)


def _rules_of(declaration: Declaration) -> Iterator[str]:
    for name, role in declaration.roles.items():
        for server, tools in role.tools.items():
            yield from (f"roles.{name}.tools.{server}[{at}]" for at in range(len(tools)))
        yield from (f"roles.{name}.allow[{at}]" for at in range(len(role.allow)))
        yield from (f"roles.{name}.deny[{at}]" for at in range(len(role.deny)))
    for rule in declaration.agent_types:
        yield from (f"agent_types.{rule.type}.allow[{at}]" for at in range(len(rule.allow)))
        yield from (f"agent_types.{rule.type}.deny[{at}]" for at in range(len(rule.deny)))
    yield from (f"grants[{at}]" for at in range(len(declaration.grants)))


def _wrong_with(entry: object) -> Iterator[tuple[str, str]]:
    """Give message and remedy for all that is wrong with one case."""
    if not isinstance(entry, Mapping):
        yield "the case is no mapping", "write {as: role:NAME, tool: server/tool, expect: allow}"
        return
    case = cast("Mapping[str, object]", entry)
    for key in case:
        if key not in _KEYS:
            meant = nearest(key, _KEYS)
            remedy = f"did you mean {meant!r}?" if meant else f"known keys: {', '.join(_KEYS)}"
            yield f"the case has the unknown key {key!r}", remedy
    for key in ("as", "tool"):
        value = case.get(key)
        if not isinstance(value, str) or not value:
            yield f"the case has no text under {key!r}", "each has a caller and a tool"
    if case.get("expect") not in ("allow", "deny"):
        yield "the case expects neither allow nor deny", "write `expect: allow` or `expect: deny`"
    if not isinstance(case.get("rule", ""), str):
        yield "the rule of the case is no text", "write its path, as roles.designer.tools.git[0]"
    if not isinstance(case.get("args", {}), Mapping):
        yield "the arguments of the case are no mapping", "write `args: {name: value}`"


def _case(entry: Mapping[str, object], file: str, line: int) -> Case:
    rule = entry.get("rule")
    return Case(
        subject=str(entry["as"]),
        tool=str(entry["tool"]),
        expect="allow" if entry["expect"] == "allow" else "deny",
        rule=None if rule is None else str(rule),
        file=file,
        line=line,
        arguments=cast("Mapping[str, object]", entry.get("args", {})),
    )


def _problem(file: str, line: int, message: str, remedy: str) -> Problem:
    return Problem(code="bad-case", message=message, file=file, line=line, remedy=remedy)
