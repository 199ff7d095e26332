"""What older sessions have under way, hear and end, here and in the other workers of the port."""

import os
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from remit.doors.mcp.inflight import InFlight
from remit.doors.mcp.levels import LogLevels
from remit.doors.mcp.questions import Questions
from remit.doors.mcp.siblings import Siblings, Word

_ASKED: Final = re.compile(rb'"remit-([0-9a-f]{12})-[0-9]+"')


class Unfinished:
    """What is asked and answered in this process, with the way to the others.

    Args:
        folder: What the workers of the port share; None where there is only one.

    Attributes:
        questions: What callers have yet to answer.
        in_flight: What they may cancel, by the nonce of the session and the raw id.
        levels: Which log messages they hear, whichever worker was told.
        followers: Who is told what the other workers say of followed resources.
        endings: Who is told of sessions that another worker was told to end, by their nonces;
            what they are asked ends with them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._name = os.urandom(6).hex()
        self._siblings = None if folder is None else Siblings(folder, self._name)
        self.questions = Questions(f"remit-{self._name}-")
        self.in_flight = InFlight()
        self.levels = LogLevels()
        self.followers: list[Callable[[Word], None]] = []
        self.endings: list[Callable[[str], None]] = [self.questions.end]

    @property
    def has_others(self) -> bool:
        """Whether there may be other workers."""
        return self._siblings is not None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Take what the other workers pass on while entered."""
        if self._siblings is None:
            yield
            return
        async with self._siblings.running(self._take):
            yield

    async def answered(self, session: str, number: bytes, tail: bytes) -> None:
        """Bring an answer to whom it was asked by."""
        asked = _ASKED.fullmatch(number)
        if self.questions.answered(session, number, tail) or asked is None:
            return
        name = asked[1].decode()
        if self._siblings is not None and name != self._name:
            word = Word(session=session, number=number.decode(), tail=tail.decode())
            await self._siblings.tell(name, word)

    async def cancel(self, session: str, number: bytes) -> None:
        """Cancel a request of a session, wherever it is answered."""
        if not self.in_flight.cancel((session, number)) and self._siblings is not None:
            await self._siblings.tell_all(Word(session=session, number=number.decode()))

    async def tell_others(self, word: Word) -> None:
        """Tell the other workers of the port, if there are any."""
        if self._siblings is not None:
            await self._siblings.tell_all(word)

    async def level_was_set(self, session: str) -> None:
        """Tell the other workers what a session wants to hear, if it wants something."""
        level = self.levels.of(session)
        if level:
            await self.tell_others(Word(session=session, level=level))

    def _take(self, word: Word) -> None:
        if word.followed:
            for follower in self.followers:
                follower(word)
            return
        if word.level:
            self.levels.set(word.session, word.level)
            return
        if word.is_over:
            for ended in self.endings:
                ended(word.session)
            return
        number = word.number.encode()
        if word.tail:
            self.questions.answered(word.session, number, word.tail.encode())
        else:
            self.in_flight.cancel((word.session, number))
