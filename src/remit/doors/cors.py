"""What lets pages of other origins read our answers (CORS, Fetch §3.2): those that are listed.

    preflight (OPTIONS) ──▶ may this page send that? ──▶ the request ──▶ its answer, readable

No cookie is a credential here, so a page has to send its key itself.
"""

import re
from typing import Final

from remit.doors.head import Headers

METHODS: Final = b"GET, POST, PUT, PATCH, DELETE"

_SENT: Final = (
    b"accept",
    b"authorization",
    b"content-type",
    b"idempotency-key",
    b"if-match",
    b"last-event-id",
    b"mcp-method",
    b"mcp-name",
    b"mcp-protocol-version",
    b"mcp-session-id",
    b"traceparent",
    b"tracestate",
    b"x-api-key",
)
"""Headers that a page may send; besides these, arguments mirrored in `Mcp-Param-*`."""

_MIRRORED: Final = re.compile(rb"mcp-param-[a-z0-9_.-]{1,128}")

_READ: Final = b"etag, mcp-session-id, retry-after, www-authenticate, x-request-id"
"""Headers of an answer that a page may read besides those that any page may."""

_KEPT: Final = b"600"
"""Seconds that a browser may go without asking again; every request is checked all the same."""


def readable_by(origin: bytes) -> Headers:
    """Return what an answer carries that pages of *origin* may read."""
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _READ),
        (b"vary", b"Origin"),
    )


def preflight_of(origin: bytes, asked: bytes) -> Headers:
    """Return the answer to a preflight of pages of *origin*.

    Args:
        origin: As the browser sent it.
        asked: `Access-Control-Request-Headers`.
    """
    names = (name.strip().lower() for name in asked.split(b","))
    mirrored = sorted({name for name in names if _MIRRORED.fullmatch(name)})
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", b", ".join([*_SENT, *mirrored])),
        (b"access-control-max-age", _KEPT),
        (b"vary", b"Origin, Access-Control-Request-Headers"),
    )
