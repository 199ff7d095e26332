"""Streams of parts of pages: what is sent, and what ends them (R17)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import anyio
import pytest
from anyio import Event, create_task_group, current_time
from starlette.requests import Request
from tests.console.streams import Event as Told_
from tests.console.streams import events_of

from remit.doors.api.inside import Inside
from remit.doors.console.live import LOOK, Live, Told, digest_of
from remit.doors.console.page import READERS
from remit.doors.console.recent import Recent
from remit.doors.console.rendering import Rendering
from remit.doors.console.sessions import SignedIn
from remit.doors.console.visitor import Visitor
from remit.errors import StorageUnavailable
from remit.model.principals import Principal, PrincipalKind


@dataclass(kw_only=True)
class Watching:
    """A browser that has a stream open, on a connection of its own.

    Attributes:
        texts: What there is to tell at each look; the last of them from then on.
        admin: Whether whoever is signed in may still look.
        is_signed_in: Whether anybody is.
        away: What fails instead of telling.
    """

    texts: list[str]
    admin: bool = True
    is_signed_in: bool = True
    away: Exception | None = None
    stopping: Event = field(default_factory=Event)
    leaves: Event = field(default_factory=Event)
    looks: int = 0
    sent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def tell(self, _: Visitor) -> Told:
        self.looks += 1
        if self.away is not None:
            raise self.away
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        return Told(text=text, due=current_time())

    def visitor(self, has: str) -> Visitor:
        headers = [(b"last-event-id", has.encode())] if has else []
        scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
        principal = Principal(kind=PrincipalKind.KEY, name="ann", admin=self.admin)
        return Visitor(
            request=Request({**scope, "query_string": b""}),
            signed_in=SignedIn(
                principal=principal, shown="ann", expires=datetime.now(UTC), csrf="", _secret=""
            ),
            inside=cast("Inside", None),  # a stream asks by `tell` alone
            rendering=Rendering(()),
            base="http://gateway.test",
            stopping=self.stopping,
            recent=Recent(),
            again=self.again,
        )

    async def again(self) -> Visitor | None:
        return self.visitor("") if self.is_signed_in else None

    async def receive(self) -> dict[str, Any]:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Any) -> None:
        self.sent.append(dict(event))

    async def watch(self, *, has: str = "", lasts: float = 60) -> list[Told_]:
        """Watch to the end of the stream, and return what was told."""
        live = Live(self.visitor(has), self.tell, who=READERS, lasts=lasts)
        await live({}, cast("Any", self.receive), self.send)
        return self.told

    @property
    def told(self) -> list[Told_]:
        body = b"".join(event.get("body", b"") for event in self.sent)
        return list(events_of(iter(body.decode().splitlines())))

    async def watch_until(self, end: Callable[[], Awaitable[None]], *, has: str = "") -> None:
        """Watch until everything there is to tell is told, and then let *end* happen."""

        async def end_then() -> None:
            while self.looks < 5 or len(self.texts) > 1:
                await anyio.lowlevel.checkpoint()
            await end()

        async with create_task_group() as group:
            group.start_soon(end_then)
            await self.watch(has=has)


async def test_only_what_differs_is_sent() -> None:
    watching = Watching(texts=["one", "one", "two", "two", "one"])

    await watching.watch_until(_setting(watching.leaves))

    assert [event.data for event in watching.told] == ["one", "two", "one"]
    assert [event.id for event in watching.told] == [digest_of(e.data) for e in watching.told]


async def test_a_browser_that_comes_back_is_not_sent_what_it_has() -> None:
    watching = Watching(texts=["one", "two"])

    await watching.watch_until(_setting(watching.leaves), has=digest_of("one"))

    assert [event.data for event in watching.told] == ["two"]


async def test_a_text_of_several_lines_arrives_whole() -> None:
    watching = Watching(texts=["<p>\r\none\rtwo\n\n</p>"])

    await watching.watch_until(_setting(watching.leaves))

    assert [event.data for event in watching.told] == ["<p>\none\ntwo\n\n</p>"]


async def test_a_stop_of_the_gateway_ends_it() -> None:
    watching = Watching(texts=["one"])

    await watching.watch_until(_setting(watching.stopping))

    assert watching.sent[-1] == {"type": "http.response.body", "body": b""}
    assert [event.kind for event in watching.told] == ["message"]


async def test_it_ends_after_a_while() -> None:
    watching = Watching(texts=["one"])

    told = await watching.watch(lasts=0.05)

    assert [event.kind for event in told] == ["message"]
    assert watching.sent[-1] == {"type": "http.response.body", "body": b""}


@pytest.mark.parametrize("lost", [{"is_signed_in": False}, {"admin": False}])
async def test_whoever_may_not_look_any_more_is_told_so_and_nothing_else(
    lost: dict[str, bool],
) -> None:
    watching = replace(Watching(texts=["secret"]), **lost)

    told = await watching.watch()

    assert [(event.kind, event.data) for event in told] == [("gone", "")]
    assert watching.looks == 0


async def test_what_is_away_ends_it_and_the_browser_comes_back() -> None:
    watching = Watching(texts=["one"], away=StorageUnavailable("away"))

    assert await watching.watch() == []
    assert b"retry: 2000" in watching.sent[1]["body"]


def test_what_was_taken_away_is_gone_within_two_seconds() -> None:
    """R17."""
    assert LOOK < 2


def _setting(event: Event) -> Callable[[], Awaitable[None]]:
    async def set_it() -> None:
        event.set()

    return set_it
