"""Whose word on a request's origin counts: that of trusted proxies, hop by hop (issue 3)."""

from collections.abc import Sequence

import pytest

from remit.doors.asgi import Event, Exchange
from remit.doors.forwarded import Hop, TrustedProxies

PROXIES = ["10.1.2.3/8", "fd00::1"]
FOR, HOST, PROTO = "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"


def exchange(peer: str | None, lines: Sequence[tuple[str, str]]) -> Exchange:
    async def receive() -> Event:
        return {"type": "http.disconnect"}

    async def send(_: Event) -> None:
        raise AssertionError

    headers = [(name.lower().encode(), value.encode()) for name, value in lines]
    client = None if peer is None else (peer, 4711)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers, "client": client}
    return Exchange(scope, receive, send)


@pytest.mark.parametrize(
    ("peer", "lines", "seen"),
    [
        ("203.0.113.9", [(FOR, "192.0.2.1"), (HOST, "x.test")], Hop(client="203.0.113.9")),
        (None, [(FOR, "192.0.2.1")], Hop()),
        ("/run/remit.sock", [(FOR, "192.0.2.1")], Hop()),
        ("10.0.0.1", [], Hop(client="10.0.0.1")),
        (
            "10.0.0.1",
            [(FOR, "192.0.2.1"), (HOST, "x.test"), (PROTO, "HTTPS")],
            Hop(client="192.0.2.1", host="x.test", scheme="https"),
        ),
        # What the client wrote itself stands further left, and is not looked at.
        ("10.0.0.1", [(FOR, "198.51.100.1, 192.0.2.1")], Hop(client="192.0.2.1")),
        ("10.0.0.1", [(FOR, "198.51.100.1"), (FOR, "192.0.2.1")], Hop(client="192.0.2.1")),
        ("10.0.0.1", [(FOR, "127.0.0.1, 192.0.2.1, 10.2.2.2")], Hop(client="192.0.2.1")),
        ("10.0.0.1", [(FOR, "10.3.3.3, 10.2.2.2")], Hop(client="10.3.3.3")),
        (
            "10.0.0.1",
            [(FOR, "192.0.2.1, 10.2.2.2"), (HOST, "evil.test, edge.test, inner.test")],
            Hop(client="192.0.2.1", host="edge.test"),
        ),
        # A proxy further in that says nothing of the host leaves what it got.
        (
            "10.0.0.1",
            [(FOR, "192.0.2.1, 10.2.2.2"), (HOST, "edge.test"), (PROTO, "https")],
            Hop(client="192.0.2.1", host="edge.test", scheme="https"),
        ),
        ("fd00::1", [(FOR, "2001:db8::7")], Hop(client="2001:db8::7")),
        ("::ffff:10.0.0.1", [(FOR, "192.0.2.1")], Hop(client="192.0.2.1")),
        ("10.0.0.1", [(FOR, "[2001:db8::7]:443")], Hop(client="2001:db8::7")),
        ("10.0.0.1", [(FOR, "192.0.2.1:443")], Hop(client="192.0.2.1")),
        ("10.0.0.1", [(FOR, "unknown")], Hop(client="10.0.0.1")),
        ("10.0.0.1", [(FOR, "192.0.2.1, unknown")], Hop(client="10.0.0.1")),
        ("10.0.0.1", [(HOST, "a b"), (PROTO, "javascript")], Hop(client="10.0.0.1")),
        ("10.0.0.1", [(PROTO, "http")], Hop(client="10.0.0.1", scheme="http")),
        ("10.0.0.1", [(HOST, "x.test/path")], Hop(client="10.0.0.1")),
        ("10.0.0.1", [(HOST, "[::1]:80")], Hop(client="10.0.0.1", host="[::1]:80")),
        (
            "10.0.0.1",
            [("Forwarded", 'For="[2001:db8::7]:4711";Proto=HTTPS; host=x.test')],
            Hop(client="2001:db8::7", host="x.test", scheme="https"),
        ),
        (
            "10.0.0.1",
            [("Forwarded", 'for=1.1.1.1, for=192.0.2.1;by="a,\\"b", for=10.2.2.2;host=in.test')],
            Hop(client="192.0.2.1", host="in.test"),
        ),
        ("10.0.0.1", [("Forwarded", "for=192.0.2.1, nonsense")], Hop(client="192.0.2.1")),
        ("10.0.0.1", [("Forwarded", "for=_hidden")], Hop(client="10.0.0.1")),
        # nginx writes one kind and hands the other on as the client sent it.
        (
            "10.0.0.1",
            [(FOR, "192.0.2.1"), ("Forwarded", "for=198.51.100.1;host=evil.test")],
            Hop(client="10.0.0.1"),
        ),
        (
            "10.0.0.1",
            [(FOR, "192.0.2.1"), (HOST, "x.test"), ("Forwarded", "for=192.0.2.1;host=x.test")],
            Hop(client="192.0.2.1", host="x.test"),
        ),
        ("10.0.0.1", [(FOR, "10.9.9.9," * 5000)], Hop(client="10.0.0.1")),
        # Sixteen are believed, and none before them.
        ("10.0.0.1", [(FOR, "192.0.2.1" + ",10.9.9.9" * 15)], Hop(client="192.0.2.1")),
        ("10.0.0.1", [(FOR, "192.0.2.1" + ",10.9.9.9" * 16)], Hop(client="10.9.9.9")),
    ],
)
def test_a_trusted_proxys_word_counts_and_no_other(
    peer: str | None, lines: Sequence[tuple[str, str]], seen: Hop
) -> None:
    assert TrustedProxies(PROXIES).seen(exchange(peer, lines)) == seen


def test_without_proxies_nobody_is_believed() -> None:
    assert TrustedProxies([]).seen(exchange("10.0.0.1", [(FOR, "192.0.2.1")])).client == "10.0.0.1"
