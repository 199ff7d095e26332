"""No child outlives the process that started it, however that ends (T24)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from remit.testing.fleets import PATIENCE, call_tool, eventually, open_servers
from remit.testing.upstream import executed, fixture_server_config
from remit.upstreams.warden import GRACE, LEAST_GRACE, Warden, open_warden
from remit.upstreams.warden_process import left_of

STARTER = """
import os, subprocess, sys, anyio
from remit.upstreams.warden import open_warden

async def main():
    async with open_warden() as warden:
        for script in sys.argv[1:]:
            child = subprocess.Popen(["sh", "-c", script], start_new_session=True)
            warden.watch(child.pid)
            print(child.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""
DEAF = "trap '' TERM; while :; do sleep 0.1; done"


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _wardens() -> list[int]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [
        int(pid) for pid in listed if "warden_process" in Path(f"/proc/{pid}/cmdline").read_text()
    ]


async def test_what_a_killed_process_leaves_is_ended_the_deaf_too() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STARTER, "sleep 1000", DEAF], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    assert all(_is_alive(pid) for pid in pids)

    process.kill()
    process.wait()
    process.stdout.close()

    await eventually(lambda: not any(_is_alive(pid) for pid in pids))


async def test_there_is_none_before_the_first_child_and_none_after_the_last_fleet(
    ran: Path,
) -> None:
    async with open_servers():
        assert _wardens() == []
    async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
        await call_tool(fleet, "s", "t")
        assert len(_wardens()) == 1
    assert _wardens() == []


async def test_one_that_is_lost_is_replaced_and_told_of_every_child(ran: Path) -> None:
    with anyio.fail_after(PATIENCE):
        async with open_servers(fixture_server_config("s", ["t"], ran)) as fleet:
            await call_tool(fleet, "s", "t")
            (first,) = _wardens()
            os.kill(first, signal.SIGKILL)
            await eventually(lambda: not _is_alive(first))
            await call_tool(fleet, "s", "t", by="another caller")
            (second,) = _wardens()
            assert second != first
    assert len(executed(ran)) == 2
    assert _wardens() == []


async def test_one_that_is_stuck_holds_nobody_up() -> None:
    async with open_warden() as warden:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        warden.watch(child.pid)
        await eventually(_wardens)
        (stuck,) = _wardens()
        os.kill(stuck, signal.SIGSTOP)
        for _ in range(20_000):  # more than a pipe holds
            warden.watch(child.pid)
        child.kill()
        child.wait()
        warden.release(child.pid)
    assert _wardens() == []


def test_it_remembers_what_has_begun_and_not_ended() -> None:
    assert left_of([b"+7\n", b"+8\n", b"-7\n", b"+9\n", b"-5\n"]) == {8, 9}


async def test_a_child_has_its_grace_and_all_have_one_together_once_everything_ends() -> None:
    await anyio.lowlevel.checkpoint()
    warden = Warden()

    assert warden.grace == GRACE

    warden.hurry()
    assert LEAST_GRACE <= warden.grace <= GRACE


@pytest.mark.parametrize("times", [1, 2])
async def test_hurrying_again_gives_no_more_time(times: int) -> None:
    await anyio.lowlevel.checkpoint()
    warden = Warden()
    warden.hurry()
    before = warden.grace

    for _ in range(times):
        warden.hurry()

    assert warden.grace <= before
