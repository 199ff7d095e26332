"""Bundled servers alone, as the MCP inspector sees them (issue 6, must show 6).

The GitHub server's turn is in `test_github_server.py`.
"""

import os
from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout
from tests.servers.inspector import Inspector

from remit.servers.git.server import GitServer
from remit.servers.jira.tools import TOOLS
from remit.testing.jira_cloud import open_jira_cloud


def _git_inspector(project: Checkout, folder: Path, *args: str) -> Inspector:
    environ = {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}
    arguments = ["--repository", str(project.path), *args]
    return Inspector(folder, "remit.servers.git", arguments, environ)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_the_nine_tools_and_finds_no_fault_with_them(
    project: Checkout, tmp_path: Path, era: str
) -> None:
    listed = _git_inspector(project, tmp_path).listed("--protocol-era", era)

    assert listed == {str(tool["name"]): tool for tool in GitServer(project.path).tools()}


def test_the_inspector_can_do_a_days_work(
    project: Checkout, origin: Checkout, tmp_path: Path
) -> None:
    inspector = _git_inspector(project, tmp_path)
    project.write("new.txt", "1\n")

    switched = inspector.call("git_checkout", branch_name="topic", create=True)
    committed = inspector.call("git_commit", message="Work\n\nDone.", paths=["new.txt"])
    pushed = inspector.call("git_push", "--protocol-era", "modern")

    assert switched["structuredContent"]["branch"] == "topic"
    assert committed["structuredContent"]["files"] == ["new.txt"]
    assert pushed["structuredContent"]["result"] == "created"
    assert origin.git("rev-parse", "topic").strip() == project.head()


def test_the_inspector_is_told_what_is_refused(project: Checkout, tmp_path: Path) -> None:
    refused = _git_inspector(project, tmp_path).call("git_diff", target="--output=/tmp/x")

    assert refused["isError"] is True
    assert "may not start with '-'" in refused["content"][0]["text"]


def test_the_inspector_works_with_the_jira_server(tmp_path: Path) -> None:
    with open_jira_cloud() as web:
        environ = {
            "JIRA_URL": web.url,
            "JIRA_USERNAME": "bot@example.test",
            "JIRA_API_TOKEN": "token",
            "JIRA_DEPLOYMENT": "cloud",
        }
        inspector = Inspector(tmp_path, "remit.servers.jira", [], environ)

        listed = inspector.listed()
        made = inspector.call("create_ticket", project_key="SHOP", summary="Totals")
        key = made["structuredContent"]["key"]
        seen = inspector.call("get_ticket", "--protocol-era", "modern", ticket_key=key)
        impossible = inspector.call("change_status", ticket_key=key, status="Shipped")

    assert listed == {tool.name: tool.on_wire() for tool in TOOLS}
    assert seen["structuredContent"]["status"] == "To Do"
    assert impossible["isError"] is True
    assert "In Progress" in impossible["content"][0]["text"]


@pytest.mark.parametrize(
    ("module", "environ", "left"),
    [
        (
            "remit.servers.github",
            {"GITHUB_TOKEN": "t"},
            {"get_pull_request", "get_issue", "list_issues", "get_repository", "search_code"},
        ),
        (
            "remit.servers.jira",
            {"JIRA_URL": "http://127.0.0.1:9", "JIRA_API_TOKEN": "t"},
            {"get_ticket", "search_tickets", "get_sprint"},
        ),
        ("remit.servers.git", {}, {"git_status", "git_diff", "git_log"}),
    ],
)
def test_the_inspector_sees_only_what_reads_where_that_is_all_that_is_offered(
    tmp_path: Path, module: str, environ: dict[str, str], left: set[str]
) -> None:
    listed = Inspector(tmp_path, module, ["--read-only"], environ).listed()

    assert set(listed) == left
    assert all(tool["annotations"]["readOnlyHint"] for tool in listed.values())
