"""Wait awake for what is about to come, where it came at once the last time.

To fall asleep and be woken costs a call more than all that remit does for it: the core is halted,
and its caches are cold afterwards. So one caller after another that uses a server at hand is served
in little more than half the time. Who lets it wait for longer than `WINDOW` is waited for asleep.
"""

import asyncio
from time import monotonic

WINDOW = 0.0002
"""Seconds for which the event loop stays awake at most, and in which an answer counts as prompt."""


class Promptness:
    """What is known of the other side of one connection.

    Attributes:
        since: When something was sent that the other side has not answered yet, else 0; on the
            clock of `time.monotonic`.
    """

    __slots__ = ("_is_awake", "_is_prompt", "since")

    def __init__(self) -> None:
        self.since = 0.0
        self._is_prompt = False
        self._is_awake = False

    def begin(self) -> None:
        """Take note that the other side is to speak next."""
        self.since = monotonic()
        if self._is_prompt and not self._is_awake:
            self._is_awake = True
            asyncio.get_running_loop().call_soon(self._stay_awake)

    def end(self) -> None:
        """Take note that it has begun to."""
        self._is_prompt = monotonic() - self.since < WINDOW
        self.since = 0.0

    def _stay_awake(self) -> None:
        if self.since and monotonic() - self.since < WINDOW:
            asyncio.get_running_loop().call_soon(self._stay_awake)
        else:
            self._is_awake = False
