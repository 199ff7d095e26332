import json
from pathlib import Path

import pytest

from remit import MCPToolMapper
from remit.errors import DeclarationError

MAPPING = """
version: "1.0"
mcp_servers:
  git:
    command: uvx
    args: ["mcp-server-git"]
    env: {}
  github:
    command: uvx
    args: ["mcp-server-github"]
    env:
      GITHUB_TOKEN: "${GITHUB_TOKEN}"
roles:
  writer:
    mcp_servers: [github, git]
    tools:
      github: [create_issue]
      git: ["git_*", git_log]
"""


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mcp_tool_mapping.yaml"
    path.write_text(MAPPING)
    return path


def test_backend_developer_has_git() -> None:  # S0.27
    mapper = MCPToolMapper()

    assert "git" in mapper.get_servers_for_role("backend_developer")
    assert mapper.can_use_tool("backend_developer", "git", "git_status")


def test_a_designer_cannot_commit() -> None:  # S0.27
    mapper = MCPToolMapper()

    assert not mapper.can_use_tool("designer", "git", "git_commit")
    assert mapper.get_tools_for_role("designer", "git") == []


def test_a_tester_is_the_qa_tester_of_the_mapping() -> None:  # S0.33
    mapper = MCPToolMapper()

    assert mapper.name_of("tester") == "qa_tester"
    assert mapper.get_servers_for_role("tester") == ["github", "jira"]
    assert mapper.get_all_tools_for_role("tester") == mapper.get_all_tools_for_role("qa_tester")
    assert mapper.can_use_tool("tester", "jira", "create_ticket")
    assert not mapper.can_use_tool("tester", "git", "git_status")


def test_a_tester_that_is_declared_is_that_one(mapping: Path) -> None:
    own = mapping.with_name("own.yaml")
    own.write_text(MAPPING.replace("  writer:", "  qa_tester: {}\n  tester:"))

    assert MCPToolMapper(own).get_servers_for_role("tester") == ["github", "git"]
    # where there is neither, there is nobody
    assert MCPToolMapper(mapping).name_of("tester") == "tester"
    assert MCPToolMapper(mapping).get_servers_for_role("tester") == []


def test_the_shipped_mapping_is_the_matrix_of_nine_roles() -> None:  # S0.8, S0.9
    mapper = MCPToolMapper()
    roles = mapper.config["roles"]

    grants = {
        role: sum(len(tools) for tools in mapper.get_all_tools_for_role(role).values())
        for role in roles
    }
    assert sorted(grants.values()) == [4, 7, 11, 11, 13, 13, 14, 14, 14]
    assert mapper.get_servers_for_role("project_manager") == ["jira", "github"]
    for role in roles:
        assert set(mapper.get_servers_for_role(role)) == set(mapper.get_all_tools_for_role(role))


def test_the_shipped_servers_are_remits_own() -> None:
    # S0.1, S0.35; R30: nobody publishes these names
    mapper = MCPToolMapper()

    assert mapper.get_server_config("git")["args"] == ["-m", "remit.servers.git"]
    assert mapper.get_server_config("github")["env"] == {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}
    assert list(mapper.get_server_config("jira")["env"]) == [
        "JIRA_URL",
        "JIRA_USERNAME",
        "JIRA_API_TOKEN",
    ]


def test_a_mapping_file_is_read_as_it_stands(mapping: Path) -> None:  # S0.11, S0.17
    mapper = MCPToolMapper(str(mapping))

    assert mapper.get_servers_for_role("writer") == ["github", "git"]
    assert mapper.get_tools_for_role("writer", "github") == ["create_issue"]
    assert mapper.get_all_tools_for_role("writer") == {
        "github": ["create_issue"],
        "git": ["git_*", "git_log"],
    }
    assert mapper.get_server_config("github") == {
        "command": "uvx",
        "args": ["mcp-server-github"],
        "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
    }


def test_the_environment_names_the_file_where_the_program_does_not(
    mapping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # S0.13
    monkeypatch.setenv("MCP_CONFIG_PATH", str(mapping))

    assert MCPToolMapper().config_path == mapping
    assert MCPToolMapper().can_use_tool("writer", "git", "git_log")


def test_what_is_unknown_is_empty(mapping: Path) -> None:  # S0.17
    mapper = MCPToolMapper(mapping)

    assert mapper.get_servers_for_role("nobody") == []
    assert mapper.get_tools_for_role("writer", "jira") == []
    assert mapper.get_all_tools_for_role("nobody") == {}
    assert mapper.get_server_config("jira") == {}
    assert not mapper.can_use_tool("nobody", "git", "git_log")


def test_names_are_compared_whole_and_stars_are_no_patterns(mapping: Path) -> None:  # S0.17
    mapper = MCPToolMapper(mapping)

    assert not mapper.can_use_tool("writer", "git", "git_status")
    assert not mapper.can_use_tool("writer", "git", "GIT_LOG")
    assert not mapper.can_use_tool("writer", "git", "git")


def test_what_it_returned_can_be_changed_without_changing_a_rule(mapping: Path) -> None:
    mapper = MCPToolMapper(mapping)

    mapper.get_tools_for_role("writer", "github").append("merge_pull_request")
    mapper.get_all_tools_for_role("writer")["git"].append("git_push")
    mapper.get_server_config("github")["env"]["GITHUB_TOKEN"] = "other"
    mapper.config["roles"]["writer"]["tools"]["git"].append("git_push")

    assert not mapper.can_use_tool("writer", "github", "merge_pull_request")
    assert not mapper.can_use_tool("writer", "git", "git_push")
    assert json.dumps(mapper.get_server_config("github")).count("${GITHUB_TOKEN}") == 1


def test_a_mapping_that_runs_code_is_refused(tmp_path: Path) -> None:  # S0.16: a safe loader
    path = tmp_path / "mapping.yaml"
    path.write_text(f"roles: !!python/object/apply:pathlib.Path.touch ['{tmp_path / 'ran'}']\n")

    with pytest.raises(DeclarationError):
        MCPToolMapper(path)

    assert not (tmp_path / "ran").exists()


def test_a_misspelled_key_is_an_error_with_its_line(mapping: Path) -> None:  # R16
    mapping.write_text(MAPPING.replace("mcp_servers: [github, git]", "mcp_server: [github, git]"))

    with pytest.raises(DeclarationError, match=r"mapping\.yaml:\d+: .*mcp_server"):
        MCPToolMapper(mapping)


def test_a_mapping_is_read_once_and_again_when_asked_to(mapping: Path) -> None:  # S0.16
    mapper = MCPToolMapper(mapping)
    before = mapper.document
    mapper.refresh()
    assert mapper.document is before
    mapping.write_text(MAPPING.replace("[create_issue]", "[create_issue, get_issue]"))

    assert not mapper.can_use_tool("writer", "github", "get_issue")
    mapper.refresh()
    assert mapper.can_use_tool("writer", "github", "get_issue")
    assert mapper.document is not before


def test_the_shipped_mapping_has_nothing_to_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCP_CONFIG_PATH", raising=False)
    mapper = MCPToolMapper()
    before = mapper.document

    mapper.refresh()

    assert mapper.document is before
