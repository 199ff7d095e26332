"""What comes of asking a server to tell of updates, where several connections are asked."""

import asyncio
import gc
import json
import math
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest

from remit.errors import UpstreamError, UpstreamProtocolError
from remit.upstreams.channel import Channel
from remit.upstreams.era import Era
from remit.upstreams.session import ACKNOWLEDGED, SUBSCRIPTION_ID, Signals, ToolCall
from remit.upstreams.transcript import Transcript
from remit.upstreams.updates import Subscription, Updates
from remit.upstreams.watching import WatchedOverChannel

PAGE: Final = "wiki://page/1"
REFUSED: Final = {PAGE: UpstreamProtocolError("Method not found")}


class Server:
    """One connection, whose answer to what it is asked comes when a test says so."""

    era = Era.modern()

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self._refused: Mapping[str, UpstreamError] = {}
        self._answers = anyio.Event()

    def answer(self, refused: Mapping[str, UpstreamError]) -> None:
        """Let it answer now, refusing those."""
        self._refused = refused
        self._answers.set()

    async def watch(self, uris: frozenset[str]) -> Mapping[str, UpstreamError]:
        """Answer when it may."""
        if uris:
            self.asked.set()
            await self._answers.wait()
        return self._refused

    async def list_page(self, cursor: str | None, method: str) -> bytes:
        """List nothing, which is not asked here."""
        raise NotImplementedError

    async def call(self, call: ToolCall) -> bytes:
        """Run nothing, which is not asked here."""
        raise NotImplementedError


@asynccontextmanager
async def _following(*servers: Server) -> AsyncGenerator[tuple[Subscription, list[anyio.Event]]]:
    """Follow the page on all of these; give the subscription and what closes each connection."""

    async def hold(_: tuple[str, ...]) -> None:
        await anyio.sleep_forever()

    async def serve(server: Server, closing: anyio.Event) -> None:
        async with updates.accompanied((), server, Signals()):
            await closing.wait()

    async with anyio.create_task_group() as tasks:
        updates = Updates("wiki", hold, tasks)
        subscription = updates.follow((), PAGE, lambda _: None)
        closing = [anyio.Event() for _ in servers]
        for server, end in zip(servers, closing, strict=True):
            tasks.start_soon(serve, server, end)
        with anyio.fail_after(20):
            for server in servers:
                await server.asked.wait()
            yield subscription, closing
        tasks.cancel_scope.cancel()


async def _is_settled(subscription: Subscription) -> bool:
    settled = anyio.Event()

    async def wait() -> None:
        await subscription.established()
        settled.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return settled.is_set()


@pytest.mark.parametrize("refuses_first", [True, False])
async def test_one_connection_that_tells_of_updates_is_enough(refuses_first: bool) -> None:
    # An older caller's connection is opened beside the shared one, and its era may refuse.
    older, newer = Server(), Server()
    async with _following(older, newer) as (subscription, _):
        if refuses_first:
            older.answer(REFUSED)
            assert not await _is_settled(subscription)
            newer.answer({})
        else:
            newer.answer({})
            assert await _is_settled(subscription)
            older.answer(REFUSED)
        assert await _is_settled(subscription)


async def test_updates_that_every_connection_refuses_are_refused() -> None:
    first, second = Server(), Server()
    async with _following(first, second) as (subscription, _):
        first.answer(REFUSED)
        assert not await _is_settled(subscription)
        second.answer(REFUSED)
        with pytest.raises(UpstreamProtocolError, match="Method not found"):
            await subscription.established()


async def test_a_connection_that_closes_is_not_waited_for() -> None:
    mute, other = Server(), Server()
    async with _following(mute, other) as (subscription, closing):
        other.answer(REFUSED)
        assert not await _is_settled(subscription)
        closing[0].set()
        with pytest.raises(UpstreamProtocolError, match="Method not found"):
            await subscription.established()


@pytest.mark.parametrize("patience", [math.inf, 0.0], ids=["answers", "never answers"])
async def test_a_connection_is_used_once_its_server_has_taken_what_is_followed(
    monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """What comes first on it may be the call that updates the resource."""
    monkeypatch.setattr("remit.upstreams.updates.BEFORE_USE", patience)
    server, used = Server(), anyio.Event()

    async def use() -> None:
        async with updates.accompanied((), server, Signals()):
            used.set()

    async with anyio.create_task_group() as tasks:
        updates = Updates("wiki", _hold, tasks)
        updates.follow((), PAGE, lambda _: None)
        tasks.start_soon(use)
        with anyio.fail_after(20):
            if patience:
                await server.asked.wait()
                await anyio.wait_all_tasks_blocked()
                assert not used.is_set()
                server.answer({})
            await used.wait()
        tasks.cancel_scope.cancel()


async def _hold(_: tuple[str, ...]) -> None:
    await anyio.sleep_forever()


class Indifferent(Server):
    """A connection that takes whatever it is asked, at once."""

    async def watch(self, uris: frozenset[str]) -> Mapping[str, UpstreamError]:
        """Refuse nothing."""
        del uris
        self.asked.set()
        return {}


async def test_nothing_is_left_of_callers_who_came_and_went() -> None:
    heard: list[str] = []
    async with anyio.create_task_group() as tasks:
        updates = Updates("wiki", _hold, tasks)
        for number in range(300):
            owner = ("default", f"user:{number}")
            first = updates.follow(owner, PAGE, heard.append) if number % 3 else None
            signals = Signals()
            async with updates.accompanied(owner, Indifferent(), signals):
                second = updates.follow(owner, f"{PAGE}/b", heard.append) if number % 2 else None
                if first is not None:
                    await first.established()
                    first.close()
                    first.close()
                assert updates.owners == 1
            if second is not None:
                assert updates.owners == 1
                second.close()
            assert updates.owners == 0
        tasks.cancel_scope.cancel()


async def test_who_goes_on_following_is_told_on_the_next_connection() -> None:
    heard: list[str] = []
    async with anyio.create_task_group() as tasks:
        updates = Updates("wiki", _hold, tasks)
        for _ in range(2):
            async with updates.accompanied(("a",), Indifferent(), Signals()):
                updates.follow(("a",), PAGE, heard.append).close()
        updates.follow(("a",), PAGE, heard.append)
        signals = Signals()
        async with updates.accompanied(("a",), server := Indifferent(), signals):
            await server.asked.wait()
            assert signals.follower is not None
            signals.follower.updated(PAGE)
            updates.close()
            assert updates.owners == 1
        assert updates.owners == 0
        tasks.cancel_scope.cancel()
    assert heard == [PAGE]


async def test_a_set_that_is_refused_ends_what_was_listened_to_before() -> None:
    # as over HTTP: two would tell of everything twice once the next set is honoured
    heard: list[dict[str, Any]] = []

    def hear(frame: bytes, number: int | None) -> bool:
        message = json.loads(frame)
        heard.append(message)
        uris = message["params"].get("notifications", {}).get("resourceSubscriptions")
        if uris == [PAGE]:
            acknowledged = {"_meta": {SUBSCRIPTION_ID: number}, "notifications": {}}
            say({"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": acknowledged})
        elif uris is not None:
            say({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "no"}})
        return True

    def say(message: dict[str, Any]) -> None:
        asyncio.get_running_loop().call_soon(channel.receive, json.dumps(message).encode())

    channel = Channel(hear, transcript=Transcript(), signals=Signals())
    watched = WatchedOverChannel(channel)
    with anyio.fail_after(20):
        await watched.watch(frozenset({PAGE}))
        with pytest.raises(UpstreamProtocolError, match="error -32603: no"):
            await watched.watch(frozenset({PAGE, "wiki://page/2"}))

    assert [message["method"] for message in heard] == [
        "subscriptions/listen",
        "subscriptions/listen",
        "notifications/cancelled",
    ]
    assert heard[2]["params"] == {"requestId": heard[0]["id"]}


async def test_an_acknowledgement_that_nobody_waits_for_any_more_is_not_kept() -> None:
    signals = Signals()
    awaited = signals.acknowledgement(1)
    kept = weakref.ref(awaited)
    awaited.cancel()
    del awaited
    await anyio.lowlevel.checkpoint()
    gc.collect()
    assert kept() is None
