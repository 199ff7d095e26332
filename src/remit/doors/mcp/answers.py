"""What the door answers: whole JSON-RPC messages as bytes, whatever carries them."""

from dataclasses import dataclass
from typing import Final

import msgspec

from remit.doors.mcp.changes import Watch
from remit.doors.mcp.envelope import Fault

STOPPED: Final = "the gateway is stopping; whether the call ran is unknown"
"""What the caller of a call hears that outlasts the grace at a stop."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One response.

    Attributes:
        body: The JSON-RPC message, or its beginning.
        rest: What follows it: a list that is large and kept is sent as it is, never copied.
        code: Its error code; 0 for a result.
        negotiated: The protocol revision that an `initialize` settled on, or empty.
    """

    body: bytes
    rest: tuple[bytes, ...] = ()
    code: int = 0
    negotiated: str = ""

    @property
    def whole(self) -> bytes:
        """The whole message in one piece."""
        return b"".join((self.body, *self.rest)) if self.rest else self.body

    def __repr__(self) -> str:
        """Name the answer without its body."""
        return f"Answer(code={self.code!r}, negotiated={self.negotiated!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Notifications of changes, for as long as the caller listens.

    Attributes:
        watch: Says when; whoever sends the stream enters it, which frees its place at the end.
        opening: The first message, or empty.
        tag: A member of the params of every notification, or empty.
        closing: The message that ends it when remit does, or empty.
    """

    watch: Watch
    opening: bytes = b""
    tag: bytes = b""
    closing: bytes = b""


def result_answer(message_id: bytes, result: bytes, negotiated: str = "") -> Answer:
    """Return the response that carries the raw *result*."""
    return Answer(
        body=b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (message_id, result),
        negotiated=negotiated,
    )


def error_answer(message_id: bytes, fault: Fault) -> Answer:
    """Return the response that carries *fault*."""
    body = b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (message_id, fault.error)
    return Answer(body=body, code=fault.code)


def on_one_line(message: bytes) -> bytes:
    """Return the same JSON without line breaks, which can only stand between its tokens."""
    return message.replace(b"\n", b" ").replace(b"\r", b" ")
