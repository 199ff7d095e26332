"""Calls a second over one child process: driven directly, through `upstreams`, through remit.

    python -m bench.stdio                    # or: --rounds 9 --secs 1 --callers 16
    python -m bench.stdio --profile 25       # which functions of `upstreams` it goes to

The child is the bench kit's trivial one (`$REMIT_SHARED/bench`) on a core of its own, one child
for each target; targets take turns within a round, and every reply is checked.

- `raw` is the kit's multiplexer: ids of its own, lines joined for each turn of the event loop, no
  time limit, and nothing is looked at but the id.
- `upstreams` is what the pipeline calls: a time limit, turns, `_meta`, an envelope that is read.
- `remit` is the whole gateway in a process of its own, over HTTP, with the kit's load generator on
  the child's core. It cannot be quicker than HTTP: `--delay` makes a child that takes its time.
"""

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import uvloop
from bench.cells import Started, measure, serving
from bench.kit import CACHE, KIT, STDIO_UPSTREAM
from bench.processes import pinned
from bench.results import CALL
from bench.targets import remit_over_stdio
from bench.upstream import CALLER, META

from remit.model.servers import ServerConfig, Session, Transport
from remit.model.tools import ToolId
from remit.upstreams.fleet import Fleet, open_fleet

ECHO = ToolId("child", "echo")
COMMAND = (*pinned([1]), *STDIO_UPSTREAM)

Call = Callable[[str], Awaitable[bytes]]
"""Echoes a text, and returns the raw result."""


class Raw(asyncio.SubprocessProtocol):
    """The kit's multiplexer: one child, lines joined for each turn of the event loop."""

    def __init__(self) -> None:
        self._rest = b""
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._lines: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self._stdin = transport.get_pipe_transport(0)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            message = msgspec.json.decode(line)
            waiting = self._waiting.pop(message["id"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)

    def _flush(self) -> None:
        self._stdin.write(b"".join(self._lines))
        self._lines.clear()

    async def call(self, text: str) -> bytes:
        self._number += 1
        loop = asyncio.get_running_loop()
        waiting = self._waiting[self._number] = loop.create_future()
        if not self._lines:
            loop.call_soon(self._flush)
        params = {"name": ECHO.name, "arguments": {"text": text}, "_meta": msgspec.Raw(META)}
        frame = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        self._lines.append(msgspec.json.encode(frame) + b"\n")
        return str((await waiting)["result"]["content"][0]["text"]).encode()


@asynccontextmanager
async def raw(environ: dict[str, str]) -> AsyncGenerator[Call]:
    """Give a child that is driven directly."""
    loop = asyncio.get_running_loop()
    transport, mux = await loop.subprocess_exec(
        Raw, *COMMAND, stderr=None, env={**os.environ, **environ}
    )
    try:
        yield mux.call
    finally:
        transport.close()


@asynccontextmanager
async def upstreams(environ: dict[str, str]) -> AsyncGenerator[Call]:
    """Give the same child behind remit's fleet."""
    config = ServerConfig(
        name=ECHO.server,
        transport=Transport.STDIO,
        command=COMMAND[0],
        args=COMMAND[1:],
        env=environ,
        session=Session.SHARED,
        max_concurrency=1024,
    )
    async with open_fleet(
        {config.name: config}, builtins={}, environ=os.environ, unclaimed=lambda _: None
    ) as fleet:
        await fleet.settled()
        yield through(fleet)


def through(fleet: Fleet) -> Call:
    """Return a call through the fleet."""

    async def call(text: str) -> bytes:
        return await fleet.invoke(
            ECHO,
            arguments=b'{"text":"%b"}' % text.encode(),
            meta=META,
            principal=CALLER,
            timeout=60.0,
        )

    return call


async def driven(call: Call, *, callers: int, secs: float) -> dict[str, float]:
    """Return calls a second, and the microseconds of this process's time that one takes."""
    until = time.perf_counter() + secs
    calls = 0

    async def caller(number: int) -> None:
        nonlocal calls
        mine = 0
        while time.perf_counter() < until:
            mine += 1
            text = f"m{number}-{mine}-xxxxxxxx"
            if text.encode() not in await call(text):
                sys.exit(f"{text} was answered with something else")
        calls += mine

    began, cpu = time.perf_counter(), time.process_time()
    async with anyio.create_task_group() as tasks:
        for number in range(callers):
            tasks.start_soon(caller, number)
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    return {"rps": calls / took, "cpu": spent / calls * 1e6}


@contextmanager
def gateway(environ: dict[str, str]) -> Generator[Started]:
    """Start remit with the child behind it."""
    logs = CACHE / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        target = remit_over_stdio(Path(name) / "remit", COMMAND, environ)
        with serving(target, logs / f"{target.name}.log") as run:
            yield run


async def compare(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Measure side by side; return medians by target."""
    os.sched_setaffinity(0, {0})
    environ = {"DELAY_MS": str(options.delay)} if options.delay else {}
    cells: dict[str, list[dict[str, float]]] = {}
    how = {"callers": options.callers, "secs": options.secs}
    with gateway(environ) as remit:
        async with raw(environ) as direct, upstreams(environ) as ours:
            for _ in range(options.rounds):
                for name, call in {"raw": direct, "upstreams": ours}.items():
                    cells.setdefault(name, []).append(await driven(call, **how))
                cell = measure(remit, CALL, conns=options.callers, secs=options.secs)
                cells.setdefault("remit", []).append({"rps": cell.rate, "cpu": cell.cpu})
            if options.profile:
                with cProfile.Profile() as profile:
                    await driven(ours, **how)
                pstats.Stats(profile).sort_stats("tottime").print_stats(options.profile)
    return {
        name: {
            figure: statistics.median(cell[figure] for cell in measured) for figure in measured[0]
        }
        for name, measured in cells.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=float, default=1.0)
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--delay", type=float, default=0, help="milliseconds the child takes")
    parser.add_argument("--profile", type=int, default=0, help="lines of a profile to print")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not KIT.is_dir():
        sys.exit(f"the bench kit is not at {KIT}: set REMIT_SHARED")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        medians = runner.run(compare(options))
    if options.json:
        sys.stdout.write(json.dumps(medians) + "\n")
        return
    print(f"{'target':<10} {'calls/s':>9} {'of raw':>7} {'CPU us':>7}")
    for name, median in medians.items():
        share = median["rps"] / medians["raw"]["rps"]
        cpu = f"{median['cpu']:>7.1f}" if median["cpu"] else ""
        print(f"{name:<10} {median['rps']:>9.0f} {share:>7.0%} {cpu}")


if __name__ == "__main__":
    main()
