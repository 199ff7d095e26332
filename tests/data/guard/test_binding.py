"""A value that is bound is a value: whatever it holds, the statement means the same (S2.31)."""

import json
from collections.abc import Generator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.guard.shop import NAMES, Shop, open_shop

from remit.data.guard.parameters import bind_values, list_names, require_matching
from remit.data.guard.statements import parse_statement, require_reading
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind, Parameter, ParameterType
from remit.testing.services import Postgres

AWKWARD = [
    "' OR '1'='1",
    "'; DROP TABLE orders; --",
    '" OR ""="',
    "\\' OR 1=1 --",
    "/* */ -- x",
    "$1 $2 $$x$$ $tag$",
    "?1 ? :x @x %s %(x)s %%",
    "{{x}} {{who}}",
    "\u2028\ufeff\u202e\u200b",
    "🙂\U0010ffff",
    "{a,b} [1] (1,2) NULL",
    "NULL",
    "null",
    "2",
    "E'\\x00'",
    "\r\n\t",
    "open",
]
TEXTS = st.one_of(
    st.sampled_from(AWKWARD),
    st.lists(st.sampled_from(AWKWARD), min_size=2, max_size=3).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
).filter(bool)
STORED = TEXTS.filter(lambda text: "\0" not in text)
"""What PostgreSQL can hold: no text of its has a NUL."""

MANY = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
STATUSES = ["open", "paid", "open", "paid"]
TOTALS = [Decimal("5.50"), Decimal(20), Decimal(7), Decimal(90)]
PLACED = [datetime(2026, n, n + 1, n + 2, n + 3, n + 4, tzinfo=UTC) for n in (1, 2, 3, 4)]


class Asked:
    """A shop that is asked by approved queries, from a thread of the test's own."""

    def __init__(self, shop: Shop, portal: BlockingPortal) -> None:
        self.shop = shop
        self._portal = portal

    def __call__(
        self, kind: str, value: object, sql: str | Mapping[EngineKind, str], **texts: str
    ) -> list[list[object]]:
        """Return the rows of a query whose parameter `x` is of that kind and has that value.

        Its other parameters are *texts*.
        """
        text = sql if isinstance(sql, str) else sql[self.shop.kind]
        parameters = [
            Parameter(
                name="x",
                type=ParameterType(kind),
                required=value is not None,
                default=[] if value == [] else None,
            ),
            *(Parameter(name=name, type=ParameterType.STRING) for name in texts),
        ]
        lists = list_names(parameters)
        statement = parse_statement(text, self.shop.kind, placeholders=True, lists=lists)
        require_matching(parameters, statement.names)
        require_reading(statement, lambda _, table: table in NAMES[:2])
        values = bind_values(parameters, {"x": value, **texts})
        prepared = statement.prepare([values[name] for name in statement.names])

        async def ask() -> list[list[object]]:
            rows = await self.shop.engine.read(prepared, limit=100, seconds=20)
            return [list(row) for row in rows.rows]

        return self._portal.call(ask)


@pytest.fixture(scope="module", params=list(EngineKind))
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: Postgres
) -> Generator[Asked]:
    folder = tmp_path_factory.mktemp("shop")
    with start_blocking_portal() as portal, open_shop(request.param, folder, postgres) as shop:
        yield Asked(shop, portal)
        portal.call(shop.engine.aclose)


@MANY
@given(text=STORED)
def test_a_text_comes_back_as_it_is(asked: Asked, text: str) -> None:
    rows = asked("string", text, "SELECT CAST({{x}} AS text), 'after', {{x}} = {{x}} FROM orders")

    assert [row[:2] for row in rows] == [[text, "after"]] * 4
    assert all(row[2] == 1 for row in rows)


@MANY
@given(text=STORED)
def test_a_text_finds_what_is_equal_to_it_and_nothing_else(asked: Asked, text: str) -> None:
    rows = asked("string", text, "SELECT count(*) FROM orders WHERE status = {{x}} OR {{x}} = ''")

    assert rows == [[STATUSES.count(text)]]


def test_a_nul_is_a_character_or_refused(asked: Asked) -> None:
    sql = "SELECT count(*) FROM orders WHERE status = {{x}}"
    text = "open\0' OR 1=1 --"

    if asked.shop.kind is EngineKind.POSTGRESQL:
        with pytest.raises(DataFailure):
            asked("string", text, sql)
    else:
        assert asked("string", text, sql) == [[0]]
    assert asked("string", "open", sql) == [[2]]

    listed = "SELECT count(*) FROM orders WHERE status IN ({{x}})"
    if asked.shop.kind is EngineKind.DUCKDB:
        assert asked("string[]", [text, "paid"], listed) == [[2]]
    else:
        with pytest.raises(DataFailure):
            asked("string[]", [text], listed)


def test_half_a_character_is_no_text(asked: Asked) -> None:
    with pytest.raises(DataFailure) as refused:
        asked("string", "open\ud800", "SELECT {{x}}")

    assert refused.value.code == DataCode.TYPE_VALIDATION


def test_a_megabyte_is_a_value_like_others(asked: Asked) -> None:
    text = "' OR 1=1 -- 🙂" * 80_000
    assert len(text.encode()) > 1_000_000

    rows = asked("string", text, "SELECT length({{x}}), count(*) FROM orders WHERE status <> {{x}}")

    assert rows == [[len(text), 4]]


@MANY
@given(number=st.integers(-(2**63), 2**63 - 1))
def test_a_number_is_exact(asked: Asked, number: int) -> None:
    assert asked("integer", number, "SELECT CAST({{x}} AS bigint)") == [[number]]
    assert asked("integer", str(number), "SELECT CAST({{x}} AS bigint)") == [[number]]


@MANY
@given(
    number=st.one_of(st.sampled_from(TOTALS), st.decimals(min_value=-999, max_value=999, places=2))
)
def test_a_decimal_compares_as_a_number(asked: Asked, number: Decimal) -> None:
    sql = "SELECT count(*) FROM orders WHERE total >= {{x}}"

    assert asked("decimal", str(number), sql) == [[sum(total >= number for total in TOTALS)]]


def test_a_decimal_keeps_every_digit(asked: Asked) -> None:
    if asked.shop.kind is EngineKind.SQLITE:
        pytest.xfail("SQLite has no decimals: what does not fit a float of 64 bits is rounded")
    text = "12345678901234567.123456789"

    assert asked("decimal", text, "SELECT CAST({{x}} AS decimal(30, 9))") == [[text]]


@MANY
@given(day=st.dates(date(2025, 12, 1), date(2026, 6, 1)))
def test_a_date_compares_as_a_date(asked: Asked, day: date) -> None:
    sql = "SELECT count(*) FROM orders WHERE CAST(placed AS date) >= {{x}}"
    by_kind = {
        EngineKind.SQLITE: "SELECT count(*) FROM orders WHERE date(placed) >= {{x}}",
        EngineKind.POSTGRESQL: sql,
        EngineKind.DUCKDB: sql,
    }

    expected = sum(placed.date() >= day for placed in PLACED)
    assert asked("date", day.isoformat(), by_kind) == [[expected]]


@MANY
@given(
    moment=st.datetimes(datetime(2025, 12, 1), datetime(2026, 6, 1)),  # noqa: DTZ001
    offset=st.integers(-14, 14),
)
def test_a_moment_compares_whatever_its_offset(asked: Asked, moment: datetime, offset: int) -> None:
    when = moment.replace(microsecond=0, tzinfo=UTC)
    local = (when + timedelta(hours=offset)).strftime("%Y-%m-%dT%H:%M:%S")
    text = f"{local}{'+' if offset >= 0 else '-'}{abs(offset):02}:00"
    by_kind = {
        EngineKind.SQLITE: (
            "SELECT count(*) FROM orders WHERE unixepoch(placed) >= unixepoch({{x}})"
        ),
        EngineKind.POSTGRESQL: (
            "SELECT count(*) FROM orders WHERE placed AT TIME ZONE 'UTC' >= {{x}}"
        ),
        EngineKind.DUCKDB: ("SELECT count(*) FROM orders WHERE placed >= timezone('UTC', {{x}})"),
    }

    assert asked("timestamp", text, by_kind) == [[sum(placed >= when for placed in PLACED)]]


@MANY
@given(texts=st.lists(STORED, min_size=1, max_size=5))
@pytest.mark.parametrize("as_json", [False, True], ids=["list", "text"])
def test_a_list_is_its_values(asked: Asked, as_json: bool, texts: list[str]) -> None:
    by_kind = {
        EngineKind.SQLITE: (
            "SELECT count(*) FROM orders WHERE status IN (SELECT value FROM json_each({{x}}))"
        ),
        EngineKind.POSTGRESQL: "SELECT count(*) FROM orders WHERE status = ANY ({{x}})",
        EngineKind.DUCKDB: "SELECT count(*) FROM orders WHERE list_contains({{x}}, status)",
    }
    value = json.dumps(texts) if as_json else texts

    assert asked("string[]", value, by_kind) == [[sum(each in texts for each in STATUSES)]]


@MANY
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(1, 4), min_size=1))
def test_a_list_of_numbers_is_its_values(asked: Asked, numbers: list[int]) -> None:
    by_kind = {
        EngineKind.SQLITE: (
            "SELECT count(*) FROM orders WHERE id IN (SELECT value FROM json_each({{x}}))"
        ),
        EngineKind.POSTGRESQL: "SELECT count(*) FROM orders WHERE id = ANY ({{x}})",
        EngineKind.DUCKDB: "SELECT count(*) FROM orders WHERE list_contains({{x}}, id)",
    }

    assert asked("integer[]", numbers, by_kind) == [[sum(n in numbers for n in (1, 2, 3, 4))]]


@MANY
@given(texts=st.lists(STORED | st.sampled_from(STATUSES), max_size=5))
def test_the_elements_of_a_list_are_what_a_value_may_be_in(asked: Asked, texts: list[str]) -> None:
    counting = "SELECT count(*) FROM orders WHERE status "

    found = sum(each in texts for each in STATUSES)
    assert asked("string[]", texts, counting + "IN ({{x}})") == [[found]]
    assert asked("string[]", texts, counting + "not\n in( {{x}} )") == [[4 - found]]


@MANY
@given(texts=st.lists(STORED, min_size=1, max_size=5), data=st.data())
def test_an_element_is_the_text_that_it_is(
    asked: Asked, texts: list[str], data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from(texts) | STORED)
    sql = "SELECT CAST({{y}} AS text) IN ({{x}}), CAST({{y}} AS text) NOT IN ({{x}})"
    rows = asked("string[]", texts, sql, y=text)

    assert [[bool(each) for each in row] for row in rows] == [[text in texts, text not in texts]]


@MANY
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(1, 4), max_size=9))
def test_so_are_the_elements_of_a_list_of_numbers(asked: Asked, numbers: list[int]) -> None:
    sql = (
        "SELECT count(*) FROM orders"
        " WHERE id IN ({{x}}) AND NOT id NOT IN ({{x}}) OR 1 + 1 IN ({{x}})"
    )

    expected = 4 if 2 in numbers else sum(n in numbers for n in (1, 3, 4))
    assert asked("integer[]", numbers, sql) == [[expected]]


@pytest.mark.parametrize("kind", ["string[]", "integer[]"])
def test_nothing_is_in_the_empty_list_and_null_decides_nothing(asked: Asked, kind: str) -> None:
    column = "status" if kind == "string[]" else "id"
    counting = f"SELECT count(*) FROM orders WHERE {column} "  # noqa: S608 - one of two names

    assert asked(kind, [], counting + "IN ({{x}})") == [[0]]
    assert asked(kind, [], counting + "NOT IN ({{x}})") == [[4]]
    assert asked(kind, None, counting + "IN ({{x}})") == [[0]]
    assert asked(kind, None, counting + "NOT IN ({{x}})") == [[0]]
    assert asked(kind, None, counting + "IN ({{x}}) OR {{x}} IS NULL") == [[4]]


@MANY
@given(value=st.uuids(), flag=st.booleans())
def test_identifiers_and_truth_are_values(asked: Asked, value: UUID, flag: bool) -> None:
    rows = asked("uuid", str(value), "SELECT CAST({{x}} AS text)")
    counted = asked("boolean", flag, "SELECT count(*) FROM orders WHERE CAST({{x}} AS boolean)")

    assert rows == [[str(value)]]
    assert counted == [[4 if flag else 0]]
