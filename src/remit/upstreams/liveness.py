"""Whether a child that left a caller without an answer is only busy, or hangs.

A caller leaves in vain ──▶ probe ──▶ anything is heard of the child ──▶ it lives
                              └──────▶ nothing, for longer than a call may take ──▶ it hangs

Busy is not dead: a child that works on one thing at a time answers no probe meanwhile, but
whatever it was asked before the probe has been given up by then.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from remit.errors import UpstreamUnavailable
from remit.model.servers import ServerConfig
from remit.upstreams.channel import Channel
from remit.upstreams.dialogue import PING
from remit.upstreams.era import Era
from remit.upstreams.handshake import DISCOVER, retrieve
from remit.upstreams.transcript import Transcript


class Liveness:
    """Looks after one child, once its era is known.

    Args:
        channel: The conversation with it.
        era: What both sides speak.
        transcript: Takes its error output, which is a sign of life as well.
        silence: Returns how many seconds it may be silent after a probe.
        hangs: Told once, with the reason, that it hangs.
    """

    def __init__(
        self,
        channel: Channel,
        era: Era,
        *,
        transcript: Transcript,
        silence: Callable[[], float],
        hangs: Callable[[str], None],
    ) -> None:
        self._channel = channel
        self._era = era
        self._transcript = transcript
        self._silence = silence
        self._hangs = hangs
        self._verdict: asyncio.TimerHandle | None = None

    def doubt(self) -> None:
        """Take note that a caller has left without an answer."""
        if self._verdict is None:
            # One that takes nothing any more (which raises) is no exception.
            with suppress(UpstreamUnavailable):
                self._probe()
            self._await_verdict()

    def close(self) -> None:
        """Look no longer."""
        if self._verdict is not None:
            self._verdict.cancel()

    def _probe(self) -> None:
        # The newest revision has no `ping`; an error is an answer, too.
        method = DISCOVER if self._era.is_modern else PING
        _, answer = self._channel.start(method, self._era.params(b""))
        answer.add_done_callback(retrieve)

    def _await_verdict(self) -> None:
        loop, seconds = asyncio.get_running_loop(), self._silence()
        self._verdict = loop.call_later(seconds, self._judge, seconds, self._signs())

    def _judge(self, seconds: float, before: tuple[int, int]) -> None:
        self._verdict = None
        if self._signs() != before:
            return  # the next caller that leaves begins anew
        if self._channel.heard.is_asking:
            self._await_verdict()  # it waits for somebody's answer
            return
        self._hangs(f"hangs: it answered no probe, and said nothing for {seconds:g} seconds")

    def _signs(self) -> tuple[int, int]:
        return self._channel.received, self._transcript.written


def patience(config: ServerConfig, least: float) -> float:
    """Return how many seconds a server may be silent: longer than any call of it may take."""
    limits = (config.timeout_of(name) for name in ("", *config.tools))
    return max(least, *(2 * limit for limit in limits))
