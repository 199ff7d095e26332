"""Whether what is sent leaves alone, or in company.

To be woken costs whoever sleeps on the other side more than what he is sent. So what is sent in
one turn of the event loop leaves at its end, one after the other; but where turns have one thing
to send, that leaves at once. How many calls are under way says less: most may wait for long.
"""

import asyncio
from collections.abc import Callable


class Company:
    """What one event loop sends to one side."""

    __slots__ = ("_before", "_held", "_now")

    def __init__(self) -> None:
        self._before = self._now = 0
        self._held: list[Callable[[], None]] = []

    def has_others(self) -> bool:
        """Take note that something is sent; return whether more is, in this turn or the last."""
        self._now += 1
        if self._now == 1:
            asyncio.get_running_loop().call_soon(self._end_turn)
            return self._before > 1
        return True

    def hold(self, send: Callable[[], None]) -> None:
        """Let *send* be called at the end of this turn, after those that were held before it."""
        if not self._held:
            asyncio.get_running_loop().call_soon(self._send_held)
        self._held.append(send)

    def _end_turn(self) -> None:
        self._before, self._now = self._now, 0

    def _send_held(self) -> None:
        held, self._held = self._held, []
        for send in held:
            try:
                send()
            except Exception as error:  # noqa: BLE001 - as the loop does it: the others go on
                context = {"message": "what was held cannot be sent", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
