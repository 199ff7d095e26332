"""What the git server lets a caller name (S0.3): its own repository and plain text, no more."""

from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.fence import fenced_paths
from remit.servers.git.server import GitServer

HOSTILE = ["-x", "--upload-pack=touch pwned", "a\0b", "a\nb", "a\x1bb", "a\x7fb", "   "]
TEXTS: list[tuple[str, str, dict[str, object]]] = [
    ("git_diff", "target", {}),
    ("git_log", "ref", {}),
    ("git_log", "path", {}),
    ("git_log", "author", {}),
    ("git_log", "since", {}),
    ("git_log", "until", {}),
    ("git_branch", "branch_name", {}),
    ("git_branch", "base", {"branch_name": "new"}),
    ("git_checkout", "branch_name", {}),
    ("git_checkout", "branch_name", {"create": True}),
    ("git_commit", "message", {}),
    ("git_push", "remote", {}),
    ("git_push", "branch", {}),
    ("git_pull", "remote", {}),
    ("git_pull", "branch", {}),
    ("git_merge", "branch_name", {}),
    ("git_merge", "message", {"branch_name": "main"}),
    ("git_status", "repo_path", {}),
]


@pytest.mark.parametrize("argument", TEXTS)
async def test_options_and_control_characters_are_refused_and_nothing_changes(
    project: Checkout,
    origin: Checkout,
    server: GitServer,
    argument: tuple[str, str, dict[str, object]],
) -> None:
    tool, field, others = argument
    project.write("readme.txt", "changed\n")
    before = (project.state(), origin.git("for-each-ref"))

    for value in HOSTILE:
        if field == "message" and "\n" in value:
            continue  # a message has lines
        text = await refused(server, tool, **others, **{field: value})

        assert field in text
        assert "start with '-'" in text or "control characters" in text or "blank" in text
    assert (project.state(), origin.git("for-each-ref")) == before


@pytest.mark.parametrize("tool", ["git_diff", "git_commit"])
@pytest.mark.parametrize("value", HOSTILE)
async def test_paths_are_held_to_the_same_rule(
    project: Checkout, server: GitServer, tool: str, value: str
) -> None:
    message = {"message": "m"} if tool == "git_commit" else {}
    project.write("readme.txt", "changed\n")

    text = await refused(server, tool, paths=["readme.txt", value], **message)

    assert text.startswith("path ")


async def test_a_lone_surrogate_never_reaches_git(project: Checkout, server: GitServer) -> None:
    assert project.head()

    text = await refused(server, "git_log", author="\udc80")

    assert "author" in text


@pytest.mark.parametrize(
    "path",
    ["..", "../other", "deep/../../other", "/etc/passwd", "out/file", ".git", ".git/config"],
)
@pytest.mark.parametrize("tool", ["git_diff", "git_log", "git_commit"])
async def test_a_path_outside_or_in_git_itself_is_refused(
    project: Checkout, server: GitServer, tmp_path: Path, tool: str, path: str
) -> None:
    (tmp_path / "other").mkdir()
    (project.path / "out").symlink_to(tmp_path / "other")
    others = {
        "git_diff": {"paths": [path]},
        "git_log": {"path": path},
        "git_commit": {"paths": [path], "message": "m"},
    }

    text = await refused(server, tool, **others[tool])

    assert "outside the repository" in text or "git's own files" in text


@pytest.mark.parametrize("path", [".GIT/config", "sub/.git/hooks/x", "GIT~1/config", "a/../.git"])
def test_other_spellings_of_the_git_directory_are_refused_as_well(
    tmp_path: Path, path: str
) -> None:
    with pytest.raises(Exception, match="git's own files"):
        fenced_paths(tmp_path, [path])


def test_paths_inside_come_out_relative_to_the_top_level(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    given = ["a", "./b/../c", str(tmp_path / "d"), "link", "link/e", ".", ".gitignore"]

    assert fenced_paths(tmp_path, given) == ("a", "c", "d", "link", "real/e", ".", ".gitignore")


async def test_a_path_is_a_name_and_never_a_pattern(project: Checkout, server: GitServer) -> None:
    project.write("a.txt", "1")
    project.write("[ab].txt", "1")

    for path in ("*", ":(top)a.txt", ":/"):
        assert "did not match" in await refused(server, "git_commit", message="m", paths=[path])
    commit = await done(server, "git_commit", message="m", paths=["[ab].txt"])

    assert commit["files"] == ["[ab].txt"]


async def test_repo_path_may_be_the_repository_or_a_directory_in_it(
    project: Checkout, server: GitServer
) -> None:
    project.commit("deep/er.txt", "1")

    for repo_path in (".", "deep", str(project.path), str(project.path / "deep")):
        status = await done(server, "git_status", repo_path=repo_path)

        assert status["commit"] == project.head()


async def test_paths_are_relative_to_the_top_level_whatever_repo_path_says(
    project: Checkout, server: GitServer
) -> None:
    project.write("deep/er.txt", "1")

    commit = await done(server, "git_commit", message="m", repo_path="deep", paths=["deep/er.txt"])

    assert commit["files"] == ["deep/er.txt"]


async def test_a_repository_nested_in_the_configured_one_may_be_named(
    project: Checkout, server: GitServer
) -> None:
    nested = Checkout.begin(project.path / "vendor" / "nested")

    status = await done(server, "git_status", repo_path="vendor/nested")

    assert status["commit"] == nested.head() != project.head()


async def test_a_worktree_of_the_repository_inside_it_may_be_named(
    project: Checkout, server: GitServer
) -> None:
    project.git("worktree", "add", "--quiet", "trees/topic", "-b", "topic")

    assert (await done(server, "git_status", repo_path="trees/topic"))["branch"] == "topic"


async def test_a_submodule_of_a_worktree_may_be_named(project: Checkout, tmp_path: Path) -> None:
    module = Checkout.begin(tmp_path / "module")
    allow = ("-c", "protocol.file.allow=always")
    project.git("worktree", "add", "--quiet", str(tmp_path / "second"))
    second = Checkout(tmp_path / "second")
    second.git(*allow, "submodule", "--quiet", "add", str(module.path), "sub")

    status = await done(GitServer(second.path), "git_status", repo_path="sub")

    assert status["commit"] == module.head()


async def test_a_repository_outside_is_refused_also_through_a_link(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    other = Checkout.begin(tmp_path / "other")
    (project.path / "link").symlink_to(other.path)

    for repo_path in ("..", "../other", str(other.path), "link", "/", "deep/../../other"):
        text = await refused(server, "git_status", repo_path=repo_path)

        assert "outside the configured repository" in text


async def test_a_git_file_that_points_outside_is_refused(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    other = Checkout.begin(tmp_path / "other")
    project.write("trap/.git", f"gitdir: {other.path / '.git'}\n")

    assert "points outside" in await refused(server, "git_status", repo_path="trap")


async def test_a_nested_repository_that_claims_another_working_tree_is_refused(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    nested = Checkout.begin(project.path / "nested")
    (tmp_path / "other").mkdir()
    nested.git("config", "core.worktree", str(tmp_path / "other"))

    assert "outside the configured" in await refused(server, "git_status", repo_path="nested")


async def test_a_directory_of_a_larger_repository_is_not_taken_for_the_repository(
    project: Checkout,
) -> None:
    project.commit("deep/er.txt", "1")

    text = await refused(GitServer(project.path / "deep"), "git_status")

    assert "top level is outside the configured one" in text


async def test_what_is_no_repository_is_refused_with_what_to_do(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()

    assert "git init" in await refused(GitServer(tmp_path / "plain"), "git_status")
    assert "not a directory" in await refused(server, "git_status", repo_path="readme.txt")
    assert "not a git working tree" in await refused(server, "git_status", repo_path=".git")
    assert project.head()


async def test_variables_that_name_another_repository_are_not_passed_on(
    project: Checkout, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = project.head()
    other = Checkout.begin(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    assert (await done(server, "git_status"))["commit"] == head
