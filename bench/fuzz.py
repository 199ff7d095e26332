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
from typing import Any, Final, cast

import anyio
import httptools
import httpx2
from anyio.abc import SocketStream
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from remit.testing.gateway import LEGACY, MODERN, Caller, Running, fixture_entry, start_gateway

BATCH: Final = 25
"""Requests in one example."""

LIMIT: Final = 15.0
"""Seconds within which a connection is answered or closed."""

LINGER: Final = 0.1
"""Seconds until the client of a request that may never be whole closes its side."""

GROWTH: Final = 24 * 1024
"""KiB that the gateway may have more after the run than when warm."""

META: Final[dict[str, Any]] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
KEY: Final = b"@KEY@"
SESSION: Final = b"@SESSION@"

JUNK: Final[Sequence[bytes]] = (
    *(b"null", b"true", b"-0", b"0.1", b"1e999", b"-1", b"9" * 400, b"NaN", b"Infinity", b""),
    *(b'""', b'"\\ud800"', b'"\xff"', b'"\\u0000"', b'"\x00"', b'"a', b'"' + b"x" * 70_000 + b'"'),
    *(b"[]", b"{}", b"[" * 3000, b'{"a":' * 3000, b"[" * 600 + b"]" * 600, b'{"a":1,"a":2}'),
    *(b'"../../etc/passwd"', b'"tools__echo"', b'"tools/call"', b'"2.0"', b"\xef\xbb\xbf", b"{}{}"),
    *(b'{"":{"":""}}', b'"\\', b"'x'", b"[1,]", b"/**/1", b'"\xf0\x9f\x92\xa9"', b'"%s%n"'),
)
"""What stands in the place of a value, or of bytes."""

TEXTS: Final[Sequence[bytes]] = (
    *(b"", b" ", b"*/*", b"x" * 5000, b"\xff\xfe", b"a\x00b", b"a\tb", b"Bearer", b"Bearer  "),
    *(
        b"Bearer " + b"A" * 17_000,
        b"Basic Og==",
        b"bearer a.b.c",
        b"Bearer eyJhbGciOiJub25lIn0.e30.",
    ),
    *(b"application/json; charset=utf-16", b"text/event-stream", b"text/plain", b"application/jso"),
    *(b"tools/call", b"=?base64?SGk=?=", b"=?base64?!?=", b"127.0.0.1", b"evil.example", b"[::1"),
    *(b"2026-07-28", b"2025-11-25", b"2024-11-05", b"1999-01-01", b"DRAFT", b"null", b"0"),
    *(b"a, b", b"q=0", b"*/*;q=0", b"application/json;q=x", b"\xe2\x98\x83", b"00000000-0000"),
)
"""Values of headers."""

PATHS: Final[Sequence[bytes]] = (
    *(
        b"/mcp",
        b"/mcp/",
        b"/mcp/tools",
        b"/mcp/none",
        b"/mcp//",
        b"/mcp/..",
        b"/mcp/%00",
        b"/mcp?x=%",
    ),
    *(b"/mcp/%ff", b"/mcp/%2e%2e/healthz", b"/mcp/" + b"a" * 9000, b"/", b"", b"*", b"//", b"/%"),
    *(
        b"http://127.0.0.1/mcp",
        b"http://[/mcp",
        b"127.0.0.1:80",
        b":",
        b"/mcp#x",
        b"/mcp;x",
        b"mcp",
    ),
    *(b"/healthz", b"/readyz", b"/metrics", b"/api/", b"/api/servers", b"/api/audit?limit=-1"),
    *(b"/.well-known/oauth-protected-resource/mcp", b"/.well-known/oauth-protected-resource/%zz"),
    *(
        b"/mcp/00000000-0000-0000-0000-000000000000/tools",
        b"/mcp/execute",
        b"/mcp/\xff",
        b"/mcp/ x",
    ),
)
METHODS: Final[Sequence[bytes]] = (
    *(b"GET", b"DELETE", b"HEAD", b"OPTIONS", b"PUT", b"PATCH", b"TRACE", b"CONNECT", b"PRI"),
    *(b"", b"post", b"P\x00ST", b"POST POST", b"BREW", b"X" * 300),
)
FRAMES: Final = ("head", "line", "method", "path", "chunk", "length", "half", "pipe", "extra")
"""Edits after which nobody knows where the request ends."""

EDITS: Final = (*FRAMES, *("json",) * 5, *("bytes",) * 3, "value", "value", "drop", "twice", "era")


def _message(method: str, params: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": method, **more}
    return found if params is None else found | {"params": params}


_CALL: Final[dict[str, Any]] = {"name": "tools__echo", "arguments": {"text": "hello", "deep": [1]}}
_HELLO: Final[dict[str, Any]] = {
    "protocolVersion": LEGACY,
    "capabilities": {"sampling": {}, "elicitation": {}},
    "clientInfo": {"name": "fuzz", "version": "1"},
}
BASES: Final[Sequence[tuple[bool, dict[str, Any]]]] = (
    (True, _message("tools/call", _CALL)),
    (True, _message("tools/list", {"cursor": None})),
    (True, _message("server/discover", {})),
    (True, _message("prompts/get", {"name": "tools__p", "arguments": {"a": "b"}})),
    (True, _message("resources/read", {"uri": "file:///x"})),
    (True, _message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})),
    (True, _message("notifications/cancelled", {"requestId": 7})),
    (False, _message("initialize", _HELLO)),
    (False, _message("tools/call", _CALL)),
    (False, _message("tools/list", {})),
    (False, _message("ping", None)),
    (False, _message("logging/setLevel", {"level": "debug"})),
    (False, _message("resources/subscribe", {"uri": "file:///x"})),
    (False, _message("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}})),
    (False, {"jsonrpc": "2.0", "method": "notifications/initialized"}),
    (False, {"jsonrpc": "2.0", "id": 3, "result": {"roots": []}}),
    (False, {"jsonrpc": "2.0", "id": "3", "error": {"code": -1, "message": "no"}}),
)
"""Messages that are right, and whether they are of 2026-07-28."""

Edit = tuple[str, int, int]
"""Its kind, where, and with what."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one request is made.

    Attributes:
        base: Which of `BASES`.
        with_key: Whether it carries a key that is good.
        edits: What is wrong with it, in order.
    """

    base: int
    with_key: bool
    edits: Sequence[Edit]


PLANS: Final = st.builds(
    Plan,
    st.integers(0, len(BASES) - 1),
    st.sampled_from((True, True, False)),
    st.lists(
        st.tuples(st.sampled_from(EDITS), st.integers(0, 65535), st.integers(0, 65535)),
        min_size=0, max_size=3,
    ),
)  # fmt: skip
BATCHES: Final = st.lists(PLANS, min_size=BATCH, max_size=BATCH)


@dataclass(slots=True)
class Draft:
    """A request while it is edited."""

    method: bytes
    path: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    length: bytes | None = None

    def head(self) -> bytes:
        """Return everything before the body."""
        length = b"%d" % len(self.body) if self.length is None else self.length
        lines = [*self.headers, (b"content-length", length)] if length else self.headers
        fields = b"".join(b"%b: %b\r\n" % line for line in lines)
        return b"%b %b HTTP/1.1\r\n%b\r\n" % (self.method, self.path, fields)


def rendered(plan: Plan) -> tuple[bytes, bool]:
    """Return the bytes of a request, and whether it is plain where it ends."""
    modern, message = BASES[plan.base]
    if modern and "params" in message:
        message = message | {"params": message["params"] | {"_meta": META}}
    for kind, where, what in plan.edits:
        if kind == "json":
            message = cast("dict[str, Any]", _placed(message, where, f"@J{what % len(JUNK)}@"))
    body = json.dumps(message).encode()
    body = re.sub(rb'"@J(\d+)@"', lambda found: JUNK[int(found[1])], body)
    method = str(BASES[plan.base][1].get("method", ""))
    draft = Draft(b"POST", b"/mcp", _headers(method, plan, modern=modern), body)
    for edit in plan.edits:
        _edit(draft, edit)
    return _framed(draft, plan.edits), not any(kind in FRAMES for kind, _, _ in plan.edits)


def _headers(method: str, plan: Plan, *, modern: bool) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"host", b"127.0.0.1"),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
    ]
    if plan.with_key:
        headers.append((b"authorization", b"Bearer " + KEY))
    if modern:
        headers += [(b"mcp-protocol-version", MODERN.encode()), (b"mcp-method", method.encode())]
        if method == "tools/call":
            headers.append((b"mcp-name", b"tools__echo"))
    elif method != "initialize":
        headers.append((b"mcp-protocol-version", LEGACY.encode()))
        headers.append((b"mcp-session-id", SESSION))
    return headers


def _placed(value: object, where: int, junk: str) -> object:
    """Return *value* with *junk* in the place of one of its parts, or with a part left out."""
    if not isinstance(value, dict) or not value or where == 0:
        return junk
    parts = cast("dict[str, object]", value)
    name = sorted(parts)[where % len(parts)]
    rest = where // len(parts)
    if rest % 5 == 1:
        return {key: part for key, part in parts.items() if key != name}
    if rest % 5 == 2:
        return {**parts, junk: parts[name]}
    return {**parts, name: _placed(parts[name], rest // 5, junk)}


def _edit(draft: Draft, edit: Edit) -> None:
    kind, where, what = edit
    at = where % len(draft.headers) if draft.headers else 0
    match kind:
        case "bytes":
            draft.body = _mangled(draft.body, where, what)
        case "value" if draft.headers:
            draft.headers[at] = (draft.headers[at][0], TEXTS[what % len(TEXTS)])
        case "drop" if draft.headers:
            del draft.headers[at]
        case "twice" if draft.headers:
            draft.headers.append((draft.headers[at][0], TEXTS[what % len(TEXTS)]))
        case "era":
            draft.headers = [pair for pair in draft.headers if not pair[0].startswith(b"mcp-")]
            draft.headers.append((b"mcp-protocol-version", TEXTS[what % len(TEXTS)]))
            draft.headers.append((b"mcp-session-id", TEXTS[where % len(TEXTS)]))
        case "method":
            draft.method = METHODS[what % len(METHODS)]
        case "path":
            draft.path = PATHS[what % len(PATHS)]
        case "length":
            lengths = (b"0", b"-1", b"5", b"99999999999999999999", b"0x10", b"+3", b"", b"1,1")
            draft.length = lengths[what % len(lengths)]
        case "extra":
            extras = (
                (b"expect", b"100-continue"), (b"connection", b"close"), (b"upgrade", b"websocket"),
                (b"connection", b"upgrade, http2-settings"), (b"transfer-encoding", b"chunked"),
                (b"content-encoding", b"gzip"), (b"origin", b"https://evil.example"), (b"", b"x"),
                (b"traceparent", b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01"), (b"x y", b"z"),
                (b"mcp-param-x", b"\xff"), (b"x-api-key", KEY), (b"cookie", b"a" * 60_000),
                (b"last-event-id", b"\xff"), (b"forwarded", b'for=_x;host="'),
                (b"te", b"trailers"),
            )  # fmt: skip
            draft.headers.append(extras[what % len(extras)])
        case _:
            return


def _mangled(data: bytes, where: int, what: int) -> bytes:
    """Return *data* with some bytes removed, changed or put in."""
    at = where % (len(data) + 1)
    match what % 5:
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + 1 + what % 7 :]
        case 2:
            return data[:at] + bytes([what // 5 % 256]) + data[at + 1 :]
        case 3:
            return data[:at] + JUNK[what // 5 % len(JUNK)] + data[at:]
        case _:
            return data[:at] + data[at // 2 :]


def _framed(draft: Draft, edits: Sequence[Edit]) -> bytes:
    found = {kind: (where, what) for kind, where, what in edits}
    if "chunk" in found:
        where, what = found["chunk"]
        draft.length = b"" if what % 4 else b"3"
        draft.headers.append((b"transfer-encoding", b"chunked"))
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(draft.body), draft.body)
        draft.body = _mangled(body, where, what // 4) if what % 3 else body
    head = draft.head()
    if "line" in found:
        head = _mangled(head[:40], *found["line"]) + head[40:]
    if "head" in found:
        head = _mangled(head, *found["head"])
    data = head + draft.body
    if "pipe" in found:
        data *= 2 + found["pipe"][0] % 4
    if "half" in found:
        data = data[: found["half"][0] % (len(data) + 1)]
    return data


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
        body = json.dumps(_message("tools/call", params)).encode()
        headers = _headers("tools/call", Plan(0, with_key=True, edits=()), modern=True)
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
    report["ok"] = after - before <= GROWTH and left <= opened and not report["traceback"]
    print(json.dumps(report, indent=2))
    if not report["ok"]:
        print(written[-6000:])
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
