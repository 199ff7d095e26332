"""What one worker of `remit serve` keeps in memory: at its start, after many calls, and for what.

    python -m bench.memory                      # 1,000,000 calls in rounds of 100,000; minutes
    python -m bench.memory --calls 200000 --json
    python -m bench.memory --imports            # megabytes of everything a worker imports

Calls go over 16 connections to the bench kit's upstream (`$REMIT_SHARED/bench`), with the whole
pipeline on. RSS counts pages of shared libraries that others use as well; PSS shares them out. The
slope is that of RSS over the second half of the rounds: a worker that keeps nothing of its calls
has none.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.kit import FAST_UPSTREAM, LOADGEN
from bench.processes import free_port, running

from remit.testing.gateway import run_remit, start_gateway

CONNECTIONS: Final = 16
ROUND_LIMIT: Final = 600.0
"""Seconds that one round may take."""

TREE: Final = """
import importlib._bootstrap as machinery, json, sys
from collections import Counter
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
own, within, load = Counter(), [], machinery._find_and_load_unlocked
def measured(name, find):
    before = resident()
    within.append(0)
    try:
        return load(name, find)
    finally:
        grown = resident() - before
        parts = name.split(".")[: 2 if name.startswith("remit") else 1]
        own[".".join(parts)] += grown - within.pop()
        if within:
            within[-1] += grown
machinery._find_and_load_unlocked = measured
start = resident()
from remit.cli.main import Commands
next(entry for entry in Commands.table if entry.name == "serve").load()
print(json.dumps({"python": start, **own}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Memory of the worker, in MB.

    Attributes:
        calls: That it has answered.
    """

    calls: int
    rss: float
    pss: float
    highest: float


def sample(pid: int, calls: int) -> Sample:
    """Look at *pid* now."""
    status = _fields(Path(f"/proc/{pid}/status"))
    rollup = _fields(Path(f"/proc/{pid}/smaps_rollup"))
    return Sample(calls=calls, rss=status["VmRSS"], pss=rollup["Pss"], highest=status["VmHWM"])


def _fields(path: Path) -> dict[str, float]:
    words = (line.split() for line in path.read_text().splitlines())
    return {
        word[0].rstrip(":"): int(word[1]) / 1024
        for word in words
        if len(word) == 3 and word[2] == "kB"
    }


def slope(samples: Sequence[Sample]) -> float:
    """Return by how many kB RSS grows in 1,000 calls, over the second half of *samples*."""
    half = samples[len(samples) // 2 :]
    if len(half) < 2:
        return 0.0
    line = statistics.linear_regression([one.calls for one in half], [one.rss for one in half])
    return line.slope * 1024 * 1000


def measure(calls: int, a_round: int) -> list[Sample]:
    """Start a gateway, and look at it after each round of calls."""
    upstream = free_port()
    with TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "remit.yaml"
        config.write_text(
            f'mcp_servers: {{fast: {{transport: http, url: "http://127.0.0.1:{upstream}/mcp"}}}}\n'
            "roles: {bench: {tools: {fast: [echo]}}}\n"
        )
        env = {"PORT": str(upstream)}
        with running(FAST_UPSTREAM, core=1, port=upstream, env=env, cwd=folder):
            run_remit(
                "keys", "list", folder=folder
            )  # makes the tables, which only a first start does
            gateway = start_gateway(folder, config).settle()
            try:
                key = gateway.key("bench")
                samples = [sample(gateway.process.pid, 0)]
                while samples[-1].calls < calls:
                    answered = samples[-1].calls + load(gateway.url, key, a_round)
                    samples.append(sample(gateway.process.pid, answered))
                    print(_line(samples[-1]), file=sys.stderr)
                return samples
            finally:
                gateway.stop()


def load(url: str, key: str, calls: int) -> int:
    """Send about *calls* calls, in pieces of some seconds; return how many were answered."""
    answered = 0
    while answered < calls:
        words = ("--url", url, "--era", "modern", "--tool", "fast__echo", "--secs", "5")
        header = ("--header", f"Authorization: Bearer {key}", "--conns", str(CONNECTIONS))
        done = subprocess.run(
            [*LOADGEN, *words, *header], capture_output=True, check=True, timeout=ROUND_LIMIT
        )
        answered += json.loads(done.stdout)["n"]
    return answered


def imports() -> dict[str, float]:
    """Return the MB that each package adds to a worker before it opens anything."""
    done = subprocess.run([sys.executable, "-c", TREE], capture_output=True, check=True, timeout=60)
    found = json.loads(done.stdout)
    return {name: size / 2**20 for name, size in found.items() if size > 2**16}


def _line(one: Sample) -> str:
    return (
        f"{one.calls:>9,} calls  RSS {one.rss:6.1f}  PSS {one.pss:6.1f}  highest {one.highest:6.1f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.memory",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--round", type=int, default=100_000, help="calls between two looks")
    parser.add_argument("--imports", action="store_true", help="look at imports only")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.imports:
        found = imports()
        for name, size in sorted(found.items(), key=lambda item: -item[1]):
            print(f"{size:6.2f} MB  {name}")
        print(f"{sum(found.values()):6.2f} MB  in all")
        return 0
    samples = measure(chosen.calls, chosen.round)
    grown = slope(samples)
    if chosen.json:
        print(json.dumps({"samples": [asdict(one) for one in samples], "kb_in_1000_calls": grown}))
        return 0
    print(*map(_line, samples), f"RSS grows by {grown:.2f} kB in 1,000 calls", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
