"""Who sent a message, and what answers one: the words that the parts of the door share."""

from collections.abc import Awaitable, Callable

import msgspec

from remit.doors.mcp.answers import Answer, Stream
from remit.doors.mcp.envelope import Fault, Message
from remit.model.principals import Principal


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a message, to which endpoint, in which era.

    Attributes:
        scope: The server of the endpoint that was called, or None on the endpoint of all servers.
        version: The protocol revision spoken.
        modern: Whether each request stands alone (2026-07-28) or follows a handshake.
        session: What is unique to the session of an older era; empty where there is none.
    """

    principal: Principal
    scope: str | None = None
    version: str
    modern: bool
    session: str = ""


Reply = bytes | Fault | Answer | Stream
"""A raw result, an error, or something that is whole already."""

Method = Callable[[Message, Caller, str], Awaitable[Reply]]
"""Answers one request; its last argument is the id that the caller is given for questions."""
