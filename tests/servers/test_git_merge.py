"""git_merge (S0.3): a whole merge or none."""

from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer

STRATEGIES = ["merge", "ff-only", "squash"]


async def test_a_merge_goes_forward_where_it_can(project: Checkout, server: GitServer) -> None:
    before = project.head()
    theirs = _topic(project, "theirs.txt")

    merge = await done(server, "git_merge", branch_name="topic")

    assert merge == {
        "branch": "topic",
        "into": "main",
        "strategy": "merge",
        "result": "fast-forward",
        "before": before,
        "commit": theirs,
    }
    assert project.head() == theirs


async def test_a_merge_commits_where_branches_diverged(
    project: Checkout, server: GitServer
) -> None:
    theirs = _topic(project, "theirs.txt")
    ours = project.commit("ours.txt", "1")

    merge = await done(server, "git_merge", branch_name="topic")

    assert merge["result"] == "merged"
    assert project.git("log", "-1", "--format=%s %P") == f"Merge branch 'topic' {ours} {theirs}\n"


async def test_a_message_asks_for_a_merge_commit(project: Checkout, server: GitServer) -> None:
    _topic(project, "theirs.txt")

    merge = await done(server, "git_merge", branch_name="topic", message="Bring it\n\nin.")

    assert merge["result"] == "merged"
    assert project.git("log", "-1", "--format=%B").strip() == "Bring it\n\nin."


async def test_a_fast_forward_only_merge_refuses_to_commit(
    project: Checkout, server: GitServer
) -> None:
    theirs = _topic(project, "theirs.txt")

    merge = await done(server, "git_merge", branch_name="topic", strategy="ff-only")
    assert (merge["result"], project.head()) == ("fast-forward", theirs)

    project.git("reset", "--quiet", "--hard", "HEAD~1")
    project.commit("ours.txt", "1")
    before = project.state()
    text = await refused(server, "git_merge", branch_name="topic", strategy="ff-only")
    assert "diverged" in text
    assert project.state() == before


@pytest.mark.parametrize("diverged", [False, True])
async def test_a_squash_makes_one_commit_with_one_parent(
    project: Checkout, server: GitServer, diverged: bool
) -> None:
    _topic(project, "theirs.txt", "more.txt")
    if diverged:
        project.commit("ours.txt", "1")
    before = project.head()

    squash = await done(server, "git_merge", branch_name="topic", strategy="squash")

    assert squash["result"] == "squashed"
    assert project.git("log", "-1", "--format=%s %P") == f"Squash branch 'topic' {before}\n"
    assert (project.path / "more.txt").exists()
    assert project.git("status", "--porcelain") == ""


async def test_merging_what_is_there_already_changes_nothing(
    project: Checkout, server: GitServer
) -> None:
    project.git("branch", "topic")
    before = project.state()

    for strategy in STRATEGIES:
        merge = await done(server, "git_merge", branch_name="topic", strategy=strategy)

        assert merge["result"] == "up-to-date"
    assert project.state() == before


async def test_squashing_twice_changes_nothing(project: Checkout, server: GitServer) -> None:
    _topic(project, "theirs.txt")
    await done(server, "git_merge", branch_name="topic", strategy="squash")
    before = project.state()

    again = await done(server, "git_merge", branch_name="topic", strategy="squash")

    assert again["result"] == "up-to-date"
    assert project.state() == before


@pytest.mark.parametrize("strategy", ["merge", "squash"])
async def test_a_conflict_is_named_and_leaves_everything_as_it_was(
    project: Checkout, server: GitServer, strategy: str
) -> None:
    project.commit("third.txt", "1")
    _topic(project, "readme.txt", "deep/näme.txt", "harmless.txt")
    project.commit("readme.txt", "ours\n")
    project.commit("deep/näme.txt", "ours\n")
    project.write("third.txt", "unstaged\n")
    project.write("untracked.txt", "mine\n")
    before = project.state()

    text = await refused(server, "git_merge", branch_name="topic", strategy=strategy)

    assert "conflict in 'deep/näme.txt', 'readme.txt'" in text
    assert "everything is as before" in text
    assert project.state() == before


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("diverged", [False, True])
async def test_local_changes_in_the_way_are_not_overwritten(
    project: Checkout, server: GitServer, strategy: str, diverged: bool
) -> None:
    _topic(project, "readme.txt")
    if diverged:
        project.commit("ours.txt", "1")
    project.write("readme.txt", "precious\n")
    before = project.state()

    text = await refused(server, "git_merge", branch_name="topic", strategy=strategy)

    assert "readme.txt" in text or "diverged" in text
    assert project.state() == before


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("diverged", [False, True])
@pytest.mark.parametrize("ignored", ["", "*.log\n"])
async def test_an_untracked_file_in_the_way_is_not_overwritten(
    project: Checkout, server: GitServer, strategy: str, diverged: bool, ignored: str
) -> None:
    _topic(project, "build.log")
    if diverged:
        project.commit("ours.txt", "1")
    project.write(".git/info/exclude", ignored)
    project.write("build.log", "precious\n")
    before = project.state()

    text = await refused(server, "git_merge", branch_name="topic", strategy=strategy)

    assert "build.log" in text or "diverged" in text
    assert project.state() == before


@pytest.mark.parametrize("strategy", ["merge", "squash"])
async def test_a_file_that_was_only_untracked_here_is_no_obstacle(
    project: Checkout, server: GitServer, strategy: str
) -> None:
    project.commit("build.log", "1\n")
    _topic(project, "theirs.txt")
    project.git("rm", "--quiet", "--cached", "build.log")
    project.commit(".gitignore", "*.log\n")

    await done(server, "git_merge", branch_name="topic", strategy=strategy)

    assert (project.path / "build.log").read_text() == "1\n"


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_staged_changes_and_unfinished_merges_come_first(
    project: Checkout, server: GitServer, strategy: str
) -> None:
    _topic(project, "theirs.txt")
    project.write("staged.txt", "1")
    project.git("add", "staged.txt")
    before = project.state()
    arguments = {"branch_name": "topic", "strategy": strategy}

    assert "git_commit them first" in await refused(server, "git_merge", **arguments)
    assert project.state() == before

    project.git("commit", "--quiet", "--message=m")
    project.git("merge", "--quiet", "--no-commit", "--no-ff", "topic")
    before = project.state()
    assert "a merge is under way" in await refused(server, "git_merge", **arguments)
    assert project.state() == before


@pytest.mark.parametrize(
    ("strategy", "hook"),
    [("merge", "pre-merge-commit"), ("merge", "commit-msg"), ("squash", "pre-commit")],
)
@pytest.mark.parametrize("edit", ["", "echo edited > theirs.txt; git add theirs.txt;"])
async def test_a_refusing_hook_is_quoted_and_everything_is_as_it_was(
    project: Checkout, server: GitServer, strategy: str, hook: str, edit: str
) -> None:
    _topic(project, "theirs.txt")
    project.commit("ours.txt", "1")
    project.write("readme.txt", "unstaged\n")
    project.hook(hook, f"{edit} echo 'not today' >&2; exit 1")
    before = project.state()

    text = await refused(server, "git_merge", branch_name="topic", strategy=strategy)

    assert "not today" in text
    assert project.state() == before


async def test_edits_of_a_refusing_hook_are_taken_back_too(
    project: Checkout, server: GitServer
) -> None:
    _topic(project, "theirs.txt")
    project.commit("ours.txt", "1")
    project.write("readme.txt", "unstaged\n")
    project.hook("pre-commit", "echo formatted > theirs.txt; exit 1")
    project.hook("pre-merge-commit", "echo formatted > theirs.txt; exit 1")
    before = project.state()

    for strategy in ("squash", "merge"):
        text = await refused(server, "git_merge", branch_name="topic", strategy=strategy)

        assert "everything is as before" in text
        assert project.state() == before


async def test_what_could_not_be_undone_is_not_passed_over(
    project: Checkout, server: GitServer
) -> None:
    _topic(project, "theirs.txt")
    project.hook("pre-commit", "touch .git/index.lock; exit 1")

    text = await refused(server, "git_merge", branch_name="topic", strategy="squash")

    assert "could not be undone" in text
    assert "everything is as before" not in text


async def test_options_of_the_branch_do_not_change_what_a_merge_is(
    project: Checkout, server: GitServer
) -> None:
    _topic(project, "theirs.txt")
    project.commit("ours.txt", "1")
    project.git("config", "branch.main.mergeOptions", "--squash --no-commit")

    merge = await done(server, "git_merge", branch_name="topic")

    assert merge["result"] == "merged"
    assert len(project.git("log", "-1", "--format=%P").split()) == 2


async def test_a_remote_branch_can_be_merged_and_an_unknown_one_cannot(
    project: Checkout, colleague: Checkout, server: GitServer
) -> None:
    theirs = colleague.commit("theirs.txt", "1")
    colleague.git("push", "--quiet")
    project.git("fetch", "--quiet")
    project.git("tag", "v1")

    merge = await done(server, "git_merge", branch_name="origin/main")

    assert merge["commit"] == theirs
    for name in ("nowhere", "v1", theirs):
        assert "there is no branch" in await refused(server, "git_merge", branch_name=name)


async def test_unrelated_histories_are_not_merged(project: Checkout, server: GitServer) -> None:
    project.git("switch", "--quiet", "--orphan", "alien")
    project.commit("alien.txt", "1")
    project.git("switch", "--quiet", "main")
    before = project.state()

    assert "unrelated histories" in await refused(server, "git_merge", branch_name="alien")
    assert project.state() == before


async def test_a_merge_without_an_identity_is_refused_with_what_to_set_and_changes_nothing(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    _topic(project, "theirs.txt")
    (tmp_path / "gitconfig").write_text("")

    assert (await done(server, "git_merge", branch_name="topic"))["result"] == "fast-forward"
    project.git("reset", "--quiet", "--hard", "HEAD~1")
    project.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "o")
    before = project.state()
    for strategy in ("merge", "squash"):
        text = await refused(server, "git_merge", branch_name="topic", strategy=strategy)

        assert "user.name and user.email" in text
    assert project.state() == before


def _topic(project: Checkout, *names: str) -> str:
    """Make a branch `topic` with a commit a file, and return its tip."""
    project.git("switch", "--quiet", "--create", "topic")
    for name in names:
        project.commit(name, "theirs\n")
    tip = project.head()
    project.git("switch", "--quiet", "main")
    return tip
