"""Mangled requests at the door of a real `remit serve`: `python bench/fuzz.py [N] [--workers W]`.

Each is one that is right but for some edits (head, method, path, era, session, types, framing,
envelope by structure and by bytes), with and without a key. Fails with status 1 when any is
answered by 500 or above, by an internal error, or neither answered nor hung up on within a bound;
when a right call no longer gets its right answer; when the log has a traceback; and when memory or
descriptors grow. What was at fault is printed at once; Hypothesis then shows the smallest batch.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import httptools
import httpx2
from anyio.abc import SocketStream
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from mangled import KEY, META, PLANS, SESSION, Draft, Plan, headers_of, message_of, rendered

from remit.testing.gateway import Caller, Running, fixture_entry, start_gateway

BATCH: Final = 25
"""Requests in one example."""

LIMIT: Final = 15.0
"""Seconds within which a connection is answered or closed."""

LINGER: Final = 0.1
"""Seconds until the client of a request that may never be whole closes its side."""

GROWTH: Final = 24 * 1024
"""KiB that the gateway may have more after the run than when warm."""

FEW: Final = 4
"""Descriptors that come and go with the database and the servers."""

BATCHES: Final = st.lists(PLANS, min_size=BATCH, max_size=BATCH)


@dataclass(slots=True)
class Replies:
    """What came back on one connection."""

    status: int = 0
    is_stream: bool = False
    is_complete: bool = False
    received: bytearray = field(default_factory=bytearray)
    _parser: Any = None

    def expect(self) -> None:
        """Begin to wait for an answer."""
        self.status, self.is_stream, self.is_complete = 0, False, False
        self.received.clear()
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take bytes of the server."""
        self.received += data
        with suppress(httptools.HttpParserError):  # the answer to a HEAD, for one
            self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Tell streams, which have no end, from answers."""
        self.is_stream |= name.lower() == b"content-type" and b"event-stream" in value

    def on_message_complete(self) -> None:
        """Note the end of an answer."""
        self.is_complete = True


@dataclass(kw_only=True)
class Fuzz:
    """Sends requests, and judges what becomes of them."""

    port: int
    key: bytes
    session: bytes
    sent: int = 0
    calls: int = 0
    statuses: Counter[int] = field(default_factory=Counter[int])

    async def batch(self, plans: Sequence[Plan]) -> None:
        """Send a batch and then a right call.

        Raises:
            AssertionError: One was treated wrongly.
        """
        made = [rendered(plan) for plan in plans]
        filled = [
            (data.replace(KEY, self.key).replace(SESSION, self.session), plain)
            for data, plain in made
        ]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._kept, [data for data, plain in filled if plain])
            for data, plain in filled:
                if not plain:
                    tasks.start_soon(self._alone, data)
        self.sent += len(plans)
        await self._right_call()

    async def _kept(self, requests: Sequence[bytes]) -> None:
        """Send requests one after the other, on one connection for as long as it holds."""
        stream: SocketStream | None = None
        for data in requests:
            if stream is None:
                stream = await anyio.connect_tcp("127.0.0.1", self.port)
            replies = Replies()
            is_open = await self._asked(stream, data, replies, LIMIT)
            self._judge(replies, data)
            _need(replies.status or not is_open, "no answer", data)
            if not is_open or replies.is_stream:
                await stream.aclose()
                stream = None
        if stream is not None:
            await stream.aclose()

    async def _alone(self, data: bytes) -> None:
        """Send what may be no whole request, and close this side after a while."""
        replies = Replies()
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            if await self._asked(stream, data, replies, LINGER):
                with anyio.move_on_after(LIMIT) as waiting, suppress(anyio.BrokenResourceError):
                    await stream.send_eof()
                    async for more in stream:
                        replies.received += more
                _need(not waiting.cancelled_caught, "not closed", data)
        self._judge(replies, data)

    async def _asked(
        self, stream: SocketStream, data: bytes, replies: Replies, within: float
    ) -> bool:
        """Send, and wait for an answer; return whether the connection is open."""
        replies.expect()
        is_open = True
        with anyio.move_on_after(within):
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_send, stream, data)
                    while not replies.is_complete and not replies.is_stream:
                        replies.feed(await stream.receive())
            except* (anyio.EndOfStream, anyio.BrokenResourceError):
                is_open = False
        return is_open

    def _judge(self, replies: Replies, data: bytes) -> None:
        for found in re.findall(rb"HTTP/1\.1 (\d{3})", bytes(replies.received)):
            replies.status = int(found)
            self.statuses[replies.status] += 1
            _need(replies.status < 500, f"{bytes(replies.received)!r}", data)
        _need(b'"code":-32603' not in replies.received, "internal error", data)

    async def _right_call(self) -> None:
        self.calls += 1
        arguments = {"number": self.calls, "text": "\u2603 2^53+1", "exact": 9007199254740993}
        params = {"name": "tools__echo", "arguments": arguments, "_meta": META}
        body = json.dumps(message_of("tools/call", params)).encode()
        headers = headers_of("tools/call", Plan(0, with_key=True, edits=()), modern=True)
        data = Draft(b"POST", b"/mcp", headers, body).head() + body
        replies = Replies()
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            await self._asked(stream, data.replace(KEY, self.key), replies, LIMIT)
        answer = json.loads(bytes(replies.received).partition(b"\r\n\r\n")[2] or b"{}")
        text = answer.get("result", {}).get("content", [{}])[0].get("text", "")
        wanted = f"echo {json.dumps(arguments, ensure_ascii=False)}"
        _need(text == wanted, f"answered {bytes(replies.received)!r}", data)


def _need(holds: object, fault: str, data: bytes) -> None:
    """Tell of a fault at once, since to find the smallest request that has it takes its time."""
    if not holds:
        text = f"{fault[:2000]}: {data[:3000]!r}"
        print(text, file=sys.stderr, flush=True)
        raise AssertionError(text)


async def _send(stream: SocketStream, data: bytes) -> None:
    with suppress(anyio.BrokenResourceError):  # it answered and hung up before the end
        await stream.send(data)


def size_of(pid: int) -> tuple[int, int]:
    """Return a process's resident memory in KiB, and how many descriptors it has."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) if found else 0, len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def begun(running: Running) -> bytes:
    """Return the id of a session of the older era, when the gateway relays calls."""
    async with httpx2.AsyncClient() as http:
        caller = Caller(http, running.url, running.keys["caller"])
        await caller.until_listed({"tools__echo"})
        return (await caller.begin()).session.encode()


def fuzzed(running: Running, wanted: int, seed: int) -> dict[str, Any]:
    """Send *wanted* requests and return what was found.

    Raises:
        AssertionError: Hypothesis's smallest batch that is treated wrongly.
    """
    key = running.key("caller").encode()
    pid = running.process.pid
    with start_blocking_portal() as portal:
        session = portal.call(begun, running)
        fuzz = Fuzz(port=running.port, key=key, session=session)
        _run(portal, fuzz.batch, max(wanted // 5, BATCH), seed)
        warm = size_of(pid)
        began = time.monotonic()
        _run(portal, fuzz.batch, wanted - fuzz.sent, seed + 1)
        seconds = time.monotonic() - began
        portal.call(partial(_until_rested, pid, warm[1]))
    ended = size_of(pid)
    return {
        "requests": fuzz.sent, "right_calls": fuzz.calls, "seconds": round(seconds, 1),
        "statuses": {str(status): fuzz.statuses[status] for status in sorted(fuzz.statuses)},
        "rss_kib": [warm[0], ended[0]], "descriptors": [warm[1], ended[1]],
        "traceback": "Traceback" in running.log.read_text(errors="replace"),
    }  # fmt: skip


async def _until_rested(pid: int, before: int) -> None:
    """Wait for the gateway to notice that its clients have left."""
    with anyio.move_on_after(LIMIT):
        while size_of(pid)[1] > before:  # noqa: ASYNC110 - another process's descriptors
            await anyio.sleep(0.1)


def _run(
    portal: BlockingPortal, batch: Callable[[Sequence[Plan]], Any], count: int, seed: int
) -> None:
    @settings(
        max_examples=max(1, -(-count // BATCH)), deadline=None, database=None, derandomize=False,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )  # fmt: skip
    @given(BATCHES)
    def each(plans: Sequence[Plan]) -> None:
        portal.call(batch, plans)

    seeded(seed)(each)()


def main() -> int:
    """Fuzz and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requests", type=int, nargs="?", default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="remit-fuzz-") as name:
        folder = Path(name)
        config = folder / "remit.yaml"
        document = {
            "mcp_servers": {
                "tools": fixture_entry(["echo"], folder / "ran", session="shared"),
            },
            "roles": {"caller": {"allow": ["tools/*"]}},
        }
        config.write_text(json.dumps(document))
        running = start_gateway(folder, config)
        try:
            report = fuzzed(running, options.requests, options.seed)
        finally:
            written = running.log.read_text(errors="replace")
            running.stop()
    (before, after), (opened, left) = report["rss_kib"], report["descriptors"]
    report["ok"] = after - before <= GROWTH and left <= opened + FEW and not report["traceback"]
    print(json.dumps(report, indent=2))
    if not report["ok"]:
        at = written.find("Traceback")
        print(written[max(0, at - 1000) :][:6000] if at >= 0 else written[-6000:])
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
