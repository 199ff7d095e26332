"""The trace that a request belongs to, as W3C Trace Context and MCP's `_meta` spell it."""

import re
from typing import Final

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"

LONGEST_STATE: Final = 512
"""Characters of a `tracestate` that are passed on (W3C Trace Context §3.3.1.5)."""

_PARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
_STATE: Final = re.compile(r"[\x20-\x7e]*")


def is_traceparent(text: object) -> bool:
    """Whether *text* names a trace and a span of it."""
    return isinstance(text, str) and _PARENT.fullmatch(text) is not None


def is_tracestate(text: object) -> bool:
    """Whether *text* may stand beside a `traceparent`."""
    return (
        isinstance(text, str) and len(text) <= LONGEST_STATE and _STATE.fullmatch(text) is not None
    )
