"""A repository that nobody has looked at: reading runs none of its programs, and keeps inside."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done, refused

from remit.servers.git.server import GitServer
from remit.servers.git.trust import reading_environment

READING: list[tuple[str, dict[str, object]]] = [
    ("git_status", {}),
    ("git_diff", {}),
    ("git_diff", {"target": "HEAD"}),
    ("git_diff", {"staged": True}),
    ("git_diff", {"target": "HEAD~1..HEAD"}),
    ("git_log", {"path": "readme.txt"}),
    ("git_log", {"ref": "HEAD"}),
    ("git_branch", {"scope": "all"}),
]
PROGRAMS = [
    "core.fsmonitor",
    "core.pager",
    "core.sshCommand",
    "core.editor",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "diff.own.command",
    "diff.own.textconv",
    "filter.own.clean",
    "filter.own.smudge",
    "filter.a=b.clean",
    "filter.proc.process",
    "gpg.program",
    "interactive.diffFilter",
    "merge.own.driver",
    "pager.log",
    "pager.status",
    "sequence.editor",
    "submodule.sub.update",
    "alias.status",
    "alias.rev-parse",
]


def _trap(checkout: Checkout, ran: Path) -> None:
    """Set every program that git knows of, and hooks of every kind, to leave a mark."""
    checkout.write("readme.txt", "changed\n")
    checkout.commit(".gitattributes", "*.txt diff=own filter=own merge=own\n*.a filter=a=b\n")
    checkout.write("p.bin", "1")
    checkout.write("x.a", "1")
    checkout.git("add", ".")
    checkout.git("commit", "-qm", "More")
    command = f"touch {ran}; cat"
    included = Path(checkout.git("rev-parse", "--absolute-git-dir").strip()) / "more"
    for setting in PROGRAMS:
        included_too = ("--file", str(included)) if setting.startswith("filter.own") else ()
        value = f"!{command}" if setting.startswith(("alias", "credential", "sub")) else command
        checkout.git("config", *included_too, setting, value)
    checkout.git("config", "include.path", "more")
    checkout.git("config", "filter.own.required", "true")
    checkout.git("config", "log.showSignature", "true")
    hooks = checkout.path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    checkout.git("config", "core.hooksPath", str(hooks))
    ran.unlink(missing_ok=True)
    for name in ("readme.txt", "p.bin", "x.a"):
        checkout.write(name, "changed once more\n")


@pytest.mark.parametrize("call", READING)
async def test_reading_runs_no_program_that_the_repository_chooses(
    project: Checkout, server: GitServer, tmp_path: Path, call: tuple[str, dict[str, object]]
) -> None:
    ran = tmp_path / "ran"
    _trap(project, ran)
    tool, arguments = call

    await done(server, tool, **arguments)

    assert not ran.exists()


async def test_git_alone_would_run_them(project: Checkout, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    _trap(project, ran)

    subprocess.run(["git", "status"], cwd=project.path, check=False, capture_output=True)

    assert ran.exists()


async def test_what_is_filtered_by_the_users_own_settings_still_is(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    with (tmp_path / "gitconfig").open("a") as settings:
        settings.write('[filter "upper"]\nclean = tr a-z A-Z\n')
    project.commit(".gitattributes", "*.up filter=upper\n")
    project.commit("word.up", "word\n")
    project.write("word.up", "Word\n")

    assert (await done(server, "git_status"))["clean"] is True


@pytest.mark.parametrize("call", READING)
async def test_reading_never_looks_into_a_submodule_with_its_settings(
    project: Checkout, server: GitServer, tmp_path: Path, call: tuple[str, dict[str, object]]
) -> None:
    ran = tmp_path / "ran"
    module = tmp_path / "module"
    module.mkdir()
    source = Checkout(module)
    source.git("init", "-q")
    source.commit("inner.txt", "1")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "sub")
    project.git("commit", "-qm", "With a module")
    _trap(Checkout(project.path / "sub"), ran)
    ran.unlink(missing_ok=True)
    tool, arguments = call

    await done(server, tool, **arguments)

    assert not ran.exists()


async def test_a_submodule_differs_by_its_commit_and_may_be_looked_into_by_name(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    module = tmp_path / "module"
    module.mkdir()
    source = Checkout(module)
    source.git("init", "-q")
    source.commit("inner.txt", "1")
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "sub")
    project.git("commit", "-qm", "With a module")
    inner = Checkout(project.path / "sub")
    inner.write("inner.txt", "2")

    assert (await done(server, "git_status"))["clean"] is True
    inside = await done(server, "git_status", repo_path="sub")
    assert [file["path"] for file in inside["unstaged"]] == ["inner.txt"]
    await done(server, "git_commit", repo_path="sub", message="Inner", all=True)
    outside = await done(server, "git_status")
    assert [file["path"] for file in outside["unstaged"]] == ["sub"]
    diff = await done(server, "git_diff")
    assert f"+Subproject commit {inner.head()}" in diff["patch"]
    committed = await done(server, "git_commit", message="Newer module", paths=["sub"])
    assert committed["files"] == ["sub"]
    within = await refused(server, "git_commit", message="m", paths=["sub/inner.txt"])
    assert "submodule" in within


async def test_a_partial_clone_fetches_nothing_on_reading(
    project: Checkout, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    project.commit("big.txt", "1")
    project.commit("big.txt", "2")
    project.git("config", "uploadpack.allowFilter", "true")
    partial = Checkout(tmp_path / "partial")
    url = f"file://{project.path}"
    project.git("clone", "-q", "--filter=blob:none", url, str(partial.path))
    for program in ("core.sshCommand", "remote.origin.uploadpack"):
        partial.git("config", program, f"touch {ran}; false")
    server = GitServer(partial.path)

    text = await refused(server, "git_diff", target="HEAD~1..HEAD")

    assert "git diff failed" in text
    assert "reading fetches nothing" in text
    assert len((await done(server, "git_log"))["commits"]) == 3
    assert not ran.exists()
    partial.git("config", "remote.origin.url", f"ext::touch {ran}")
    await refused(server, "git_diff", target="HEAD~1..HEAD")
    assert not ran.exists()


async def test_a_directory_that_looks_like_a_git_directory_is_none(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    trap = project.path / "assets"
    project.git("init", "-q", "--bare", str(trap))
    for setting, value in (("core.bare", "false"), ("core.worktree", "..")):
        project.git("-C", str(trap), "config", setting, value)
    project.git("--git-dir", str(trap), "config", "core.fsmonitor", f"touch {ran}")

    text = await refused(server, "git_status", repo_path="assets")

    assert "not a git working tree" in text
    assert not ran.exists()


@pytest.mark.parametrize("borrowed", ["plain", "quoted", "through another", "link", "packs"])
async def test_a_nested_repository_may_not_borrow_objects_from_outside(
    project: Checkout, server: GitServer, tmp_path: Path, borrowed: str
) -> None:
    private = Checkout.begin(tmp_path / "private")
    secret = private.commit("secret.txt", "the secret")
    nested = Checkout.begin(project.path / "nested")
    objects = nested.path / ".git" / "objects"
    outside = private.path / ".git" / "objects"
    if borrowed == "link":
        objects.rename(tmp_path / "away")
        objects.symlink_to(outside)
    elif borrowed == "packs":
        private.git("gc", "-q")
        (objects / "pack").rmdir()
        (objects / "pack").symlink_to(outside / "pack")
    elif borrowed == "through another":
        second = Checkout.begin(project.path / "second")
        (second.path / ".git/objects/info/alternates").write_text(f"# x\n{outside}\n")
        (objects / "info" / "alternates").write_text("../../../second/.git/objects\n")
    else:
        line = f'"{outside}"' if borrowed == "quoted" else str(outside)
        (objects / "info" / "alternates").write_text(f"{line}\n")
    assert nested.git("cat-file", "-t", secret) == "commit\n", "git alone would show it"

    text = await refused(server, "git_log", repo_path="nested", ref=secret)

    assert "outside the configured repository" in text


async def test_a_nested_repository_may_borrow_from_inside(
    project: Checkout, server: GitServer
) -> None:
    project.git("clone", "-q", "--shared", ".", "nested")

    assert (await done(server, "git_log", repo_path="nested"))["commits"]


async def test_a_nested_worktree_of_a_repository_outside_is_refused(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    other = Checkout.begin(tmp_path / "other")
    other.git("worktree", "add", "-q", str(project.path / "tree"))
    linked = Checkout.begin(project.path / "linked")
    (linked.path / ".git").rename(tmp_path / "git")
    (linked.path / ".git").symlink_to(tmp_path / "git")

    for repo_path in ("tree", "linked"):
        assert "points outside" in await refused(server, "git_status", repo_path=repo_path)


@pytest.mark.parametrize("counted", ["", "2", "two"])
def test_settings_for_reading_come_after_those_of_the_environment(counted: str) -> None:
    environ = {"GIT_CONFIG_COUNT": counted} if counted else {}

    made: Mapping[str, str] = reading_environment(environ, ["filter.a.b.clean", "user.name"])

    first = 2 if counted == "2" else 0
    assert made[f"GIT_CONFIG_KEY_{first}"] == "core.hooksPath"
    values = {
        made[f"GIT_CONFIG_KEY_{number}"]: made[f"GIT_CONFIG_VALUE_{number}"]
        for number in range(first, int(made["GIT_CONFIG_COUNT"]))
    }
    assert values["filter.a.b.clean"] == values["filter.a.b.process"] == ""
    assert values["filter.a.b.required"] == "false"
