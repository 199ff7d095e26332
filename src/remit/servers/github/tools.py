"""The ten tools as a client sees them."""

from dataclasses import replace
from typing import Final

from remit.servers.github.inputs import input_schemas
from remit.servers.github.issues import add_issue_comment, create_issue, get_issue, list_issues
from remit.servers.github.outputs import OUTPUT_SCHEMAS
from remit.servers.github.pull_changes import (
    create_pull_request,
    merge_pull_request,
    update_pull_request,
)
from remit.servers.github.pulls import get_pull_request
from remit.servers.github.repositories import get_repository, search_code
from remit.servers.github.repository import Repository
from remit.servers.toolbox import Hints, Tool, ToolMaker

_READS: Final = Hints(read_only=True, idempotent=True, open_world=True)
_ADDS: Final = Hints(open_world=True)


_tool = ToolMaker(input_schemas("", ""), OUTPUT_SCHEMAS)

_TOOLS: Final = (
    _tool(
        "create_pull_request",
        "Create pull request",
        "Open a pull request. When one is open for the same branches, that one is returned.",
        # GitHub has one at most for two branches, and a second call returns it.
        Hints(idempotent=True, open_world=True),
        create_pull_request,
    ),
    _tool(
        "get_pull_request",
        "Pull request",
        "Show a pull request; include names what to show beside it.",
        _READS,
        get_pull_request,
    ),
    _tool(
        "update_pull_request",
        "Update pull request",
        "Change title, body, state or base of a pull request, ask for reviews or give one.",
        # A title or a body that is overwritten is gone; a second review is another one.
        Hints(destructive=True, open_world=True),
        update_pull_request,
    ),
    _tool(
        "merge_pull_request",
        "Merge pull request",
        "Merge a pull request. One that is merged already stays as it is.",
        Hints(idempotent=True, open_world=True),
        merge_pull_request,
    ),
    _tool(
        "create_issue",
        "Create issue",
        "Open an issue. With an idempotency_key a second call opens no second one.",
        _ADDS,
        create_issue,
    ),
    _tool("get_issue", "Issue", "Show an issue, with its comments if asked.", _READS, get_issue),
    _tool(
        "add_issue_comment",
        "Add comment",
        "Comment on an issue or pull request. An idempotency_key keeps it from being doubled.",
        _ADDS,
        add_issue_comment,
    ),
    _tool(
        "list_issues",
        "Issues",
        "List issues of a repository, newest first, without pull requests.",
        _READS,
        list_issues,
    ),
    _tool(
        "get_repository",
        "Repository",
        "Show a repository: its default branch, what it is, what the token may do there.",
        _READS,
        get_repository,
    ),
    _tool(
        "search_code",
        "Search code",
        "Search the code on default branches, in one repository unless the query says where.",
        _READS,
        search_code,
    ),
)


def tools_of(owner: str, repo: str) -> tuple[Tool[Repository], ...]:
    """Return the tools; calls that name no repository mean that one, when there is one."""
    takes = input_schemas(owner, repo)
    return tuple(replace(tool, takes=takes[tool.name]) for tool in _TOOLS)
