"""A running gateway learns of changes that another process made from one cheap row (R17)."""

from datetime import UTC, datetime

import pytest

from remit.admin.tenants import make_tenant
from remit.errors import Conflict, NotFound
from remit.model.keys import Key
from remit.storage.database import Database, open_database
from remit.storage.epochs import Epochs, restarted_server
from remit.storage.keys import Keys
from remit.storage.revisions import Revisions
from remit.storage.tenants import Tenants

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


async def test_every_change_of_keys_counts_and_their_use_does_not(database: Database) -> None:
    epochs, keys = Epochs(database), Keys(database)
    key = Key(id="1", name="ci", tenant="default", secret_hash="0f", created=NOW)
    counts = [await epochs.current()]

    await keys.add(key)
    counts.append(await epochs.current())
    await keys.touch({"1": NOW})
    counts.append(await epochs.current())
    await keys.revoke("default", "ci", NOW)
    counts.append(await epochs.current())

    assert [count.get(("default", "keys"), 0) for count in counts] == [0, 1, 1, 2]
    assert not any(("default", "revisions") in count for count in counts)


async def test_what_changes_nothing_counts_nothing(database: Database) -> None:
    epochs, keys, revisions = Epochs(database), Keys(database), Revisions(database)
    key = Key(id="1", name="ci", tenant="default", secret_hash="0f", created=NOW)
    await keys.add(key)
    await revisions.write("default", {"a": 1}, author="x", reason="", now=NOW)
    before = await epochs.current()

    with pytest.raises(Conflict):
        await keys.add(key)
    with pytest.raises(NotFound):
        await keys.revoke("default", "nobody", NOW)
    await revisions.write("default", {"a": 1}, author="x", reason="", now=NOW)

    assert await epochs.current() == before
    assert before == {("default", "keys"): 1, ("default", "revisions"): 1}


async def test_each_tenant_counts_its_own(database: Database) -> None:
    await Revisions(database).write("other", {"a": 1}, author="x", reason="", now=NOW)

    assert await Epochs(database).current() == {("other", "revisions"): 1}


async def test_another_connection_sees_the_change(database: Database, database_url: str) -> None:
    async with open_database(database_url) as other:
        await Revisions(other).write("default", {"a": 1}, author="x", reason="", now=NOW)

    assert (await Epochs(database).current())["default", "revisions"] == 1


async def test_restarts_are_counted_for_each_server(database: Database) -> None:
    epochs = Epochs(database)
    asked = [await epochs.count_restart("acme", server) for server in ("git", "git", "revisions")]

    current = await epochs.current()

    assert asked == [1, 2, 1]
    counted = {restarted_server(topic): value for (_, topic), value in current.items()}
    assert counted == {"git": 2, "revisions": 1}
    assert restarted_server("revisions") == ""


async def test_a_new_tenant_counts(database: Database) -> None:
    await make_tenant(Tenants(database), "acme", now=NOW)

    assert await Epochs(database).current() == {("acme", "tenants"): 1}
