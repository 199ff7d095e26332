"""git_commit (S0.3)."""

from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer


async def test_a_commit_takes_what_is_staged_and_no_more(
    project: Checkout, server: GitServer
) -> None:
    project.write("staged.txt", "1")
    project.git("add", "staged.txt")
    project.write("readme.txt", "unstaged\n")

    commit = await done(server, "git_commit", message="Some\n\nBecause.\n\tIndented.")

    assert commit == {
        "commit": project.head(),
        "branch": "main",
        "subject": "Some",
        "files": ["staged.txt"],
        "file_count": 1,
    }
    assert project.git("log", "-1", "--format=%B").strip() == "Some\n\nBecause.\n\tIndented."
    assert project.git("status", "--porcelain") == " M readme.txt\n"


async def test_a_commit_takes_named_paths_as_well(project: Checkout, server: GitServer) -> None:
    project.write("staged.txt", "1")
    project.git("add", "staged.txt")
    project.write("new/named.txt", "1")
    project.write("other.txt", "1")
    (project.path / "readme.txt").unlink()

    commit = await done(server, "git_commit", message="m", paths=["new", "readme.txt"])

    assert commit["files"] == ["new/named.txt", "readme.txt", "staged.txt"]
    assert project.git("status", "--porcelain") == "?? other.txt\n"


async def test_all_commits_every_change_but_ignored_files(
    project: Checkout, server: GitServer
) -> None:
    project.commit("gone.txt", "1")
    (project.path / "gone.txt").unlink()
    project.write(".git/info/exclude", "*.log\n")
    project.write("build.log", "1")
    project.write("new.txt", "1")
    project.write("readme.txt", "changed\n")

    commit = await done(server, "git_commit", message="m", all=True)

    assert commit["files"] == ["gone.txt", "new.txt", "readme.txt"]


async def test_nothing_to_commit_is_an_error_that_says_so(
    project: Checkout, server: GitServer
) -> None:
    project.write("loose.txt", "1")
    before = project.state()

    assert "nothing to commit" in await refused(server, "git_commit", message="m")
    assert "nothing to commit" in await refused(
        server, "git_commit", message="m", paths=["readme.txt"]
    )
    assert "did not match" in await refused(
        server, "git_commit", message="m", paths=["loose.txt", "nowhere.txt"]
    )
    assert project.state() == before


async def test_the_first_commit_can_be_made(empty: Checkout, server: GitServer) -> None:
    assert "nothing to commit" in await refused(server, "git_commit", message="m", all=True)
    empty.write("first.txt", "1")

    commit = await done(server, "git_commit", message="First", all=True)

    assert commit["files"] == ["first.txt"]
    assert empty.git("rev-list", "--count", "HEAD") == "1\n"


async def test_a_refusing_hook_is_quoted_and_the_index_is_as_before(
    project: Checkout, server: GitServer
) -> None:
    project.hook("pre-commit", "echo 'lint: line 7, see https://eve:pw@lint.test/7'; exit 1")
    project.write("staged.txt", "1")
    project.git("add", "staged.txt")
    project.write("readme.txt", "changed\n")
    before = project.state()

    text = await refused(server, "git_commit", message="m", all=True)

    assert "lint: line 7, see https://lint.test/7" in text
    assert "nothing was committed" in text
    assert project.state() == before


async def test_a_refused_first_commit_leaves_no_index_behind(
    empty: Checkout, server: GitServer
) -> None:
    empty.hook("commit-msg", "echo 'no ticket' >&2; exit 1")
    empty.write("first.txt", "1")

    assert "no ticket" in await refused(server, "git_commit", message="m", all=True)

    assert empty.git("status", "--porcelain") == "?? first.txt\n"
    assert not [file for file in (empty.path / ".git").iterdir() if "index" in file.name]


async def test_a_hook_that_stages_more_is_obeyed(project: Checkout, server: GitServer) -> None:
    project.hook("pre-commit", "echo formatted > readme.txt; git add readme.txt")
    project.write("new.txt", "1")

    commit = await done(server, "git_commit", message="m", paths=["new.txt"])

    assert commit["files"] == ["new.txt", "readme.txt"]
    assert project.git("status", "--porcelain") == ""


async def test_hooks_see_none_of_the_secrets_of_this_process(
    project: Checkout, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_API_TOKEN", "s3cr3t")
    project.hook("pre-commit", "env > hook.log")
    project.write("new.txt", "1")

    await done(server, "git_commit", message="m", paths=["new.txt"])

    seen = (project.path / "hook.log").read_text()
    assert "PATH=" in seen
    assert "s3cr3t" not in seen


async def test_a_missing_identity_is_refused_with_what_to_set(
    project: Checkout, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("readme.txt", "changed\n")
    before = project.state()

    for settings in ("", "[user]\nname = Ada\n"):
        (tmp_path / "gitconfig").write_text(settings)
        text = await refused(server, "git_commit", message="m", all=True)

        assert "user.name and user.email" in text
        assert "GIT_AUTHOR_EMAIL" in text
        assert project.state() == before
    monkeypatch.setenv("EMAIL", "root@a-machine.test")
    await refused(server, "git_commit", message="m", all=True)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Eve")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", f"eve@{who}.test")
    await done(server, "git_commit", message="m", all=True)

    people = project.git("log", "-1", "--format=%an <%ae> %cn <%ce>").strip()
    assert people == "Eve <eve@AUTHOR.test> Eve <eve@COMMITTER.test>"


async def test_an_entrys_environment_may_say_who_commits(project: Checkout, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")
    environ = {
        f"GIT_{who}_{what}": f"{what.lower()}@example.test"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    server = GitServer(project.path, environ=environ | {"JIRA_API_TOKEN": "s3cr3t"})
    project.hook("pre-commit", "env > hook.log")

    project.write("new.txt", "1")
    await done(server, "git_commit", message="m", paths=["new.txt"])

    assert project.git("log", "-1", "--format=%ae %cn").split() == [
        "email@example.test",
        "name@example.test",
    ]
    assert "s3cr3t" not in (project.path / "hook.log").read_text()


async def test_a_commit_concludes_a_merge_that_a_person_left(
    project: Checkout, server: GitServer
) -> None:
    project.git("switch", "--quiet", "--create", "topic")
    theirs = project.commit("theirs.txt", "1")
    project.git("switch", "--quiet", "main")
    ours = project.commit("ours.txt", "1")
    project.git("merge", "--no-commit", "--quiet", "--strategy=ours", "topic")

    await done(server, "git_commit", message="Merged")

    assert project.git("log", "-1", "--format=%P").split() == [ours, theirs]


async def test_a_lock_of_another_git_is_respected(project: Checkout, server: GitServer) -> None:
    project.write("new.txt", "1")
    lock = project.path / ".git" / "index.lock"
    lock.touch()

    text = await refused(server, "git_commit", message="m", all=True)

    assert "index.lock" in text
    assert lock.exists()
