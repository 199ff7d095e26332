"""Requests that are right but for some edits, drawn by Hypothesis; `fuzz.py` sends them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from hypothesis import strategies as st

from remit.testing.gateway import LEGACY, MODERN

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


def message_of(method: str, params: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": method, **more}
    return found if params is None else found | {"params": params}


_CALL: Final[dict[str, Any]] = {"name": "tools__echo", "arguments": {"text": "hello", "deep": [1]}}
_HELLO: Final[dict[str, Any]] = {
    "protocolVersion": LEGACY,
    "capabilities": {"sampling": {}, "elicitation": {}},
    "clientInfo": {"name": "fuzz", "version": "1"},
}
BASES: Final[Sequence[tuple[bool, dict[str, Any]]]] = (
    (True, message_of("tools/call", _CALL)),
    (True, message_of("tools/list", {"cursor": None})),
    (True, message_of("server/discover", {})),
    (True, message_of("prompts/get", {"name": "tools__p", "arguments": {"a": "b"}})),
    (True, message_of("resources/read", {"uri": "file:///x"})),
    (True, message_of("subscriptions/listen", {"notifications": {"toolsListChanged": True}})),
    (True, message_of("notifications/cancelled", {"requestId": 7})),
    (False, message_of("initialize", _HELLO)),
    (False, message_of("tools/call", _CALL)),
    (False, message_of("tools/list", {})),
    (False, message_of("ping", None)),
    (False, message_of("logging/setLevel", {"level": "debug"})),
    (False, message_of("resources/subscribe", {"uri": "file:///x"})),
    (False, message_of("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}})),
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
    draft = Draft(b"POST", b"/mcp", headers_of(method, plan, modern=modern), body)
    for edit in plan.edits:
        _edit(draft, edit)
    return _framed(draft, plan.edits), not any(kind in FRAMES for kind, _, _ in plan.edits)


def headers_of(method: str, plan: Plan, *, modern: bool) -> list[tuple[bytes, bytes]]:
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
