"""What every store of keys does, fakes included."""

from datetime import UTC, datetime, timedelta

import pytest

from remit.errors import Conflict, NotFound
from remit.model.keys import Key
from remit.storage.keys import Keys
from remit.testing.fakes import InMemoryKeys

NOW = datetime(2026, 11, 27, 12, 0, 0, 123456, tzinfo=UTC)


def _key(number: int, *, name: str = "ci", tenant: str = "default") -> Key:
    return Key(
        id=f"id{number}",
        name=name,
        tenant=tenant,
        secret_hash="0f" * 32,
        roles=("designer", "qa_tester"),
        created=NOW + timedelta(seconds=number),
        expires=NOW + timedelta(days=30),
    )


async def test_a_key_is_found_by_its_id_as_it_was_stored(keys: Keys | InMemoryKeys) -> None:
    await keys.add(_key(1))

    assert await keys.find("id1") == _key(1)
    assert await keys.find("id2") is None


async def test_a_name_in_use_cannot_be_given_again_until_its_key_is_revoked(
    keys: Keys | InMemoryKeys,
) -> None:
    await keys.add(_key(1))

    with pytest.raises(Conflict, match="'ci' is in use: revoke it first"):
        await keys.add(_key(2))
    await keys.revoke("default", "ci", NOW)
    await keys.add(_key(2))

    assert await keys.find("id2") == _key(2)


async def test_two_tenants_may_use_one_name(keys: Keys | InMemoryKeys) -> None:
    await keys.add(_key(1))
    await keys.add(_key(2, tenant="other"))

    revoked = await keys.revoke("other", "ci", NOW)

    assert revoked.id == "id2"
    assert await keys.all_keys("default") == [_key(1)]


async def test_all_keys_come_oldest_first_revoked_ones_included(keys: Keys | InMemoryKeys) -> None:
    for number in (3, 1, 2):
        await keys.add(_key(number, name=f"key {number}"))
    await keys.revoke("default", "key 2", NOW)

    found = await keys.all_keys("default")

    assert [(key.id, key.revoked) for key in found] == [("id1", None), ("id2", NOW), ("id3", None)]


async def test_a_key_that_does_not_exist_cannot_be_revoked_nor_one_twice(
    keys: Keys | InMemoryKeys,
) -> None:
    await keys.add(_key(1))
    await keys.revoke("default", "ci", NOW)

    for name in ("ci", "nobody"):
        with pytest.raises(NotFound, match=f"no key named '{name}' is in use"):
            await keys.revoke("default", name, NOW)


async def test_the_last_use_is_kept(keys: Keys | InMemoryKeys) -> None:
    await keys.add(_key(1))

    await keys.touch("id1", NOW)
    await keys.touch("id2", NOW)

    found = await keys.find("id1")
    assert found is not None
    assert found.last_used == NOW
