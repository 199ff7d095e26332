"""How a server is asked to tell of updates to resources: one way in each era.

legacy: `resources/subscribe` and `resources/unsubscribe`, one resource a request
modern: one `subscriptions/listen` for all of them; a changed set is a new request, and the old one
        ends once the server has acknowledged or refused it
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Protocol, cast

from remit.errors import UpstreamError, UpstreamProtocolError
from remit.model.members import members_of
from remit.upstreams.era import Era
from remit.upstreams.session import Signals
from remit.upstreams.wire import json_bytes

LISTEN = "subscriptions/listen"


class Watched(Protocol):
    """The resources that the server at the other end tells of."""

    async def watch(self, uris: frozenset[str]) -> Mapping[str, UpstreamError]:
        """Let it tell of exactly these; return those that cannot be had."""
        ...


class WatchedByRequests:
    """The older eras' way.

    Args:
        ask: Sends a request of that method with these members of its params.
    """

    def __init__(self, ask: Callable[[str, bytes], Awaitable[bytes]]) -> None:
        self._ask = ask
        self._asked: frozenset[str] = frozenset()

    def forget(self) -> None:
        """Begin anew: the session is another one."""
        self._asked = frozenset()

    async def watch(self, uris: frozenset[str]) -> Mapping[str, UpstreamError]:
        """Say what is new and what is over."""
        for uri in sorted(self._asked - uris):
            with suppress(UpstreamProtocolError):
                await self._ask("resources/unsubscribe", b'"uri":' + json_bytes(uri))
        refused: dict[str, UpstreamError] = {}
        for uri in sorted(uris - self._asked):
            try:
                await self._ask("resources/subscribe", b'"uri":' + json_bytes(uri))
            except UpstreamProtocolError as error:
                refused[uri] = error
        self._asked = uris - refused.keys()
        return refused


class Asking(Protocol):
    """What a modern way needs of a channel."""

    @property
    def signals(self) -> Signals:
        """Where acknowledgements are told."""
        ...

    def start(self, method: str, params: bytes) -> tuple[int, asyncio.Future[bytes]]:
        """Send a request and return its id with the future of its raw result."""
        ...

    def notify(self, method: str, params: bytes = ...) -> None:
        """Send a notification."""
        ...

    def forget(self, number: int) -> bool:
        """Stop waiting for an answer."""
        ...


class WatchedOverChannel:
    """The way of 2026-07-28 where everything travels on one connection."""

    def __init__(self, channel: Asking) -> None:
        self._channel = channel
        self._number: int | None = None

    async def watch(self, uris: frozenset[str]) -> Mapping[str, UpstreamError]:
        """Listen for these, and then no more for those before."""
        older, self._number = self._number, None
        try:
            if not uris:
                return {}
            number, answer = self._channel.start(LISTEN, Era.modern().params(listen_parts(uris)))
            self._number = number
            honoured = self._channel.signals.acknowledgement(number)
            answer.add_done_callback(lambda ended: self._over(number, ended, honoured))
            return refused_of(uris, await honoured)
        finally:
            if older is not None:
                self._channel.forget(older)
                self._channel.notify("notifications/cancelled", b'{"requestId":%d}' % older)

    def _over(
        self, number: int, ended: asyncio.Future[bytes], honoured: asyncio.Future[object]
    ) -> None:
        error = None if ended.cancelled() else ended.exception()
        if not honoured.done():
            honoured.set_exception(error or UpstreamProtocolError("ended a subscription at once"))
        elif self._number == number and not ended.cancelled():
            self._channel.signals.lapsed()


def listen_parts(uris: frozenset[str]) -> bytes:
    """Return the members of `subscriptions/listen` params that ask for updates to *uris*."""
    return b'"notifications":{"resourceSubscriptions":%b}' % json_bytes(sorted(uris))


def refused_of(uris: frozenset[str], honoured: object) -> Mapping[str, UpstreamError]:
    """Return what a server leaves out of what it honours."""
    subscribed = members_of(honoured).get("resourceSubscriptions")
    kept = cast("list[object]", subscribed) if isinstance(subscribed, list) else []
    return {
        uri: UpstreamProtocolError("tells of no updates to it") for uri in uris if uri not in kept
    }
