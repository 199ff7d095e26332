"""A list of many tools, warm, over one connection: direct, through nginx, through remit.

    python bench/lists.py                    # or: --rounds 9 --secs 2 --tools 1000 --conns 1

nginx passes on what the upstream sends; remit sends what the caller's role leaves of it. Upstream
and load generator are the bench kit's (`$REMIT_SHARED/bench`) and run on one core, nginx and remit
on the other. Targets take turns within a round; medians; only ratios within one run mean anything.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relay import KIT, Target, free_port, make_key, running, wait_until_offered

CORES = os.cpu_count() or 1
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A target with the process that stands between.

    Attributes:
        process: Its id, or None for the upstream itself.
    """

    target: Target
    process: int | None = None


def spent_by(process: int) -> float:
    """Return the seconds of processor time of *process* and all that it started."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    mine = (int(stat[11]) + int(stat[12])) / TICKS
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return mine + sum(spent_by(int(child)) for child in children)


def lists_of(measured: Measured, *, conns: int, secs: float) -> dict[str, float]:
    """Return lists a second, the median wait and processor time of one list in microseconds."""
    target = measured.target
    command = [
        "taskset", "-c", str(1 % CORES), sys.executable, str(KIT / "loadgen.py"),
        "--url", target.url, "--era", "modern", "--method", "tools/list", "--expect", target.tool,
        "--conns", str(conns), "--secs", str(secs), "--warm", "0.3", "--sync",
        *(part for header in target.headers for part in ("--header", header)),
    ]  # fmt: skip
    times: list[float] = []
    line = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as load:
        for line in load.stdout or ():
            if line.strip() in ("BEGIN", "END") and measured.process is not None:
                times.append(spent_by(measured.process))
    cell = json.loads(line)
    if cell["errors"] or not cell["n"]:
        sys.exit(f"{target.name}: {cell['errors']} errors, the first: {cell['first_error']}")
    cpu = (times[1] - times[0]) / cell["n"] * 1e6 if times else 0.0
    return {"rps": float(cell["rps"]), "p50": float(cell["p50"]), "cpu": cpu}


@contextmanager
def nginx(upstream_port: int, folder: Path) -> Generator[Measured]:
    """Start nginx as a plain reverse proxy."""
    port = free_port()
    config = (KIT / "peers" / "nginx.conf").read_text()
    for old, new in {
        "@OUT@": str(folder), "127.0.0.1:9001": f"127.0.0.1:{upstream_port}",
        "127.0.0.1:9170": f"127.0.0.1:{port}",
    }.items():  # fmt: skip
        config = config.replace(old, new)
    file = folder / "nginx.conf"
    file.write_text(config)
    command = ["nginx", "-c", str(file), "-e", str(folder / "nginx.err")]
    with running(command, core=0, port=port, env={}, cwd=folder) as process:
        target = Target(name="nginx", url=f"http://127.0.0.1:{port}/mcp", tool='"echo"')
        yield Measured(target=target, process=process.pid)


@contextmanager
def remit(upstream_port: int, folder: Path) -> Generator[Measured]:
    """Start remit with a role that may use everything but one tool."""
    port = free_port()
    config = folder / "remit.yaml"
    url = f"http://127.0.0.1:{upstream_port}/mcp"
    document = {
        "mcp_servers": {"fast": {"transport": "http", "url": url}},
        "roles": {"bench": {"allow": ["fast/*"], "deny": ["fast/add"]}},
    }
    config.write_text(json.dumps(document))
    header = f"Authorization: Bearer {make_key(folder, config)}"
    serve = [sys.executable, "-m", "remit", "serve", "--config", str(config)]
    with running([*serve, "--port", str(port)], core=0, port=port, env={}, cwd=folder) as process:
        base = f"http://127.0.0.1:{port}/mcp"
        wait_until_offered(Target(name="remit", url=base, tool="fast__echo", headers=(header,)))
        target = Target(name="remit", url=base, tool='"fast__echo"', headers=(header,))
        yield Measured(target=target, process=process.pid)


@contextmanager
def targets(tools: int) -> Generator[Sequence[Measured]]:
    """Start upstream, nginx (if it is installed) and remit."""
    upstream_port = free_port()
    fast = [sys.executable, str(KIT / "upstream" / "fast_upstream.py")]
    environ = {"PORT": str(upstream_port), "TOOLS": str(tools)}
    direct = Target(name="direct", url=f"http://127.0.0.1:{upstream_port}/mcp", tool='"echo"')
    with (
        tempfile.TemporaryDirectory(prefix="remit-bench-") as name,
        running(fast, core=1, port=upstream_port, env=environ, cwd=Path(name)),
        remit(upstream_port, Path(name)) as ours,
    ):
        if shutil.which("nginx") is None:
            yield [Measured(target=direct), ours]
            return
        with nginx(upstream_port, Path(name)) as proxy:
            yield [Measured(target=direct), proxy, ours]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=float, default=2.0)
    parser.add_argument("--conns", type=int, default=1)
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not KIT.is_dir():
        sys.exit(f"the bench kit is not at {KIT}: set REMIT_SHARED")
    cells: dict[str, list[dict[str, float]]] = {}
    with targets(options.tools) as measured:
        for _ in range(options.rounds):
            for one in measured:
                cell = lists_of(one, conns=options.conns, secs=options.secs)
                cells.setdefault(one.target.name, []).append(cell)
    medians = {
        name: {figure: statistics.median(cell[figure] for cell in of) for figure in of[0]}
        for name, of in cells.items()
    }
    if options.json:
        print(json.dumps(medians))
        return
    print(f"{'target':<8} {'lists/s':>8} {'p50 us':>8} {'CPU us':>8}")
    for name, median in medians.items():
        print(f"{name:<8} {median['rps']:>8.0f} {median['p50']:>8.0f} {median['cpu']:>8.0f}")
    if "nginx" in medians:
        ours, proxy = medians["remit"], medians["nginx"]
        share, cost = ours["rps"] / proxy["rps"], ours["cpu"] / proxy["cpu"]
        print(f"remit answers {share:.2f} times what nginx passes, at {cost:.2f} times its CPU")


if __name__ == "__main__":
    main()
