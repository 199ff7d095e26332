"""What every store of keys does, fakes included."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.errors import BadCall, Conflict, NotFound
from remit.model.keys import HeldKey, Key
from remit.model.principals import UserRole
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
        act_for=("w1", "w2"),
        auditor=True,
        owner="ann",
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


async def test_whose_keys_of_a_name_were_is_known_beyond_their_end(
    keys: Keys | InMemoryKeys,
) -> None:
    # R13
    await keys.add(_key(1))
    await keys.add(replace(_key(2, name="other"), owner="cho"))
    await keys.add(replace(_key(3, tenant="other"), owner="dea"))
    await keys.revoke("default", "ci", NOW)
    await keys.add(replace(_key(4), owner="bob"))
    await keys.add(replace(_key(5, name="nobody's"), owner=""))

    assert await keys.owners("default", "ci") == {"ann", "bob"}
    assert await keys.owners("default", "nobody's") == frozenset()
    assert await keys.owners("default", "never was") == frozenset()


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

    await keys.touch({"id2": NOW, "id1": NOW})
    await keys.touch({"id1": NOW - timedelta(seconds=1)})  # another gateway is late

    found = await keys.find("id1")
    assert found is not None
    assert found.last_used == NOW


async def test_a_key_of_every_kind_comes_back_as_it_was_stored(keys: Keys | InMemoryKeys) -> None:
    plain = replace(_key(1), roles=())
    kinds = [
        replace(plain, user_roles=(UserRole.DATA, UserRole.USER), roles=("designer",)),
        replace(plain, id="id2", name="service", service=True, queries=("q1", "q2")),
        replace(plain, id="id3", name="agent", agent="w1"),
        replace(plain, id="id4", name="admin", admin=True),
    ]
    for key in kinds:
        await keys.add(key)

    assert await keys.all_keys("default") == sorted(kinds, key=lambda key: key.id)


async def test_keys_that_hold_come_oldest_first_with_what_they_open(
    keys: Keys | InMemoryKeys,
) -> None:
    end = NOW + timedelta(seconds=1)
    kinds = [
        replace(_key(7, name="plain"), roles=(), owner="", expires=None),
        replace(_key(6, name="data"), user_roles=(UserRole.DATA, UserRole.USER)),
        replace(_key(5, name="service"), service=True, queries=("q1",)),
        replace(_key(4, name="agent"), agent="w1"),
        replace(_key(3, name="ending"), revoked=end),
        replace(_key(2, name="ending"), expires=end),
        replace(_key(1, name="expired"), expires=NOW),
        replace(_key(8, name="revoked"), revoked=NOW),
        _key(9, name="elsewhere", tenant="acme"),
    ]
    for key in kinds:
        await keys.add(key)

    found = await keys.holding("default", NOW)

    assert found == [
        HeldKey(key.name, key.owner, key.agent, key.roles, key.user_roles, key.service)
        for key in await keys.all_keys("default")
        if key.holds_at(NOW)
    ]
    assert [key.name for key in found] == [
        *("ending", "ending", "agent", "service", "data", "plain")
    ]


async def test_a_key_that_is_replaced_ends_when_told_and_another_has_its_name(
    keys: Keys | InMemoryKeys,
) -> None:
    await keys.add(_key(1))
    end = NOW + timedelta(hours=1)

    new = await keys.replace("default", "ci", lambda old: replace(old, id="id2"), end)

    assert new == replace(_key(1), id="id2")
    assert await keys.find("id1") == replace(_key(1), revoked=end)
    assert await keys.find("id2") == new


async def test_what_was_replaced_before_holds_no_longer_than_what_is_replaced_now(
    keys: Keys | InMemoryKeys,
) -> None:
    hour = timedelta(hours=1)
    await keys.add(_key(1))
    await keys.add(_key(9, tenant="other"))
    await keys.replace("other", "ci", lambda old: replace(old, id="id8"), NOW + 9 * hour)
    for number, hours in ((2, -1), (3, 2), (4, 1), (5, 3)):
        name, end = f"id{number}", NOW + hours * hour
        await keys.replace("default", "ci", lambda old, name=name: replace(old, id=name), end)

    ends = {key.id: key.revoked for key in await keys.all_keys("default")}
    assert ends == {
        "id1": NOW - hour,
        "id2": NOW + hour,  # until two hours from now, before a later rotation said one
        "id3": NOW + hour,
        "id4": NOW + 3 * hour,
        "id5": None,
    }
    others = {key.id: key.revoked for key in await keys.all_keys("other")}
    assert others == {"id9": NOW + 9 * hour, "id8": None}


async def test_revoking_ends_what_was_replaced_and_still_holds(keys: Keys | InMemoryKeys) -> None:
    await keys.add(_key(1))
    for number, hours in ((2, -1), (3, 1)):
        name = f"id{number}"
        end = NOW + timedelta(hours=hours)
        await keys.replace("default", "ci", lambda old, name=name: replace(old, id=name), end)

    await keys.revoke("default", "ci", NOW)

    ends = {key.id: key.revoked for key in await keys.all_keys("default")}
    assert ends == {"id1": NOW - timedelta(hours=1), "id2": NOW, "id3": NOW}


async def test_a_replacement_that_fails_changes_nothing(keys: Keys | InMemoryKeys) -> None:
    def refuse(key: Key) -> Key:
        raise BadCall(f"not {key.name}")

    await keys.add(_key(1))

    with pytest.raises(BadCall):
        await keys.replace("default", "ci", refuse, NOW)
    with pytest.raises(NotFound, match="no key named 'nobody' is in use"):
        await keys.replace("default", "nobody", refuse, NOW)

    assert await keys.all_keys("default") == [_key(1)]


async def test_keys_come_in_pages_in_their_order(keys: Keys | InMemoryKeys) -> None:
    made = [_key(number, name=f"k{number}") for number in (1, 2, 3, 4)]
    twin = replace(made[1], id="id2b", name="twin")  # made in the same moment
    for key in (made[3], made[0], twin, made[2], made[1], _key(5, tenant="other")):
        await keys.add(key)

    first = await keys.keys_after("default", None, 2)
    rest = await keys.keys_after("default", (first[-1].created, first[-1].id), 9)

    assert [key.id for key in first] == ["id1", "id2"]
    assert [key.id for key in rest] == ["id2b", "id3", "id4"]
    assert await keys.keys_after("default", (made[3].created, "id4"), 9) == []


async def test_keys_are_found_by_name_and_by_id_oldest_first(keys: Keys | InMemoryKeys) -> None:
    await keys.add(_key(1))
    await keys.revoke("default", "ci", NOW)
    await keys.add(_key(2))
    await keys.add(_key(3, name="id1"))
    await keys.add(_key(4, tenant="other"))

    assert [key.id for key in await keys.named("default", "ci")] == ["id1", "id2"]
    assert [key.id for key in await keys.named("default", "id1")] == ["id1", "id3"]
    assert await keys.named("default", "ghost") == []
