"""Calls that are stopped half way, or meet others: never a tree in between, never a lock."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tests.servers.checkouts import Checkout, done, refused
from tests.servers.waits import STAY, gone, until, written

from remit.servers.git.locks import drop_locks
from remit.servers.git.server import GitServer

MOVES: dict[str, tuple[str, dict[str, object]]] = {
    "checkout": ("git_checkout", {"branch_name": "topic"}),
    "checkout from the remote": ("git_checkout", {"branch_name": "far"}),
    "merge": ("git_merge", {"branch_name": "topic"}),
    "merge with a commit": ("git_merge", {"branch_name": "topic", "message": "m"}),
    "merge of what diverged": ("git_merge", {"branch_name": "other"}),
    "squash": ("git_merge", {"branch_name": "topic", "strategy": "squash"}),
    "pull": ("git_pull", {"branch": "far"}),
    "pull by rebase": ("git_pull", {"branch": "aside", "strategy": "rebase"}),
}


def _with_a_slow_file(project: Checkout, pid: Path, filter_: str) -> None:
    """Branches that change many files, of which git meets `m/slow.bin` half way through."""
    project.commit(".gitattributes", "*.bin filter=slow\n")
    project.commit("a/deep/old.txt", "ours\n")
    project.commit("folder", "a file here, a folder there\n")
    project.commit("z.txt", "ours\n")
    project.git("branch", "start")
    for branch in ("topic", "far", "other", "aside"):
        project.git("switch", "-q", "--create", branch, "start")
        project.git("rm", "-q", "folder")
        for name in ("a/deep/old.txt", "a/new/file.txt", "folder/inner.txt", "m/slow.bin", "z.txt"):
            project.write(name, f"theirs of {branch}\n")
        project.git("add", "--all")
        project.git("commit", "-qm", branch)
    project.git("push", "-q", "origin", "far", "aside")
    project.git("switch", "-q", "main")
    project.git("branch", "-q", "-D", "far", "aside")
    project.git("config", "filter.slow.smudge", filter_.format(pid=pid))
    project.git("config", "filter.slow.required", "true")
    project.write("loose.txt", "mine, not git's\n")
    project.write("readme.txt", "mine, not committed\n")


def _diverge(project: Checkout, move: str) -> None:
    if move in {"merge of what diverged", "pull by rebase"}:
        project.git("restore", "readme.txt")
        project.commit("ours.txt", "1")


@pytest.mark.parametrize("move", MOVES)
async def test_a_move_that_is_cancelled_half_way_puts_every_file_back(
    project: Checkout, origin: Checkout, server: GitServer, tmp_path: Path, move: str
) -> None:
    assert origin.path.is_dir()
    pid = tmp_path / "pid"
    _with_a_slow_file(project, pid, "sh -c 'echo $$ > {pid}; exec sleep 600'")
    _diverge(project, move)
    before = project.state()
    tool, arguments = MOVES[move]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.call_tool, tool, arguments)
        await written(pid)
        assert (project.path / "a" / "new" / "file.txt").exists(), "git is half way"
        tasks.cancel_scope.cancel()

    await gone(pid)
    assert project.state() == before
    assert _locks(project) == []


@pytest.mark.parametrize("move", MOVES)
async def test_a_move_that_fails_half_way_puts_every_file_back(
    project: Checkout, origin: Checkout, server: GitServer, tmp_path: Path, move: str
) -> None:
    assert origin.path.is_dir()
    _with_a_slow_file(project, tmp_path / "pid", "false")
    _diverge(project, move)
    before = project.state()
    tool, arguments = MOVES[move]

    text = await refused(server, tool, **arguments)

    assert "m/slow.bin" in text
    assert "nothing changed" in text
    assert project.state() == before


async def test_a_time_limit_is_a_cancellation(
    project: Checkout, origin: Checkout, tmp_path: Path
) -> None:
    assert origin.path.is_dir()
    pid = tmp_path / "pid"
    _with_a_slow_file(project, pid, "sh -c 'echo $$ > {pid}; exec sleep 600'")
    before = project.state()

    text = await refused(GitServer(project.path, time_limit=8), "git_checkout", branch_name="topic")

    assert "stopped after 8 s" in text
    await gone(pid)
    assert project.state() == before


LAST_HOOKS: list[tuple[str, str, dict[str, object]]] = [
    ("git_commit", "post-commit", {"message": "m", "all": True}),
    ("git_merge", "post-merge", {"branch_name": "topic"}),
    ("git_merge", "post-commit", {"branch_name": "topic", "strategy": "squash"}),
    ("git_checkout", "post-checkout", {"branch_name": "topic"}),
]


@pytest.mark.parametrize("call", LAST_HOOKS)
async def test_what_was_done_before_the_last_hook_stays_done(
    project: Checkout, tmp_path: Path, call: tuple[str, str, dict[str, object]]
) -> None:
    tool, hook, arguments = call
    project.git("switch", "-q", "--create", "topic")
    project.commit("theirs.txt", "1")
    project.git("switch", "-q", "main")
    if tool == "git_commit":
        project.write("readme.txt", "changed\n")
    project.hook(hook, STAY.format(file=tmp_path / "pid"))
    server = GitServer(project.path)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.call_tool, tool, arguments)
        await written(tmp_path / "pid")
        tasks.cancel_scope.cancel()

    await gone(tmp_path / "pid")
    status = await done(server, "git_status")
    assert status["clean"] is True
    assert status["under_way"] is None
    assert status["branch"] == ("topic" if tool == "git_checkout" else "main")
    if tool != "git_commit":
        assert (project.path / "theirs.txt").exists()


async def test_a_git_killed_while_it_moves_a_branch_leaves_no_lock(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    # Stopped, git cannot answer SIGTERM and remove the locks that it holds.
    stop = f'test "$1" = prepared && echo $PPID > {tmp_path / "pid"} && kill -STOP $PPID'
    project.hook("reference-transaction", stop)
    project.write("new.txt", "1")
    head = project.head()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.call_tool, "git_commit", {"message": "m", "paths": ["new.txt"]})
        await written(tmp_path / "pid")
        assert any(lock.endswith("main.lock") for lock in _locks(project))
        tasks.cancel_scope.cancel()

    await gone(tmp_path / "pid")
    assert _locks(project) == []
    assert project.head() == head
    project.git("hook", "run", "--ignore-missing", "none")
    (project.path / ".git" / "hooks" / "reference-transaction").unlink()
    assert (await done(server, "git_commit", message="m", paths=["new.txt"]))["files"]


async def test_locks_of_others_are_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    earlier, living, dead = (home / f"{name}.lock" for name in ("earlier", "living", "dead"))
    earlier.touch()
    os.utime(earlier, (1_000_000, 1_000_000))
    living.touch()
    dead.touch()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drop_locks, [home], dead.stat().st_mtime)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        living.unlink()
        living.write_text("another git's by now")
        later = dead.stat().st_mtime + 5  # the clocks of files may be coarse
        os.utime(living, (later, later))

    assert sorted(home.iterdir()) == [earlier, living]


async def test_an_editors_git_that_holds_the_index_for_a_moment_is_waited_for(
    project: Checkout, server: GitServer
) -> None:
    lock = project.path / ".git" / "index.lock"
    project.write("readme.txt", "changed\n")
    lock.touch()
    results: list[dict[str, Any]] = []

    async def commit() -> None:
        results.append(await done(server, "git_commit", message="m", all=True))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(commit)
        await until((project.path / ".git" / "remit-turn").exists)
        lock.unlink()

    assert results[0]["files"] == ["readme.txt"]


async def test_two_processes_of_the_server_take_turns_on_one_repository(
    project: Checkout,
) -> None:
    busy = project.path / ".git" / "busy"
    project.hook("pre-commit", f"mkdir {busy} && sleep 0.1 && rmdir {busy}")
    project.git("worktree", "add", "-q", "trees/second", "-b", "second")
    project.write(".gitignore", "trees\n")
    for number in range(4):
        project.write(f"{number}.txt", "1")
        Checkout(project.path / "trees" / "second").write(f"{number}.txt", "1")
    failed: list[str] = []

    async def commit(client: Client, number: int, repo_path: str) -> None:
        arguments = {"message": f"{number}", "paths": [f"{number}.txt"], "repo_path": repo_path}
        result = await client.call_tool("git_commit", arguments)
        if result.is_error:
            failed.append(str(result.content))

    async with (
        Client(_command(project)) as one,
        Client(_command(project)) as two,
        anyio.create_task_group() as tasks,
    ):
        for number in range(4):
            client = one if number % 2 else two
            tasks.start_soon(commit, client, number, ".")
            tasks.start_soon(commit, client, number, "trees/second")

    assert failed == []
    assert project.git("rev-list", "--count", "main") == "5\n"
    assert project.git("rev-list", "--count", "second") == "5\n"
    assert _locks(project) == []


async def test_readers_and_writers_of_one_repository_do_not_disturb_each_other(
    project: Checkout, origin: Checkout, server: GitServer
) -> None:
    assert origin.path.is_dir()
    project.git("branch", "topic")
    for number in range(4):
        project.write(f"{number}.txt", "1")

    calls: list[tuple[str, dict[str, object]]] = []
    for number in range(4):
        calls.extend(
            [
                ("git_commit", {"message": f"{number}", "paths": [f"{number}.txt"]}),
                ("git_push", {}),
                ("git_status", {}),
                ("git_diff", {"target": "topic"}),
                ("git_branch", {"branch_name": f"b{number}"}),
            ]
        )

    async with anyio.create_task_group() as tasks:
        for tool, arguments in calls:
            tasks.start_soon(_do, server, tool, arguments)

    assert project.git("rev-list", "--count", "main") == "5\n"
    assert (await done(server, "git_status"))["clean"] is True


async def test_a_merge_over_an_ignored_file_among_ten_thousand_is_still_refused(
    project: Checkout, server: GitServer
) -> None:
    names = [f"{'n' * 100}/{number:05}.txt" for number in range(6_000)]
    commits = (
        "commit refs/heads/topic\ncommitter A <a@b> 1767225600 +0000\ndata 1\nm"
        "from refs/heads/main^0\n"
    )
    changes = "".join(f"M 644 inline {name}\ndata 1\n1\n" for name in (*names, "zz.log"))
    subprocess.run(
        ["git", "fast-import", "--quiet"],
        cwd=project.path,
        check=True,
        input=(commits + changes).encode(),
    )
    project.commit(".gitignore", "*.log\n")
    project.write("zz.log", "mine\n")
    before = project.state()

    text = await refused(server, "git_merge", branch_name="topic")

    assert "zz.log" in text
    assert project.state() == before


async def _do(server: GitServer, tool: str, arguments: dict[str, object]) -> None:
    await done(server, tool, **arguments)


def _locks(project: Checkout) -> list[str]:
    return sorted(str(lock) for lock in (project.path / ".git").rglob("*.lock"))


def _command(project: Checkout) -> StdioServerParameters:
    isolated = {name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG")}
    arguments = ["-m", "remit.servers.git", "--repository", str(project.path)]
    return StdioServerParameters(command=sys.executable, args=arguments, env=isolated)
