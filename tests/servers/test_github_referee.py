"""PyGithub, which knows nothing of remit, sees what the tools report (issue 6, must show 2)."""

from collections.abc import Iterator

import pytest
from github import Auth, Github
from github.Repository import Repository
from tests.servers.github_worlds import World

from remit.testing.github_fake import TOKENS, GitHubFake


@pytest.fixture
def referee(github: GitHubFake, repository: str) -> Iterator[Repository]:
    """The repository as PyGithub reads it, past the server, in Grace's name."""
    client = Github(
        base_url=github.url,
        auth=Auth.Token(TOKENS["grace"]),
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )
    yield client.get_repo(repository)
    client.close()


async def test_the_same_pull_request_review_comment_and_merge_are_seen(
    hub: World, referee: Repository
) -> None:
    opened = await hub.call(
        "create_pull_request", title="Totals", head="topic", base="main", body="Adds totals."
    )
    number = int(opened["number"])
    seen = referee.get_pull(number)
    assert (seen.title, seen.body, seen.state) == ("Totals", "Adds totals.", "open")
    assert (seen.head.ref, seen.head.sha) == ("topic", opened["head_sha"])
    assert (seen.base.ref, seen.user.login) == (opened["base"], opened["author"])
    assert seen.html_url == opened["url"]

    comment = await hub.call("add_issue_comment", issue_number=number, body="Looks good.")
    comments = [(one.id, one.body) for one in referee.get_pull(number).get_issue_comments()]
    assert comments == [(comment["id"], "Looks good.")]

    updated = await hub.call(
        "update_pull_request",
        pull_number=number,
        title="Totals of orders",
        reviewers=["grace"],
        review={"event": "COMMENT", "body": "Almost"},
    )
    seen = referee.get_pull(number)
    assert seen.title == updated["title"] == "Totals of orders"
    assert [user.login for user in seen.requested_reviewers] == ["grace"]
    reviews = [(one.id, one.state, one.body) for one in seen.get_reviews()]
    assert reviews == [(updated["review"]["id"], "COMMENTED", "Almost")]

    merged = await hub.call("merge_pull_request", pull_number=number, merge_method="squash")
    seen = referee.get_pull(number)
    assert (seen.merged, seen.state) == (True, "closed")
    assert seen.merge_commit_sha == merged["commit"]
    assert referee.get_branch("main").commit.sha == merged["commit"]


async def test_the_same_issue_comments_and_list_are_seen(hub: World, referee: Repository) -> None:
    referee.create_label("bug", "ff0000")
    opened = await hub.call(
        "create_issue", title="Wrong", body="By one.", labels=["bug"], assignees=["grace"]
    )
    said = await hub.call("add_issue_comment", issue_number=opened["number"], body="Looking.")
    await hub.call("create_issue", title="Another")
    seen = referee.get_issue(opened["number"])

    assert (seen.title, seen.body, seen.state) == ("Wrong", "By one.", opened["state"])
    assert [label.name for label in seen.labels] == opened["labels"] == ["bug"]
    assert [user.login for user in seen.assignees] == opened["assignees"] == ["grace"]
    assert [(one.id, one.body) for one in seen.get_comments()] == [(said["id"], "Looking.")]

    listed = await hub.call("list_issues")
    assert [one["number"] for one in listed["issues"]] == [
        one.number for one in referee.get_issues(state="open")
    ]
    seen.edit(state="closed")
    shown = await hub.call("get_issue", issue_number=opened["number"])
    assert shown["state"] == "closed"


async def test_what_the_referee_makes_is_what_the_tools_show(
    hub: World, referee: Repository
) -> None:
    made = referee.create_pull(base="main", head="topic", title="From outside", body="Hi")
    shown = await hub.call("get_pull_request", pull_number=made.number, include=["commits"])
    repository = await hub.call("get_repository")

    assert (shown["title"], shown["author"]) == ("From outside", made.user.login)
    assert [one["sha"] for one in shown["commits"]] == [one.sha for one in made.get_commits()]
    assert repository["full_name"] == referee.full_name
    assert repository["default_branch"] == referee.default_branch
    assert repository["may_push"] == referee.permissions.push
    assert repository["clone_url"] == referee.clone_url
