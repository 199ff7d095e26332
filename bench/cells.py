"""One cell: a target under load for some seconds, every reply checked; its first right answer."""

import http.client
import json
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.kit import FAST_UPSTREAM, KIT, LOADGEN
from bench.processes import (
    START_LIMIT,
    BenchError,
    Usage,
    busy,
    listens,
    pinned,
    started,
    usage,
    wait_for,
)
from bench.results import DENIED, LIST, Round
from bench.targets import LEGACY, MODERN, REST, Target

UPSTREAM_CORE = 1
"""Of upstream and load generator; the target has the other."""

STDIO_CHILD = "stdio_upstream"
"""In the command line of the upstream that stdio peers start, which is not theirs to pay for."""

MILLIONTH = 1e6
PATIENCE = 6.0
"""Seconds that a target is given of which too little was seen."""

Mark = tuple[float, Usage, float]
"""When, what the target has used, what all others have."""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A target that answers.

    Attributes:
        pid: Of its first process; 0 for the upstream itself.
        listen: Milliseconds from its start until it accepted connections.
        first_call: Milliseconds from its start to its first right answer.
    """

    target: Target
    pid: int
    listen: float
    first_call: float

    @property
    def usage(self) -> Usage:
        """What it has used so far."""
        if not self.pid:
            return Usage(cpu=0.0, resident=0, processes=0)
        return usage(self.pid, without=STDIO_CHILD)


@contextmanager
def upstream(port: int, tools: int) -> Generator[int]:
    """Run the kit's fast upstream with so many tools; gives its process number.

    Raises:
        BenchError: The port is taken.
    """
    if listens(port):
        raise BenchError(f"port {port} is taken: does another bench run?")
    env = {"PORT": str(port), "TOOLS": str(tools)}
    with started(FAST_UPSTREAM, cores=[UPSTREAM_CORE], env=env, cwd=KIT) as child:
        wait_for(port, child)
        yield child.pid


@contextmanager
def serving(target: Target, log: Path) -> Generator[Started]:
    """Start *target*, and give it when it has answered its first call right.

    Raises:
        BenchError: It did not; the text has what it said instead.
    """
    began = time.monotonic()
    if not target.command:
        _first_answer(target, began)
        yield Started(target=target, pid=0, listen=0.0, first_call=0.0)
        return
    if listens(target.port):
        raise BenchError(f"port {target.port} of {target.name} is taken")
    with started(
        target.command, cores=target.cores, env=target.env, cwd=target.cwd, log=log
    ) as child:
        wait_for(target.port, child)
        listen = time.monotonic() - began
        first = _first_answer(target, began)
        yield Started(target=target, pid=child.pid, listen=listen * 1000, first_call=first * 1000)


def measure(
    run: Started, what: str, *, conns: int, secs: float, upstream: int = 0,
    expect: str = "", warm: float = 0.3,
) -> Round:  # fmt: skip
    """Return one cell's figures, with more time for a target so slow that few calls end.

    Args:
        run: The target.
        what: `CALL`, `LIST` or `DENIED`.
        conns: Connections, with one request in flight each.
        secs: Seconds that count.
        upstream: Process number of the upstream, which is no foreigner.
        expect: Text that every list has.
        warm: Seconds before.

    Raises:
        BenchError: A reply was wrong.
    """
    load = partial(_loaded, run, what, conns=conns, upstream=upstream, expect=expect, warm=warm)
    figures, marks = load(secs=secs)
    if figures["n"] < conns:
        figures, marks = load(secs=max(secs, PATIENCE))
    _check(run.target, what, figures)
    return _round(figures, marks)


def _loaded(
    run: Started, what: str, *, conns: int, secs: float, upstream: int, expect: str, warm: float
) -> tuple[dict[str, Any], list[Mark]]:
    """Return what the load generator told, and the marks at begin and end of its window."""
    target = run.target
    tool = target.denied if what == DENIED else target.tool
    command = [
        *pinned([UPSTREAM_CORE]), *LOADGEN, "--url", target.url, "--era", target.era,
        "--tool", tool, "--conns", str(conns), "--secs", str(secs), "--warm", str(warm), "--sync",
        *(w for name, value in target.headers.items() for w in ("--header", f"{name}: {value}")),
    ]  # fmt: skip
    if what == LIST:
        command += ["--method", "tools/list", "--expect", expect]
    marks: list[Mark] = []
    ours = {upstream, run.pid} - {0}
    told = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as load:
        for line in load.stdout or ():
            if line.strip() in {"BEGIN", "END"}:
                others = busy() - sum(usage(pid).cpu for pid in ours)
                marks.append((time.monotonic(), run.usage, others))
            else:
                told = line
        problem = load.stderr.read() if load.stderr else ""
    if not told or len(marks) != 2:
        raise BenchError(f"no figures: {problem.strip().rpartition(chr(10))[2][:300]}")
    return json.loads(told), marks


def _round(figures: Mapping[str, Any], marks: Sequence[Mark]) -> Round:
    (began, before, others), (ended, after, others_after) = marks
    calls, cpu = int(figures["n"]), after.cpu - before.cpu
    load = calls * float(figures["loadgen_cpu_us"]) / MILLIONTH
    return Round(
        rate=float(figures["rps"]),
        p50=float(figures["p50"]),
        p95=float(figures["p95"]),
        p99=float(figures["p99"]),
        cpu=round(cpu / calls * MILLIONTH, 1),
        calls=calls,
        foreign=round(max(0.0, others_after - others - load) / (ended - began), 3),
    )


def _check(target: Target, what: str, figures: Mapping[str, Any]) -> None:
    """Raise `BenchError` unless every reply was what it should be."""
    errors, first = int(figures["errors"]), str(figures["first_error"])
    if not figures["n"]:
        raise BenchError("nothing was answered in time")
    if what != DENIED and errors:
        raise BenchError(f"{errors} wrong replies, the first: {first[:300]}")
    if what == DENIED and (errors != figures["n"] or "-32602" not in first):
        raise BenchError(f"{target.denied} was not always refused: {first[:300]}")


def _first_answer(target: Target, began: float) -> float:
    """Return the seconds from *began* to the first right answer."""
    said = ""
    while time.monotonic() - began < START_LIMIT:
        try:
            said = _one_call(target)
        except (OSError, http.client.HTTPException) as error:
            said = repr(error)
        if _is_right(said):
            return time.monotonic() - began
        time.sleep(0.01)  # noqa: TID251 - a script that waits for another program
    raise BenchError(f"no right answer in {START_LIMIT:.0f} s: {said[:300]}")


def _is_right(said: str) -> bool:
    compact = said.replace(" ", "")
    return '"ready"' in compact and '"error":' not in compact and '"isError":true' not in compact


def _one_call(target: Target) -> str:
    if target.era == REST:
        return _post(target, {"text": "ready"}, {})[1]
    params: dict[str, Any] = {"name": target.tool, "arguments": {"text": "ready"}}
    headers: dict[str, str] = {}
    if target.era == MODERN:
        params["_meta"] = META
        headers = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": target.tool,
        }
    elif target.era == LEGACY:
        headers = _handshake(target)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return _post(target, body, headers)[1]


def _handshake(target: Target) -> dict[str, str]:
    """Begin a session and return the headers of its requests."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    session, _ = _post(target, body, {})
    headers = {"mcp-protocol-version": "2025-06-18"}
    if session:
        headers["mcp-session-id"] = session
    _post(target, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
    return headers


def _post(target: Target, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the session that an answer names, and its text."""
    link = http.client.HTTPConnection("127.0.0.1", target.port, timeout=15)
    try:
        path = target.url.partition(f":{target.port}")[2]
        accept = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        link.request("POST", path, json.dumps(body), {**accept, **target.headers, **headers})
        reply = link.getresponse()
        return reply.getheader("mcp-session-id", "") or "", reply.read().decode()
    finally:
        link.close()
