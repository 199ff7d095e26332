"""What the GitHub server asks and reads fits GitHub's own description (issue 6, must show 3)."""

import os
from dataclasses import replace

import pytest
from tests.servers.github_worlds import World
from tests.servers.openapi import DESCRIPTION, OpenApi, Problem

from remit.testing.faulty_web import Seen, as_json
from remit.testing.github_fake import GitHubFake

_PULLS = "/repos/{owner}/{repo}/pulls/{pull_number}"

GAPS = {
    Problem(where=where, what=what)
    for where, what in (
        ("GET /repos/{owner}/{repo} 200", 'body: "network_count" is a required property'),
        ("GET /repos/{owner}/{repo} 200", 'body: "subscribers_count" is a required property'),
        (f"GET {_PULLS}/commits 200", '*/commit/tree: "url" is a required property'),
        # GitHub has these two the other way round.
        (f"POST {_PULLS}/reviews 201", "an answer of that status is not described"),
        (f"POST {_PULLS}/requested_reviewers 200", "an answer of that status is not described"),
    )
}
"""Where the fake differs from GitHub in what it was asked here; the server reads none of it."""


@pytest.fixture(scope="module")
def openapi() -> OpenApi:
    if not DESCRIPTION.exists():
        missing = "GitHub's description of its API is not here (scripts/node-tools all)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return OpenApi()


async def use_everything(hub: World, github: GitHubFake) -> None:
    """Call all ten tools, with all that they take."""
    github.ask("POST", f"/repos/{hub.repository}/labels", name="bug", color="ff0000")
    github.put_file(hub.repository, "main", "zebra.py", "stripes = 42\n")
    await hub.call("get_repository")
    await hub.call("search_code", query="stripes", page=1, per_page=5)
    pull = {"title": "Totals", "head": "topic", "base": "main", "body": "b", "draft": False}
    await hub.call("create_pull_request", **pull)
    await hub.call("create_pull_request", **pull)
    await hub.call(
        "update_pull_request",
        pull_number=1,
        title="New",
        body="",
        base="main",
        state="open",
        reviewers=["grace"],
        review={"event": "APPROVE", "body": "Fine"},
    )
    parts = ["files", "commits", "reviews"]
    await hub.call("get_pull_request", pull_number=1, include=parts, page=1)
    await hub.call("get_pull_request", pull_number=1, include=["checks"])
    await hub.call(
        "merge_pull_request",
        pull_number=1,
        merge_method="squash",
        commit_title="t",
        commit_message="m",
    )
    await hub.call("get_pull_request", pull_number=1)
    issue = {"title": "Wrong", "body": "b", "labels": ["bug"], "assignees": ["grace"]}
    await hub.call("create_issue", **issue, idempotency_key="k")
    await hub.call("create_issue", **issue, idempotency_key="k")
    await hub.call("add_issue_comment", issue_number=2, body="c", idempotency_key="k")
    await hub.call("add_issue_comment", issue_number=2, body="c", idempotency_key="k")
    await hub.call("get_issue", issue_number=2, comments=True)
    await hub.call(
        "list_issues", state="all", labels=["bug"], assignee="grace", since="2026-01-01T00:00:00Z"
    )


async def test_every_request_and_answer_fits_but_for_gaps_of_the_fake_that_are_known(
    hub: World, github: GitHubFake, openapi: OpenApi
) -> None:
    await use_everything(hub, github)

    assert len(hub.web.exchanges) == len(hub.web.seen) > 20
    found = {
        problem for seen, answer in hub.web.exchanges for problem in openapi.problems(seen, answer)
    }
    assert found == GAPS


def test_the_judge_finds_what_does_not_fit(openapi: OpenApi) -> None:
    asked = Seen(
        method="POST",
        target="/repos/ada/orders/issues?colour=red",
        headers={},
        body=b'{"body": "no title"}',
    )
    found = {problem.what for problem in openapi.problems(asked, as_json({"id": "seven"}, 299))}

    assert {
        "the query has 'colour', which is not described",
        'body: "title" is a required property',
        "an answer of that status is not described",
        'id: "seven" is not of type "integer"',
    } <= found
    with pytest.raises(AssertionError, match="GitHub has no POST /nothing"):
        list(openapi.problems(replace(asked, target="/nothing"), as_json({})))
