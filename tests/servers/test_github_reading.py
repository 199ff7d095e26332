"""What the GitHub tools make of GitHub's answers where the fake has none of the kind."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
from tests.servers.github_worlds import open_world

from remit.testing.faulty_web import Fault, Seen, as_json

PULL: Mapping[str, Any] = {
    "number": 7,
    "title": "Totals",
    "state": "open",
    "merged": False,
    "draft": False,
    "user": None,
    "body": None,
    "head": {"label": "ada:topic", "ref": "topic", "sha": "a" * 40},
    "base": {"ref": "main"},
    "mergeable": None,
    "mergeable_state": "unknown",
    "merge_commit_sha": "b" * 40,
    "labels": [{"name": "bug"}, "old"],
    "requested_teams": [{"slug": "core"}],
    "html_url": "https://github.test/ada/orders/pull/7",
}


def answering(answers: Mapping[str, Fault | Callable[[Seen], Fault]]) -> Callable[[Seen], Fault]:
    """Answer by method and path, the longest that fits first."""

    def script(seen: Seen) -> Fault:
        asked = f"{seen.method} {seen.target}"
        for start in sorted(answers, key=len, reverse=True):
            if asked.startswith(start):
                answer = answers[start]
                return answer if isinstance(answer, Fault) else answer(seen)
        raise AssertionError(f"nothing is told of {asked}")

    return script


def pull_and(diff: Fault) -> Callable[[Seen], Fault]:
    def script(seen: Seen) -> Fault:
        return diff if "diff" in seen.headers["accept"] else as_json(PULL)

    return script


async def test_what_github_leaves_out_is_null_or_empty() -> None:
    async with open_world(script=lambda _: as_json(PULL)) as world:
        shown = await world.call("get_pull_request", pull_number=7)

    assert (shown["author"], shown["body"], shown["mergeable"]) == (None, "", None)
    assert shown["merge_commit"] is None, "a commit that GitHub only tried out is no merge"
    assert shown["labels"] == ["bug", "old"]
    assert shown["requested_reviewers"] == ["core"]


async def test_a_long_text_is_cut_with_a_note_that_says_how_to_get_more() -> None:
    async with open_world(script=lambda _: as_json({**PULL, "body": "x" * 12_000})) as world:
        cut = await world.call("get_pull_request", pull_number=7)
        whole = await world.call("get_pull_request", pull_number=7, max_chars=20_000)

    assert cut["body"] == "x" * 10_000 + "…"
    assert cut["notes"] == [
        "body is cut after 10000 of 12000 characters; a greater max_chars gives more"
    ]
    assert (len(whole["body"]), whole["notes"]) == (12_000, [])


async def test_a_diff_is_read_in_pieces() -> None:
    diff = "".join(f"{number:09}\n" for number in range(25))
    async with open_world(script=pull_and(Fault(status=200, body=diff.encode()))) as world:
        parts, begin, notes = list[str](), 0, list[str]()
        while begin < len(diff):
            shown = await world.call(
                "get_pull_request", pull_number=7, include=["diff"], max_chars=100, diff_from=begin
            )
            parts.append(shown["diff"].removesuffix("…"))
            begin, notes = begin + len(parts[-1]), shown["notes"]

    assert "".join(parts) == diff
    assert len(parts) == 3
    assert notes == ["the diff begins at its character 200 of 250"]


async def test_a_diff_that_github_does_not_make_is_noted() -> None:
    large = as_json({"message": "Sorry, the diff exceeded the maximum number of lines"}, 406)
    async with open_world(script=pull_and(large)) as world:
        shown = await world.call("get_pull_request", pull_number=7, include=["diff"])
    async with open_world(script=lambda _: as_json(PULL)) as world:
        other = await world.refused("get_pull_request", pull_number=7, include=["diff"])

    assert shown["diff"] == ""
    assert "exceeded the maximum number of lines; include files instead" in shown["notes"][0]
    assert "GitHub sent no diff" in other


async def test_files_come_in_pages() -> None:
    renamed = {
        "filename": "b.py",
        "previous_filename": "a.py",
        "status": "renamed",
        "additions": 1,
        "deletions": 2,
    }
    link = '<https://api.github.test/x?page=3>; rel="next", <https://x?page=9>; rel="last"'
    script = answering(
        {
            "GET /repos/ada/orders/pulls/7": as_json(PULL),
            "GET /repos/ada/orders/pulls/7/files?page=2&per_page=50": as_json([renamed], Link=link),
        }
    )
    async with open_world(script=script) as world:
        shown = await world.call("get_pull_request", pull_number=7, include=["files"], page=2)

    assert shown["files"] == [
        {"path": "b.py", "previous_path": "a.py", "status": "renamed", "additions": 1}
        | {"deletions": 2}
    ]
    assert shown["next_page"] == 3


async def test_checks_and_older_statuses_are_told_in_the_same_words() -> None:
    run = {"name": "tests", "status": "in_progress", "conclusion": None, "html_url": "https://x"}
    statuses = [
        {"context": "ci/lint", "state": "failure", "target_url": None},
        {"context": "ci/slow", "state": "pending", "target_url": "https://y"},
    ]
    commit = f"GET /repos/ada/orders/commits/{'a' * 40}"
    script = answering(
        {
            "GET /repos/ada/orders/pulls/7": as_json(PULL),
            f"{commit}/check-runs": as_json({"check_runs": [run]}),
            f"{commit}/status": as_json({"statuses": statuses}),
        }
    )
    async with open_world(script=script) as world:
        shown = await world.call("get_pull_request", pull_number=7, include=["checks"])

    assert [(one["name"], one["status"], one["conclusion"]) for one in shown["checks"]] == [
        ("tests", "in_progress", None),
        ("ci/lint", "completed", "failure"),
        ("ci/slow", "pending", None),
    ]


async def test_a_repository_that_was_renamed_is_found_and_called_by_its_new_name() -> None:
    script = answering(
        {
            "GET /repos/ada/orders": Fault(status=301, headers={"Location": "/repositories/1"}),
            "GET /repositories/1": as_json({"full_name": "ada/invoices", "private": True}),
        }
    )
    async with open_world(script=script) as world:
        shown = await world.call("get_repository")

    assert shown["full_name"] == "ada/invoices"
    assert shown["notes"] == ["ada/orders was renamed: call it ada/invoices"]
    assert (shown["visibility"], shown["merge_methods"]) == ("private", [])


async def test_pull_requests_among_issues_are_left_out_and_counted() -> None:
    issue: dict[str, object] = {"number": 1, "title": "Wrong", "state": "open"}
    pull = {**issue, "pull_request": {"url": "https://x"}}
    script = answering({"GET /": as_json([pull, issue])})
    async with open_world(script=script) as world:
        listed = await world.call("list_issues")

    assert [one["number"] for one in listed["issues"]] == [1]
    assert listed["notes"] == ["1 pull requests on this page are left out"]


async def test_a_search_shows_what_was_found_around_it_and_whether_it_is_all() -> None:
    found = {
        "repository": {"full_name": "ada/orders"},
        "path": "a.py",
        "sha": "c" * 40,
        "html_url": "https://x",
        "text_matches": [{"fragment": f"line {number}\n"} for number in range(5)],
    }
    answer = {"total_count": 1, "incomplete_results": True, "items": [found]}
    async with open_world(script=lambda _: as_json(answer)) as world:
        shown = await world.call("search_code", query="line org:ada")
        beyond = await world.refused("search_code", query="line", page=35)

    assert shown["items"][0]["fragments"] == ["line 0", "line 1", "line 2"]
    assert shown["notes"] == ["GitHub ran out of time and shows a part; narrow the query"]
    assert "first 1000 finds only" in beyond
    assert world.web.seen[0].headers["accept"].endswith("text-match+json")
    assert len(world.web.seen) == 1


async def test_labels_that_github_drops_without_a_word_are_told() -> None:
    made = as_json({"number": 1, "title": "t", "state": "open", "labels": []}, 201)
    async with open_world(script=lambda _: made) as world:
        shown = await world.call("create_issue", title="t", labels=["bug"])

    assert shown["notes"] == ["GitHub did not take these labels: bug"]


async def test_an_older_issue_of_the_same_words_is_not_taken_for_one_whose_answer_got_lost() -> (
    None
):
    for age, is_taken in ((timedelta(seconds=5), True), (timedelta(hours=1), False)):
        there = {
            "number": 3,
            "title": "Totals",
            "body": None,
            "state": "open",
            "created_at": (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        script = answering({"POST /": Fault(way="cut"), "GET /": as_json([there])})
        async with open_world(script=script) as world:
            if is_taken:
                assert (await world.call("create_issue", title="Totals"))["number"] == 3
            else:
                assert "it was not there" in await world.refused("create_issue", title="Totals")


async def test_a_pull_request_that_somebody_else_opens_in_between_is_returned() -> None:
    lists = iter([as_json([]), as_json([PULL])])
    said = as_json(
        {
            "message": "Validation Failed",
            "errors": [{"message": "A pull request already exists for ada:topic."}],
        },
        422,
    )
    script = answering(
        {
            "POST /repos/ada/orders/pulls": said,
            "GET /repos/ada/orders/pulls?state=open&head=ada%3Atopic": lambda _: next(lists),
            "GET /repos/ada/orders/pulls/7": as_json(PULL),
        }
    )
    async with open_world(script=script) as world:
        shown = await world.call("create_pull_request", title="t", head="topic", base="main")

    assert (shown["number"], shown["created"]) == (7, False)


async def test_a_branch_of_a_fork_is_looked_for_under_its_own_owner() -> None:
    hers = {**PULL, "head": {"label": "grace:topic", "ref": "topic", "sha": "a" * 40}}
    script = answering(
        {
            "GET /repos/ada/orders/pulls?state=open&head=grace%3Atopic": as_json([hers]),
            "GET /repos/ada/orders/pulls/7": as_json(hers),
        }
    )
    async with open_world(script=script) as world:
        shown = await world.call("create_pull_request", title="t", head="grace:topic", base="main")

    assert (shown["number"], shown["created"]) == (7, False)


async def test_a_pull_request_with_conflicts_says_so_when_it_is_merged() -> None:
    script = answering(
        {
            "PUT /": as_json({"message": "Pull Request is not mergeable"}, 405),
            "GET /": as_json({**PULL, "mergeable": False, "mergeable_state": "dirty"}),
        }
    )
    async with open_world(script=script) as world:
        said = await world.refused("merge_pull_request", pull_number=7)

    assert said.endswith("Pull Request is not mergeable; it has conflicts with its base")


async def test_what_is_read_again_is_asked_for_by_its_tag() -> None:
    def script(seen: Seen) -> Fault:
        if seen.headers.get("if-none-match") == 'W/"1"':
            return Fault(status=304)
        return as_json(PULL, ETag='W/"1"')

    async with open_world(script=script) as world:
        first = await world.call("get_pull_request", pull_number=7)
        second = await world.call("get_pull_request", pull_number=7)

    assert first == second
    assert [seen.headers.get("if-none-match") for seen in world.web.seen] == [None, 'W/"1"']


async def test_the_key_of_a_comment_is_found_behind_many_others() -> None:
    def script(seen: Seen) -> Fault:
        if "page=2" in seen.target:
            return as_json([{"id": 9, "body": "c\n\n<!-- remit-key: k -->"}])
        return as_json([{"id": 1, "body": "c"}], Link='<https://x?page=2>; rel="next"')

    async with open_world(script=script) as world:
        said = await world.call("add_issue_comment", issue_number=7, body="c", idempotency_key="k")

    assert (said["id"], said["created"]) == (9, False)
    assert {seen.method for seen in world.web.seen} == {"GET"}


async def test_a_change_that_does_not_get_its_turn_says_that_nothing_was_done() -> None:
    async with open_world(script=lambda _: as_json([]), time_limit=8.0) as world:
        world.web.fail(Fault(way="stall", status=201), method="POST", times=9)
        said = list[str]()

        async def create() -> None:
            said.append(await world.refused("create_issue", title="t"))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(create)

    assert sum("nothing was done: other changes are still under way" in one for one in said) >= 1
    assert sum("it was not there" in one for one in said) >= 1
