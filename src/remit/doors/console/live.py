"""A part of a page that tells by itself what changes, as server-sent events.

    look again who it is ──▶ what there is to tell ──▶ sent, if it differs from what was sent last
             ▲                                                          │
             └───────────── until it is due, or the next look ◀─────────┘

A stream ends when the client leaves, the session does, the gateway stops, or after a while: then
the browser comes back by itself and says what it has.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from anyio import create_task_group, current_time, move_on_after, sleep
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remit.doors.console.page import Role
from remit.doors.console.rendering import HEADERS
from remit.doors.console.visitor import Visitor
from remit.errors import RemitError

LONGEST: Final = 50.0
"""Seconds that one stream lasts."""

LOOK: Final = 1.5
"""Seconds between two looks at who it is (R17: what was taken away is gone within 2 s)."""

GONE: Final = b"event: gone\ndata: \n\n"
"""Tells the page that nobody is signed in any more; it does not come back."""

_AGAIN: Final = b"retry: 2000\n\n"
"""Milliseconds after which the browser comes back."""

_LINES: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What there is to tell.

    Attributes:
        text: HTML, rendered by this gateway.
        due: When there may be something new, by the clock of the event loop.
    """

    text: str
    due: float


@dataclass(frozen=True, slots=True)
class _Watcher:
    """Whoever has the stream open.

    Attributes:
        has: Digest of what it was sent last.
    """

    visitor: Visitor
    who: frozenset[Role]
    tell: Callable[[Visitor], Awaitable[Told]]
    has: str = field(default="")


class Live(Response):
    """The stream of a part of a page."""

    def __init__(
        self,
        visitor: Visitor,
        tell: Callable[[Visitor], Awaitable[Told]],
        *,
        who: frozenset[Role],
        lasts: float = LONGEST,
    ) -> None:
        """Answer a visitor.

        Args:
            visitor: Who looks; what it has already, its browser says.
            tell: Returns what there is to tell.
            who: One of these roles is needed as long as the stream lasts.
            lasts: Seconds, at most.
        """
        super().__init__(
            media_type="text/event-stream", headers={**HEADERS, "x-accel-buffering": "no"}
        )
        has = visitor.request.headers.get("last-event-id") or visitor.asked("has")
        self._watcher = _Watcher(visitor, who, tell, has)
        self._lasts = lasts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope
        raw = [pair for pair in self.raw_headers if pair[0] != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": raw})

        async def end_after(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            group.cancel_scope.cancel()

        async with create_task_group() as group:
            group.start_soon(end_after, self._watcher.visitor.stopping.wait)
            group.start_soon(end_after, lambda: _left(receive))
            with move_on_after(self._lasts):
                await _watch(self._watcher, send)
            group.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b""})


def digest_of(text: str) -> str:
    """Return what tells one text from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


async def _watch(watcher: _Watcher, send: Send) -> None:
    """Tell until nobody may be told any more."""
    has, due = watcher.has, current_time()
    await _send(send, _AGAIN)
    while True:
        try:
            visitor = await watcher.visitor.again()
            if visitor is None or not visitor.is_one_of(watcher.who):
                await _send(send, GONE)
                return
            told = await watcher.tell(visitor) if current_time() >= due else None
        except RemitError:  # refused or away: the browser comes back, and is told then
            return
        if told is not None:
            due, digest = told.due, digest_of(told.text)
            if digest != has:
                has = digest
                await _send(send, _event(told.text, digest))
        await sleep(min(LOOK, max(due - current_time(), 0.01)))


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


def _event(text: str, digest: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in _LINES.split(text))
    return f"id: {digest}\n{lines}\n".encode()
