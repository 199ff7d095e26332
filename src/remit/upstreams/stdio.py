"""A server on the standard input and output of a child process: one JSON-RPC message a line."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing

from remit.upstreams.channel import Channel, ChannelSession
from remit.upstreams.child import Child
from remit.upstreams.handshake import negotiate
from remit.upstreams.liveness import Liveness
from remit.upstreams.session import Session, Setup


@asynccontextmanager
async def open_stdio(setup: Setup) -> AsyncGenerator[Session]:
    """Start the child, agree on an era, and end the child on every way out.

    Raises:
        UpstreamError: It cannot be started, or does not speak the protocol.
    """
    child = Child(setup.config, setup.transcript, setup.warden)
    channel = Channel(
        lambda frame, _number: child.write(frame),
        transcript=setup.transcript,
        signals=setup.signals,
    )

    def end(reason: str) -> None:
        channel.close(reason)
        setup.signals.end(reason)

    await child.start(setup.resolved, on_line=channel.receive, on_end=end)
    setup.signals.process = child.pid
    try:
        era = await negotiate(channel, is_legacy=setup.is_legacy, abilities=setup.abilities)
        liveness = Liveness(
            channel,
            era,
            transcript=setup.transcript,
            silence=setup.silence,
            hangs=end,
        )
        channel.on_left = liveness.doubt
        with closing(liveness):
            yield ChannelSession(channel, era)
    finally:
        channel.close("was stopped")
        await child.stop()
