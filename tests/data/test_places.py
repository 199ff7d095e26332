"""No datasource is the gateway's own database, or anything of its state folder."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.data.places import Premises
from remit.data.sealing import UrlSeal
from remit.errors import DataFailure
from remit.model.data import Datasource, EngineKind
from remit.storage.database import default_url

SEAL = UrlSeal("correct horse")
NOW = datetime(2026, 11, 29, tzinfo=UTC)


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    state = tmp_path / ".remit"
    state.mkdir()
    (state / "remit.db").touch()
    return Premises(folders=(state,), database_url=default_url(tmp_path / ".remit"))


def source(location: Path | str, engine: EngineKind = EngineKind.SQLITE) -> Datasource:
    return Datasource(
        id="d1",
        tenant="default",
        name="shop",
        engine=engine,
        location=str(location),
        created=NOW,
        updated=NOW,
    )


def test_a_file_beside_the_state_folder_is_let_pass(premises: Premises, tmp_path: Path) -> None:
    premises.require_foreign(source(tmp_path / "shop.db"), SEAL)
    premises.require_foreign(source(tmp_path / "csv", EngineKind.DUCKDB), SEAL)


@pytest.mark.parametrize(
    ("path", "engine"),
    [
        (".remit/remit.db", EngineKind.SQLITE),
        (".remit/remit.db", EngineKind.DUCKDB),
        (".remit/other.db", EngineKind.SQLITE),
        (".remit", EngineKind.DUCKDB),
        (".", EngineKind.DUCKDB),
        ("csv/../.remit/remit.db", EngineKind.SQLITE),
        ("link.db", EngineKind.SQLITE),
        ("folder/remit.db", EngineKind.SQLITE),
        ("hard.db", EngineKind.SQLITE),
    ],
)
def test_what_is_the_gateways_own_is_refused_by_whatever_name(
    premises: Premises, tmp_path: Path, path: str, engine: EngineKind
) -> None:
    (tmp_path / "csv").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / ".remit" / "remit.db")
    (tmp_path / "folder").symlink_to(tmp_path / ".remit", target_is_directory=True)
    os.link(tmp_path / ".remit" / "remit.db", tmp_path / "hard.db")

    with pytest.raises(DataFailure, match="gateway's own") as told:
        premises.require_foreign(source(tmp_path / path, engine), SEAL)

    assert told.value.code == "service_unavailable"


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_a_database_of_the_gateways_elsewhere_is_its_own_too(tmp_path: Path, end: str) -> None:
    own = Premises(folders=(), database_url=f"sqlite:///{tmp_path}/else where.db")

    with pytest.raises(DataFailure):
        own.require_foreign(source(f"{tmp_path}/else where.db{end}"), SEAL)
    own.require_foreign(source(f"{tmp_path}/shop.db"), SEAL)


def test_a_server_is_recognized_by_what_is_sealed() -> None:
    own = Premises(folders=(), database_url="postgresql://remit:x@localhost/remit")
    other = source("postgresql://remit@localhost/shop", EngineKind.POSTGRESQL)
    own.require_foreign(other, SEAL)

    url = "postgresql://writer:y@127.0.0.1/remit"
    writer = SEAL.seal(url, tenant="default", datasource="d1", use="writer")
    with pytest.raises(DataFailure, match="gateway's own"):
        own.require_foreign(replace(other, writer=writer), SEAL)
