"""Databases with functions, operators, casts and macros of their own, which no caller calls."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import psycopg
import pytest
from tests.data.guard.shop import SECRET, USED, Shop, open_shop
from tests.data.guard.test_corpus import listed

from remit.data.engines.engine import Prepared
from remit.data.guard.statements import parse_statement, require_executing, require_reading
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind, Rows
from remit.testing.services import Postgres

REFUSALS = {
    DataCode.SECURITY_VIOLATION,
    DataCode.TABLE_NOT_SELECTED,
    DataCode.SQL_ERROR,  # the database knows no such function among its builtin ones
}


def allowed(schema: str, table: str) -> bool:
    return schema in {"", "main", "public"} and table in {*USED, "loot"}


@pytest.fixture(params=[EngineKind.POSTGRESQL, EngineKind.DUCKDB])
async def shop(
    request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres
) -> AsyncGenerator[Shop]:
    with open_shop(request.param, tmp_path, postgres, own=True) as opened:
        yield opened
        await opened.engine.aclose()


async def read(shop: Shop, sql: str) -> Rows:
    statement = parse_statement(sql, shop.kind)
    require_reading(statement, allowed)
    return await shop.engine.read(statement.prepare(), limit=100, seconds=10)


async def execute(shop: Shop, sql: str) -> Rows:
    statement = parse_statement(sql, shop.kind)
    require_executing(statement, allowed)
    return await shop.engine.write(statement.prepare(), limit=100, seconds=10)


async def test_what_is_the_databases_own_is_not_called(shop: Shop) -> None:
    passed: list[str] = []
    for sql in listed("own", shop.kind):
        try:
            rows = await read(shop, sql)
        except DataFailure as failure:
            if failure.code in REFUSALS:
                continue
            passed.append(f"{sql}: {failure.code}: {failure}")
        else:
            passed.append(f"{sql}: {rows.rows}")

    assert passed == []


async def test_what_is_the_databases_own_is_not_called_by_what_changes(shop: Shop) -> None:
    before = shop.digest()
    passed: list[str] = []
    for sql in listed("own_changes", shop.kind):
        try:
            await execute(shop, sql)
        except DataFailure as failure:
            if failure.code in REFUSALS:
                continue
            passed.append(f"{sql}: {failure.code}: {failure}")
        else:
            passed.append(sql)
    await shop.engine.aclose()

    assert passed == []
    assert shop.digest() == before


async def test_what_is_not_named_is_not_explained_or_described(shop: Shop) -> None:
    for sql in listed("own", shop.kind)[:3]:
        prepared = parse_statement(sql, shop.kind).prepare()
        with pytest.raises(DataFailure) as planned:
            await shop.engine.explain(prepared, seconds=10)
        with pytest.raises(DataFailure) as described:
            await shop.engine.describe(prepared, seconds=10)

        assert {planned.value.code, described.value.code} == {DataCode.SECURITY_VIOLATION}


async def test_honest_statements_mean_what_they_mean_elsewhere(shop: Shop) -> None:
    failed: dict[str, str] = {}
    for sql in [*listed("honest", shop.kind), *listed("beside_own", shop.kind)]:
        try:
            rows = await read(shop, sql)
        except DataFailure as failure:
            failed[sql] = f"{failure.code}: {failure}"
        else:
            if not rows.rows or SECRET in json.dumps(rows.rows, default=str):
                failed[sql] = str(rows.rows)

    assert failed == {}


async def test_honest_changes_are_made(shop: Shop) -> None:
    failed: dict[str, str] = {}
    for sql in listed("beside_own_changes", shop.kind):
        try:
            await execute(shop, sql)
        except DataFailure as failure:
            failed[sql] = f"{failure.code}: {failure}"

    assert failed == {}


async def test_postgresql_alone_would_call_all_of_it(tmp_path: Path, postgres: Postgres) -> None:
    """What is refused above is refused for what it does, and is no mistake."""
    failed: dict[str, str] = {}
    with open_shop(EngineKind.POSTGRESQL, tmp_path, postgres, own=True) as shop:
        statements = [*listed("own", shop.kind), *listed("own_changes", shop.kind)]
        with psycopg.connect(shop.where, autocommit=True) as session:
            for sql in statements:
                try:
                    with session.transaction(force_rollback=True):
                        session.execute(sql.encode())
                except psycopg.Error as error:
                    failed[sql] = str(error)
        await shop.engine.aclose()

    assert failed == {}


async def test_a_column_that_is_none_is_told_by_postgresql(
    tmp_path: Path, postgres: Postgres
) -> None:
    with open_shop(EngineKind.POSTGRESQL, tmp_path, postgres, own=True) as shop:
        with pytest.raises(DataFailure, match=r"o\.total") as mistyped:
            await read(shop, "SELECT o.totl FROM orders o")
        with pytest.raises(DataFailure) as missing:
            await shop.engine.read(
                parse_statement("SELECT o.name FROM nowhere o", shop.kind).prepare(),
                limit=1,
                seconds=10,
            )
        await shop.engine.aclose()

    assert mistyped.value.code == DataCode.UNDEFINED_COLUMN
    assert missing.value.code == DataCode.UNDEFINED_TABLE


async def test_an_operator_is_found_by_the_word_that_means_it(
    tmp_path: Path, postgres: Postgres
) -> None:
    with open_shop(EngineKind.POSTGRESQL, tmp_path, postgres, own=True) as shop:
        with psycopg.connect(shop.where) as session:
            session.execute(
                "CREATE FUNCTION alike(mood, mood) RETURNS bool LANGUAGE sql AS 'SELECT true';"
                "CREATE OPERATOR ~~* (LEFTARG = mood, RIGHTARG = mood, FUNCTION = alike)"
            )
        for sql in ("SELECT mood ILIKE mood FROM moods", "SELECT mood ~~* mood FROM moods"):
            with pytest.raises(DataFailure, match="the operator '~~\\*' of its own"):
                await read(shop, sql)
        rows = await read(shop, "SELECT mood = mood, name LIKE 'A%' FROM moods")
        await shop.engine.aclose()

    assert rows.rows == [[True, True]]


async def test_what_an_extension_brings_is_used(tmp_path: Path, postgres: Postgres) -> None:
    with open_shop(EngineKind.POSTGRESQL, tmp_path, postgres) as shop:
        with psycopg.connect(shop.where) as session:
            session.execute("CREATE EXTENSION citext; CREATE EXTENSION pg_trgm")
            session.execute("ALTER TABLE customers ALTER email TYPE citext")
        rows = await read(
            shop,
            "SELECT c.email = 'ANN@example.org', c.email::text, lower(c.email),"
            " similarity(name, 'Ann') > 0.9, name % 'Ann' FROM customers c WHERE id = 1",
        )
        await shop.engine.aclose()

    assert rows.rows == [[True, "ann@example.org", "ann@example.org", True, True]]


async def test_values_are_written_without_casts(tmp_path: Path, postgres: Postgres) -> None:
    with open_shop(EngineKind.POSTGRESQL, tmp_path, postgres, own=True) as shop:
        rows = await shop.engine.read(
            Prepared(sql="SELECT place, past, NULL::place FROM moods"), limit=1, seconds=10
        )
        await shop.engine.aclose()

    assert rows.rows == [['("High Street",Ely)', "{sad}", None]]
