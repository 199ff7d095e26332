"""One caller while its request is answered: what it hears meanwhile, and what it is asked.

    nothing said ──────────────▶ one whole answer, as JSON
    the first thing said ──────▶ a stream of events begins; the answer is its last

Both eras use it; only in the older ones can something be asked on the way.
"""

from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Protocol

import anyio
import msgspec

from remit.doors.mcp.envelope import Message, decoded
from remit.doors.mcp.questions import LEFT, Questions
from remit.model.conversation import LEVELS, Abilities, Answering
from remit.model.protocol import LOG_LEVEL_META_KEY
from remit.upstreams.dialogue import refusal
from remit.upstreams.wire import Malformed, joined, members

CANNOT: Final = "the caller did not say that it can be asked this"
NOBODY: Final = "the caller takes no questions: it accepts no text/event-stream, or has no session"
TOO_MANY: Final = "too many questions are open; try again later"

_PROGRESS: Final = b'"progressToken"'
_LEVEL: Final = LOG_LEVEL_META_KEY.encode()

Say = Callable[[bytes], Awaitable[None]]
"""Sends a whole JSON-RPC message to the caller."""


class Line(Protocol):
    """What carries messages to the caller; nothing may be sent after its answer."""

    async def send(self, message: bytes) -> None:
        """Send a message; one that cannot be sent any more is dropped."""
        ...


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says about what its caller wants to hear; mostly `NOTHING`.

    Attributes:
        progress_token: Raw, or empty.
        log_level: A level, or empty.
    """

    progress_token: bytes = b""
    log_level: str = ""

    @staticmethod
    def of(message: Message) -> "Wishes":
        """Read them; nearly every request wants nothing, and is to cost nothing."""
        if _PROGRESS not in message.meta and _LEVEL not in message.meta:
            return NOTHING
        try:
            parts = members(message.meta)
        except Malformed:
            return NOTHING
        token = parts.get("progressToken", b"")
        level = decoded(parts.get(LOG_LEVEL_META_KEY))
        found = Wishes(
            # A text or a number; whatever else there is would not come back as it was.
            progress_token=token if token[:1] not in (b"{", b"[", b"n", b"t", b"f") else b"",
            log_level=level if isinstance(level, str) and level in LEVELS else "",
        )
        return NOTHING if found == NOTHING else found


NOTHING: Final = Wishes()


class Telling:
    """The conversation with the caller of one request.

    Args:
        line: Carries what is said.
        wishes: What the caller wants to hear.
        key: Which session it is in; an object of its own for a caller without one.
        abilities: What it can be asked.
        questions: Where the answers come in; None where nothing can be asked.
        level: The level that the session was set to, or empty.
        is_modern: Whether the request stands alone.
        on_question: Called before the first question is asked, with what to call if the caller
            leaves before its answer.
    """

    def __init__(
        self,
        line: Line,
        wishes: Wishes,
        *,
        key: Hashable = None,
        abilities: Abilities = Abilities.NONE,
        questions: Questions | None = None,
        level: str = "",
        is_modern: bool = False,
        on_question: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._line = line
        self._on_question = on_question
        self._questions = questions
        self._asked: list[tuple[bytes, Answering]] = []
        self.key: Hashable = object() if key is None else key
        self.is_modern = is_modern
        self.abilities = abilities
        self.progress_token = wishes.progress_token
        self.asked_level = wishes.log_level or level
        # Before a client of the older eras names a level, servers choose one themselves.
        self.log_level = self.asked_level if is_modern else self.asked_level or LEVELS[0]

    async def tell(self, method: str, params: bytes) -> None:
        """Send a notification, if there still is somebody to send it to."""
        await self._line.send(
            b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), params)
        )

    async def ask(self, method: str, params: bytes, answer: Answering) -> None:
        """Send a request, if the caller can answer such; *answer* is called once."""
        if self._questions is None:
            answer(refusal(NOBODY))
            return
        if not self.abilities.can_answer(method, decoded(params)):
            answer(refusal(CANNOT))
            return
        if self._questions.has_ended(self.key):
            answer(refusal(LEFT))
            return
        number = self._questions.begin(self.key, answer)
        if number is None:
            answer(refusal(TOO_MANY))
            return
        if self._on_question is not None and not self._asked:
            self._on_question(self.gone)
        self._asked.append((number, answer))
        await self._line.send(
            b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}'
            % (number, method.encode(), params)
        )

    async def take_back(self, answer: Answering, params: bytes) -> None:
        """Tell the caller that a question needs no answer any more."""
        number = next((number for number, asked in self._asked if asked is answer), None)
        if number is not None and self._questions is not None:
            self._questions.drop(self.key, number)
            named = {**members(params), "requestId": number}
            await self.tell("notifications/cancelled", joined(named))

    def gone(self) -> None:
        """Refuse what is still asked: whoever could answer has left."""
        for number, _ in self._asked:
            if self._questions is not None:
                self._questions.answered(self.key, number, refusal(LEFT))

    def close(self) -> None:
        """Wait for no answer any longer: the request has been answered."""
        for number, _ in self._asked:
            if self._questions is not None:
                self._questions.drop(self.key, number)


class Turns:
    """Lets one message after the other through, although several tasks send."""

    __slots__ = ("_lock", "is_over")

    def __init__(self) -> None:
        self._lock: anyio.Lock | None = None  # most requests are answered without a word
        self.is_over = False

    async def send(self, send: Say, message: bytes) -> None:
        """Send *message* in its turn, unless that is over."""
        if self._lock is None:
            self._lock = anyio.Lock(fast_acquire=True)
        async with self._lock:
            if not self.is_over:
                await send(message)

    async def finish(self) -> None:
        """Let nothing more through."""
        if self._lock is None:
            self.is_over = True
            return
        async with self._lock:
            self.is_over = True
