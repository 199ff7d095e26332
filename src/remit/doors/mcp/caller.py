"""Who sent a message, and what answers one: the words that the parts of the door share."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from remit.doors.mcp.answers import Answer, Stream
from remit.doors.mcp.envelope import Fault, Message
from remit.model.conversation import Conversation, Extras
from remit.model.principals import Principal


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a message, to which endpoint, in which era.

    Attributes:
        scope: The server of the endpoint that was called, or None on the endpoint of all servers.
        version: The protocol revision spoken.
        modern: Whether each request stands alone (2026-07-28) or follows a handshake.
        conversation: Hears what servers say meanwhile; None when nothing is wanted.
        session: Its session of the older eras, or empty.
        headers: Mirrored arguments of the request, to be passed on.
        again: Says who the credential of the request stands for by now; None where it had none.
    """

    principal: Principal
    scope: str | None = None
    version: str
    modern: bool
    conversation: Conversation | None = None
    session: str = ""
    headers: Mapping[str, str] = {}
    again: Callable[[], Awaitable[Principal]] | None = None


Reply = bytes | Fault | Answer | Stream
"""A raw result, an error, or something that is whole already."""

Method = Callable[[Message, Caller, str], Awaitable[Reply]]
"""Answers one request; its last argument is the id that the caller is given for questions."""


def extras_of(message: Message, caller: Caller) -> Extras | None:
    """Return what goes with a call beside its arguments, or None."""
    given = message.params
    is_another_round = caller.modern and ("inputResponses" in given or "requestState" in given)
    if caller.conversation is None and not is_another_round and not caller.headers:
        return None
    return Extras(
        responses=(message.param("inputResponses") or b"") if is_another_round else b"",
        state=(message.param("requestState") or b"") if is_another_round else b"",
        headers=caller.headers,
        conversation=caller.conversation,
    )
