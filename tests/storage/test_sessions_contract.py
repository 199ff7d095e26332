"""Sessions at the console as both databases keep them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.model.sessions import LONGEST, LONGEST_IDLE, ByIssuer, ByKey, ConsoleSession
from remit.storage.console_sessions import ConsoleSessions
from remit.storage.database import Database

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SESSION = ConsoleSession(
    id="5e55",
    tenant="default",
    began=ByKey(key_id="abc", secret_hash="f00d"),
    created=NOW,
    last_seen=NOW,
    expires=NOW + LONGEST,
)
ANN = ByIssuer(
    issuer="https://idp.example.test",
    client_id="remit",
    subject="00u1 \u20ac",
    shown="Änn",
    roles=("staff", "Ops \u20ac"),
)


@pytest.fixture
def sessions(database: Database) -> ConsoleSessions:
    return ConsoleSessions(database)


@pytest.mark.parametrize("session", [SESSION, replace(SESSION, began=ANN)])
async def test_a_session_is_found_as_it_was_stored(
    sessions: ConsoleSessions, session: ConsoleSession
) -> None:
    await sessions.add(session)

    assert await sessions.find("5e55") == session
    assert await sessions.find("5e5") is None


async def test_a_use_is_kept_unless_a_later_one_is(sessions: ConsoleSessions) -> None:
    later = NOW + timedelta(minutes=2)
    await sessions.add(SESSION)

    await sessions.touch("5e55", later)
    await sessions.touch("5e55", NOW + timedelta(minutes=1))
    await sessions.touch("none", later)

    assert await sessions.find("5e55") == replace(SESSION, last_seen=later)
    assert await sessions.find("none") is None


async def test_a_session_that_was_ended_stays_so(sessions: ConsoleSessions) -> None:
    await sessions.add(SESSION)
    await sessions.add(replace(SESSION, id="other"))

    await sessions.remove("5e55")
    await sessions.touch("5e55", NOW + timedelta(minutes=2))

    assert await sessions.find("5e55") is None
    assert await sessions.find("other") is not None


async def test_what_does_not_hold_any_more_is_removed(sessions: ConsoleSessions) -> None:
    just = timedelta(microseconds=1)
    ages = {
        "idle": (NOW - LONGEST_IDLE, NOW + just),
        "not idle": (NOW - LONGEST_IDLE + just, NOW + just),
        "over": (NOW, NOW),
    }
    for name, (seen, expires) in ages.items():
        session = replace(SESSION, id=name, last_seen=seen, expires=expires)
        assert session.holds_at(NOW) is (name == "not idle")
        await sessions.add(session)

    await sessions.prune(NOW)

    assert [name for name in ages if await sessions.find(name)] == ["not idle"]
