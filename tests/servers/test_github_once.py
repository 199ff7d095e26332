"""Nothing at GitHub is called done that is not, nor undone that may be (issue 6; R23)."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from tests.servers.github_worlds import open_world

from remit.testing.faulty_web import Fault, Seen, as_json

_UNKNOWN = "whether it was done is unknown, so look before you try again"

_MAKING: list[tuple[str, Mapping[str, object]]] = [
    ("create_pull_request", {"title": "t", "head": "topic", "base": "main"}),
    ("merge_pull_request", {"pull_number": 1}),
    ("create_issue", {"title": "t"}),
    ("add_issue_comment", {"issue_number": 1, "body": "b"}),
    ("update_pull_request", {"pull_number": 1, "review": {"event": "APPROVE"}}),
]
_PULL = {"number": 1, "state": "open", "merged": False}


@pytest.mark.parametrize(("tool", "arguments"), _MAKING, ids=[tool for tool, _ in _MAKING])
@pytest.mark.parametrize("data", [None, [], {}, "made", {"id": None, "merged": False, "number": 0}])
async def test_an_answer_that_does_not_name_what_was_made_leaves_it_unknown(
    tool: str, arguments: Mapping[str, object], data: object
) -> None:
    def script(seen: Seen) -> Fault:
        if seen.method == "GET":
            return as_json(_PULL if seen.target.endswith("/1") else [])
        return as_json(data, 200)

    async with open_world(script=script) as world:
        said = await world.refused(tool, **arguments)

    assert _UNKNOWN in said
    assert len([one for one in world.web.seen if one.method != "GET"]) == 1
    assert world.web.seen[-1].method == "GET"


@pytest.mark.parametrize(("tool", "arguments"), _MAKING, ids=[tool for tool, _ in _MAKING])
async def test_that_an_outcome_is_unknown_is_said_though_looking_goes_wrong(
    tool: str, arguments: Mapping[str, object]
) -> None:
    changed = False

    def script(seen: Seen) -> Fault:
        nonlocal changed
        changed = changed or seen.method != "GET"
        if seen.method != "GET":
            return Fault(way="cut")
        return as_json("strange") if changed else as_json([])

    async with open_world(script=script) as world:
        said = await world.refused(tool, **arguments)

    assert _UNKNOWN in said


@pytest.mark.parametrize("state", [None, "", "merged", 7])
async def test_a_state_that_github_does_not_have_is_no_result(state: object) -> None:
    answer = {"number": 1, "state": state}

    def script(seen: Seen) -> Fault:
        return as_json([answer] if "issues?" in seen.target else answer)

    async with open_world(script=script) as world:
        for tool, arguments in (
            ("get_pull_request", {"pull_number": 1}),
            ("get_issue", {"issue_number": 1}),
            ("list_issues", {}),
        ):
            assert "JSON of another shape" in await world.refused(tool, **arguments)


async def test_a_pull_request_of_other_branches_is_not_taken_for_the_one_asked_for() -> None:
    """GitHub drops a filter that it cannot read, and lists all that are open."""
    other = {
        **_PULL,
        "head": {"ref": "other", "label": "ada:other"},
        "base": {"ref": "main"},
    }
    made = {**_PULL, "number": 2, "head": {"ref": "topic", "label": "ada:topic"}}

    def script(seen: Seen) -> Fault:
        if seen.method == "POST":
            return as_json(made, 201)
        return as_json([other] if "pulls?" in seen.target else other)

    async with open_world(script=script) as world:
        pull = await world.call("create_pull_request", title="t", head="topic", base="main")

    assert (pull["number"], pull["created"]) == (2, True)


async def test_an_issue_is_found_after_a_lost_answer_though_github_trimmed_its_title() -> None:
    kept: list[dict[str, object]] = []

    def script(seen: Seen) -> Fault:
        if seen.method == "GET":
            return as_json(kept)
        sent = json.loads(seen.body)
        now = datetime.now(UTC).isoformat()
        body = sent["body"].strip()
        kept.append(
            {**sent, "title": sent["title"].strip(), "body": body, "number": 7, "state": "open",
             "created_at": now}
        )  # fmt: skip
        return Fault(way="cut")

    async with open_world(script=script) as world:
        issue = await world.call("create_issue", title=" Totals ", body="are wrong\r\n")

    assert issue["number"] == 7
    assert len(kept) == 1


async def test_a_review_whose_answer_was_lost_is_found_behind_a_hundred_others() -> None:
    def script(seen: Seen) -> Fault:
        if seen.method != "GET":
            return Fault(way="cut")
        if "/reviews" not in seen.target:
            return as_json(_PULL)
        if "page=2" not in seen.target:
            return as_json([{"id": 1}], Link='<https://x.test>; rel="next"')
        now = datetime.now(UTC).isoformat()
        return as_json([{"id": 101, "state": "APPROVED", "body": "", "submitted_at": now}])

    async with open_world(script=script) as world:
        done = await world.call("update_pull_request", pull_number=1, review={"event": "APPROVE"})

    assert done["review"]["id"] == 101
