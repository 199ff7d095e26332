"""Whether what is sent leaves alone, or in company.

To be woken costs whoever sleeps on the other side more than what he is sent. So what is sent in
one turn of the event loop leaves at its end, one after the other; but where turns have one thing
to send, that leaves at once. How many calls are under way says less: most may wait for long.
"""

import asyncio


class Company:
    """What one event loop sends to one side."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._before = self._now = 0

    def has_others(self) -> bool:
        """Take note that something is sent; return whether more is, in this turn or the last."""
        self._now += 1
        if self._now == 1:
            asyncio.get_running_loop().call_soon(self._end_turn)
            return self._before > 1
        return True

    def _end_turn(self) -> None:
        self._before, self._now = self._now, 0
