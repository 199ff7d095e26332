"""The ten GitHub tools against a stateful fake of GitHub (S0.5, tools.md)."""

from functools import partial
from typing import cast

import anyio
import jsonschema_rs
from tests.servers.github_worlds import World

from remit.testing.github_fake import GitHubFake


async def test_a_pull_request_goes_from_opening_to_merge(hub: World) -> None:
    opened = await hub.call(
        "create_pull_request", title="Totals", head="topic", base="main", body="Adds **totals**."
    )
    shown = await hub.call("get_pull_request", pull_number=opened["number"])
    merged = await hub.call("merge_pull_request", pull_number=1, sha=opened["head_sha"])
    after = await hub.call("get_pull_request", pull_number=1)

    assert opened["created"] is True
    assert (shown["title"], shown["body"]) == ("Totals", "Adds **totals**.")
    assert (shown["head"], shown["base"], shown["author"]) == ("ada:topic", "main", "ada")
    assert (shown["state"], shown["merged"], shown["merge_commit"]) == ("open", False, None)
    assert (merged["merged"], merged["already_merged"]) == (True, False)
    assert (after["state"], after["merged"]) == ("closed", True)
    assert after["merge_commit"] == merged["commit"]
    assert after["merged_by"] == "ada"


async def test_a_second_pull_request_for_the_same_branches_is_the_first(
    hub: World, github: GitHubFake
) -> None:
    first = await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    second = await hub.call("create_pull_request", title="Again", head="topic", base="main")

    assert second["created"] is False
    assert (second["number"], second["title"]) == (first["number"], "Totals")
    assert "one is open for these branches already" in second["notes"][0]
    assert len(github.ask("GET", f"/repos/{hub.repository}/pulls")) == 1


async def test_what_is_merged_already_stays_as_it_is(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    first = await hub.call("merge_pull_request", pull_number=1, merge_method="squash")
    second = await hub.call("merge_pull_request", pull_number=1)

    assert second["already_merged"] is True
    assert second["commit"] == first["commit"]
    assert second["notes"] == ["it was merged before; nothing was done"]


async def test_a_pull_request_that_cannot_be_merged_says_why(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main", draft=True)
    draft = await hub.refused("merge_pull_request", pull_number=1)
    await hub.call("update_pull_request", pull_number=1, state="closed")
    closed = await hub.refused("merge_pull_request", pull_number=1)

    assert "Draft pull requests cannot be merged" in draft
    assert "it is a draft" in draft
    assert closed.startswith(f"{hub.repository}#1: GitHub answered 422")
    assert "it is closed without having been merged" in closed


async def test_the_parts_of_a_pull_request_are_shown_when_asked_for(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    await hub.call("update_pull_request", pull_number=1, review={"event": "COMMENT", "body": "Hm"})
    shown = await hub.call(
        "get_pull_request", pull_number=1, include=["reviews", "files", "commits", "checks"]
    )

    assert [one["message"] for one in shown["commits"]][-1] == "Add total.py"
    assert [(one["state"], one["body"]) for one in shown["reviews"]] == [("COMMENTED", "Hm")]
    assert (shown["files"], shown["checks"], shown["next_page"]) == ([], [], None)
    assert "the commit statuses cannot be read" in shown["notes"][0]
    assert "diff" not in shown


async def test_a_pull_request_is_changed_field_by_field_and_reviewed(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main", body="x")
    changed = await hub.call(
        "update_pull_request",
        pull_number=1,
        title="Totals of orders",
        body="",
        reviewers=["grace"],
        review={"event": "COMMENT", "body": "Please look"},
    )

    assert changed["changed"] == ["title", "body", "reviewers", "review"]
    assert (changed["title"], changed["body"]) == ("Totals of orders", "")
    assert changed["requested_reviewers"] == ["grace"]
    assert changed["review"]["state"] == "COMMENTED"


async def test_a_change_without_anything_to_change_and_a_review_without_words_are_refused(
    hub: World,
) -> None:
    nothing = await hub.refused("update_pull_request", pull_number=1)
    silent = await hub.refused(
        "update_pull_request", pull_number=1, title="x", review={"event": "REQUEST_CHANGES"}
    )

    assert "nothing to change" in nothing
    assert "a review that says REQUEST_CHANGES needs a body" in silent
    assert hub.web.seen == []


async def test_when_a_later_step_fails_the_earlier_ones_are_told(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    said = await hub.refused(
        "update_pull_request", pull_number=1, title="New", reviewers=["nobody-of-that-name"]
    )
    shown = await hub.call("get_pull_request", pull_number=1)

    assert said.startswith("done: title; then this failed")
    assert shown["title"] == "New"


async def test_an_issue_is_opened_commented_on_and_shown(hub: World) -> None:
    opened = await hub.call(
        "create_issue", title="Totals are wrong", body="By one.", assignees=["grace"]
    )
    said = await hub.call("add_issue_comment", issue_number=opened["number"], body="Looking.")
    shown = await hub.call("get_issue", issue_number=opened["number"], comments=True)

    assert (opened["created"], opened["assignees"]) == (True, ["grace"])
    assert (shown["title"], shown["body"], shown["state"]) == (
        "Totals are wrong",
        "By one.",
        "open",
    )
    assert [(one["id"], one["body"]) for one in shown["comments"]] == [(said["id"], "Looking.")]
    assert shown["next_page"] is None
    assert shown["is_pull_request"] is False


async def test_a_pull_request_can_be_commented_on(hub: World, github: GitHubFake) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    said = await hub.call("add_issue_comment", issue_number=1, body="Nice.")
    there = github.ask("GET", f"/repos/{hub.repository}/issues/1/comments")

    assert (said["issue_number"], said["created"]) == (1, True)
    assert [one["body"] for one in there] == ["Nice."]


async def test_a_key_keeps_a_second_call_from_making_a_second_thing(
    hub: World, github: GitHubFake
) -> None:
    issues = [
        await hub.call("create_issue", title="Totals", body="b", idempotency_key="run-7")
        for _ in range(2)
    ]
    other = await hub.call("create_issue", title="Totals", body="b", idempotency_key="run-8")
    comments = [
        await hub.call("add_issue_comment", issue_number=1, body="c", idempotency_key="run-7")
        for _ in range(2)
    ]

    assert [issue["created"] for issue in issues] == [True, False]
    assert issues[0]["number"] == issues[1]["number"] != other["number"]
    assert [comment["created"] for comment in comments] == [True, False]
    assert comments[0]["id"] == comments[1]["id"]
    assert len(github.ask("GET", f"/repos/{hub.repository}/issues/1/comments")) == 1


async def test_two_calls_at_once_with_the_same_key_make_one_thing(hub: World) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(
                partial(hub.call, "create_issue", title="Totals", idempotency_key="run-7")
            )

    assert len((await hub.call("list_issues"))["issues"]) == 1
    assert len(hub.web.requests("POST")) == 1


async def test_issues_are_listed_in_pages_without_pull_requests(hub: World) -> None:
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    for number in range(3):
        await hub.call("create_issue", title=f"Issue {number}", body="x " * 500)
    first = await hub.call("list_issues", per_page=2)
    second = await hub.call("list_issues", per_page=2, page=first["next_page"])

    assert [one["title"] for one in first["issues"]] == ["Issue 2", "Issue 1"]
    assert [one["title"] for one in second["issues"]] == ["Issue 0"]
    assert (first["next_page"], second["next_page"]) == (2, None)
    assert len(first["issues"][0]["excerpt"]) == 300


async def test_issues_are_filtered(hub: World) -> None:
    await hub.call("create_issue", title="Hers", assignees=["grace"])
    await hub.call("create_issue", title="Nobody's")

    hers = await hub.call("list_issues", assignee="grace")
    closed = await hub.call("list_issues", state="closed")

    assert [one["title"] for one in hers["issues"]] == ["Hers"]
    assert closed["issues"] == []


async def test_a_repository_is_shown(hub: World) -> None:
    shown = await hub.call("get_repository")

    assert shown["full_name"] == hub.repository
    assert (shown["default_branch"], shown["may_push"]) == ("main", True)
    assert shown["merge_methods"] == ["merge", "squash", "rebase"]


async def test_code_is_searched_in_the_repository_unless_the_query_says_where(
    hub: World, github: GitHubFake
) -> None:
    github.put_file(hub.repository, "main", "zebra.py", "stripes = 42\n")

    here = await hub.call("search_code", query="stripes")
    there = await hub.call("search_code", query="stripes user:ada")

    assert [(one["repository"], one["path"]) for one in here["items"]] == [
        (hub.repository, "zebra.py")
    ]
    assert f"searched in {hub.repository} only" in here["notes"][0]
    assert there["total_count"] >= 1
    assert there["notes"] == []


async def test_every_result_fits_its_output_schema(hub: World) -> None:
    given = {str(tool["name"]): tool["outputSchema"] for tool in hub.server.tools()}
    calls: list[tuple[str, dict[str, object]]] = [
        ("create_pull_request", {"title": "t", "head": "topic", "base": "main"}),
        ("get_pull_request", {"pull_number": 1, "include": ["commits", "files", "checks"]}),
        ("update_pull_request", {"pull_number": 1, "review": {"event": "COMMENT", "body": "b"}}),
        ("get_pull_request", {"pull_number": 1, "include": ["reviews"]}),
        ("merge_pull_request", {"pull_number": 1}),
        ("get_pull_request", {"pull_number": 1}),
        ("create_issue", {"title": "t"}),
        ("add_issue_comment", {"issue_number": 2, "body": "b"}),
        ("get_issue", {"issue_number": 2, "comments": True}),
        ("get_issue", {"issue_number": 2}),
        ("list_issues", {}),
        ("get_repository", {}),
        ("search_code", {"query": "total"}),
    ]
    assert {name for name, _ in calls} == set(given)
    for name, arguments in calls:
        result = await hub.call(name, **arguments)
        jsonschema_rs.validator_for(cast("dict[str, object]", given[name])).validate(result)
