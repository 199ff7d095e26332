"""Load on `remit serve --workers 2` while servers, a worker and connections are killed.

    python bench/soak.py                      # 30 minutes; --minutes 1 for a short one
    python bench/soak.py --minutes 10 --json

A server (two over stdio, one over HTTP, in turn) is killed every 20 s, a worker every 2 minutes,
connections are cut at random. Afterwards every answer, every run at the servers and every row of
the record is held against one another. Exit status 1 when anything is violated.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from verdict import (
    Sample,
    Sent,
    against_the_record,
    against_the_servers,
    growth,
    number_of,
    processes,
    size_of,
)

from remit.model.events import ADMINISTRATION
from remit.testing.gateway import Caller, Running, environment, fixture_entry, start_gateway

CALL_TIME: Final = 8
"""Seconds that the gateway gives a call."""

HUNG: Final = CALL_TIME + 12.0
"""Seconds after which a call is hung; the machine may be busy."""

KILLED_LATELY: Final = 6.0
"""Seconds after the kill of a worker in which a connection may break."""

SERVERS: Final = ("files", "shared", "web")
TOOLS: Final[Sequence[Any]] = (
    {"name": "read", "annotations": {"readOnlyHint": True}, "x-fixture": {"delay": 0.05}},
    {"name": "write", "x-fixture": {"delay": 0.1}},
)
HONEST: Final = frozenset({"UPSTREAM_UNAVAILABLE", "UPSTREAM_TIMEOUT", "UPSTREAM_ERROR"})
"""Codes of failures that a call may end with while servers are killed."""


@dataclass(kw_only=True)
class Soak:
    """The load, the killing, and what was seen."""

    running: Running
    web: "Web"
    key: str
    until: float
    server_every: float
    worker_every: float
    pause: float
    sent: dict[int, Sent] = field(default_factory=dict[int, Sent])
    codes: Counter[str] = field(default_factory=Counter[str])
    kills: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    samples: list[Sample] = field(default_factory=list[Sample])
    slowest: float = 0.0
    worker_killed: float = 0.0
    _numbers: "count[int]" = field(default_factory=count)

    @property
    def goes_on(self) -> bool:
        """Whether the time is not over."""
        return time.monotonic() < self.until

    async def run(self, callers: int, bar: Progress) -> None:
        """Keep everything going until the time is over."""
        async with anyio.create_task_group() as tasks:
            for number in range(callers):
                tasks.start_soon(self._calls, number)
            tasks.start_soon(self._cuts)
            tasks.start_soon(self._kills_servers)
            tasks.start_soon(self._kills_workers)
            tasks.start_soon(self._samples)
            tasks.start_soon(self._shows, bar)

    async def _calls(self, who: int) -> None:
        while self.goes_on:
            async with httpx2.AsyncClient() as http:
                caller = Caller(http, self.running.url, self.key)
                try:
                    caller = await caller.begin() if who % 2 else caller
                except httpx2.TransportError as error:
                    self._broke(f"a handshake broke: {error!r}")
                    continue
                for _ in range(random.randint(5, 60)):  # noqa: S311 - no secret
                    if self.goes_on:
                        await self._call(caller)
                        await anyio.sleep(random.uniform(0, 2 * self.pause))  # noqa: S311

    def _new(self) -> tuple[int, Sent, dict[str, Any]]:
        number = next(self._numbers)
        tool = "write" if random.random() < 0.4 else "read"  # noqa: S311
        sent = Sent(server=random.choice(SERVERS), tool=tool)  # noqa: S311
        self.sent[number] = sent
        text = "\u2603" * random.choice((1, 30, 3000))  # noqa: S311
        return number, sent, {"number": number, "text": text}

    async def _call(self, caller: Caller) -> None:
        number, sent, arguments = self._new()
        params = {"name": f"{sent.server}__{sent.tool}", "arguments": arguments}
        began = time.monotonic()
        reply: httpx2.Response | None = None
        with anyio.move_on_after(HUNG):
            try:
                reply = await caller.send("tools/call", params, number)
            except httpx2.TransportError as error:
                sent.answer = "broken"
                self._broke(f"call {number} broke: {error!r}")
        self.slowest = max(self.slowest, time.monotonic() - began)
        if reply is not None:
            sent.answer = self._judged(reply, number, sent, arguments)
        elif sent.answer == "hung":
            self.faults.append(f"hung: call {number} of {sent}")

    def _judged(
        self, reply: httpx2.Response, number: int, sent: Sent, arguments: dict[str, Any]
    ) -> str:
        """Return how a call was answered, and note a wrong answer."""
        with suppress(ValueError):
            answer = reply.json()
            result = answer.get("result", {})
            meta = result.get("_meta", {})
            text = result.get("content", [{}])[0].get("text", "")
            wanted = f"{sent.tool} {json.dumps(arguments, ensure_ascii=False)}"
            if answer.get("id") == number and not result.get("isError") and text == wanted:
                return "ok"
            if result.get("isError") and meta.get("remit/code") in HONEST:
                self.codes[str(meta["remit/code"])] += 1
                return "failed" if meta.get("remit/outcome") == "unknown" else "refused"
        self.faults.append(
            f"wrong: call {number} of {sent}: {reply.status_code} {reply.text[:300]}"
        )
        return "wrong"

    def _broke(self, what: str) -> None:
        if time.monotonic() - self.worker_killed > KILLED_LATELY:
            self.faults.append(f"{what}, although no worker was killed")

    async def _cuts(self) -> None:
        """Open connections and cut them: in the middle of a request, of an answer, of a stream."""
        while self.goes_on:
            await anyio.sleep(random.uniform(0, 0.4))  # noqa: S311
            with suppress(OSError, anyio.BrokenResourceError, anyio.EndOfStream):
                async with await anyio.connect_tcp("127.0.0.1", self.running.port) as stream:
                    await self._cut(stream)

    async def _cut(self, stream: SocketStream) -> None:
        self.kills["connections"] += 1
        data, lasts = self._cut_call(), random.uniform(0, 0.08)  # noqa: S311
        match random.randrange(4):  # noqa: S311
            case 0:
                data = data[: random.randrange(len(data))]  # noqa: S311
            case 1:
                body = _envelope("subscriptions/listen", {"notifications": {}})
                data, lasts = _post(self.key, "subscriptions/listen", body), 1.0
            case 2:
                raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - this is no Django
                raw.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: a reset, no farewell
            case _:
                pass
        await stream.send(data)
        with anyio.move_on_after(lasts):
            while True:
                await stream.receive()

    def _cut_call(self) -> bytes:
        _, sent, arguments = self._new()
        sent.answer = "cut"
        name = f"{sent.server}__{sent.tool}"
        body = _envelope("tools/call", {"name": name, "arguments": arguments})
        return _post(self.key, "tools/call", body, name)

    async def _kills_servers(self) -> None:
        for turn in count():
            await self._rest(self.server_every)
            if not self.goes_on:
                return
            name = SERVERS[turn % len(SERVERS)]
            if name == "web":
                self.web.kill()
                self.kills["servers"] += 1
                await anyio.sleep(1)
                self.web.start()
            elif pids := processes(f"{name}.ran"):
                self._kill(random.choice(pids), "servers")  # noqa: S311

    async def _kills_workers(self) -> None:
        """Kill the second worker; the first one shows what grows."""
        while True:
            await self._rest(self.worker_every)
            if not self.goes_on:
                return
            for pid in processes("serve-worker", f"--port\0{self.running.port}\0", "--number\0002"):
                self.worker_killed = time.monotonic()
                self._kill(pid, "workers")

    def _kill(self, pid: int, what: str) -> None:
        self.kills[what] += 1
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    async def _rest(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, min(seconds, self.until - time.monotonic())))

    async def _samples(self) -> None:
        every = max(0.5, (self.until - time.monotonic()) / 120)
        while self.goes_on:
            await self._rest(every)
            first = processes("serve-worker", f"--port\0{self.running.port}\0", "--number\0001")
            if first:
                supervisor = size_of(self.running.process.pid)
                self.samples.append(Sample(supervisor=supervisor, worker=size_of(first[0])))

    async def _shows(self, bar: Progress) -> None:
        total = self.until - time.monotonic()
        task = bar.add_task("soak", total=total, calls=0, faults=0)
        while self.goes_on:
            await self._rest(0.5)
            left = max(0.0, self.until - time.monotonic())
            calls, faults = len(self.sent), len(self.faults)
            bar.update(task, completed=total - left, calls=calls, faults=faults)


@dataclass(slots=True)
class Web:
    """The fixture server over HTTP, in a process that can be killed."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it on its port."""
        tools = self.folder / "web.tools.json"
        tools.write_text(json.dumps(TOOLS))
        files = ("--tools-file", str(tools), "--count-file", str(self.folder / "web.ran"))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "remit.testing.upstream", *files,
             "--transport", "http", "--port", str(self.port)],
            env=environment(), stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def kill(self) -> None:
        """Kill it, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _envelope(method: str, params: dict[str, Any]) -> bytes:
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return json.dumps(body).encode()


def _post(key: str, method: str, body: bytes, name: str = "") -> bytes:
    named = f"mcp-name: {name}\r\n" if name else ""
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        f"mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{named}"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@contextmanager
def gateway(folder: Path) -> Generator[tuple[Running, Web]]:
    """Run the servers and the gateway in front of them."""
    port = random.randint(20_000, 30_000)  # noqa: S311 - below what the kernel gives away
    web = Web(folder, port)
    web.start()
    limits: dict[str, Any] = {"timeout": CALL_TIME}
    stdio = {"files": {}, "shared": {"session": "shared"}}
    document = {
        "mcp_servers": {
            **{
                name: fixture_entry(TOOLS, folder / f"{name}.ran", **more, **limits)
                for name, more in stdio.items()
            },
            "web": {"url": f"http://127.0.0.1:{port}/mcp", **limits},
        },
        "roles": {"caller": {"allow": [f"{name}/*" for name in SERVERS]}},
    }
    for name in stdio:
        (folder / f"{name}.ran").touch()
    config = folder / "remit.yaml"
    config.write_text(json.dumps(document))
    running = start_gateway(folder, config, None, "--workers", "2")
    try:
        yield running, web
    finally:
        if running.process.poll() is None:
            running.stop()
        web.kill()


async def ready(running: Running, key: str) -> None:
    """Wait until all servers are listed."""
    async with httpx2.AsyncClient() as http:
        wanted = {f"{name}__{tool['name']}" for name in SERVERS for tool in TOOLS}
        await Caller(http, running.url, key).until_listed(wanted, within=40)


def soaked(options: argparse.Namespace, folder: Path, bar: Progress) -> dict[str, Any]:
    """Run the soak and return all that was found."""
    with gateway(folder) as (running, web):
        key = running.key("caller")
        anyio.run(ready, running, key)
        seconds = options.minutes * 60
        soak = Soak(
            running=running, web=web, key=key, until=time.monotonic() + seconds,
            server_every=options.server_every, worker_every=options.worker_every,
            pause=options.pause,
        )  # fmt: skip
        anyio.run(soak.run, options.callers, bar)
        status = running.stop()
        output = folder / "record.jsonl"
        running.remit("audit", "export", "--output", str(output))
        verified = running.remit("audit", "verify").strip()
        log = running.log.read_text(errors="replace")
    left = processes(str(folder))
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    read = [row for row in lines if row["server"] != ADMINISTRATION]
    rows = {number_of(row): row["outcome"] for row in read}
    recorded = Counter(number_of(row) for row in read)
    sizes, grown = growth(soak.samples)
    files = [folder / f"{name}.ran" for name in SERVERS]
    faults = [
        *soak.faults, *against_the_servers(soak.sent, files, recorded),
        *against_the_record(soak.sent, rows, recorded), *grown,
    ]  # fmt: skip
    if status or "OK: " not in verified or left:
        faults.append(f"end: status {status}, {verified}, left running: {left}")
    if "Traceback" in log:
        faults.append(f"traceback: {log[log.index('Traceback') - 500 :][:3000]}")
    answers = Counter(sent.answer for sent in soak.sent.values())
    return {
        "minutes": options.minutes, "calls": len(soak.sent), "answers": dict(answers),
        "codes": dict(soak.codes), "killed": dict(soak.kills), "slowest": round(soak.slowest, 2),
        "rows": len(read), "record": verified, "sizes": sizes, "samples":
        [asdict(sample) for sample in soak.samples], "faults": faults,
    }  # fmt: skip


def show(report: dict[str, Any]) -> None:
    """Print the table."""
    table = Table("what", "found", title=f"{report['minutes']:g} minutes")
    for name in ("calls", "answers", "codes", "killed", "rows", "record"):
        found = cast("dict[str, int] | int | str", report[name])
        shown = found if isinstance(found, dict) else {}
        table.add_row(name, ", ".join(f"{key} {shown[key]}" for key in shown) or str(found))
    table.add_row("slowest call", f"{report['slowest']} s")
    for name, (first, last) in report["sizes"].items():
        table.add_row(name, f"{first:g} in the first third, {last:g} in the last")
    kinds = Counter(fault.partition(":")[0] for fault in report["faults"])
    for kind in ("wrong", "twice", "hung", "lost", "growth"):
        table.add_row(f"violations: {kind}", str(kinds.pop(kind, 0)))
    table.add_row("violations: others", str(sum(kinds.values())))
    console = Console(width=110)
    console.print(table)
    for fault in report["faults"][:20]:
        console.print(fault, markup=False)


def main() -> int:
    """Soak and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--server-every", type=float, default=20.0, help="seconds")
    parser.add_argument("--worker-every", type=float, default=120.0, help="seconds")
    parser.add_argument("--callers", type=int, default=6)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between two calls")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    columns = (
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[calls]} calls, {task.fields[faults]} violations"),
    )  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="remit-soak-") as name,
        Progress(*columns, console=Console(stderr=True)) as bar,
    ):
        report = soaked(options, Path(name), bar)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
