"""101 grants used for real, all else refused and not run (issue 6, must show 1; S0.8, S0.27)."""

import json
import os
from collections.abc import Generator
from functools import partial
from typing import Any

import anyio.to_thread
import httpx2
import pytest
from tests.conformance.tables import grants

from remit.testing.gateway import Caller
from remit.testing.squad import BOARD, PERSON, PROJECT, UNDER_WAY, Squad, git, open_squad

ROWS = grants()
ROLES = sorted({role for role, _, _ in ROWS})
# A branch before a commit, a commit before a push: the order of the table is that of the work.
TOOLS = list(dict.fromkeys((server, tool) for _, server, tool in ROWS))

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def squad(tmp_path_factory: pytest.TempPathFactory) -> Generator[Squad]:
    with open_squad(tmp_path_factory.mktemp("squad")) as squad:
        if squad is None:
            if os.environ.get("CI") == "true":
                pytest.fail("the fakes of GitHub and Jira are not installed")
            pytest.skip("the fakes of GitHub and Jira are not installed; `make setup` gets them")
        yield squad


class Desk:
    """What one role works on, and arguments with which each tool would do something."""

    def __init__(self, squad: Squad, role: str) -> None:
        self.squad = squad
        self.role = role
        git(squad.work, "checkout", "--quiet", "main")
        git(squad.work, "reset", "--quiet", "--hard", "origin/main")
        git(squad.work, "branch", f"{role}-topic")
        (squad.work / f"{role}.py").write_text("done = True\n")
        squad.github.make_branch(squad.repository, f"{role}-pull", {f"{role}.md": "words"})
        squad.github.make_branch(squad.repository, f"{role}-next", {f"{role}.txt": "words"})
        self.pull = self.on_github("POST", "pulls", title=role, head=f"{role}-pull", base="main")
        self.issue = self.on_github("POST", "issues", title=f"{role} found something")
        self.ticket = squad.jira.make_ticket(f"{role} wants something")

    def on_github(self, method: str, path: str, **body: Any) -> Any:
        return self.squad.github.ask(method, f"/repos/{self.squad.repository}/{path}", **body)

    def arguments(self) -> dict[str, dict[str, Any]]:
        pull = {"pull_number": self.pull["number"]}
        issue, ticket = {"issue_number": self.issue["number"]}, {"ticket_key": self.ticket}
        return {
            "git_status": {},
            "git_diff": {"target": "main"},
            "git_log": {},
            "git_branch": {"branch_name": f"{self.role}-other"},
            "git_checkout": {"branch_name": f"{self.role}-work", "create": True},
            "git_commit": {"message": f"{self.role} did it", "paths": [f"{self.role}.py"]},
            "git_push": {},
            "git_pull": {},
            "git_merge": {"branch_name": f"{self.role}-topic"},
            "create_pull_request": {
                "title": f"{self.role} is done", "head": f"{self.role}-next", "base": "main",
            },
            "get_pull_request": pull,
            "update_pull_request": {**pull, "title": f"{self.role} again"},
            "merge_pull_request": pull,
            "create_issue": {"title": f"{self.role} asks"},
            "get_issue": issue,
            "add_issue_comment": {**issue, "body": f"{self.role} was here"},
            "list_issues": {},
            "get_repository": {},
            "search_code": {"query": "words"},
            "create_ticket": {"project_key": PROJECT, "summary": f"{self.role} plans"},
            "get_ticket": ticket,
            "update_ticket": {**ticket, "summary": f"{self.role} thinks again"},
            "add_comment": {**ticket, "body": f"{self.role} was here"},
            "change_status": {**ticket, "status": UNDER_WAY},
            "assign_ticket": {**ticket, "assignee": PERSON},
            "search_tickets": {"text": self.role, "project_key": PROJECT},
            "get_sprint": {"board": BOARD},
        }  # fmt: skip

    def state(self) -> object:
        """Everything that a tool which is refused could have changed."""
        work, jira = self.squad.work, self.squad.jira
        return {
            "refs": git(work, "for-each-ref"),
            "remote": git(self.squad.remote, "for-each-ref"),
            "tree": git(work, "status", "--porcelain=v2", "--branch"),
            "pulls": self.on_github("GET", "pulls?state=all&per_page=100"),
            "issues": self.on_github("GET", "issues?state=all&per_page=100"),
            "said": [
                self.on_github("GET", f"issues/{item['number']}/comments")
                for item in (self.issue, self.pull)
            ],
            "ticket": jira.ask("GET", f"/rest/api/2/issue/{self.ticket}"),
            "tickets": jira.ask("GET", "/rest/api/2/search?maxResults=0")["total"],
        }


@pytest.mark.parametrize("role", ROLES)
async def test_what_a_role_may_works_and_what_it_may_not_does_nothing(
    squad: Squad, role: str, http: httpx2.AsyncClient
) -> None:
    desk = await anyio.to_thread.run_sync(partial(Desk, squad, role))
    key = await anyio.to_thread.run_sync(squad.gateway.key, role)
    caller = Caller(http, squad.gateway.url, key)
    may = {(server, tool) for r, server, tool in ROWS if r == role}
    arguments = desk.arguments()
    assert arguments.keys() == {tool for _, tool in TOOLS}

    before = await anyio.to_thread.run_sync(desk.state)
    refused = {
        tool: await caller.call(f"{server}__{tool}", arguments[tool])
        for server, tool in TOOLS
        if (server, tool) not in may
    }
    after = await anyio.to_thread.run_sync(desk.state)
    used = {
        tool: await caller.call(f"{server}__{tool}", arguments[tool])
        for server, tool in TOOLS
        if (server, tool) in may
    }

    assert after == before
    assert {told(answer) for answer in refused.values()} == {"Unknown tool"}
    assert {tool: told(answer) for tool, answer in used.items() if not is_done(answer)} == {}
    assert len(used) + len(refused) == 27


def told(answer: dict[str, Any]) -> str:
    return answer["error"]["message"] if "error" in answer else json.dumps(answer["result"])


def is_done(answer: dict[str, Any]) -> bool:
    return not answer.get("result", {"isError": True}).get("isError", False)
