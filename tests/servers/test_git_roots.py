"""What the git server is told to serve: folders of repositories, reading only, time limits."""

from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer, open_server


def _open(folder: Path, *args: str) -> GitServer:
    return open_server(args, {}, folder)


async def test_any_repository_inside_a_root_may_be_named(tmp_path: Path) -> None:
    one, two = (
        Checkout.begin(tmp_path / "a" / "one"),
        Checkout.begin(tmp_path / "b" / "deep" / "two"),
    )
    server = _open(tmp_path, "--root", "a", "--root", "b")

    first = await done(server, "git_status", repo_path="one")
    second = await done(server, "git_status", repo_path=str(two.path))
    committed = one.write("new.txt", "1")
    await done(server, "git_commit", repo_path="one", message="m", paths=[str(committed)])

    assert first["commit"] != one.head()
    assert second["commit"] == two.head()


async def test_without_a_repository_one_has_to_be_named_and_outside_stays_outside(
    tmp_path: Path,
) -> None:
    outside = Checkout.begin(tmp_path / "outside")
    inside = Checkout.begin(tmp_path / "root" / "inside")
    (tmp_path / "root" / "link").symlink_to(outside.path)
    (tmp_path / "root" / "trap").mkdir()
    (tmp_path / "root" / "trap" / ".git").write_text(f"gitdir: {outside.path / '.git'}\n")
    Checkout.begin(tmp_path / "rootless")
    server = _open(tmp_path, "--root", "root")

    assert "name one as repo_path" in await refused(server, "git_status")
    for repo_path in ("../outside", "link", str(outside.path), "..", str(tmp_path / "rootless")):
        text = await refused(server, "git_status", repo_path=repo_path)

        assert "outside the configured repository" in text
    assert "points outside" in await refused(server, "git_status", repo_path="trap")
    assert "not a git working tree" in await refused(server, "git_status", repo_path=".")
    assert (await done(server, "git_status", repo_path="inside"))["commit"] == inside.head()


async def test_a_repository_and_roots_may_be_had_together(tmp_path: Path) -> None:
    main, other = Checkout.begin(tmp_path / "main"), Checkout.begin(tmp_path / "root" / "other")
    main.git("worktree", "add", "-q", str(tmp_path / "root" / "tree"), "-b", "topic")
    server = _open(tmp_path, "--repository", "main", "--root", "root")

    assert (await done(server, "git_status"))["commit"] == main.head()
    named = await done(server, "git_status", repo_path=str(other.path))
    assert named["commit"] == other.head()
    tree = await done(server, "git_status", repo_path=str(tmp_path / "root" / "tree"))
    assert tree["branch"] == "topic", "its storage is the configured repository's"


async def test_the_root_of_a_link_is_where_the_link_leads(tmp_path: Path) -> None:
    real = Checkout.begin(tmp_path / "real" / "one")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    status = await done(_open(tmp_path, "--root", "link"), "git_status", repo_path="one")

    assert status["commit"] == real.head()


async def test_a_server_that_only_reads_has_no_tool_that_writes(
    project: Checkout, tmp_path: Path
) -> None:
    server = _open(tmp_path, "--repository", "project", "--read-only")
    before = project.state()

    names = [tool["name"] for tool in server.tools()]

    assert names == ["git_status", "git_diff", "git_log"]
    assert (await done(server, "git_status"))["clean"] is True
    for tool in ("git_commit", "git_branch", "git_push"):
        with pytest.raises(KeyError):
            await server.call_tool(tool, {})
    assert project.state() == before
    assert not (project.path / ".git" / "remit-turn").exists(), "reading writes nothing"


async def test_the_time_limit_can_be_set(project: Checkout, tmp_path: Path) -> None:
    project.hook("pre-commit", "sleep 600")
    project.write("readme.txt", "changed\n")

    text = await refused(
        _open(tmp_path, "--repository", "project", "--time-limit", "0.7"),
        "git_commit",
        message="m",
        all=True,
    )

    assert "stopped after 0.7 s" in text


@pytest.mark.parametrize(
    "args",
    [
        ["--root", "nowhere"],
        ["--root"],
        ["--repository", ".", "--root", "nowhere"],
        ["--time-limit", "0"],
        ["--time-limit", "nan"],
        ["--time-limit", "-1"],
        ["--time-limit", "soon"],
        ["--time-limit", "1e9"],
        ["--read-only", "yes"],
    ],
)
def test_settings_that_do_not_fit_are_told_in_one_line(tmp_path: Path, args: list[str]) -> None:
    with pytest.raises(ValueError, match="git server: ") as caught:
        _open(tmp_path, *args)

    assert "\n" not in str(caught.value)


async def test_a_repository_that_cannot_be_written_to_is_an_error_in_words(
    project: Checkout, server: GitServer
) -> None:
    (project.path / ".git" / "remit-turn").symlink_to("/dev/null")
    project.write("readme.txt", "changed\n")

    text = await refused(server, "git_commit", message="m", all=True)

    assert "cannot be written to" in text
