"""git_branch and git_checkout (S0.3)."""

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer

NO_NAMES = ["a b", "a..b", "a:b", "+main", "@{-1}", "HEAD", "a.lock", "/a", "a~1"]


async def test_branches_are_listed_by_scope(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    project.git("branch", "topic/one")
    project.git("remote", "set-head", "origin", "main")
    assert origin.head() == project.head()

    async def names(**arguments: object) -> list[str]:
        listing = await done(server, "git_branch", **arguments)
        return [branch["name"] for branch in listing["branches"]]

    assert await names() == await names(scope="local") == ["main", "topic/one"]
    assert await names(scope="remote") == ["origin/main"]
    assert await names(scope="all") == ["main", "topic/one", "origin/main"]


async def test_a_listed_branch_says_whether_it_is_current_and_what_it_follows(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()

    listing = await done(server, "git_branch")

    assert listing["current"] == "main"
    assert listing["created"] is None
    assert listing["branches"] == [
        {
            "name": "main",
            "commit": project.head(),
            "remote": False,
            "current": True,
            "upstream": "origin/main",
            "subject": "First",
        }
    ]


async def test_a_name_creates_a_branch_without_switching_to_it(
    project: Checkout, server: GitServer
) -> None:
    first = project.head()
    second = project.commit("two.txt", "2")

    at_head = await done(server, "git_branch", branch_name="here")
    at_base = await done(server, "git_branch", branch_name="there", base="main~1")

    assert at_head["created"] == {"name": "here", "commit": second}
    assert at_base["created"] == {"name": "there", "commit": first}
    assert at_head["current"] == "main"
    assert [branch["name"] for branch in at_base["branches"]] == ["there"]
    assert project.git("rev-parse", "here", "there").split() == [second, first]


async def test_a_branch_is_not_created_over_another_nor_from_nothing(
    project: Checkout, server: GitServer
) -> None:
    before = project.state()

    assert "already exists" in await refused(server, "git_branch", branch_name="main")
    text = await refused(server, "git_branch", branch_name="new", base="nowhere")
    assert "is no commit here" in text
    assert "branch_name too" in await refused(server, "git_branch", base="main")
    assert project.state() == before


async def test_before_the_first_commit_a_branch_can_only_be_checked_out(
    empty: Checkout, server: GitServer
) -> None:
    assert "git_checkout with create" in await refused(server, "git_branch", branch_name="new")

    checkout = await done(server, "git_checkout", branch_name="new", create=True)

    assert checkout == {"branch": "new", "previous": "main", "commit": None, "created": True}
    assert empty.git("symbolic-ref", "--short", "HEAD") == "new\n"


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize(
    ("tool", "others"),
    [
        ("git_branch", {}),
        ("git_checkout", {}),
        ("git_checkout", {"create": True}),
        ("git_merge", {}),
    ],
)
async def test_what_is_no_branch_name_is_refused(
    project: Checkout, server: GitServer, tool: str, others: dict[str, object], name: str
) -> None:
    project.git("switch", "--quiet", "--create", "other")
    before = project.state()

    assert "not a valid branch name" in await refused(server, tool, branch_name=name, **others)
    assert project.state() == before


async def test_checkout_switches_to_a_branch(project: Checkout, server: GitServer) -> None:
    project.git("branch", "topic")

    checkout = await done(server, "git_checkout", branch_name="topic")

    assert checkout["previous"] == "main"
    assert project.git("symbolic-ref", "--short", "HEAD") == "topic\n"


async def test_checkout_creates_a_branch_on_request_only(
    project: Checkout, server: GitServer
) -> None:
    before = project.state()

    assert "set create" in await refused(server, "git_checkout", branch_name="new")
    assert project.state() == before
    assert (await done(server, "git_checkout", branch_name="new", create=True))["created"]
    assert "already exists" in await refused(
        server, "git_checkout", branch_name="main", create=True
    )
    assert project.git("symbolic-ref", "--short", "HEAD") == "new\n"


async def test_checkout_of_a_remote_branch_makes_one_that_follows_it(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    origin.git("branch", "theirs", "main")
    project.git("fetch", "--quiet")

    await done(server, "git_checkout", branch_name="theirs")

    assert project.git("rev-parse", "--abbrev-ref", "theirs@{upstream}") == "origin/theirs\n"


async def test_checkout_never_takes_a_file_for_a_branch(
    project: Checkout, server: GitServer
) -> None:
    project.write("readme.txt", "precious\n")

    await refused(server, "git_checkout", branch_name="readme.txt")

    assert (project.path / "readme.txt").read_text() == "precious\n"


@pytest.mark.parametrize("ignored", [False, True])
async def test_checkout_loses_no_local_change_not_even_to_an_ignored_file(
    project: Checkout, server: GitServer, ignored: bool
) -> None:
    project.git("switch", "--quiet", "--create", "topic")
    project.commit("readme.txt", "topic\n")
    project.commit("build.log", "topic\n")
    project.git("switch", "--quiet", "main")
    if ignored:
        project.write(".git/info/exclude", "build.log\n")
        project.write("build.log", "precious\n")
    else:
        project.write("readme.txt", "precious\n")
    before = project.state()

    text = await refused(server, "git_checkout", branch_name="topic")

    assert "nothing changed" in text
    assert ("build.log" if ignored else "readme.txt") in text
    assert project.state() == before


async def test_a_failing_post_checkout_hook_is_reported_with_where_things_stand(
    project: Checkout, server: GitServer
) -> None:
    project.git("branch", "topic")
    project.hook("post-checkout", "echo 'no database' >&2; exit 1")

    text = await refused(server, "git_checkout", branch_name="topic")

    assert "now on 'topic'" in text
    assert "no database" in text
