"""Tests for policy: what passes, what fails and how it is told, what is not covered."""

from pathlib import Path
from typing import Any

import pytest

from remit.admin.authority import Authority
from remit.admin.changes import known_tools
from remit.admin.declaration import parse_document
from remit.admin.policy_tests import Result, read_cases, run_cases, uncovered_rules
from remit.errors import DeclarationError
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.snapshot import compile_snapshot
from remit.upstreams.names import Names

DOCUMENT: dict[str, Any] = {
    "mcp_servers": {"git": {"command": "x"}, "hub": {"command": "y"}},
    "roles": {
        "dev": {"tools": {"git": ["log", "push"]}, "allow": ["hub/get_*"], "deny": ["*/push"]},
    },
    "grants": [{"subject": "user:ann", "server": "hub", "effect": "deny"}],
}


async def _subject(text: str) -> Principal | None:
    name = text.partition(":")[2]
    if name != "dev":
        return None
    return Principal(kind=PrincipalKind.ROLE, name=name, roles=(name,))


async def _results(tmp_path: Path, text: str) -> list[Result]:
    path = tmp_path / "cases.yaml"
    path.write_text(text)
    declaration = parse_document(DOCUMENT).declaration
    snapshot = compile_snapshot(declaration, tenant="default", revision=1)
    offered = (ToolId("git", "log"), ToolId("git", "push"))
    authority = Authority(snapshot, Names.build(known_tools(declaration)), offered)
    return list(await run_cases(read_cases(path), authority, _subject))


async def test_a_case_about_a_tool_that_no_server_has_is_told_apart(tmp_path: Path) -> None:
    results = await _results(
        tmp_path,
        """
- {as: role:dev, tool: git/pussh, expect: deny}
- {as: role:dev, tool: gti/push, expect: deny}
- {as: role:dev, tool: nosuch, expect: deny}
- {as: role:dev, tool: git/push, expect: deny}
- {as: role:dev, tool: hub/delete_x, expect: deny}
- {as: role:dev, tool: "git/resource:file:///a", expect: deny}
""",
    )

    # what hub offers is not known here
    assert [result.is_missing for result in results] == [True, True, True, False, False, False]
    assert all(result.passed for result in results)


async def test_a_case_passes_when_answer_and_rule_are_the_expected_ones(tmp_path: Path) -> None:
    results = await _results(
        tmp_path,
        """
# a comment first
- {as: role:dev, tool: git/log, expect: allow}
- as: role:dev
  tool: git__log
  args: {max: 3}
  expect: allow
  rule: roles.dev.tools.git[0]
- {as: role:dev, tool: git/push, expect: deny, rule: "roles.dev.deny[0]"}
- {as: role:dev, tool: hub/get_x, expect: allow, rule: "roles.dev.allow[0]"}
- {as: role:dev, tool: none/x, expect: deny, rule: ""}
""",
    )

    assert [result.passed for result in results] == [True] * 5
    assert [result.case.line for result in results] == [3, 4, 9, 10, 11]
    assert results[1].case.arguments == {"max": 3}


async def test_a_failure_names_file_line_expectation_and_answer(tmp_path: Path) -> None:
    results = await _results(
        tmp_path,
        """
cases:
  - {as: role:dev, tool: git/push, expect: allow}
  - {as: role:dev, tool: git/log, expect: allow, rule: "roles.dev.allow[0]"}
  - {as: role:nobody, tool: git/log, expect: deny}
""",
    )

    assert not any(result.passed for result in results)
    first, second, third = map(str, results)
    where = f"{tmp_path / 'cases.yaml'}"
    assert first.startswith(
        f"{where}:3: role:dev git/push: expected allow, got deny by roles.dev.deny[0] (deny: "
    )
    assert second.startswith(
        f"{where}:4: role:dev git/log: expected allow by roles.dev.allow[0],"
        " got allow by roles.dev.tools.git[0] (ceiling: "
    )
    assert third == (
        f"{where}:5: role:nobody git/log: expected deny, cannot be asked:"
        " 'role:nobody' means no caller"
    )


async def test_rules_that_no_case_reaches_are_told(tmp_path: Path) -> None:
    declaration = parse_document(DOCUMENT).declaration
    everything = (
        "roles.dev.tools.git[0]",
        "roles.dev.tools.git[1]",
        "roles.dev.allow[0]",
        "roles.dev.deny[0]",
        "grants[0]",
    )
    results = await _results(tmp_path, "- {as: role:dev, tool: git/push, expect: deny}")

    assert uncovered_rules(declaration, []) == everything
    # the grant that a deny overrules had a say, too
    assert uncovered_rules(declaration, results) == (everything[0], everything[2], everything[4])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("- {as: a, tool: b, expect: allow, ruel: c}", 1, "'ruel'"),
        ("- {tool: b, expect: allow}", 1, "no text under 'as'"),
        ("\n- {as: a, tool: 3, expect: allow}", 2, "no text under 'tool'"),
        ("- {as: a, tool: b, expect: yes}", 1, "neither allow nor deny"),
        ("- {as: a, tool: b}", 1, "neither allow nor deny"),
        ("- {as: a, tool: b, expect: deny, rule: 3}", 1, "no text"),
        ("- {as: a, tool: b, expect: deny, args: [1]}", 1, "no mapping"),
        ("- 3", 1, "no mapping"),
        ("cases: 3", 1, "no list of cases"),
        ("cases: []\nroles: {}", 2, "'roles'"),
        ("roles: {}", 1, "'roles'"),
        ("- {as: a, as: b, tool: c, expect: deny}", 1, "given twice"),
        ("- {", 2, ""),
        ("x", 1, ""),
        ("", 0, "empty"),
    ],
)
def test_a_file_that_holds_no_cases_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(text)

    with pytest.raises(DeclarationError) as refusal:
        read_cases(path)

    first = refusal.value.problems[0]
    assert (first.file, first.line) == (str(path), line)
    assert message in first.message
