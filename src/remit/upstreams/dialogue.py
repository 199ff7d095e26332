"""What a server says while a call is under way, brought to the caller of that very call.

progress under our token ──▶ the caller's own token         others are none of its business
log message ──▶ the caller, if it wants that level
a page that it was sent to is done with ──▶ the caller, if it can be sent to one
request ──▶ the caller, if it can answer it ──▶ the reply to the server, unless it takes the
request back; the call's time stands still while somebody is asked
"""

from collections.abc import Callable
from typing import Final

from remit.model.conversation import LEVELS, Abilities, Answering, Conversation
from remit.model.protocol import LOG_LEVEL_META_KEY, METHOD_NOT_FOUND
from remit.upstreams.deadline import PausableDeadline
from remit.upstreams.era import Era
from remit.upstreams.wire import (
    Envelope,
    Malformed,
    joined,
    json_bytes,
    members,
    repeated_number,
    reply_frame,
    value_of,
)

PROGRESS: Final = "notifications/progress"
LOG: Final = "notifications/message"
CANCELLED: Final = "notifications/cancelled"
ELICITED: Final = "notifications/elicitation/complete"
PING: Final = "ping"

PATIENCE: Final = 600.0
"""Seconds that somebody may think about a question."""

MOST_ASKED: Final = 32
"""Questions of one call that may be open at once."""

_RELAYED: Final = frozenset({PROGRESS, LOG, ELICITED})

Send = Callable[[bytes], None]
"""Sends a frame to the server, without waiting."""


class Dialogue:
    """One call's conversation, with its time limit.

    Attributes:
        conversation: The caller's side.
    """

    def __init__(self, conversation: Conversation, deadline: PausableDeadline) -> None:
        self.conversation = conversation
        self._deadline = deadline
        self._open = 0
        self._asked: dict[bytes, Answering | None] = {}

    @property
    def is_asking(self) -> bool:
        """Whether somebody is asked something now."""
        return self._open > 0

    def meta(self, number: int, era: Era) -> tuple[bytes, bytes]:
        """Return what our request's `_meta` has to say for the caller, for a server of *era*.

        Args:
            number: The id of our request.
            era: The server's.

        Returns:
            Members beside the caller's own, and its capabilities where `_meta` does not have them.
        """
        wanted = self.conversation.progress_token
        members_of = [b'"progressToken":%d' % number] if wanted else []
        if self.conversation.is_modern or not era.is_modern:
            return b",".join(members_of), b""
        if self.conversation.asked_level:
            level = json_bytes(self.conversation.asked_level)
            members_of.append(b'"%b":%b' % (LOG_LEVEL_META_KEY.encode(), level))
        return b",".join(members_of), self.conversation.abilities.to_json()

    async def take(self, message: Envelope, data: bytes, number: int, reply: Send) -> None:
        """Take a request or a notification of the server.

        Args:
            message: What it says.
            data: The same as bytes.
            number: The id of our request, which is the token of its progress, too.
            reply: Sends the answer to a request.
        """
        params = _params_of(data)
        if not message.is_request:
            if message.method == CANCELLED:
                await self._take_back(params)
            else:
                await self._tell(message.method, params, number)
        elif message.method == PING or self._open >= MOST_ASKED:
            self._asked.pop(bytes(message.id), None)
            reply(reply_frame(message))
        else:
            own = bytes(message.id)
            head = b'{"jsonrpc":"2.0","id":%b,' % own
            await self.ask(message.method, params, lambda tail: reply(head + tail + b"}"), own)

    def expect(self, own: bytes) -> None:
        """Note that the server's request of this raw id is on its way here."""
        if len(self._asked) < MOST_ASKED:
            self._asked.setdefault(own, None)

    def has_asked(self, own: bytes) -> bool:
        """Whether the server waits for an answer to its request of this raw id."""
        return own in self._asked

    async def ask(self, method: str, params: bytes, answer: Answering, own: bytes = b"") -> None:
        """Ask the caller something; the time limit stands still until it is answered.

        Args:
            method: What is asked.
            params: Raw JSON object.
            answer: Is called once, unless the server takes the question back.
            own: The raw id of the server's request, or empty where there is none.
        """
        self._begin()

        def answered(tail: bytes) -> None:
            self._asked.pop(own, None)
            self._end()
            answer(tail)

        if own:
            self._asked[own] = answered
        if self.conversation.is_modern:
            answered(refusal("the caller's revision of the protocol has no such requests"))
            return
        await self.conversation.ask(method, params, answered)

    async def _take_back(self, params: bytes) -> None:
        asked = self._asked.pop(_member(params, "requestId"), None)
        if asked is not None:
            self._end()
            await self.conversation.take_back(asked, params)

    async def _tell(self, method: str, params: bytes, number: int) -> None:
        if method not in _RELAYED:
            return
        try:
            parts = members(params)
        except Malformed:
            return
        if method == PROGRESS:
            token = self.conversation.progress_token
            if not token or repeated_number(parts.get("progressToken", b"")) != number:
                return
            parts["progressToken"] = token
            await self.conversation.tell(method, joined(parts))
        elif method == ELICITED:
            if Abilities.ELICIT_URL in self.conversation.abilities:
                await self.conversation.tell(method, params)
        elif self._is_wanted(parts.get("level", b"null")):
            await self.conversation.tell(method, params)

    def _is_wanted(self, raw: bytes) -> bool:
        level, least = value_of(raw), self.conversation.log_level
        if not least or not isinstance(level, str) or level not in LEVELS:
            return False
        return LEVELS.index(level) >= LEVELS.index(least)

    def _begin(self) -> None:
        self._open += 1
        self._deadline.pause(PATIENCE)

    def _end(self) -> None:
        self._open -= 1
        if not self._open:
            self._deadline.resume()


class Heard:
    """The calls under way on one connection, for what a server says without naming one.

    Attributes:
        unheard: How many are under way beside them whose callers hear of nothing.
    """

    def __init__(self) -> None:
        self.unheard = 0
        self._calls: dict[int, Dialogue] = {}

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._calls)

    @property
    def is_asking(self) -> bool:
        """Whether a caller is asked something now, for which the server waits."""
        return any(dialogue.is_asking for dialogue in self._calls.values())

    def begin(self, number: int, dialogue: Dialogue) -> None:
        """Take part."""
        self._calls[number] = dialogue

    def end(self, number: int) -> None:
        """Take part no longer."""
        self._calls.pop(number, None)

    def meant(self, message: Envelope, data: bytes) -> tuple[int, Dialogue] | None:
        """Return the call that a message is about; None when that cannot be said for sure.

        What names no call is about the latest one, provided that all are of one caller in one
        session, and none is under way whose caller hears of nothing: nobody may hear what was
        meant for another.
        """
        if message.method == PROGRESS:
            number = repeated_number(_member(_params_of(data), "progressToken"))
            found = self._calls.get(number) if number is not None else None
            return None if number is None or found is None else (number, found)
        if message.method == CANCELLED and not message.is_request:
            own = _member(_params_of(data), "requestId")
            return next((one for one in self._calls.items() if one[1].has_asked(own)), None)
        if self.unheard or (not message.is_request and message.method not in _RELAYED):
            return None
        if len({dialogue.conversation.key for dialogue in self._calls.values()}) != 1:
            return None
        return next(reversed(self._calls.items()))


def refusal(why: str) -> bytes:
    """Return the raw member that refuses a request of a server."""
    text = why.encode()
    return b'"error":{"code":%d,"message":"%b"}' % (METHOD_NOT_FOUND, text)


def _params_of(data: bytes) -> bytes:
    try:
        return members(data).get("params", b"{}")
    except Malformed:
        return b"{}"


def _member(params: bytes, name: str) -> bytes:
    """Return a raw member; empty where there is none."""
    try:
        return members(params).get(name, b"")
    except Malformed:
        return b""
