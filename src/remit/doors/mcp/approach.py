"""How an HTTP request comes to the MCP door: all that its head alone says, read once a head."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from remit.doors.asgi import JSON, HttpRefusal
from remit.doors.credentials import credential_of
from remit.doors.head import Head
from remit.doors.mcp.inbound import Routing
from remit.doors.mcp.sse import KIND as EVENTS
from remit.model.endpoints import NAME, ROOT, UUID
from remit.model.protocol import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
)
from remit.model.traces import TRACEPARENT

_PATH: Final = re.compile(
    rf"{ROOT}(?:/(?P<tenant>{UUID}))?"
    rf"(?:/(?P<server>(?!(?:execute|{UUID})/?\Z){NAME}))?/?"
)
_ROUTING: Final = (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER)
_PARAM_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower().encode()
_JSON_RANGES: Final = frozenset({JSON, b"application/*", b"*/*"})
_EVENT_RANGES: Final = frozenset({EVENTS, b"text/*", b"*/*"})


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The forms of answer that a client takes."""

    json: bool
    events: bool


class Approach(msgspec.Struct, frozen=True, kw_only=True):
    """What a head says to the door.

    Attributes:
        tenant: The UUID in the path, lower case, or None.
        scope: The server of the endpoint, or None on the endpoint of all servers.
        credential: What it shows for itself, or None.
        unfit: Status and text of what refuses a message under this head, or None.
        is_modern: Whether it names a revision that is none of the handshake's.
        is_traced: Whether it carries a trace context.
        routing: What intermediaries are to see of a modern message.
        mirrored: Arguments that are mirrored for them, to be passed on.
        doubled: A header of these two kinds that came more than once, or empty.
    """

    tenant: str | None
    scope: str | None
    credential: str | None
    accepted: Accepted
    unfit: tuple[int, str] | None
    is_modern: bool
    is_traced: bool
    routing: Routing
    mirrored: Mapping[str, str]
    doubled: str


def approach_of(head: Head) -> Approach:
    """Read *head*.

    Raises:
        HttpRefusal: The path is no endpoint (404), or it has two credentials that differ (400).
    """
    tenant, scope = _parts_of(head.path)
    version = head.text(MCP_PROTOCOL_VERSION_HEADER.encode())
    kind = head.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    forms = accepted(head)
    found = ((name, head.text(name.encode())) for name in _ROUTING)
    return Approach(
        tenant=tenant,
        scope=scope,
        credential=credential_of(head),
        accepted=forms,
        unfit=None if kind == JSON and (forms.json or forms.events) else _unfit(kind),
        is_modern=version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS,
        is_traced=TRACEPARENT.encode() in head.headers,
        routing=Routing.of(tuple((name, value) for name, value in found if value is not None)),
        mirrored={
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in head.headers.items()
            if name.startswith(_PARAM_PREFIX)
        },
        doubled=_doubled(head) if head.repeated else "",
    )


def accepted(head: Head) -> Accepted:
    """Read the `Accept` headers; a client that sends none takes anything (RFC 9110)."""
    lines = [value for name, value in head.lines if name == b"accept"] or [b"*/*"]
    ranges = {
        part.partition(b";")[0].strip().lower() for line in lines for part in line.split(b",")
    }
    return Accepted(json=bool(ranges & _JSON_RANGES), events=bool(ranges & _EVENT_RANGES))


def _unfit(kind: bytes) -> tuple[int, str]:
    if kind != JSON:
        return 415, "send the message as application/json"
    return 406, "accept application/json, text/event-stream or both"


def _doubled(head: Head) -> str:
    """Name a header that is there twice: who reads the first would not agree with us."""
    routing = next((name for name in _ROUTING if name.encode() in head.repeated), "")
    mirrored = (name for name in head.repeated if name.startswith(_PARAM_PREFIX))
    return routing or next((name.decode("latin-1") for name in mirrored), "")


def _parts_of(path: str) -> tuple[str | None, str | None]:
    """Return tenant and server of an endpoint: the UUID, lower case, and the name, or None each.

    Raises:
        HttpRefusal: It is no endpoint (404).
    """
    if path == ROOT:
        return None, None
    found = _PATH.fullmatch(path)
    if found is None:
        raise HttpRefusal(404, "no such endpoint; MCP is at /mcp and /mcp/{server}")
    tenant: str | None = found["tenant"]
    return (None if tenant is None else tenant.lower()), found["server"]
