"""What kind of result a server gave: one that remit can carry, or none that it can read.

complete, or nothing said ──▶ as it is        input_required with something in it ──▶ as it is
anything else ──▶ an answer that cannot be read (MCP 2026-07-28: an unknown value is invalid)
"""

from typing import Final

from remit.errors import UnreadableAnswer
from remit.upstreams.wire import Malformed, members

COMPLETE: Final = b'"complete"'
INPUT_REQUIRED: Final = b'"input_required"'

_TYPE: Final = b'"resultType"'
COMPLETED: Final = b',"resultType":"complete"}'
"""How most results of modern servers end: no text and nothing deeper can end like this."""

_ASKING: Final = ("inputRequests", "requestState")
_NOTHING: Final = frozenset({b"", b"{}", b"null"})
_SHOWN: Final = 40


def carried(result: bytes) -> bytes:
    """Return *result* if it is of a kind that remit carries.

    Raises:
        UnreadableAnswer: It is of another kind, or asks for input and says nothing of which.
    """
    if result.endswith(COMPLETED) or _TYPE not in result:
        return result
    try:
        parts = members(result)
    except Malformed as error:
        raise UnreadableAnswer("answered with a result that cannot be read") from error
    kind = parts.get("resultType", COMPLETE)
    if kind == INPUT_REQUIRED:
        if all(parts.get(name, b"").strip() in _NOTHING for name in _ASKING):
            raise UnreadableAnswer("asks for input, and does not say for which")
    elif kind != COMPLETE:
        shown = kind[:_SHOWN].decode(errors="replace")
        raise UnreadableAnswer(f"answered with a resultType that remit does not relay: {shown}")
    return result
