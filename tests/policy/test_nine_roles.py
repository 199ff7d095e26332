"""The nine roles and their 101 grants, against the golden table (S0.8-S0.10, S0.17)."""

import csv
from pathlib import Path

import pytest

from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import decide, roles_that_can
from remit.policy.findings import Severity
from remit.policy.lint import lint
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

GOLDEN = Path(__file__).parents[1] / "conformance" / "golden" / "roles.csv"

OFFERED = {
    "git": frozenset(
        {
            "git_status",
            "git_diff",
            "git_log",
            "git_branch",
            "git_checkout",
            "git_commit",
            "git_push",
            "git_pull",
            "git_merge",
        }
    ),
    "github": frozenset(
        {
            "create_pull_request",
            "get_pull_request",
            "update_pull_request",
            "merge_pull_request",
            "create_issue",
            "get_issue",
            "add_issue_comment",
            "list_issues",
            "get_repository",
            "search_code",
        }
    ),
    "jira": frozenset(
        {
            "create_ticket",
            "get_ticket",
            "update_ticket",
            "add_comment",
            "change_status",
            "assign_ticket",
            "search_tickets",
            "get_sprint",
        }
    ),
}
"""S0.3, S0.5, S0.7."""


def golden() -> list[tuple[str, ToolId]]:
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        return [(row["role"], ToolId(row["server"], row["tool"])) for row in csv.DictReader(file)]


def nine_roles() -> Declaration:
    tools: dict[str, dict[str, list[str]]] = {}
    for role, tool in golden():
        tools.setdefault(role, {}).setdefault(tool.server, []).append(tool.name)
    return Declaration(
        servers={name: ServerConfig(name=name) for name in OFFERED},
        roles={
            role: Role(
                name=role,
                mcp_servers=tuple(of_role),
                tools={server: tuple(names) for server, names in of_role.items()},
            )
            for role, of_role in tools.items()
        },
    )


@pytest.fixture(scope="module")
def snapshot() -> PolicySnapshot:
    return compile_snapshot(nine_roles(), tenant="default", revision=1)


def may(snapshot: PolicySnapshot, role: str) -> set[ToolId]:
    caller = Principal(kind=PrincipalKind.ROLE, name=role, roles=(role,))
    every = [ToolId(server, name) for server, names in OFFERED.items() for name in names]
    return {tool for tool in every if decide(snapshot, caller, tool).allowed}


def test_the_golden_table_has_nine_roles_and_101_grants() -> None:
    counts: dict[str, int] = {}
    for role, _ in golden():
        counts[role] = counts.get(role, 0) + 1

    assert counts == {
        "project_manager": 11,
        "tech_lead": 14,
        "backend_developer": 14,
        "frontend_developer": 14,
        "qa_tester": 11,
        "devops_engineer": 13,
        "solution_architect": 7,
        "ai_engineer": 13,
        "designer": 4,
    }
    assert len(set(golden())) == 101


def test_every_role_may_use_exactly_its_rows(snapshot: PolicySnapshot) -> None:
    for role in nine_roles().roles:
        assert may(snapshot, role) == {tool for name, tool in golden() if name == role}


@pytest.mark.parametrize(
    ("tool", "roles"),
    [
        # S0.10
        (ToolId("git", "git_merge"), ("tech_lead", "devops_engineer")),
        (ToolId("github", "merge_pull_request"), ("tech_lead", "devops_engineer")),
        (ToolId("jira", "assign_ticket"), ("project_manager",)),
        (ToolId("jira", "get_sprint"), ("project_manager",)),
        (
            ToolId("git", "git_commit"),
            ("backend_developer", "frontend_developer", "ai_engineer"),
        ),
    ],
)
def test_who_can(snapshot: PolicySnapshot, tool: ToolId, roles: tuple[str, ...]) -> None:
    assert roles_that_can(snapshot, tool) == roles


@pytest.mark.parametrize("role", ["intern", "Designer", "designer ", "", "*"])
def test_an_unknown_role_may_use_nothing(snapshot: PolicySnapshot, role: str) -> None:
    # S0.17
    assert may(snapshot, role) == set()


@pytest.mark.parametrize("name", ["git_*", "*", "GIT_STATUS", "git_status ", "git_statu", ""])
def test_membership_is_exact(snapshot: PolicySnapshot, name: str) -> None:
    # S0.17: no wildcards.
    caller = Principal(kind=PrincipalKind.ROLE, name="r", roles=("backend_developer",))

    assert not decide(snapshot, caller, ToolId("git", name)).allowed


def test_the_nine_roles_are_clean() -> None:
    assert lint(nine_roles(), OFFERED) == ()


def test_what_the_published_git_server_lacks_is_told_and_is_no_error() -> None:
    # R16, R30: it has no git_push, git_pull and git_merge.
    published = frozenset(OFFERED["git"] - {"git_push", "git_pull", "git_merge"})

    findings = lint(nine_roles(), {"git": published})

    assert {finding.severity for finding in findings} == {Severity.WARNING}
    assert {finding.code for finding in findings} == {"unknown-tool"}
    assert [finding.path for finding in findings if "tech_lead" in finding.path] == [
        "roles.tech_lead.tools.git[4]"
    ]
    assert len(findings) == 10
