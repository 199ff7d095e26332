"""Repositories in every state that git knows: linked, detached, shallow, bare, without a commit."""

from pathlib import Path

from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer


async def test_on_a_detached_head_work_can_be_committed_and_taken_to_a_branch(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()
    project.commit("second.txt", "1")
    project.git("switch", "-q", "--detach", "HEAD~1")
    project.write("new.txt", "1")

    committed = await done(server, "git_commit", message="Adrift", all=True)
    assert committed["branch"] is None
    assert "HEAD is detached" in await refused(server, "git_push")
    assert "HEAD is detached" in await refused(server, "git_pull")
    merged = await done(server, "git_merge", branch_name="main")
    assert (merged["into"], merged["result"]) == (None, "merged")
    branch = await done(server, "git_checkout", branch_name="rescue", create=True)

    assert branch == {
        "branch": "rescue",
        "previous": None,
        "commit": merged["commit"],
        "created": True,
    }


async def test_before_the_first_commit_everything_says_what_is_possible(
    empty: Checkout, server: GitServer, tmp_path: Path
) -> None:
    empty.git("init", "-q", "--bare", str(tmp_path / "origin.git"))
    empty.git("remote", "add", "origin", str(tmp_path / "origin.git"))

    assert "no commit here" in await refused(server, "git_push")
    assert "see that the branch exists" in await refused(server, "git_pull")
    assert "there is no branch" in await refused(server, "git_merge", branch_name="topic")
    assert "nothing to commit" in await refused(server, "git_commit", message="m")
    assert (await done(server, "git_log"))["commits"] == []
    assert (await done(server, "git_branch"))["branches"] == []
    empty.write("first.txt", "1")
    await done(server, "git_commit", message="First", all=True)
    assert (await done(server, "git_push"))["result"] == "created"


async def test_a_linked_working_tree_cannot_take_the_branch_of_another(
    project: Checkout, server: GitServer
) -> None:
    project.git("worktree", "add", "-q", "trees/topic", "-b", "topic")

    text = await refused(server, "git_checkout", branch_name="topic")

    assert "nothing changed" in text
    assert "trees/topic" in text


async def test_a_working_tree_of_a_bare_repository_is_served_and_the_bare_one_refused(
    project: Checkout, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    project.git("clone", "-q", "--bare", ".", str(bare))
    project.git("-C", str(bare), "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")

    text = await refused(GitServer(bare), "git_log")
    status = await done(GitServer(tmp_path / "tree"), "git_status")

    assert "bare repository" in text
    assert "git worktree add" in text
    assert status["branch"] == "topic"


async def test_a_shallow_clone_is_read_pushed_and_pulled(
    project: Checkout, origin: Checkout, tmp_path: Path
) -> None:
    for number in range(5):
        project.commit("count.txt", f"{number}")
    project.git("push", "-q")
    shallow = Checkout(tmp_path / "shallow")
    origin.git("clone", "-q", "--depth=2", f"file://{origin.path}", str(shallow.path))
    server = GitServer(shallow.path)

    log = await done(server, "git_log")
    diff = await done(server, "git_diff", target="HEAD~1..HEAD")
    missing = await refused(server, "git_diff", target="HEAD~3..HEAD")
    shallow.write("new.txt", "1")
    await done(server, "git_commit", message="m", all=True)
    pushed = await done(server, "git_push")
    project.git("pull", "-q")
    project.commit("count.txt", "more")
    project.git("push", "-q")
    pulled = await done(server, "git_pull")

    assert len(log["commits"]) == 2
    assert diff["files"][0]["path"] == "count.txt"
    assert "no commit here" in missing
    assert (pushed["result"], pulled["result"]) == ("updated", "fast-forward")


async def test_histories_that_a_shallow_clone_cuts_apart_are_refused_with_what_to_do(
    project: Checkout, origin: Checkout, tmp_path: Path
) -> None:
    project.git("switch", "-q", "--create", "topic")
    project.commit("topic.txt", "1")
    project.git("push", "-q", "origin", "topic")
    project.git("switch", "-q", "main")
    project.commit("main.txt", "1")
    project.git("push", "-q", "origin", "main")
    shallow = Checkout(tmp_path / "shallow")
    url = f"file://{origin.path}"
    origin.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(shallow.path))
    before = shallow.state()

    text = await refused(GitServer(shallow.path), "git_merge", branch_name="origin/topic")

    assert "fetch --unshallow" in text
    assert shallow.state() == before


async def test_an_embedded_repository_is_not_swallowed(
    project: Checkout, server: GitServer
) -> None:
    project.git("init", "-q", "vendor/inner")
    Checkout(project.path / "vendor" / "inner").commit("a.txt", "1")

    commit = await done(server, "git_commit", message="m", all=True)

    assert commit["files"] == ["vendor/inner"], "as a commit of its own, like a submodule"
    assert project.git("ls-files", "--stage").startswith("160000") is False
    assert "160000" in project.git("ls-files", "--stage", "vendor")
