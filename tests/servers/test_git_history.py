"""A history of 200 MB: read within moments, pushed and pulled whole (issue 6, must show 5)."""

import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.servers.checkouts import Checkout, done

from remit.servers.git.server import GitServer

COMMITS = 200
MEGABYTE = 1_000_000


def _fill(checkout: Checkout) -> None:
    """Make a commit for each of so many megabytes that nothing makes smaller."""
    command = ["git", "-c", "core.compression=0", "fast-import", "--quiet"]
    with subprocess.Popen(command, cwd=checkout.path, stdin=subprocess.PIPE) as importing:
        assert importing.stdin
        for number in range(COMMITS):
            importing.stdin.write(
                b"commit refs/heads/main\ncommitter Ada <ada@example.test> %d +0000\n"
                b"data 3\n%03d\nM 644 inline part%d.bin\ndata %d\n%s\n"
                % (1_767_225_600 + number, number, number % 10, MEGABYTE, os.urandom(MEGABYTE))
            )
        importing.stdin.close()
    assert importing.returncode == 0
    checkout.git("reset", "-q", "--hard")


@pytest.fixture
def folder(empty: Checkout, tmp_path: Path) -> Generator[Path]:
    """A folder of which nothing is kept for later."""
    yield tmp_path
    for large in (empty.path, tmp_path / "origin.git", tmp_path / "other"):
        shutil.rmtree(large, ignore_errors=True)


async def test_a_history_of_200_megabytes_is_no_obstacle(empty: Checkout, folder: Path) -> None:
    for setting in ("core.compression", "pack.window"):
        empty.git("config", setting, "0")  # no time for what cannot get smaller
    _fill(empty)
    size = sum(file.stat().st_size for file in (empty.path / ".git").rglob("*.pack"))
    empty.git("init", "-q", "--bare", str(folder / "origin.git"))
    empty.git("remote", "add", "origin", str(folder / "origin.git"))
    server = GitServer(empty.path, time_limit=100)

    log = await done(server, "git_log", max_count=5, page=40)
    status = await done(server, "git_status")
    diff = await done(server, "git_diff", target=f"HEAD~{COMMITS - 1}..HEAD")
    pushed = await done(server, "git_push")
    other = Checkout(folder / "other")
    empty.git("clone", "-q", str(folder / "origin.git"), str(other.path))
    empty.write("notes.txt", "1\n")
    await done(server, "git_commit", message="Notes", all=True)
    await done(server, "git_push")
    pulled = await done(GitServer(other.path, time_limit=100), "git_pull")

    assert size > COMMITS * MEGABYTE
    assert [commit["subject"] for commit in log["commits"]] == ["004", "003", "002", "001", "000"]
    assert log["next_page"] is None
    assert status["clean"] is True
    assert diff["summary"]["files"] == 10
    assert diff["patch"].count("Binary files") == 10
    assert diff["next_page"] is None
    assert pushed["result"] == "created"
    assert pulled["result"] == "fast-forward"
    assert other.head() == empty.head()
