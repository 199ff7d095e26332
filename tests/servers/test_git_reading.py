"""git_status, git_diff and git_log (S0.3)."""

from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.names import shown
from remit.servers.git.server import GitServer

ODD_NAMES = ["späce näme.txt", "line\nbreak.txt", "tab\there.txt", '"quoted".txt']


async def test_status_without_arguments_describes_the_configured_repository(
    project: Checkout, server: GitServer
) -> None:
    status = await done(server, "git_status")

    assert status == {
        "branch": "main",
        "detached": False,
        "commit": project.head(),
        "upstream": None,
        "ahead": None,
        "behind": None,
        "under_way": None,
        "clean": True,
        "staged": [],
        "unstaged": [],
        "untracked": [],
        "conflicts": [],
        "counts": {"staged": 0, "unstaged": 0, "untracked": 0, "conflicts": 0},
        "truncated": False,
    }


async def test_status_tells_staged_unstaged_and_untracked_apart(
    project: Checkout, server: GitServer
) -> None:
    project.commit("old.txt", "a file that gets another name\n" * 5)
    project.git("mv", "old.txt", "new.txt")
    project.write("readme.txt", "changed\n")
    project.write("loose.txt", "")

    status = await done(server, "git_status")

    assert status["clean"] is False
    assert status["staged"] == [{"path": "new.txt", "state": "renamed", "old_path": "old.txt"}]
    assert status["unstaged"] == [{"path": "readme.txt", "state": "modified"}]
    assert status["untracked"] == ["loose.txt"]


async def test_status_counts_commits_ahead_and_behind(
    project: Checkout, origin: Checkout, colleague: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()
    colleague.commit("theirs.txt", "1")
    colleague.git("push", "--quiet")
    project.commit("ours.txt", "1")
    project.commit("ours.txt", "2")
    project.git("fetch", "--quiet")

    status = await done(server, "git_status")

    assert (status["upstream"], status["ahead"], status["behind"]) == ("origin/main", 2, 1)


async def test_status_names_conflicts_and_the_merge_under_way(
    project: Checkout, server: GitServer
) -> None:
    _diverge(project, "readme.txt")
    with pytest.raises(Exception, match="merge"):
        project.git("merge", "topic")

    status = await done(server, "git_status")

    assert status["conflicts"] == ["readme.txt"]
    assert status["under_way"] == "merge"


async def test_reading_works_before_the_first_commit(empty: Checkout, server: GitServer) -> None:
    empty.write("first.txt", "1\n")
    empty.git("add", "first.txt")

    status = await done(server, "git_status")
    diff = await done(server, "git_diff", staged=True)
    log = await done(server, "git_log")
    branches = await done(server, "git_branch")

    assert (status["branch"], status["commit"]) == ("main", None)
    assert [file["path"] for file in diff["files"]] == ["first.txt"]
    assert log["commits"] == []
    assert (branches["current"], branches["branches"]) == ("main", [])


async def test_reading_works_on_a_detached_head(project: Checkout, server: GitServer) -> None:
    project.git("switch", "--quiet", "--detach")

    status = await done(server, "git_status")
    log = await done(server, "git_log")

    assert (status["branch"], status["detached"]) == (None, True)
    assert len(log["commits"]) == 1


async def test_a_linked_worktree_is_a_repository_too(project: Checkout, tmp_path: Path) -> None:
    project.git("worktree", "add", "--quiet", str(tmp_path / "second"), "-b", "second")
    server = GitServer(tmp_path / "second")
    Checkout(tmp_path / "second").write("new.txt", "1")

    commit = await done(server, "git_commit", message="From there", all=True)

    assert commit["branch"] == "second"
    assert project.git("rev-parse", "second").strip() == commit["commit"]


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_odd_file_names_come_out_alike_from_every_tool(
    project: Checkout, server: GitServer, name: str
) -> None:
    project.write(name, "1\n")

    untracked = (await done(server, "git_status"))["untracked"]
    commit = await done(server, "git_commit", message="Odd", all=True)
    diff = await done(server, "git_diff", target="HEAD~1")

    assert untracked == commit["files"] == [file["path"] for file in diff["files"]]
    assert untracked == [shown(name)]


async def test_a_diff_lists_files_with_counts_and_gives_a_patch(
    project: Checkout, server: GitServer
) -> None:
    project.write("readme.txt", "one\n2\nthree\nfour\n")

    diff = await done(server, "git_diff")

    assert diff["files"] == [
        {"path": "readme.txt", "state": "modified", "additions": 2, "deletions": 1}
    ]
    assert "-two\n+2\n" in diff["patch"]
    assert diff["truncated"] is False


async def test_a_diff_of_a_rename_names_both_paths_and_a_binary_has_no_counts(
    project: Checkout, server: GitServer
) -> None:
    project.git("mv", "readme.txt", "moved.txt")
    project.write("image.bin", "\0\1\2")
    project.git("add", ".")

    diff = await done(server, "git_diff", staged=True)

    assert diff["files"] == [
        {"path": "image.bin", "state": "added", "additions": None, "deletions": None},
        {
            "path": "moved.txt",
            "state": "renamed",
            "additions": 0,
            "deletions": 0,
            "old_path": "readme.txt",
        },
    ]


async def test_a_diff_chooses_between_working_tree_index_commits_and_ranges(
    project: Checkout, server: GitServer
) -> None:
    project.git("branch", "base")
    project.commit("committed.txt", "1\n")
    project.write("staged.txt", "1\n")
    project.git("add", "staged.txt")
    project.write("readme.txt", "unstaged\n")

    async def files(**arguments: object) -> list[str]:
        diff = await done(server, "git_diff", **arguments)
        return [file["path"] for file in diff["files"]]

    assert await files() == ["readme.txt"]
    assert await files(staged=True) == ["staged.txt"]
    assert await files(target="base") == ["committed.txt", "readme.txt", "staged.txt"]
    assert await files(target="base", staged=True) == ["committed.txt", "staged.txt"]
    assert await files(target="base..HEAD") == ["committed.txt"]
    assert await files(target="base...") == ["committed.txt"]
    assert await files(target="base", paths=["readme.txt"]) == ["readme.txt"]
    assert "leave out the range" in await refused(
        server, "git_diff", target="base..HEAD", staged=True
    )


async def test_context_lines_set_how_much_surrounds_a_change(
    project: Checkout, server: GitServer
) -> None:
    project.write("readme.txt", "one\n2\nthree\n")

    assert "\n one\n" in (await done(server, "git_diff"))["patch"]
    assert "\n one\n" not in (await done(server, "git_diff", context_lines=0))["patch"]


async def test_a_diff_runs_no_program_of_the_repository_and_ignores_its_format_settings(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    for setting in ("diff.external", "diff.own.command", "diff.own.textconv", "core.fsmonitor"):
        project.git("config", setting, f"touch {ran};")
    project.git("config", "diff.noprefix", "true")
    project.git("config", "color.ui", "always")
    project.write(".gitattributes", "*.txt diff=own\n")
    project.write("readme.txt", "changed\n")

    diff = await done(server, "git_diff")
    await done(server, "git_status")

    assert not ran.exists()
    assert "--- a/readme.txt\n+++ b/readme.txt\n" in diff["patch"]
    assert "\x1b" not in diff["patch"]


async def test_a_log_gives_commits_newest_first_and_says_whether_there_are_more(
    project: Checkout, server: GitServer
) -> None:
    first = project.head()
    second = project.commit("two.txt", "2", "Second\n\nWhy it was\nneeded.")
    project.commit("three.txt", "3")

    log = await done(server, "git_log", max_count=2)

    assert [commit["subject"] for commit in log["commits"]] == ["Write three.txt", "Second"]
    assert log["has_more"] is True
    older = log["commits"][1]
    assert (older["commit"], older["parents"]) == (second, [first])
    assert older["author"] == {"name": "Ada", "email": "ada@example.test"}
    assert older["body"] == "Why it was\nneeded."
    assert (await done(server, "git_log"))["has_more"] is False


async def test_a_log_filters_by_ref_path_author_and_dates(
    project: Checkout, server: GitServer
) -> None:
    project.git("branch", "base")
    project.write("deep/er.txt", "1")
    project.git("add", ".")
    project.git("commit", "-qm", "Other", "--author=B. O.B. <bob@example.test>")
    project.git("commit", "-qm", "Old", "--allow-empty", "--date=2001-01-01T12:00:00Z")

    async def subjects(**arguments: object) -> list[str]:
        log = await done(server, "git_log", **arguments)
        return [commit["subject"] for commit in log["commits"]]

    assert await subjects(ref="base") == ["First"]
    assert await subjects(ref="base..main") == ["Old", "Other"]
    assert await subjects(path="deep") == ["Other"]
    assert await subjects(author="bob@") == ["Other"]
    assert await subjects(author="B.*B") == [], "an author is text, not a pattern"
    assert await subjects(since="2001-01-01", until="2001-02-01") == []
    assert await subjects(since="1 hour ago") == ["Old", "Other", "First"]
    for until in ("2001-02-01T00:00:00Z", "2001-02-01 00:00:00 +0100", "Feb 1 2001", "@978307200"):
        assert await subjects(since="2001-01-01", until=until) == []
    for until in (
        "now", "last monday", "yesterday noon", "2.weeks.ago", "2026-01-31 10:00 UTC",
        "2026-01-31 noon", "Feb 1st 2001", "31.1.2001", "2001-1-31", "never",
    ):  # fmt: skip
        await subjects(until=until)
    for date in (
        "not a date", "2020-13-45", "last sprint", "soon", "2020-01-01x",
        "2026-1-45", "1 2 3", "2026-01-31 25:99",
    ):  # fmt: skip
        assert "is no date" in await refused(server, "git_log", since=date)


async def test_an_unknown_ref_is_refused_with_where_to_look(
    project: Checkout, server: GitServer
) -> None:
    assert project.head()
    for tool, field in (("git_log", "ref"), ("git_diff", "target")):
        for ref in ("nowhere", "HEAD:readme.txt", "^HEAD", "main..nowhere"):
            text = await refused(server, tool, **{field: ref})

            assert "is no commit here" in text
            assert "git_branch" in text


def _diverge(project: Checkout, name: str) -> None:
    project.git("switch", "--quiet", "--create", "topic")
    project.commit(name, "theirs\n")
    project.git("switch", "--quiet", "main")
    project.commit(name, "ours\n")
