"""git_pull (S0.3): bring a remote branch in, or leave everything as it was."""

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer

STRATEGIES = ["ff-only", "merge", "rebase"]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_pull_goes_forward_where_it_can(
    project: Checkout, colleague: Checkout, server: GitServer, strategy: str
) -> None:
    before = project.head()
    theirs = _theirs(colleague, "theirs.txt")

    pull = await done(server, "git_pull", strategy=strategy)

    assert pull == {
        "remote": "origin",
        "branch": "main",
        "into": "main",
        "strategy": strategy,
        "result": "fast-forward",
        "before": before,
        "commit": theirs,
    }
    assert (project.path / "theirs.txt").exists()
    assert project.git("rev-parse", "origin/main").strip() == theirs
    again = await done(server, "git_pull", strategy=strategy)
    assert again["result"] == "up-to-date"


async def test_diverged_branches_are_refused_unless_a_strategy_is_chosen(
    project: Checkout, colleague: Checkout, server: GitServer
) -> None:
    _theirs(colleague, "theirs.txt")
    project.commit("ours.txt", "1")
    before = project.state()

    text = await refused(server, "git_pull")

    assert "diverged" in text
    assert "another strategy" in text
    assert project.state() == before


async def test_a_pull_can_merge(project: Checkout, colleague: Checkout, server: GitServer) -> None:
    theirs = _theirs(colleague, "theirs.txt")
    ours = project.commit("ours.txt", "1")

    pull = await done(server, "git_pull", strategy="merge")

    assert pull["result"] == "merged"
    assert project.git("log", "-1", "--format=%P").split() == [ours, theirs]
    assert project.git("log", "-1", "--format=%s") == "Merge branch 'main' of origin\n"


async def test_a_pull_can_rebase(project: Checkout, colleague: Checkout, server: GitServer) -> None:
    theirs = _theirs(colleague, "theirs.txt")
    project.commit("ours.txt", "1")

    pull = await done(server, "git_pull", strategy="rebase")

    assert pull["result"] == "rebased"
    assert project.git("log", "-1", "--format=%P").strip() == theirs
    assert pull["into"] == "main"


@pytest.mark.parametrize("strategy", ["merge", "rebase"])
async def test_a_conflict_is_named_and_leaves_everything_as_it_was(
    project: Checkout, colleague: Checkout, server: GitServer, strategy: str
) -> None:
    colleague.write("other näme.txt", "theirs\n")
    colleague.git("add", ".")
    _theirs(colleague, "readme.txt")
    project.commit("readme.txt", "ours\n")
    project.commit("other näme.txt", "ours\n")
    project.write("untracked.txt", "mine\n")
    if strategy == "merge":  # a rebase needs a clean tree anyway
        project.commit("third.txt", "1")
        project.write("third.txt", "unstaged\n")
    before = project.state()

    text = await refused(server, "git_pull", strategy=strategy)

    assert "conflict in" in text
    assert "readme.txt" in text
    assert project.state() == before


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_local_changes_in_the_way_are_not_overwritten(
    project: Checkout, colleague: Checkout, server: GitServer, strategy: str
) -> None:
    _theirs(colleague, "readme.txt")
    project.write("readme.txt", "precious\n")
    before = project.state()

    text = await refused(server, "git_pull", strategy=strategy)

    assert "readme.txt" in text or "unstaged changes" in text
    assert project.state() == before


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ignored", ["", "new.txt\n"])
async def test_an_untracked_file_in_the_way_is_not_overwritten(
    project: Checkout, colleague: Checkout, server: GitServer, strategy: str, ignored: str
) -> None:
    _theirs(colleague, "new.txt")
    if strategy != "ff-only":
        project.commit("ours.txt", "1")
    project.write(".git/info/exclude", ignored)
    project.write("new.txt", "precious\n")
    before = project.state()

    assert "new.txt" in await refused(server, "git_pull", strategy=strategy)
    assert project.state() == before


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_staged_changes_are_to_be_committed_first(
    project: Checkout, colleague: Checkout, server: GitServer, strategy: str
) -> None:
    _theirs(colleague, "theirs.txt")
    project.write("staged.txt", "1")
    project.git("add", "staged.txt")
    before = project.state()

    assert "git_commit them first" in await refused(server, "git_pull", strategy=strategy)
    assert project.state() == before


async def test_a_pull_into_an_empty_repository_fills_it(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    head = project.head()
    project.git("update-ref", "-d", "HEAD")
    project.git("rm", "--quiet", "--cached", "-r", ".")
    (project.path / "readme.txt").unlink()
    assert origin.head() == head

    pull = await done(server, "git_pull", strategy="rebase")

    assert (pull["before"], pull["commit"]) == (None, head)
    assert project.git("status", "--porcelain") == ""


async def test_the_branch_defaults_to_the_upstream_of_the_current_one(
    project: Checkout, colleague: Checkout, server: GitServer
) -> None:
    theirs = _theirs(colleague, "theirs.txt")
    project.git("switch", "--quiet", "--create", "topic", "--track", "origin/main")

    pull = await done(server, "git_pull")

    assert (pull["branch"], pull["into"], pull["commit"]) == ("main", "topic", theirs)


async def test_an_upstream_at_another_remote_is_not_mistaken_for_this_one(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    project.git("remote", "add", "fork", str(origin.path))
    project.git("switch", "--quiet", "--create", "topic", "--track", "origin/main")

    text = await refused(server, "git_pull", remote="fork")

    assert "refs/heads/topic" in text


async def test_a_branch_that_the_remote_lacks_is_reported(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    before = project.state()

    assert "couldn't find remote ref" in await refused(server, "git_pull", branch="nowhere")
    assert project.state() == before
    project.git("switch", "--quiet", "--detach")
    assert "HEAD is detached" in await refused(server, "git_pull")
    assert (await done(server, "git_pull", branch="main"))["commit"] == origin.head()


async def test_a_mirrors_refspec_overwrites_no_local_branch(
    project: Checkout, colleague: Checkout, server: GitServer
) -> None:
    theirs = _theirs(colleague, "theirs.txt")
    project.git("switch", "--quiet", "--create", "topic")
    project.git("branch", "--force", "main", "HEAD")
    ours = project.git("rev-parse", "main").strip()
    project.git("config", "remote.origin.fetch", "+refs/heads/*:refs/heads/*")

    pull = await done(server, "git_pull", branch="main")

    assert pull["commit"] == theirs
    assert project.git("rev-parse", "main").strip() == ours


def _theirs(colleague: Checkout, name: str) -> str:
    head = colleague.commit(name, "theirs\n")
    colleague.git("push", "--quiet")
    return head
