"""A tenant's own service key: shown once, masked afterwards, one at a time (S2.24, R33)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remit.admin.keys import MadeKey, make_key
from remit.admin.project_key import (
    PROJECT_KEY,
    find_project_key,
    masked_key,
    renew_project_key,
    revoke_project_key,
)
from remit.errors import Conflict, NotFound
from remit.model.keys import Key
from remit.storage.database import default_url, open_database
from remit.storage.keys import Keys
from remit.testing.fakes import InMemoryKeys

QUERY = "01a2251b-dda5-79c0-817b-0b7c51feb48b"
NOW = datetime(2026, 11, 28, 3, 30, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


async def test_looking_makes_no_key() -> None:
    # R33
    store = InMemoryKeys()

    assert await find_project_key(store, "default", NOW) is None
    assert await store.all_keys("default") == []


async def test_a_new_key_ends_the_one_before_at_once() -> None:
    # S2.26
    store = InMemoryKeys()
    first = await renew_project_key(store, "default", NOW)
    second = await renew_project_key(store, "default", LATER)

    old = await store.find(first.key.id)
    assert old is not None
    assert not old.holds_at(LATER)
    assert await find_project_key(store, "default", LATER) == second.key
    assert first.text != second.text
    assert (second.key.name, second.key.service, second.key.admin) == (PROJECT_KEY, True, False)


async def test_a_masked_key_tells_which_one_and_no_secret() -> None:
    made = await renew_project_key(InMemoryKeys(), "default", NOW)
    secret = made.text.removeprefix(f"rmt_{made.key.id}_")

    assert masked_key(made.key) == f"rmt_{made.key.id}_****"
    assert secret not in masked_key(made.key)


async def test_what_a_key_was_limited_to_outlives_its_renewal() -> None:
    store, until = InMemoryKeys(), NOW + timedelta(hours=1)
    await _make(store, queries=(QUERY,), act_for=("w1",), expires=until)

    made = await renew_project_key(store, "default", LATER)
    assert (made.key.queries, made.key.act_for, made.key.expires) == ((QUERY,), ("w1",), until)

    expired = await renew_project_key(store, "default", until + timedelta(1))
    assert (expired.key.queries, expired.key.expires) == ((QUERY,), None)


async def test_a_revoked_key_is_gone_and_the_next_begins_anew() -> None:
    store = InMemoryKeys()
    await _make(store, queries=(QUERY,))

    revoked = await revoke_project_key(store, "default", LATER)

    assert not revoked.holds_at(LATER)
    assert await find_project_key(store, "default", LATER) is None
    with pytest.raises(NotFound, match="no key to revoke"):
        await revoke_project_key(store, "default", LATER)
    assert (await renew_project_key(store, "default", LATER)).key.queries == ()


async def test_a_key_of_that_name_for_something_else_is_left_alone() -> None:
    store = InMemoryKeys()
    made = await make_key(store, PROJECT_KEY, tenant="default", now=NOW, admin=True, roles={})

    assert await find_project_key(store, "default", NOW) is None
    with pytest.raises(Conflict, match="is no service key"):
        await renew_project_key(store, "default", NOW)
    with pytest.raises(NotFound):
        await revoke_project_key(store, "default", NOW)
    assert await store.find(made.key.id) == made.key


async def test_tenants_have_keys_of_their_own() -> None:
    store = InMemoryKeys()
    ours = await renew_project_key(store, "default", NOW)
    await renew_project_key(store, "acme", NOW)

    await revoke_project_key(store, "acme", LATER)

    assert await find_project_key(store, "default", LATER) == ours.key


async def test_it_is_found_without_reading_the_thousands_of_other_keys(tmp_path: Path) -> None:
    class NeverAll(Keys):
        async def all_keys(self, tenant: str) -> Sequence[Key]:
            raise AssertionError(f"every key of {tenant} is read")

    async with open_database(default_url(tmp_path)) as database:
        store = NeverAll(database)
        await renew_project_key(store, "default", NOW)
        made = await renew_project_key(store, "default", LATER)

        assert await find_project_key(store, "default", LATER) == made.key


async def _make(
    store: InMemoryKeys,
    *,
    queries: tuple[str, ...],
    act_for: tuple[str, ...] = (),
    expires: datetime | None = None,
) -> MadeKey:
    return await make_key(
        store,
        PROJECT_KEY,
        tenant="default",
        now=NOW,
        service=True,
        queries=queries,
        act_for=act_for,
        expires=expires,
        roles={},
    )
