"""How soon a cold `remit serve` answers with ten servers, and how soon the commands do.

    python -m bench.start                       # medians of 5; --rounds 9 --json

Five servers are children over stdio, five are reached over HTTP; each offers 20 tools. `ready` is
the time from the start of the process to the first 200 of /healthz, `listed` to the first
`tools/list` with all 200 tools, `slow server` to the first 200 of /healthz while one server takes
ten seconds to start. Every start is cold but for the file cache. Beside each stands the processor
time that the process itself took for it, which a busy machine does not change.
"""

import argparse
import json
import resource
import socket
import statistics
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import httpx2
from bench.processes import (
    CORES,
    START_LIMIT,
    BenchError,
    free_port,
    running,
    started,
    usage,
)

from remit.testing.gateway import Caller, environment, fixture_entry, run_remit
from remit.testing.upstream import fixture_server_config

TOOLS: Final = tuple(f"tool_{number}" for number in range(20))
OF_EACH: Final = 5
COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "remit --help": ("--help",),
    "remit check": ("check",),
    "remit explain": ("explain", "--as", "role:bench", "child0/tool_1"),
    "remit keys list": ("keys", "list"),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A folder with a declaration of ten servers, whose HTTP ones run."""

    folder: Path
    servers: Mapping[str, Mapping[str, Any]]

    def written(self, **more: Mapping[str, Any]) -> Path:
        """Return the declaration, with *more* servers."""
        servers = {**self.servers, **more}
        roles = {"bench": {"tools": {name: list(TOOLS) for name in servers}}}
        path = self.folder / "remit.yaml"
        path.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Seconds that something took: by the clock, and of the processor."""

    wall: float
    cpu: float


def starts(scene: Scene) -> dict[str, Taken]:
    """Take the time of one cold start, until it is ready and until all tools are listed."""
    config = scene.written()
    key = _key(scene, config)
    with gateway(scene, config) as (pid, port, began):
        ready = _taken(pid, began)
        anyio.run(_until_all_are_listed, f"http://127.0.0.1:{port}/mcp", key)
        return {"ready": ready, "listed": _taken(pid, began)}


def start_beside_a_slow_server(scene: Scene) -> Taken:
    slow = {"command": sys.executable, "args": ["-c", "import time; time.sleep(10)"]}
    with gateway(scene, scene.written(slow=slow)) as (pid, _, began):
        return _taken(pid, began)


@contextmanager
def gateway(scene: Scene, config: Path) -> Generator[tuple[int, int, float]]:
    """Serve, from the first 200 of /healthz; gives process, port, and when it was started."""
    port = free_port()
    words = ("serve", "--config", str(config), "--port", str(port))
    program = (sys.executable, "-m", "remit", *words)
    log, env = scene.folder / "serve.log", environment()
    began = time.perf_counter()
    with started(program, cores=range(CORES), env=env, cwd=scene.folder, log=log) as child:
        limit = began + START_LIMIT
        while not _is_healthy(port):
            if time.perf_counter() > limit or child.poll() is not None:
                raise BenchError(f"the gateway does not answer: {log.read_text()}")
            time.sleep(0.005)  # noqa: TID251 - a script that waits for another program
        yield child.pid, port, began


def _is_healthy(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except OSError:
        return False


def command(scene: Scene, words: Sequence[str]) -> Taken:
    """Take the time of a command that starts no server."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run_remit(*words, folder=scene.folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall=time.perf_counter() - began, cpu=cpu)


def _taken(pid: int, began: float) -> Taken:
    wall = time.perf_counter() - began
    return Taken(wall=wall, cpu=usage(pid, without="remit.testing").cpu)


def _key(scene: Scene, config: Path) -> str:
    run_remit("keys", "revoke", "bench", "--config", str(config), folder=scene.folder)
    words = ("keys", "create", "bench", "--role", "bench", "--json", "--config", str(config))
    return json.loads(run_remit(*words, folder=scene.folder).stdout)["key"]


async def _until_all_are_listed(url: str, key: str) -> None:
    wanted = {f"{kind}{n}__{t}" for kind in ("child", "web") for n in range(OF_EACH) for t in TOOLS}
    async with httpx2.AsyncClient() as http:
        await Caller(http, url, key).until_listed(wanted, within=60)


def measure(scene: Scene, rounds: int) -> dict[str, list[Taken]]:
    found: dict[str, list[Taken]] = {}
    for _ in range(rounds):  # in turn, so that a busy moment does not hit one of them alone
        taken = starts(scene)
        taken["slow server"] = start_beside_a_slow_server(scene)
        taken |= {name: command(scene, words) for name, words in COMMANDS.items()}
        for name, value in taken.items():
            found.setdefault(name, []).append(value)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.start",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        port = free_port()
        config = fixture_server_config("web", TOOLS, folder / "web.jsonl")
        program = [config.command, *config.args, "--transport", "http", "--port", str(port)]
        servers: dict[str, Mapping[str, Any]] = {
            f"child{number}": fixture_entry(TOOLS, folder / f"child{number}.jsonl")
            for number in range(OF_EACH)
        }
        for number in range(OF_EACH):
            servers[f"web{number}"] = {"transport": "http", "url": f"http://127.0.0.1:{port}/mcp"}
        with running(program, core=1, port=port, env={}, cwd=folder):
            found = measure(Scene(folder, servers), chosen.rounds)
    if chosen.json:
        print(json.dumps({name: [asdict(one) for one in taken] for name, taken in found.items()}))
        return 0
    for name, taken in found.items():
        wall, cpu = (statistics.median(times) for times in zip(*map(astuple, taken), strict=True))
        print(f"{wall * 1000:7.0f} ms  {cpu * 1000:7.0f} ms of processor  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
