"""NATS JetStream: an event is stored once, however often it is sent."""

import json
import sys
from collections.abc import Generator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from remit.crew.delivery import DeliveryFailed
from remit.crew.jetstream import STREAM, open_jetstream
from remit.errors import StartupError
from remit.model.crew import CrewEvent
from remit.testing.nats import Nats, open_nats

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def server(tmp_path: Path) -> Generator[Nats]:
    pytest.importorskip("nats", reason="remit[nats] is not installed")
    with open_nats(tmp_path) as server:
        if server is None:
            pytest.skip("no nats-server is installed")
        yield server


def event(number: int) -> CrewEvent:
    return CrewEvent(
        id=f"e{number}",
        tenant="default",
        topic="mail.sent",
        payload={"mailId": f"m{number}"},
        created=NOW,
    )


async def stored(server: Nats) -> list[Any]:
    """Read the stream as any consumer would."""
    connection = await import_module("nats").connect(server.url)
    try:
        stream = connection.jetstream()
        count = (await stream.stream_info(STREAM)).state.messages
        return [await stream.get_msg(STREAM, number) for number in range(1, count + 1)]
    finally:
        await connection.close()


async def test_an_event_that_is_sent_twice_is_stored_once(server: Nats) -> None:
    async with open_jetstream(server.url) as subscriber:
        for number in (1, 1, 2):
            await subscriber.deliver(event(number), NOW)
    async with open_jetstream(server.url) as restarted:
        await restarted.deliver(event(2), NOW)

    messages = await stored(server)
    assert [message.subject for message in messages] == ["remit.default.mail.sent"] * 2
    assert [json.loads(message.data)["id"] for message in messages] == ["e1", "e2"]
    assert messages[0].headers["Nats-Msg-Id"] == "e1"


async def test_a_server_that_was_away_is_found_again_with_the_next_event(server: Nats) -> None:
    async with open_jetstream(server.url) as subscriber:
        await subscriber.deliver(event(1), NOW)
        server.stop()
        with pytest.raises(DeliveryFailed, match="no answer"):
            await subscriber.deliver(event(2), NOW)
        server.start()
        await subscriber.deliver(event(2), NOW)

    assert [json.loads(message.data)["id"] for message in await stored(server)] == ["e1", "e2"]


async def test_without_the_client_the_start_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "nats", None)

    with pytest.raises(StartupError, match=r"install remit\[nats\]"):
        async with open_jetstream("nats://127.0.0.1:1"):
            pass
