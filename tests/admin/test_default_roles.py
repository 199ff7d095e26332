"""The nine roles that ship with remit are those of the design document: S0.8, S0.9."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from remit.admin.declaration import load_declaration, parse_document
from remit.admin.default_roles import default_document
from remit.model.roles import Role

GRANTS = {
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


@pytest.fixture
def roles() -> Mapping[str, Role]:
    return parse_document(default_document()).declaration.roles


def test_there_are_nine_roles_with_101_grants(roles: Mapping[str, Role]) -> None:
    assert {name: role.grants for name, role in roles.items()} == GRANTS
    assert sum(GRANTS.values()) == 101


def test_they_equal_the_design_documents_roles_tool_for_tool(
    roles: Mapping[str, Role], nine_roles_yaml: Path
) -> None:
    declared = load_declaration(nine_roles_yaml).declaration.roles

    assert {name: replace(role, description="") for name, role in roles.items()} == declared
    assert list(roles) == list(declared)


def test_each_says_what_it_is_for(roles: Mapping[str, Role]) -> None:
    assert all(role.description for role in roles.values())


def test_each_names_the_servers_whose_tools_it_has(roles: Mapping[str, Role]) -> None:
    # S0.9
    assert all(set(role.mcp_servers) == set(role.tools) for role in roles.values())
    assert roles["project_manager"].mcp_servers == ("jira", "github")


def test_nobody_holds_what_only_few_may_hold(roles: Mapping[str, Role]) -> None:
    # S0.10
    def holders(server: str, tool: str) -> set[str]:
        return {name for name, role in roles.items() if tool in role.tools.get(server, ())}

    assert holders("git", "git_merge") == {"tech_lead", "devops_engineer"}
    assert holders("github", "merge_pull_request") == {"tech_lead", "devops_engineer"}
    assert holders("jira", "get_sprint") == {"project_manager"}


def test_the_document_declares_no_server_and_is_a_copy_each_time() -> None:
    document = default_document()
    document["roles"].clear()

    assert set(document) == {"version", "roles"}
    assert len(default_document()["roles"]) == 9
