"""Programs that are measured: started on a core, waited for, read in `/proc`, ended."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

START_LIMIT = 90.0
"""Seconds a program has to listen; the slowest peers take thirty."""

STOP_LIMIT = 15.0
"""Seconds a program has to end by itself."""

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
CORES = os.cpu_count() or 1
_PARENT, _USER, _SYSTEM, _PAGES = 1, 11, 12, 21
"""Positions in `/proc/PID/stat` after the name in brackets."""


class BenchError(Exception):
    """Something cannot be measured; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process and its descendants have used.

    Attributes:
        cpu: Seconds of processor, user and system, since each began.
        resident: Bytes in memory now.
        processes: How many they are.
    """

    cpu: float
    resident: int
    processes: int


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody accepts connections on *port* of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def started(
    command: Sequence[str],
    *,
    cores: Sequence[int],
    env: Mapping[str, str],
    cwd: Path,
    log: Path | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """Run *command* on these cores until the block ends; whatever it started ends with it."""
    with (log or Path(os.devnull)).open("ab") as sink:
        child = subprocess.Popen(
            [*pinned(cores), *command],
            env={**os.environ, **env},
            cwd=cwd,
            stdin=subprocess.PIPE,  # some end when this is closed
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        _end(child)


@contextmanager
def running(
    command: Sequence[str], *, core: int, port: int, env: Mapping[str, str], cwd: Path
) -> Generator[subprocess.Popen[bytes]]:
    """Run *command* pinned to *core*, from when it listens on *port* until the block ends."""
    with started(command, cores=[core], env=env, cwd=cwd) as child:
        wait_for(port, child)
        yield child


def pinned(cores: Sequence[int]) -> Sequence[str]:
    """Return the words that keep a command on these cores."""
    return ("taskset", "-c", ",".join(str(core % CORES) for core in cores))


def wait_for(port: int, child: subprocess.Popen[bytes]) -> None:
    """Return when somebody listens on *port*.

    Raises:
        BenchError: The program ended, or took too long.
    """
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit and child.poll() is None:
        if listens(port):
            return
        time.sleep(0.005)  # noqa: TID251 - a script that waits for another program
    raise BenchError(f"nothing listens on port {port} ({child.args!r})")


def usage(pid: int, *, without: str = "") -> Usage:
    """Return what *pid* and its descendants have used.

    Args:
        pid: The first of them.
        without: Text in the first words of those that do not count.
    """
    cpu, resident, processes = 0.0, 0, 0
    for one, stat in _family(pid).items():
        # A peer's own arguments name its child's program too, but further behind.
        if without and without in "".join(_read(one, "cmdline").split("\0")[1:3]):
            continue
        cpu += (int(stat[_USER]) + int(stat[_SYSTEM])) / TICKS
        resident += int(stat[_PAGES]) * PAGE
        processes += 1
    return Usage(cpu=cpu, resident=resident, processes=processes)


def busy() -> float:
    """Return the processor seconds that the whole machine has worked, stolen ones included."""
    words = Path("/proc/stat").read_text().splitlines()[0].split()
    user, nice, system, _, _, irq, soft, steal = (int(word) for word in words[1:9])
    return (user + nice + system + irq + soft + steal) / TICKS


def _family(pid: int) -> dict[int, list[str]]:
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and (text := _read(int(path.name), "stat")):
            stats[int(path.name)] = text.rpartition(")")[2].split()
    family, grown = {pid} & stats.keys(), True
    while grown:
        more = {one for one, stat in stats.items() if int(stat[_PARENT]) in family}
        grown = not more <= family
        family |= more
    return {one: stats[one] for one in family}


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def _end(child: subprocess.Popen[bytes]) -> None:
    family = _family(child.pid)
    for number, within in ((signal.SIGTERM, STOP_LIMIT), (signal.SIGKILL, STOP_LIMIT)):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(within)
            break
    if child.stdin is not None:
        child.stdin.close()
    for pid in family.keys() & _family_of_session(child.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _family_of_session(session: int) -> set[int]:
    """Return the living processes of a session, so that no number that was reused is hit."""
    found: set[int] = set()
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            stat = _read(int(path.name), "stat").rpartition(")")[2].split()
            if stat and int(stat[3]) == session and stat[0] != "Z":
                found.add(int(path.name))
    return found
