"""Which era a server speaks, found out over a channel.

    server/discover ──▶ a DiscoverResult, or the modern error -32022 ──▶ modern
          │
          ├── any other error ──────────▶ initialize ──▶ initialized ──▶ legacy
          │
          └── silence for PROBE seconds ▶ initialize as well; the first success decides

(protocol.md 1.5; never keyed on one error code, since older servers answer with any.)
"""

import asyncio
from typing import cast

from remit.errors import UpstreamError, UpstreamProtocolError
from remit.model.conversation import Abilities
from remit.model.protocol import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    MODERN_PROTOCOL_VERSIONS,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from remit.upstreams.channel import Channel, error_code
from remit.upstreams.era import Era, announces_changes, initialize_parts, is_modern_answer
from remit.upstreams.watching import LISTEN
from remit.upstreams.wire import Malformed, members, value_of

DISCOVER = "server/discover"
LISTEN_PARTS = (
    b'"notifications":'
    b'{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}'
)
"""The members of `subscriptions/listen` params: the changes that we follow."""

PROBE = 1.5
"""Seconds that a server may be silent before the older handshake is tried as well."""


async def negotiate(
    channel: Channel,
    *,
    is_legacy: bool,
    abilities: Abilities = Abilities.NONE,
    patience: float = PROBE,
) -> Era:
    """Agree on an era with the server at the other end.

    The probe is left out when the server is already known to be legacy; after *patience* seconds
    it is not waited for alone.

    Raises:
        UpstreamError: It answers neither way, or no revision is common to both.
    """
    if is_legacy:
        return await initialize(channel, abilities)
    number, probe = channel.start(DISCOVER, Era.modern().params(b""))
    probe.add_done_callback(retrieve)  # what decides may be the other answer
    try:
        await asyncio.wait([probe], timeout=patience)
        if probe.done():
            return await _by_answer(channel, probe, abilities)
        return await _by_first_success(channel, probe, abilities)
    finally:
        channel.forget(number)


async def initialize(channel: Channel, abilities: Abilities) -> Era:
    """Open a legacy session.

    Raises:
        UpstreamError: The server refuses, or chose a revision that we do not know.
    """
    number, answer = channel.start("initialize", b"{%s}" % initialize_parts(abilities))
    try:
        era = Era.agreed(await answer)
    finally:
        channel.forget(number)
    channel.notify("notifications/initialized")
    return era


def is_modern_verdict(error: UpstreamError) -> bool:
    """Whether the error that answered a probe proves a modern server that we can speak with.

    Raises:
        UpstreamProtocolError: It proves one that we cannot speak with.
    """
    if error_code(error) != UNSUPPORTED_PROTOCOL_VERSION:
        return False
    offered = _supported(error)
    if offered is None or any(version in MODERN_PROTOCOL_VERSIONS for version in offered):
        return True
    if any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in offered):
        return False
    raise UpstreamProtocolError(f"speaks only {', '.join(map(str, offered))}, which remit does not")


async def _by_answer(channel: Channel, probe: asyncio.Future[bytes], abilities: Abilities) -> Era:
    if _proves_modern(probe):
        return _modern(channel, probe)
    return await initialize(channel, abilities)


async def _by_first_success(
    channel: Channel, probe: asyncio.Future[bytes], abilities: Abilities
) -> Era:
    number, answer = channel.start("initialize", b"{%s}" % initialize_parts(abilities))
    answer.add_done_callback(retrieve)
    waiting = {probe, answer}
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if answer in done and answer.exception() is None:
                era = Era.agreed(answer.result())
                channel.notify("notifications/initialized")
                return era
            if probe in done and _proves_modern(probe):
                return _modern(channel, probe)
        return Era.agreed(answer.result())  # raises what the server said
    finally:
        channel.forget(number)


def _proves_modern(probe: asyncio.Future[bytes]) -> bool:
    error = probe.exception()
    if error is None:
        return is_modern_answer(probe.result())
    if isinstance(error, UpstreamError):
        return is_modern_verdict(error)
    raise error


def _modern(channel: Channel, probe: asyncio.Future[bytes]) -> Era:
    if probe.exception() is not None:
        return Era.modern()
    if announces_changes(probe.result()):
        # What it notifies of comes as everything else does; this request ends with the connection.
        _, listening = channel.start(LISTEN, Era.modern().params(LISTEN_PARTS))
        listening.add_done_callback(retrieve)
    return Era.discovered(probe.result())


def retrieve(future: asyncio.Future[bytes]) -> None:
    """Look at a failure that nobody waits for, or asyncio reports it as lost."""
    if not future.cancelled():
        future.exception()


def _supported(error: UpstreamError) -> list[object] | None:
    raw = error.rpc_error if isinstance(error, UpstreamProtocolError) else b""
    try:
        data = value_of(members(raw).get("data", b"null"))
    except Malformed:
        return None
    if not isinstance(data, dict):
        return None
    versions = cast("dict[str, object]", data).get("supported")
    return cast("list[object]", versions) if isinstance(versions, list) else None
