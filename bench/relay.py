"""Calls a second and percentiles, direct and through remit, side by side in one run.

    make bench                      # or: python bench/relay.py --rounds 3 --secs 2

The fast upstream and the load generator come from the handed bench kit (`$REMIT_SHARED/bench`).
remit is pinned to one core, upstream and load to the other; targets are interleaved; medians.
Only ratios within one run mean anything.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
KIT = Path(os.environ.get("REMIT_SHARED", REPOSITORY.parent / "shared")) / "bench"
START_LIMIT = 20.0
"""Seconds a server has to answer after its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something to send calls to."""

    name: str
    url: str
    tool: str
    headers: tuple[str, ...] = ()


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], *, core: int, port: int, env: dict[str, str], cwd: Path
) -> Generator[subprocess.Popen[bytes]]:
    """Run *command* pinned to *core* until the block ends."""
    pinned = ["taskset", "-c", str(core % (os.cpu_count() or 1)), *command]
    child = subprocess.Popen(pinned, env={**os.environ, **env}, cwd=cwd, start_new_session=True)
    try:
        wait_for(port, child)
        yield child
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(10)


def wait_for(port: int, child: subprocess.Popen[bytes]) -> None:
    """Return when somebody listens on *port*."""
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit and child.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)  # noqa: TID251 - a script that waits for another program
    sys.exit(f"the program on port {port} did not start")


def make_key(folder: Path, config: Path) -> str:
    """Return a key for the bench's role."""
    command = [sys.executable, "-m", "remit", "keys", "create", "bench", "--role", "bench"]
    done = subprocess.run(
        [*command, "--config", str(config), "--json"],
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return str(json.loads(done.stdout)["key"])


def wait_until_offered(target: Target) -> None:
    """Return when the gateway relays a call, since it answers before its servers are up."""
    meta: dict[str, object] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params: dict[str, object] = {"name": target.tool, "arguments": {"text": "ready"}, "_meta": meta}
    body: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = dict(line.split(": ", 1) for line in target.headers) | {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": target.tool,
    }
    limit, answer = time.monotonic() + START_LIMIT, ""
    while time.monotonic() < limit:
        request = urllib.request.Request(  # noqa: S310 - loopback
            target.url, json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:  # noqa: S310
                answer = reply.read().decode()
        except urllib.error.HTTPError as error:
            answer = error.read().decode()
        if '"ready"' in answer and '"isError":true' not in answer:
            return
        time.sleep(0.1)  # noqa: TID251 - a script that waits for another program
    sys.exit(f"{target.name} does not relay: {answer[:300]}")


def measure(target: Target, *, conns: int, secs: float, pad: int) -> dict[str, float]:
    """Return one cell's figures, as the load generator prints them."""
    command = [
        "taskset", "-c", str(1 % (os.cpu_count() or 1)), sys.executable, str(KIT / "loadgen.py"),
        "--url", target.url, "--era", "modern", "--tool", target.tool, "--conns", str(conns),
        "--secs", str(secs), "--pad", str(pad),
        *(part for header in target.headers for part in ("--header", header)),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cell = json.loads(done.stdout)
    if cell["errors"]:
        sys.exit(f"{target.name}: {cell['errors']} errors, the first: {cell['first_error']}")
    return {key: float(cell[key]) for key in ("rps", "p50", "p99")}


@contextmanager
def targets() -> Generator[list[Target]]:
    """Start the upstream and remit in front of it."""
    upstream_port, port = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        folder = Path(name)
        config = folder / "remit.yaml"
        upstream = f"http://127.0.0.1:{upstream_port}/mcp"
        document = {
            "mcp_servers": {"fast": {"transport": "http", "url": upstream}},
            "roles": {"bench": {"tools": {"fast": ["echo"]}}},
        }
        config.write_text(json.dumps(document))
        header = f"Authorization: Bearer {make_key(folder, config)}"
        fast = [sys.executable, str(KIT / "upstream" / "fast_upstream.py")]
        serve = [sys.executable, "-m", "remit", "serve", "--config", str(config)]
        with (
            running(fast, core=1, port=upstream_port, env={"PORT": str(upstream_port)}, cwd=folder),
            running([*serve, "--port", str(port)], core=0, port=port, env={}, cwd=folder),
        ):
            remit = Target(
                name="remit", url=f"http://127.0.0.1:{port}/mcp", tool="fast__echo",
                headers=(header,),
            )  # fmt: skip
            wait_until_offered(remit)
            yield [Target(name="direct", url=upstream, tool="echo"), remit]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--secs", type=float, default=2.0)
    parser.add_argument("--conns", default="1,16")
    parser.add_argument("--pad", type=int, default=32, help="bytes of text in each call")
    options = parser.parse_args()
    if not KIT.is_dir():
        sys.exit(f"the bench kit is not at {KIT}: set REMIT_SHARED")
    counts = [int(count) for count in options.conns.split(",")]
    cells: dict[tuple[str, int], list[dict[str, float]]] = {}
    with targets() as measured:
        for _ in range(options.rounds):
            for conns in counts:
                for target in measured:
                    cell = measure(target, conns=conns, secs=options.secs, pad=options.pad)
                    cells.setdefault((target.name, conns), []).append(cell)
    report(cells, counts)


def report(cells: dict[tuple[str, int], list[dict[str, float]]], counts: list[int]) -> None:
    """Print medians and the ratio of remit to direct."""
    print(f"{'target':<8} {'conns':>5} {'calls/s':>9} {'p50 us':>8} {'p99 us':>8}")
    for conns in counts:
        medians = {
            name: {key: statistics.median(cell[key] for cell in cells[name, conns])
                   for key in ("rps", "p50", "p99")}
            for name in ("direct", "remit")
        }  # fmt: skip
        for name, median in medians.items():
            row = f"{median['rps']:>9.0f} {median['p50']:>8.0f} {median['p99']:>8.0f}"
            print(f"{name:<8} {conns:>5} {row}")
        ratio = medians["remit"]["rps"] / medians["direct"]["rps"]
        print(f"remit is {ratio:.1%} of direct at {conns} connections")


if __name__ == "__main__":
    main()
