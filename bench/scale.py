"""Does anything get slower by the number of things? A small and a large installation, side by side.

    python -m bench.scale                       # 2,000 tools, 200 servers, 500 roles, 10,000 keys,
                                                # 1,000,000 rows against 40, 2, 9, 9 and 100
    python -m bench.scale --rows 100000 --rounds 3

Both are served at once, by one process each on the gateways' core, before the bench kit's fast
upstream. One connection asks them the same in turns, some dozens of times, and every answer is
checked. Waits are medians over all rounds; processor time is that of the gateway's process, all
threads. The caller sees 40 tools in both; `another key each time` goes through all keys there are.
"""

import argparse
import http.client
import json
import statistics
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from bench.cells import META
from bench.intake import call
from bench.kit import FAST_UPSTREAM, KIT
from bench.processes import BenchError, free_port, running, usage
from msgspec import structs

from remit.admin.keys import make_key
from remit.app.installation import open_installation
from remit.settings import Settings
from remit.storage.database import Database
from remit.storage.insertion import insert_events
from remit.storage.intake import BATCH

SEEN = 40
"""Tools that the caller may use in both."""

RARE = "key:rare"
"""A caller of which the record has a few rows, all of them old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many things an installation has."""

    name: str
    tools: int
    servers: int
    roles: int
    keys: int
    rows: int


SMALL = Size(name="small", tools=SEEN, servers=2, roles=9, keys=9, rows=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An installation that is served.

    Attributes:
        started: Seconds from its start to the moment when all its tools were there.
        pid: Of its process.
        keys: Texts of all keys of callers; the first is the caller's.
    """

    port: int
    pid: int
    started: float
    keys: Sequence[str]
    admin: str


def declaration(size: Size, port: int) -> dict[str, Any]:
    """Return what is declared: every server is the upstream on *port*."""
    each = size.tools // size.servers
    seen = [f"s{number:03}/*" for number in range(max(1, SEEN // each))]
    roles: dict[str, Any] = {"bench": {"allow": seen}}
    for number in range(1, size.roles):
        server = f"s{number % size.servers:03}"
        roles[f"role{number:03}"] = {
            "mcp_servers": [server],
            "tools": {server: ["echo"]},
            "allow": [f"s{(number + 7) % size.servers:03}/tool_*"],
            "deny": ["*/add"],
        }
    url = f"http://127.0.0.1:{port}/mcp"
    servers = {f"s{number:03}": {"transport": "http", "url": url} for number in range(size.servers)}
    return {"mcp_servers": servers, "roles": roles}


async def fill(config: Path, size: Size) -> tuple[Sequence[str], str]:
    """Put keys and record into the database; return the keys' texts and the administrator's."""
    now = datetime.now(UTC)
    async with open_installation(Settings.read(config), author="bench") as installation:
        roles = installation.policy.declaration.roles
        names = list(roles)
        texts: list[str] = []
        for number in range(size.keys):
            made = await make_key(
                installation.keys, f"key{number:05}", tenant="default",
                now=now - timedelta(seconds=size.keys - number),
                role=names[number % len(names)] if number else "bench", roles=roles,
            )  # fmt: skip
            texts.append(made.text)
        admin = await make_key(
            installation.keys, "boss", tenant="default", now=now, admin=True, roles={}
        )
        await _fill_record(installation.database, size.rows, now)
    return texts, admin.text


async def _fill_record(database: Database, rows: int, now: datetime) -> None:
    """Write *rows* events, two of them each of a call, the oldest first."""
    for start in range(0, rows, BATCH * 20):
        events = [
            structs.replace(event, time=now - timedelta(seconds=rows - number))
            for number in range(start, min(start + BATCH * 20, rows), 2)
            for event in call(number)
        ]
        if start == 0:
            events[:10] = [structs.replace(event, principal=RARE) for event in events[:10]]
        async with database.writing() as connection:
            await connection.run_sync(insert_events, events, are_new=lambda: True)


@contextmanager
def installed(size: Size, folder: Path) -> Generator[Installed]:
    """Serve an installation of that size."""
    folder.mkdir()
    upstream, port = free_port(), free_port()
    config = folder / "remit.yaml"
    config.write_text(json.dumps(declaration(size, upstream)))
    keys, admin = anyio.run(fill, config, size)
    serve = (sys.executable, "-m", "remit", "serve", "--config", str(config), "--port", str(port))
    fast = {"PORT": str(upstream), "TOOLS": str(size.tools // size.servers)}
    with running(FAST_UPSTREAM, core=1, port=upstream, env=fast, cwd=folder):
        began = time.monotonic()
        env = {"REMIT_SHARED_URL": "memory://"}
        with running(serve, core=0, port=port, env=env, cwd=folder) as process:
            one = Installed(port=port, pid=process.pid, started=0, keys=keys, admin=admin)
            took = _all_up(one, size.servers, began)
            yield Installed(port=port, pid=process.pid, started=took, keys=keys, admin=admin)


def _all_up(one: Installed, servers: int, began: float) -> float:
    """Return the seconds from *began* until all servers are ready."""
    line = Line(one)
    while True:
        told = json.loads(line.get("/readyz").decode())["servers"]
        if sum(server["state"] == "ready" for server in told) == servers:
            return time.monotonic() - began
        if time.monotonic() - began > 120:
            raise BenchError(f"only these are ready: {told[:3]}...")
        time.sleep(0.05)  # noqa: TID251 - a script that waits for another program


class Line:
    """One kept connection to an installation."""

    def __init__(self, one: Installed) -> None:
        self._one = one
        self._http = http.client.HTTPConnection("127.0.0.1", one.port, timeout=60)
        self._keys = cycle(one.keys)

    def get(self, path: str) -> bytes:
        """Ask the management API as an administrator."""
        return self._send("GET", path, None, {"authorization": f"Bearer {self._one.admin}"}, 200)

    def ask(self, method: str, key: str = "", *, status: int = 200, **params: object) -> bytes:
        """Ask MCP as the caller, or as the bearer of *key*."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        headers = {
            "authorization": f"Bearer {key or self._one.keys[0]}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
        }
        if "name" in params:
            headers["mcp-name"] = str(params["name"])
        return self._send("POST", "/mcp", json.dumps(body), headers, status)

    def another(self) -> str:
        """Return the next key, all of them in turn."""
        return next(self._keys)

    def _send(
        self, verb: str, path: str, body: str | None, headers: Mapping[str, str], status: int
    ) -> bytes:
        try:
            self._http.request(verb, path, body, dict(headers))
            reply = self._http.getresponse()
        except (BrokenPipeError, http.client.RemoteDisconnected):  # it rested for too long
            self._http.close()
            self._http.request(verb, path, body, dict(headers))
            reply = self._http.getresponse()
        said = reply.read()
        if reply.status != status:
            raise BenchError(f"{verb} {path} was answered by {reply.status}: {said[:200]!r}")
        return said


QUESTIONS: Mapping[str, tuple[Callable[[Line], bytes], bytes]] = {
    "tools/call": (
        lambda line: line.ask("tools/call", name="s000__echo", arguments={"text": "ready"}),
        b'"ready"',
    ),
    "another key each time": (
        lambda line: line.ask("server/discover", line.another()), b'"supportedVersions"',
    ),
    "tools/call, denied": (
        lambda line: line.ask("tools/call", name="s001__none", arguments={}, status=400), b"-32602",
    ),
    "a key that nobody has": (
        lambda line: line.ask("tools/list", "rmt_abcdefghijkl_" + "x" * 43, status=401), b"",
    ),
    "tools/list, 40 tools": (lambda line: line.ask("tools/list"), b'"s000__echo"'),
    "server/discover": (lambda line: line.ask("server/discover"), b'"supportedVersions"'),
    "explain": (lambda line: line.get("/api/v1/explain?as=role:bench&tool=s000/echo"), b"allowed"),
    "who-can": (lambda line: line.get("/api/v1/who-can?tool=s000/echo"), b'"bench"'),
    "keys, a page of 5": (lambda line: line.get("/api/v1/keys?limit=5"), b"key00000"),
    "one key": (lambda line: line.get("/api/v1/keys/key00003"), b"key00003"),
    "record, newest 20": (lambda line: line.get("/api/v1/audit?limit=20"), b'"principal"'),
    "record, of one caller": (
        lambda line: line.get(f"/api/v1/audit?limit=5&principal={RARE}"), b'"principal"',
    ),
    "servers, a page of 2": (lambda line: line.get("/api/v1/servers?limit=2"), b'"s000"'),
}  # fmt: skip
"""What is asked, and what must be in its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Microseconds of one question to one installation: the wait, and the processor's time."""

    wait: float
    cpu: float


def measure(lines: Mapping[str, tuple[Line, Installed]], rounds: int, times: int) -> Iterator[Any]:
    """Give (question, size, cell) for every question to every installation."""
    for question, (ask, needed) in QUESTIONS.items():
        waits: dict[str, list[float]] = {}
        spent = dict.fromkeys(lines, 0.0)
        for turn in range(rounds + 1):
            for name, (line, one) in lines.items():
                cpu = usage(one.pid).cpu
                for _ in range(times):
                    began = time.perf_counter()
                    said = ask(line)
                    took = (time.perf_counter() - began) * 1e6
                    if needed not in said:
                        raise BenchError(f"{question}: {said[:200]!r}")
                    if turn:  # the first one warms up
                        waits.setdefault(name, []).append(took)
                if turn:
                    spent[name] += usage(one.pid).cpu - cpu
        for name, measured in waits.items():
            cpu = spent[name] / (rounds * times) * 1e6
            yield question, name, Cell(wait=statistics.median(measured), cpu=cpu)


def show(question: str, of: Mapping[str, Cell]) -> None:
    """Print a line of the table."""
    few, many = of["small"], of["large"]
    waits = f"{few.wait:>9.0f} {many.wait:>9.0f} {many.wait / few.wait:>6.2f}"
    spent = f"{few.cpu:>9.0f} {many.cpu:>9.0f} {many.cpu / max(few.cpu, 1):>6.2f}"
    print(f"{question:<26} {waits}   {spent}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--tools", type=int, default=2000)
    parser.add_argument("--servers", type=int, default=200)
    parser.add_argument("--roles", type=int, default=500)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=40, help="each question, in a round")
    parser.add_argument("--json", action="store_true")
    given = vars(parser.parse_args())
    if not KIT.is_dir():
        sys.exit(f"the bench kit is not at {KIT}: set REMIT_SHARED")
    numbers = ("tools", "servers", "roles", "keys", "rows")
    large = Size(name="large", **{name: given[name] for name in numbers})
    with TemporaryDirectory(prefix="remit-scale-") as folder, ExitStack() as stack:
        lines: dict[str, tuple[Line, Installed]] = {}
        for size in (SMALL, large):
            one = stack.enter_context(installed(size, Path(folder) / size.name))
            lines[size.name] = Line(one), one
            for _ in one.keys:  # whoever comes for the first time is looked up in the database
                lines[size.name][0].ask("server/discover", lines[size.name][0].another())
        cells: dict[str, dict[str, Cell]] = {}
        if not given["json"]:
            print(f"{'':<26} {'wait us':>9} {'large':>9} {'ratio':>6}   {'CPU us':>9}")
        for question, name, cell in measure(lines, given["rounds"], given["times"]):
            cells.setdefault(question, {})[name] = cell
            if name == large.name and not given["json"]:
                show(question, cells[question])
        started = {name: one.started for name, (_, one) in lines.items()}
        resident = {name: usage(one.pid).resident / 2**20 for name, (_, one) in lines.items()}
    if given["json"]:
        shown = {
            question: {name: [cell.wait, cell.cpu] for name, cell in of.items()}
            for question, of in cells.items()
        }
        print(json.dumps({"us": shown, "started": started, "resident": resident}))
        return
    print(f"all servers up after {started['small']:.2f} s and {started['large']:.2f} s")
    print(f"resident {resident['small']:.0f} MiB and {resident['large']:.0f} MiB")


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
