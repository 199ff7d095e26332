import time
from collections.abc import Generator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from remit.admin.keys import MadeKey, make_key, parse_expiry
from remit.admin.names import LONGEST_NAME
from remit.errors import BadCall, Conflict, NotFound
from remit.identity.authenticate import Authenticator
from remit.model.roles import Role
from remit.testing.fakes import InMemoryKeys

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
ROLES = {name: Role(name=name) for name in ("tech_lead", "designer")}


@pytest.fixture
def elsewhere() -> Generator[None]:
    """Move the machine to Tokyo."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


async def made(
    store: InMemoryKeys,
    name: str = "ci",
    *,
    role: str | None = "designer",
    admin: bool = False,
    expires: datetime | None = None,
) -> MadeKey:
    return await make_key(
        store,
        name,
        tenant="default",
        now=NOON,
        role=role,
        admin=admin,
        expires=expires,
        roles=ROLES,
    )


async def test_a_new_key_opens_the_door_in_its_role() -> None:
    store = InMemoryKeys()

    new = await made(store)

    principal = await Authenticator(store, now=lambda: NOON)(new.text)
    assert (principal.subject, principal.roles, principal.admin) == (
        "key:ci",
        ("designer",),
        False,
    )


async def test_what_is_stored_and_shown_of_a_key_is_never_its_secret() -> None:
    store = InMemoryKeys()

    new = await made(store)

    secret = new.text.split("_", 2)[2]
    assert secret not in repr(new)
    assert secret not in repr(await store.all_keys("default"))


async def test_an_administrators_key_has_no_role() -> None:
    # R12: administering never grants use
    new = await made(InMemoryKeys(), role=None, admin=True)

    assert new.key.admin
    assert new.key.roles == ()


async def test_a_key_holds_until_it_expires() -> None:
    new = await made(InMemoryKeys(), expires=NOON + timedelta(seconds=1))

    assert new.key.created == NOON
    assert new.key.holds_at(NOON)
    assert not new.key.holds_at(NOON + timedelta(seconds=1))


@pytest.mark.parametrize("expires", [NOON, NOON - timedelta(days=1)])
async def test_a_key_that_would_have_expired_already_is_refused(expires: datetime) -> None:
    with pytest.raises(BadCall, match="already have expired"):
        await made(InMemoryKeys(), expires=expires)


async def test_a_role_that_is_not_declared_is_answered_with_those_that_are() -> None:
    store = InMemoryKeys()

    with pytest.raises(NotFound, match=r"'desinger'.*designer, tech_lead"):
        await made(store, role="desinger")

    assert await store.all_keys("default") == []


async def test_without_any_role_the_answer_says_that_there_is_none() -> None:
    with pytest.raises(NotFound, match="declared roles: none"):
        await make_key(InMemoryKeys(), "ci", tenant="default", now=NOON, role="x", roles={})


async def test_a_key_is_for_something() -> None:
    with pytest.raises(BadCall, match=r"^say what the key is for: --role ROLE, --user-role ROLE,"):
        await made(InMemoryKeys(), role=None)


@pytest.mark.parametrize(
    "name", [".", "..", "", " ci", "ci ", "a\nb", "\x1b[31m", "\ud800", "x" * (LONGEST_NAME + 1)]
)
async def test_a_name_that_a_terminal_or_a_table_would_trip_over_is_refused(name: str) -> None:
    with pytest.raises(BadCall, match="1 to 64 printable characters"):
        await made(InMemoryKeys(), name)


@pytest.mark.parametrize(
    "name", ["c", "...", ".c", "build server 7", "Prüfung", "x" * LONGEST_NAME]
)
async def test_any_other_name_does(name: str) -> None:
    assert (await made(InMemoryKeys(), name)).key.name == name


async def test_two_keys_in_use_cannot_have_one_name() -> None:
    store = InMemoryKeys()
    await made(store)

    with pytest.raises(Conflict):
        await made(store)

    await store.revoke("default", "ci", NOON)
    await made(store)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("5m", timedelta(minutes=5)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_a_span_counts_from_now(text: str, span: timedelta) -> None:
    assert parse_expiry(text, NOON) == NOON + span


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2027-01-31T12:00:00", datetime(2027, 1, 31, 12, tzinfo=UTC)),
        ("2027-01-31T12:00:00Z", datetime(2027, 1, 31, 12, tzinfo=UTC)),
        ("2027-01-31T12:00:00+05:00", datetime(2027, 1, 31, 7, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_as_utc_unless_it_says_otherwise(text: str, moment: datetime) -> None:
    expires = parse_expiry(text, NOON)

    assert expires == moment
    assert expires.tzinfo is UTC


def test_the_zone_of_the_machine_or_the_caller_is_not_taken_for_utc(
    elsewhere: None,  # noqa: ARG001 - a fixture
) -> None:
    there = NOON.astimezone(timezone(timedelta(hours=-8)))

    assert parse_expiry("2027-01-31T12:00:00", there) == datetime(2027, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["9999999w", "9" * 30 + "d", "9" * 5000 + "s"])
def test_a_span_beyond_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(BadCall, match="too far away") as refused:
        parse_expiry(text, NOON)

    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "text",
    ["", "d", "30", "30x", "-3d", "1.5h", "tomorrow", "2027-13-01", "0001-01-01T00:00:00+05:00"],
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadCall) as refused:
        parse_expiry(text, NOON)

    assert str(refused.value) == (
        f"{text!r} is no time: write a span such as 30d or 12h, or 2027-01-31T12:00:00+00:00"
    )
