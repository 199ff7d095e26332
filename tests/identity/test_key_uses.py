"""When a key was last used is written beside the calls, and never holds one up."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import anyio
import pytest
import structlog

from remit.errors import StorageUnavailable
from remit.identity import key_uses
from remit.identity.api_keys import hash_secret, make_key_text
from remit.identity.authenticate import Authenticator
from remit.identity.key_uses import KeyUses
from remit.model.keys import Key
from remit.testing.fakes import InMemoryKeys

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


class Store:
    """Takes uses, fails when told to, and waits when told to."""

    def __init__(self) -> None:
        self.written: list[dict[str, datetime]] = []
        self.fails = False
        self.asked = anyio.Event()
        self.go_on = anyio.Event()
        self.go_on.set()

    async def touch(self, uses: Mapping[str, datetime], *, within: float) -> None:
        self.asked.set()
        with anyio.move_on_after(within) as scope:
            await self.go_on.wait()
        if self.fails or scope.cancelled_caught:
            raise StorageUnavailable("the database is away")
        self.written.append(dict(uses))


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


async def test_a_use_is_written_later_and_once_a_minute() -> None:
    store, clock = Store(), Clock()
    uses = KeyUses(store, now=clock)
    for seconds in (0, 1, 58, 1, 1, 58, 1):
        clock.pass_by(seconds)
        uses.note("a")
        await uses.write()

    moments = [NOON + timedelta(seconds=seconds) for seconds in (0, 60, 120)]
    assert store.written == [{"a": moment} for moment in moments]


async def test_uses_of_several_keys_are_written_together() -> None:
    store = Store()
    uses = KeyUses(store, now=Clock())
    uses.note("a")
    uses.note("b")

    await uses.write()

    assert store.written == [{"a": NOON, "b": NOON}]


async def test_a_store_that_is_away_is_told_of_once_and_tried_again() -> None:
    store, clock = Store(), Clock()
    store.fails = True
    uses = KeyUses(store, now=clock)
    with structlog.testing.capture_logs() as logged:
        for _ in range(3):
            uses.note("a")
            await uses.write()
            clock.pass_by(60)
        store.fails = False
        await uses.write()

    assert store.written == [{"a": NOON + timedelta(minutes=2)}]
    assert logged == [
        {
            "event": "uses of keys cannot be written",
            "log_level": "warning",
            "keys": 1,
            "error": "the database is away",
        }
    ]


async def test_a_use_during_a_write_is_written_by_the_next_one() -> None:
    store, clock = Store(), Clock()
    uses = KeyUses(store, now=clock)
    uses.note("a")
    store.go_on = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uses.write)
        await store.asked.wait()
        clock.pass_by(60)
        uses.note("a")
        store.go_on.set()
    await uses.write()

    assert store.written == [{"a": NOON}, {"a": NOON + timedelta(minutes=1)}]


async def test_what_is_noted_is_bounded_and_more_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_uses, "MOST_NOTED", 3)
    store = Store()
    uses = KeyUses(store, now=Clock())
    for name in "abcde":
        uses.note(name)
    await uses.write()
    for name in "de":
        uses.note(name)
    await uses.write()
    for name in "ad":  # what was noted of a is forgotten, of d is not
        uses.note(name)
    await uses.write()

    assert store.written == [dict.fromkeys(names, NOON) for names in ("abc", "de", "a")]


async def test_a_later_use_is_noted_however_many_are_to_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_uses, "MOST_NOTED", 2)
    store, clock = Store(), Clock()
    uses = KeyUses(store, now=clock)
    uses.note("a")
    uses.note("b")
    clock.pass_by(60)
    uses.note("a")
    await uses.write()

    assert store.written == [{"a": NOON + timedelta(minutes=1), "b": NOON}]


async def test_each_key_is_written_once_a_minute() -> None:
    store = Store()
    uses = KeyUses(store, now=Clock())
    for name in "abab":
        uses.note(name)
        await uses.write()

    assert store.written == [{"a": NOON}, {"b": NOON}]


async def test_what_is_noted_is_written_now_and_then_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_uses, "WRITE_EVERY", 0.01)
    store = Store()
    uses = KeyUses(store, now=Clock())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uses.keep_writing)
        uses.note("a")
        with anyio.fail_after(20):
            await store.asked.wait()
        monkeypatch.setattr(key_uses, "WRITE_EVERY", 60)
        await anyio.wait_all_tasks_blocked()
        uses.note("b")
        tasks.cancel_scope.cancel()

    assert [name for written in store.written for name in written] == ["a", "b"]


async def test_a_store_that_does_not_answer_holds_up_neither_a_call_nor_a_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_uses, "WRITE_EVERY", 0.01)
    monkeypatch.setattr(key_uses, "LONGEST_WRITE", 0.05)
    store = Store()
    store.go_on = anyio.Event()
    uses = KeyUses(store)
    text = make_key_text()
    key = Key(
        id=text.id,
        name="ci",
        tenant="default",
        secret_hash=hash_secret(text.secret),
        created=NOON,
    )
    authenticate = Authenticator(InMemoryKeys(key), note_use=uses.note)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(uses.keep_writing)
            uses.note("another")
            await store.asked.wait()
            assert (await authenticate(text.reveal())).name == "ci"
            tasks.cancel_scope.cancel()

    assert store.written == []
