"""GitHub when things go wrong at HTTP level, through the tools (issue 6, must show 4; R23)."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import pytest
from tests.servers.github_worlds import World, open_world

from remit.testing.faulty_web import Fault, as_json
from remit.testing.github_fake import GitHubFake


@dataclass(frozen=True, kw_only=True)
class Deed:
    """A call that makes something, and where to count what it made.

    Attributes:
        method: Of the request that makes it.
        part: Of its target.
        counted: Path below the repository of the list that it adds to.
        adds: How much.
    """

    tool: str
    arguments: Mapping[str, object]
    method: str
    part: str
    counted: str
    adds: int = 1


DEEDS = [
    Deed(
        tool="create_pull_request",
        arguments={"title": "Other", "head": "other", "base": "main"},
        method="POST",
        part="/pulls",
        counted="pulls?state=all",
    ),
    Deed(
        tool="update_pull_request",
        arguments={"pull_number": 1, "review": {"event": "COMMENT", "body": "Fine"}},
        method="POST",
        part="/reviews",
        counted="pulls/1/reviews",
    ),
    Deed(
        tool="merge_pull_request",
        arguments={"pull_number": 1},
        method="PUT",
        part="/merge",
        counted="commits?sha=main",
        adds=2,  # the topic's commit and the merge
    ),
    Deed(
        tool="create_issue",
        arguments={"title": "Totals", "body": "are wrong"},
        method="POST",
        part="/issues",
        counted="issues?state=all",
    ),
    Deed(
        tool="add_issue_comment",
        arguments={"issue_number": 1, "body": "Looking"},
        method="POST",
        part="/comments",
        counted="issues/1/comments",
    ),
]

READS: list[tuple[str, Mapping[str, object], str]] = [
    ("get_pull_request", {"pull_number": 1}, "/pulls/1"),
    ("get_issue", {"issue_number": 2}, "/issues/2"),
    ("list_issues", {}, "/issues"),
    ("get_repository", {}, "/repos/"),
    ("search_code", {"query": "total"}, "/search/code"),
]

PASSING = {
    "500": as_json({"message": "Server Error"}, 500),
    "502 in HTML": Fault(status=502, body=b"<html><title>Unicorn!</title></html>"),
    "503": as_json({"message": "Maintenance"}, 503),
    "cut": Fault(way="cut"),
    "cut body": Fault(way="cut-body", status=200, body=b'{"number":'),
}

DEFINITE = {
    "401": (as_json({"message": "Bad credentials"}, 401), "Bad credentials; GITHUB_TOKEN is wrong"),
    "403": (
        as_json({"message": "Resource not accessible"}, 403, X_Accepted_OAuth_Scopes="repo"),
        "Resource not accessible; the token needs the scope repo, and has none",
    ),
    "404": (as_json({"message": "Not Found"}, 404), "or the token may not see it"),
    "409": (as_json({"message": "Head was modified"}, 409), "Head was modified; read it again"),
    "410": (as_json({"message": "Issues are disabled"}, 410), "it is switched off"),
    "422": (
        as_json({"message": "Validation Failed", "errors": ["No commits between a and b"]}, 422),
        "Validation Failed; No commits between a and b; correct what it names",
    ),
}

LIMITS = {
    "primary": (
        as_json(
            {"message": "API rate limit exceeded"},
            403,
            X_RateLimit_Remaining="0",
            X_RateLimit_Reset="1900000600",
        ),
        600,
    ),
    "secondary": (
        as_json({"message": "You have exceeded a secondary rate limit"}, 403),
        60,
    ),
    "429": (as_json({"message": "Too many requests"}, 429, Retry_After="90"), 90),
}


@pytest.fixture
async def opened(hub: World) -> World:
    """A pull request, number 1, and an issue, number 2."""
    await hub.call("create_pull_request", title="Totals", head="topic", base="main")
    await hub.call("create_issue", title="Wrong", body="by one")
    hub.web.seen.clear()
    return hub


def count(github: GitHubFake, world: World, deed: Deed) -> int:
    return len(github.ask("GET", f"/repos/{world.repository}/{deed.counted}"))


@pytest.mark.parametrize(("tool", "arguments", "part"), READS, ids=[one[0] for one in READS])
async def test_a_read_is_made_three_times_at_most_and_then_explained(
    opened: World, tool: str, arguments: Mapping[str, object], part: str
) -> None:
    for name, fault in PASSING.items():
        opened.clock.pauses.clear()
        opened.web.fail(fault, method="GET", part=part, times=2)
        await opened.call(tool, **arguments)
        assert opened.clock.pauses == [1.0, 1.0], name

        opened.web.seen.clear()
        opened.web.fail(fault, method="GET", part=part, times=3)
        said = await opened.refused(tool, **arguments)
        assert "attempted 3 times" in said, name
        assert "unknown" not in said, name
        assert len(opened.web.seen) == 3, name


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.tool)
async def test_a_deed_whose_answer_is_bad_is_done_once_and_looked_for(
    opened: World, github: GitHubFake, deed: Deed
) -> None:
    before = count(github, opened, deed)
    for name, fault in PASSING.items():
        opened.web.seen.clear()
        opened.web.fail(fault, method=deed.method, part=deed.part)

        said = await opened.refused(deed.tool, **deed.arguments)

        assert "(when looked at right after, it was not there)" in said, name
        assert "whether it was done is unknown, so look before you try again" in said, name
        assert len(opened.web.requests(deed.method, deed.part)) == 1, name
        assert count(github, opened, deed) == before, name


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.tool)
async def test_a_deed_that_was_done_but_whose_answer_got_lost_is_found_and_not_done_again(
    opened: World, github: GitHubFake, deed: Deed
) -> None:
    before = count(github, opened, deed)
    opened.web.fail(Fault(way="lost"), method=deed.method, part=deed.part)

    result = await opened.call(deed.tool, **deed.arguments)

    assert result["notes"] == [
        "the connection broke before GitHub's answer came, but it is there now"
    ]
    assert result.get("created", True) is True
    assert len(opened.web.requests(deed.method, deed.part)) == 1
    assert count(github, opened, deed) == before + deed.adds


async def test_a_change_of_fields_is_made_again_since_a_second_time_changes_nothing_more(
    opened: World,
) -> None:
    opened.web.fail(Fault(way="lost"), method="PATCH")
    changed = await opened.call("update_pull_request", pull_number=1, title="New")

    assert changed["title"] == "New"
    assert len(opened.web.requests("PATCH")) == 2


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.tool)
async def test_a_refusal_is_final_and_passed_on(
    opened: World, github: GitHubFake, deed: Deed
) -> None:
    before = count(github, opened, deed)
    for name, (fault, words) in DEFINITE.items():
        opened.web.seen.clear()
        opened.web.fail(fault, method=deed.method, part=deed.part)

        said = await opened.refused(deed.tool, **deed.arguments)

        assert words in said, name
        assert "unknown" not in said, name
        assert len(opened.web.requests(deed.method, deed.part)) == 1, name
        assert count(github, opened, deed) == before, name


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.tool)
async def test_a_rate_limit_is_told_with_its_end_and_nobody_is_asked_before(
    opened: World, github: GitHubFake, deed: Deed
) -> None:
    before = count(github, opened, deed)
    for name, (limit, wait) in LIMITS.items():
        opened.web.fail(limit, method=deed.method, part=deed.part)

        said = await opened.refused(deed.tool, **deed.arguments)
        asked = len(opened.web.seen)
        again = await opened.refused(deed.tool, **deed.arguments)

        assert f"try again in {wait} s; a rate limit is no reason to give up" in said, name
        assert f"is used up, so it was not asked; try again in {wait} s" in again, name
        assert len(opened.web.seen) == asked, name
        assert count(github, opened, deed) == before, name
        opened.clock.now += wait + 1
    await opened.call(deed.tool, **deed.arguments)
    assert count(github, opened, deed) == before + deed.adds


async def test_a_short_limit_is_waited_for_by_what_only_reads(opened: World) -> None:
    opened.web.fail(as_json({}, 429, Retry_After="3"), part="/issues")
    await opened.call("list_issues")

    assert opened.clock.pauses == [3.0]


async def test_the_limit_of_the_search_stops_nothing_else(opened: World) -> None:
    opened.web.fail(as_json({}, 429, Retry_After="300"), part="/search/code")
    assert "try again in 300 s" in await opened.refused("search_code", query="x")

    await opened.call("get_repository")


@pytest.mark.parametrize("tool", ["get_repository", "create_issue"])
async def test_a_web_page_instead_of_json_is_named_as_such(opened: World, tool: str) -> None:
    page = Fault(
        status=200,
        headers={"Content-Type": "text/html; charset=utf-8"},
        body=b"<!DOCTYPE html><title>Corporate log-in</title>",
    )
    opened.web.fail(page, method="POST" if tool == "create_issue" else "GET")
    arguments = {"title": "t"} if tool == "create_issue" else {}

    said = await opened.refused(tool, **arguments)

    assert "with a web page where JSON is expected: is GITHUB_API_URL right" in said
    assert "Corporate log-in" in said


async def test_an_error_of_github_is_told_with_the_name_that_its_support_asks_for(
    opened: World,
) -> None:
    opened.web.fail(as_json({}, 500, X_GitHub_Request_Id="AB:12:CD"), times=3)

    assert "GitHub knows it as request AB:12:CD" in await opened.refused("get_repository")


async def test_json_of_another_shape_is_named_as_such(opened: World) -> None:
    opened.web.fail(as_json(["not", "a", "repository"]))

    assert "JSON of another shape" in await opened.refused("get_repository")


async def test_missing_permissions_of_fine_grained_tokens_and_single_sign_on_are_told(
    opened: World,
) -> None:
    told = as_json(
        {"message": "Resource not accessible by personal access token"},
        403,
        X_Accepted_GitHub_Permissions="issues=write",
        X_GitHub_SSO="required; url=https://example.test/sso",
    )
    opened.web.fail(told)
    said = await opened.refused("get_repository")

    assert "needs the permission issues=write" in said
    assert "authorised for its single sign-on" in said


@pytest.mark.parametrize("deed", [DEEDS[0], DEEDS[3]], ids=lambda deed: deed.tool)
async def test_a_body_that_never_ends_ends_the_call_in_time_with_an_answer(
    github: GitHubFake, repository: str, deed: Deed
) -> None:
    async with open_world(repository=repository, behind=github.url, time_limit=7.0) as world:
        world.web.fail(Fault(way="stall", status=201), method="POST")
        with anyio.fail_after(60):
            said = await world.refused(deed.tool, **deed.arguments)

    assert "GitHub did not answer within" in said
    assert "it was not there" in said
    assert len(world.web.requests("POST")) == 1


async def test_a_call_that_takes_too_long_at_all_is_stopped(
    github: GitHubFake, repository: str
) -> None:
    async with open_world(repository=repository, behind=github.url, time_limit=1.0) as world:
        world.web.fail(Fault(way="stall", status=200), times=9)
        with anyio.fail_after(60):
            said = await world.refused("get_repository")

    assert "GitHub did not answer within" in said


@pytest.mark.parametrize("deed", DEEDS[1:], ids=lambda deed: deed.tool)
async def test_when_it_cannot_even_be_looked_for_that_is_what_is_said(
    opened: World, deed: Deed
) -> None:
    opened.web.fail(Fault(way="cut"), times=9)
    said = await opened.refused(deed.tool, **deed.arguments)

    assert "whether it was done is unknown, so look before you try again" in said
    assert "it was not there" not in said
    assert len(opened.web.requests(deed.method, deed.part)) == 1


async def test_a_part_that_fails_otherwise_than_by_permission_fails_the_call(opened: World) -> None:
    for part, failing in (("checks", "check-runs"), ("files", "files")):
        opened.web.fail(Fault(way="cut"), part=failing, times=3)
        said = await opened.refused("get_pull_request", pull_number=1, include=[part])
        assert "attempted 3 times" in said
