"""What every store of revisions does, fakes included (R18)."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from remit.errors import Conflict, NotFound
from remit.storage.revisions import Revisions, digest_of
from remit.testing.fakes import InMemoryRevisions

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


async def _write(
    revisions: Revisions | InMemoryRevisions,
    document: Mapping[str, object],
    tenant: str = "default",
) -> int:
    revision = await revisions.write(tenant, document, author="cli", reason="a test", now=NOW)
    return revision.number


async def test_the_first_revision_is_number_one(revisions: Revisions | InMemoryRevisions) -> None:
    assert await revisions.latest("default") is None

    written = await revisions.write(
        "default", {"version": "1.0"}, author="serve", reason="from remit.yaml", now=NOW
    )

    assert (written.number, written.author, written.reason) == (1, "serve", "from remit.yaml")
    assert written.digest == digest_of({"version": "1.0"})
    assert await revisions.latest("default") == written
    assert await revisions.get_revision("default", 1) == written


async def test_a_document_that_says_the_same_makes_no_revision(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    await _write(revisions, {"a": 1, "b": [1, 2]})

    assert await _write(revisions, {"b": [1, 2], "a": 1}) == 1
    assert await _write(revisions, {"b": [2, 1], "a": 1}) == 2


async def test_going_back_to_an_older_document_is_a_new_revision(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    numbers = [await _write(revisions, document) for document in ({"a": 1}, {"a": 2}, {"a": 1})]

    assert numbers == [1, 2, 3]


async def test_revisions_come_newest_first_and_each_tenant_counts_its_own(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    await _write(revisions, {"a": 1})
    await _write(revisions, {"a": 2})
    await _write(revisions, {"a": 3}, tenant="other")

    assert [r.number for r in await revisions.summaries("default")] == [2, 1]
    assert [r.number for r in await revisions.summaries("other")] == [1]


async def test_revisions_are_had_some_at_a_time_and_without_what_they_say(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    for number in range(1, 7):
        await _write(revisions, {"a": number})
    await _write(revisions, {"a": 1}, tenant="other")

    async def numbers(**between: int) -> list[int]:
        return [one.number for one in await revisions.summaries("default", **between)]

    assert await numbers(limit=2) == [6, 5]
    assert await numbers(before=5, limit=2) == [4, 3]
    assert await numbers(before=3, limit=9) == [2, 1]
    assert await numbers(before=1) == []
    assert await numbers(after=4) == [6, 5]
    assert await numbers(before=6, after=1, limit=3) == [5, 4, 3]
    (newest,) = await revisions.summaries("default", limit=1)
    latest = await revisions.latest("default")
    assert latest is not None
    assert (newest.digest, newest.created) == (latest.digest, NOW)
    assert not hasattr(newest, "document")


async def test_what_comes_before_a_revision_is_had_alone(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    for number in range(1, 4):
        await _write(revisions, {"a": number})

    found = await revisions.latest("default", before=3)

    assert found is not None
    assert (found.number, found.document) == (2, {"a": 2})
    assert await revisions.latest("default", before=1) is None


async def test_the_order_of_a_document_is_kept(revisions: Revisions | InMemoryRevisions) -> None:
    await _write(revisions, {"roles": {"zoe": {}, "amy": {}}, "mcp_servers": {"b": {}, "a": {}}})

    latest = await revisions.latest("default")

    assert latest is not None
    assert str(dict(latest.document)) == (
        "{'roles': {'zoe': {}, 'amy': {}}, 'mcp_servers': {'b': {}, 'a': {}}}"
    )


async def test_a_revision_that_does_not_exist_is_not_found(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    await _write(revisions, {"a": 1})

    with pytest.raises(NotFound, match="there is no revision 2"):
        await revisions.get_revision("default", 2)


async def test_the_last_revision_that_a_file_says_is_told_from_those_of_others(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    # R18
    assert await revisions.last_applied("default") is None
    await revisions.write("default", {"a": 1}, author="serve", reason="", now=NOW, from_file=True)
    await _write(revisions, {"a": 2})

    applied = await revisions.last_applied("default")
    assert applied is not None
    assert applied.number == 1


async def test_a_file_that_says_the_same_as_what_another_wrote_has_caught_up(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    await _write(revisions, {"a": 1})
    written = await revisions.write(
        "default", {"a": 1}, author="serve", reason="", now=NOW, from_file=True
    )
    again = await revisions.write("default", {"a": 1}, author="x", reason="", now=NOW)

    assert (written.number, written.author, written.from_file) == (1, "cli", True)
    assert again == written == await revisions.last_applied("default")


async def test_a_revision_can_be_made_to_follow_the_one_that_was_looked_at(
    revisions: Revisions | InMemoryRevisions,
) -> None:
    await revisions.write("default", {"a": 1}, author="x", reason="", now=NOW, after=0)
    await revisions.write("default", {"a": 2}, author="x", reason="", now=NOW, after=1)

    for looked_at in (0, 1, 3):
        with pytest.raises(Conflict, match="revision 2 was written meanwhile"):
            await revisions.write(
                "default", {"a": 3}, author="x", reason="", now=NOW, after=looked_at
            )


def test_a_digest_ignores_the_order_of_keys_and_nothing_else() -> None:
    assert digest_of({"a": 1, "b": {"c": 1, "d": 2}}) == digest_of({"b": {"d": 2, "c": 1}, "a": 1})
    assert digest_of({"a": [1, 2]}) != digest_of({"a": [2, 1]})
    assert digest_of({"a": 1}) != digest_of({"a": "1"})
