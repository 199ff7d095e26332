"""Processor time of one tool call on its way through `upstreams`, without door, policy and record.

    python -m bench.upstream                 # or: --rounds 9 --calls 4000 --callers 16
    python -m bench.upstream --profile 25    # which functions it goes to

The upstream is the bench kit's fast one (`$REMIT_SHARED/bench`) in a process of its own, which
is not counted. Beside remit stands the kit's trial of a bare connection pool, which neither keeps
a time limit nor reads what it gets: what the socket itself costs. The best round counts, since
every other one was disturbed; only ratios within one run mean anything.
"""

import argparse
import asyncio
import cProfile
import pstats
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module

import anyio
import uvloop
from bench.kit import FAST_UPSTREAM, KIT
from bench.processes import free_port, running

from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig, Transport
from remit.model.tools import ToolId
from remit.upstreams.fleet import Fleet, open_fleet

CALLER = Principal(kind=PrincipalKind.KEY, name="bench", roles=("bench",))
ECHO = ToolId("fast", "echo")
ARGUMENTS = b'{"text":"m0-1-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'
META = (
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"loadgen","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)

Call = Callable[[], Awaitable[object]]


async def spent(call: Call, *, calls: int, callers: int) -> float:
    """Return the microseconds of this process's time that one call takes."""

    async def caller() -> None:
        for _ in range(calls // callers):
            await call()

    began = time.process_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(callers):
            tasks.start_soon(caller)
    return (time.process_time() - began) / (calls // callers * callers) * 1e6


def through(fleet: Fleet) -> Call:
    """Return a call through the fleet."""

    async def call() -> bytes:
        return await fleet.invoke(
            ECHO, arguments=ARGUMENTS, meta=META, principal=CALLER, timeout=60.0
        )

    return call


def bare(port: int) -> Call:
    """Return the same exchange over the kit's trial of a pool."""
    sys.path.insert(0, str(KIT / "trial"))
    pool = import_module("htclient").Pool("127.0.0.1", port, "/mcp")
    body = b"".join(
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":',
            ARGUMENTS,
            b',"_meta":' + META + b"}}",
        )
    )
    return lambda: pool.request(body)


async def measure(port: int, options: argparse.Namespace) -> None:
    """Measure side by side, and print."""
    url = f"http://127.0.0.1:{port}/mcp"
    config = ServerConfig(name=ECHO.server, transport=Transport.HTTP, url=url)
    async with open_fleet(
        {config.name: config}, builtins={}, environ={}, unclaimed=lambda _: None
    ) as fleet:
        await fleet.settled()
        measured = {"bare": bare(port), "remit": through(fleet)}
        how = {"calls": options.calls, "callers": options.callers}
        best = dict.fromkeys(measured, float("inf"))
        for _ in range(options.rounds):
            for name, call in measured.items():
                best[name] = min(best[name], await spent(call, **how))
        for name, us in best.items():
            print(f"{name:<6} {us:6.1f} us")
        print(f"remit is {best['remit'] / best['bare']:.2f} times bare")
        if options.profile:
            with cProfile.Profile() as profile:
                await spent(measured["remit"], **how)
            pstats.Stats(profile).sort_stats("tottime").print_stats(options.profile)


def main() -> None:
    """Start the upstream and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=4000, help="in each round")
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--profile", type=int, default=0, help="lines of a profile to print")
    options = parser.parse_args()
    if not KIT.is_dir():
        sys.exit(f"the bench kit is not at {KIT}: set REMIT_SHARED")
    port = free_port()
    with (
        running(FAST_UPSTREAM, core=1, port=port, env={"PORT": str(port)}, cwd=KIT),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(measure(port, options))


if __name__ == "__main__":
    main()
