"""How the git command is run: bounded in time and output, and gone when it is called off."""

import os
from pathlib import Path
from shlex import quote
from time import monotonic

import anyio
import pytest
from tests.servers.checkouts import Checkout, done, refused
from tests.servers.waits import STAY, gone, written

from remit.servers.errors import ToolError
from remit.servers.git.environment import environment
from remit.servers.git.run import SAID_FIRST, SAID_LAST, Git
from remit.servers.git.server import GitServer


async def test_a_call_that_takes_too_long_is_stopped_with_all_that_it_started(
    project: Checkout, origin: Checkout, tmp_path: Path
) -> None:
    assert origin.path.is_dir()
    server = GitServer(project.path, time_limit=2)
    project.commit("new.txt", "1")
    project.hook("pre-push", STAY.format(file=tmp_path / "pid"))

    text = await refused(server, "git_push")

    assert "stopped after 2 s" in text
    assert "git_status" in text
    await gone(tmp_path / "pid")


async def test_a_hook_that_hangs_is_stopped_with_its_children_and_theirs(
    project: Checkout, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    stubborn = f"trap '' TERM; (trap '' TERM; {STAY.format(file=child)}) & wait; sleep 600"
    project.hook("pre-commit", f"sh -c {quote(stubborn)}")
    project.write("readme.txt", "changed\n")
    before = project.state()

    text = await refused(GitServer(project.path, time_limit=4), "git_commit", message="m", all=True)

    assert "stopped after 4 s" in text
    await gone(child)
    assert project.state() == before


async def test_a_cancelled_call_leaves_no_process(
    project: Checkout, origin: Checkout, server: GitServer, tmp_path: Path
) -> None:
    assert origin.path.is_dir()
    project.hook("pre-push", STAY.format(file=tmp_path / "pid"))

    async with anyio.create_task_group() as tasks:
        arguments: dict[str, object] = {}
        tasks.start_soon(server.call_tool, "git_push", arguments)
        await written(tmp_path / "pid")
        tasks.cancel_scope.cancel()

    await gone(tmp_path / "pid")


async def test_a_call_can_be_called_off_while_git_is_being_started(
    project: Checkout, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    git = _git(project.path, "-c", "alias.stay=!" + STAY.format(file=pid))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(git.ask, "stay")
        while not (pid.exists() and pid.read_text()):
            await anyio.lowlevel.checkpoint()
            # Hold the event loop, so that git has a child before the start is seen to be over.
            deadline = monotonic() + 0.5
            while monotonic() < deadline:
                pass
        tasks.cancel_scope.cancel()

    await gone(pid)


@pytest.mark.parametrize(
    ("tool", "hook"),
    [
        ("git_merge", "pre-merge-commit"),
        ("git_squash", "pre-commit"),
        ("git_rebase", "post-checkout"),
        ("git_commit", "pre-commit"),
    ],
)
async def test_a_merge_or_commit_called_off_half_way_is_undone(
    project: Checkout, colleague: Checkout, tmp_path: Path, tool: str, hook: str
) -> None:
    colleague.commit("theirs.txt", "1")
    colleague.git("push", "--quiet")
    project.git("fetch", "--quiet")
    project.commit("ours.txt", "1")
    project.write("loose.txt", "mine")
    project.hook(hook, STAY.format(file=tmp_path / "pid"))
    before = project.state()
    calls: dict[str, tuple[str, dict[str, object]]] = {
        "git_merge": ("git_merge", {"branch_name": "origin/main"}),
        "git_squash": ("git_merge", {"branch_name": "origin/main", "strategy": "squash"}),
        "git_rebase": ("git_pull", {"strategy": "rebase"}),
        "git_commit": ("git_commit", {"message": "m", "all": True}),
    }
    name, arguments = calls[tool]
    server = GitServer(project.path)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.call_tool, name, arguments)
        await written(tmp_path / "pid")
        (project.path / ".git" / "hooks" / hook).unlink()
        tasks.cancel_scope.cancel()

    await gone(tmp_path / "pid")
    assert project.state() == before


async def test_a_git_that_has_to_be_killed_leaves_no_index_lock(
    project: Checkout, tmp_path: Path
) -> None:
    # Stopped, git cannot answer SIGTERM and remove the lock that it holds.
    project.git("config", "filter.stop.clean", f"echo $PPID > {tmp_path / 'pid'}; kill -STOP $PPID")
    project.write(".gitattributes", "*.txt filter=stop\n")
    project.write("new.txt", "1")
    lock = project.path / ".git" / "index.lock"
    server = GitServer(project.path)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.call_tool, "git_commit", {"message": "m", "paths": ["new.txt"]})
        await written(tmp_path / "pid")
        assert lock.exists()
        tasks.cancel_scope.cancel()

    await gone(tmp_path / "pid")
    assert not lock.exists()


async def test_writers_take_turns(project: Checkout, server: GitServer) -> None:
    project.hook("pre-commit", "test ! -e .git/busy && touch .git/busy && rm .git/busy")
    for number in range(6):
        project.write(f"{number}.txt", "1")

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            arguments = {"message": f"{number}", "paths": [f"{number}.txt"]}
            tasks.start_soon(server.call_tool, "git_commit", arguments)

    assert project.git("rev-list", "--count", "HEAD") == "7\n"


async def test_a_reader_neither_waits_for_a_writer_nor_touches_the_index(
    project: Checkout, server: GitServer
) -> None:
    index = project.path / ".git" / "index"
    os.utime(project.path / "readme.txt", (1, 1))
    before = index.read_bytes()

    assert (await done(server, "git_status"))["clean"] is True
    assert index.read_bytes() == before, "git would like to note the file's new time"
    index.with_name("index.lock").touch()
    assert (await done(server, "git_status"))["clean"] is True


async def test_output_beyond_the_cap_is_dropped_but_git_runs_to_its_end(
    project: Checkout, server: GitServer
) -> None:
    lines = "echo first; head -c 200000 /dev/zero | tr '\\0' 'x'; echo; echo last"
    project.hook("pre-commit", f"({lines}) >&2; touch .git/ended; exit 1")
    project.write("readme.txt", "changed\n")

    text = await refused(server, "git_commit", message="m", all=True)

    assert SAID_FIRST + SAID_LAST < len(text) < SAID_FIRST + SAID_LAST + 500
    assert "first\nxxx" in text
    assert "xxx\nlast" in text
    assert "[truncated: " in text
    project.hook("pre-commit", "head -c 2000000 /dev/zero; echo; touch .git/ended; exit 1")
    (project.path / ".git" / "ended").unlink()
    assert "[truncated: " in await refused(server, "git_commit", message="m", all=True)
    assert (project.path / ".git" / "ended").exists(), "what is dropped is read all the same"


async def test_a_hooks_background_child_does_not_hold_the_call_up(
    project: Checkout, server: GitServer, tmp_path: Path
) -> None:
    project.hook("pre-commit", f"sleep 600 & echo $! > {tmp_path / 'pid'}")
    project.write("readme.txt", "changed\n")

    with anyio.fail_after(30):
        await done(server, "git_commit", message="m", all=True)

    os.kill(await written(tmp_path / "pid"), 9)


async def test_git_has_neither_input_to_wait_for_nor_a_terminal(project: Checkout) -> None:
    script = "!cat; test ! -t 0 && ! (: < /dev/tty) 2> /dev/null"
    saved, (silent, other_end) = os.dup(0), os.pipe()
    os.dup2(silent, 0)

    try:
        with anyio.fail_after(30):
            output = await _git(project.path, "-c", f"alias.read={script}").ask("read")
    finally:
        os.dup2(saved, 0)
        for descriptor in (saved, silent, other_end):
            os.close(descriptor)

    assert output.ok


async def test_a_git_that_cannot_be_started_is_an_error_in_words(
    project: Checkout, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("readme.txt", "changed\n")
    text = await refused(server, "git_commit", message="€" * 65_000, all=True)
    assert "Argument list too long" in text
    with pytest.raises(ToolError, match="could not be started"):
        await _git(project.path / "nowhere").ask("status")
    monkeypatch.setenv("PATH", str(project.path))
    assert "see that git is installed" in await refused(server, "git_status")


def _git(directory: Path, *options: str) -> Git:
    return Git(directory=directory, environ=environment(os.environ), options=options)
