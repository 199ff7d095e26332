"""Datasources are opened once a process, as they are declared now, and let go of in time."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from remit.data.engines.engine import Engine, Prepared
from remit.data.places import Premises
from remit.data.sealing import UrlSeal
from remit.data.sources import IDLE, LINGER, OpenSources
from remit.errors import DataFailure
from remit.model.data import Column, Datasource, EngineKind, Rows
from remit.model.ontology import SchemaTable

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SEAL = UrlSeal("correct horse")
SHOP = Datasource(
    id="d1",
    tenant="default",
    name="shop",
    engine=EngineKind.SQLITE,
    location="/srv/shop.db",
    created=NOW,
    updated=NOW,
    version=1,
)


class Opened:
    """An engine that only knows how it was made, and whether it is closed."""

    def __init__(self, datasource: Datasource, reader: str, writer: str) -> None:
        self.datasource = datasource
        self.urls = (reader, writer)
        self.is_closed = False

    async def read(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        raise AssertionError((prepared, limit, seconds))

    async def write(self, prepared: Prepared, *, limit: int, seconds: float) -> Rows:
        raise AssertionError((prepared, limit, seconds))

    async def explain(self, prepared: Prepared, *, seconds: float) -> Sequence[str]:
        raise AssertionError((prepared, seconds))

    async def describe(self, prepared: Prepared, *, seconds: float) -> Sequence[Column]:
        raise AssertionError((prepared, seconds))

    async def schema(self) -> Sequence[SchemaTable]:
        return ()

    async def ping(self) -> None:
        return

    async def warnings(self) -> Sequence[str]:
        return ()

    async def aclose(self) -> None:
        assert not self.is_closed, "closed twice"
        self.is_closed = True


class Place:
    """Sources over engines that are remembered, and a clock of the test's."""

    def __init__(self, folder: Path) -> None:
        self.now = 100.0
        self.made: list[Opened] = []
        premises = Premises(folders=(folder / ".remit",), database_url="sqlite:////own.db")
        self.sources = OpenSources(SEAL, premises, self._open, clock=lambda: self.now)

    def _open(self, datasource: Datasource, *, reader: str, writer: str) -> Engine:
        self.made.append(Opened(datasource, reader, writer))
        return self.made[-1]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_one_is_opened_once_by_however_many_at_once(place: Place) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(place.sources.open, SHOP)

    assert len(place.made) == 1
    assert await place.sources.open(SHOP) is place.made[0]


async def test_others_of_the_same_id_in_another_tenant_are_others(place: Place) -> None:
    mine = await place.sources.open(SHOP)

    assert await place.sources.open(replace(SHOP, tenant="acme")) is not mine


async def test_one_that_changed_is_opened_anew_and_what_runs_on_the_old_one_ends_first(
    place: Place,
) -> None:
    await place.sources.open(SHOP)
    new = await place.sources.open(replace(SHOP, version=2, location="/srv/new.db"))

    old = place.made[0]
    assert new is place.made[1]
    await place.sources.let_go()
    assert not old.is_closed
    place.now += LINGER
    await place.sources.let_go()
    assert old.is_closed
    assert not place.made[1].is_closed


async def test_who_saw_an_older_version_is_given_the_newer_one(place: Place) -> None:
    newer = await place.sources.open(replace(SHOP, version=2))

    assert await place.sources.open(SHOP) is newer
    assert len(place.made) == 1


async def test_one_that_nobody_asks_for_is_closed_and_opened_again_when_needed(
    place: Place,
) -> None:
    await place.sources.open(SHOP)
    place.now += IDLE - 1
    await place.sources.open(SHOP)
    place.now += IDLE - 1
    await place.sources.let_go()
    assert not place.made[0].is_closed

    place.now += 1
    await place.sources.let_go()

    assert place.made[0].is_closed
    assert await place.sources.open(SHOP) is place.made[1]


async def test_at_the_end_everything_is_closed(place: Place) -> None:
    await place.sources.open(SHOP)
    await place.sources.open(replace(SHOP, version=2))
    await place.sources.open(replace(SHOP, id="d2"))

    await place.sources.aclose()

    assert [each.is_closed for each in place.made] == [True, True, True]


async def test_urls_are_unsealed_for_the_engine_alone(place: Place) -> None:
    reader = "postgresql://reader:r@db.test/shop"
    writer = "postgresql://writer:w@db.test/shop"
    kept = replace(
        SHOP,
        engine=EngineKind.POSTGRESQL,
        location="postgresql://reader@db.test/shop",
        reader=SEAL.seal(reader, tenant="default", datasource="d1", use="reader"),
        writer=SEAL.seal(writer, tenant="default", datasource="d1", use="writer"),
    )

    await place.sources.open(kept)
    await place.sources.open(replace(kept, is_writable=True, version=2))

    assert [each.urls for each in place.made] == [(reader, ""), (reader, writer)]


async def test_one_that_cannot_be_unsealed_breaks_no_other(place: Place) -> None:
    with pytest.raises(DataFailure, match="another REMIT_MASTER_KEY"):
        await place.sources.open(replace(SHOP, id="d2", reader="seal.1:AAAA"))

    assert await place.sources.open(SHOP) is place.made[0]


async def test_one_that_failed_is_tried_again(place: Place, tmp_path: Path) -> None:
    (tmp_path / ".remit").mkdir()
    mine = replace(SHOP, location=str(tmp_path / ".remit" / "remit.db"))

    for _ in range(2):
        with pytest.raises(DataFailure, match="gateway's own"):
            await place.sources.open(mine)
    await place.sources.open(replace(mine, location="/srv/shop.db", version=2))

    assert len(place.made) == 1


async def test_what_is_not_installed_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)

    with pytest.raises(DataFailure) as told:
        await place.sources.open(replace(SHOP, engine=EngineKind.DUCKDB))

    assert told.value.code == "service_unavailable"
    assert "install remit[data,duckdb]" in str(told.value)
