"""The corpus: no wall alone lets anything change or leak, and both let honest work through."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

import anyio
import pytest
import yaml
from tests.data.guard.shop import SECRET, Shop, open_shop

from remit.data.engines.engine import Prepared
from remit.data.guard.statements import parse_statement, require_reading
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind
from remit.testing.services import Postgres

LETTERS = {
    "s": EngineKind.SQLITE,
    "p": EngineKind.POSTGRESQL,
    "d": EngineKind.DUCKDB,
}
SECONDS = 1.0
REFUSALS = {
    DataCode.INVALID_SQL,
    DataCode.INVALID_SQL_TYPE,
    DataCode.SECURITY_VIOLATION,
    DataCode.TABLE_NOT_SELECTED,
}


class Group(TypedDict):
    """Statements of one kind; `tests/data/guard/corpus.yaml` says more."""

    why: str
    engines: str
    statements: Sequence[str]


CORPUS = cast(
    "Mapping[str, Sequence[Group]]",
    yaml.safe_load((Path(__file__).parent / "corpus.yaml").read_text(encoding="utf-8")),
)


def listed(part: str, kind: EngineKind) -> list[str]:
    return [
        sql
        for group in CORPUS[part]
        if kind in {LETTERS[letter] for letter in group["engines"]}
        for sql in group["statements"]
    ]


def allowed(schema: str, table: str) -> bool:
    return schema in {"", "main", "public"} and table in {"orders", "customers"}


@pytest.fixture(params=list(EngineKind))
async def shop(
    request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres
) -> AsyncGenerator[Shop]:
    with open_shop(request.param, tmp_path, postgres) as opened:
        yield opened
        await opened.engine.aclose()


def test_the_corpus_is_as_large_as_it_is_said_to_be() -> None:
    hostile = {sql for group in CORPUS["hostile"] for sql in group["statements"]}
    honest = {sql for group in CORPUS["honest"] for sql in group["statements"]}

    assert len(hostile) >= 250
    assert len(honest) >= 90


@pytest.mark.parametrize("kind", list(EngineKind))
def test_the_guard_alone_refuses_every_hostile_statement(kind: EngineKind) -> None:
    passed: list[str] = []
    for sql in listed("hostile", kind):
        try:
            require_reading(parse_statement(sql, kind), allowed)
        except DataFailure as failure:
            if failure.code in REFUSALS:
                continue
        passed.append(sql)

    assert passed == []


async def test_the_engine_alone_changes_and_gives_nothing(shop: Shop) -> None:
    before = shop.digest()
    leaked: list[str] = []
    slow: list[str] = []
    for sql in [*listed("hostile", shop.kind), *listed("endless", shop.kind)]:
        prepared = Prepared(sql=sql.replace("FILE", str(shop.secret)))
        given = ""
        with anyio.move_on_after(SECONDS * 10) as scope:
            try:
                rows = await shop.engine.read(prepared, limit=100, seconds=SECONDS)
                given = json.dumps(rows.rows, default=str)
            except DataFailure as failure:
                given = str(failure)
        if scope.cancelled_caught:
            slow.append(sql)
        if SECRET in given or "123456" in given or "root:" in given:
            leaked.append(sql)
    await shop.engine.aclose()

    assert leaked == []
    assert slow == []
    assert shop.digest() == before


async def test_what_never_ends_is_ended(shop: Shop) -> None:
    for sql in listed("endless", shop.kind):
        statement = parse_statement(sql, shop.kind)
        require_reading(statement, allowed)
        with anyio.fail_after(SECONDS * 10), pytest.raises(DataFailure):
            await shop.engine.read(statement.prepare(), limit=10, seconds=SECONDS)


async def test_honest_statements_pass_both_walls_and_give_rows(shop: Shop) -> None:
    failed: dict[str, str] = {}
    for sql in listed("honest", shop.kind):
        try:
            statement = parse_statement(sql, shop.kind)
            require_reading(statement, allowed)
            rows = await shop.engine.read(statement.prepare(), limit=100, seconds=10)
        except DataFailure as failure:
            failed[sql] = f"{failure.code}: {failure}"
        else:
            if not rows.rows:
                failed[sql] = "no rows"

    assert failed == {}
