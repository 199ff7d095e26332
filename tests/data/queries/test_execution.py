"""Running approved queries: who may run which, what is bound, what comes back (S2.31-S2.37)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.data.queries.office import (
    ANN,
    BY_CUSTOMER,
    DEA,
    EVERY_ENGINE,
    KEY,
    REPRICE,
    Office,
)

from remit.data.running import LONGEST
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.principals import Principal
from remit.model.servers import DEFAULT_TIMEOUT

HOSTILE = "x' OR '1'='1' --"


async def approved(office: Office, **fields: object) -> str:
    result = await office.call(DEA, "create_approved_query", **fields)
    return str(result["query_id"])


async def run(office: Office, query_id: str, by: Principal = KEY, **parameters: Any) -> Any:
    return await office.call(by, "execute_approved_query", query_id=query_id, parameters=parameters)


@EVERY_ENGINE
async def test_a_query_gives_its_rows_and_says_what_was_bound(office: Office) -> None:
    query_id = await approved(office, **BY_CUSTOMER)

    result = await run(office, query_id, customer="ann")

    assert result["query_name"] == "Orders of a customer"
    assert result["parameters_used"] == {"customer": "ann"}
    assert [each["name"] for each in result["columns"]] == ["id", "total"]
    assert [(row[0], float(row[1])) for row in result["rows"]] == [(1, 10.5), (3, 30.25)]
    assert (result["row_count"], result["truncated"]) == (2, False)
    assert result["execution_time_ms"] >= 0
    assert "modified_data" not in result


OPTIONAL = {
    "customer": ("string", "{{x}} IS NULL OR customer = {{x}}", "ann"),
    "late": ("string", "customer = {{x}} OR {{x}} is  null", "ann"),
    "given": ("string", "NOT ({{x}} IS NOT NULL) OR customer = {{x}}", "ann"),
    "whole": ("integer", "{{x}} IS NULL OR id = {{x}}", 1),
    "list": ("integer[]", "{{x}} IS NULL OR id IN ({{x}})", [1]),
    "decimal": ("decimal", "{{x}} IS NULL OR total = {{x}}", 10.5),
    "null alone": ("boolean", "{{x}} IS NULL OR id = 1", True),
}


@EVERY_ENGINE
@pytest.mark.parametrize("kind", OPTIONAL)
async def test_what_is_not_given_limits_nothing(office: Office, kind: str) -> None:
    """S2.32: by the words in which people write it, with an example and without one."""
    type_name, where, value = OPTIONAL[kind]
    wanted = {"name": "x", "type": type_name, "required": False}
    reading = f"SELECT count(*) AS n FROM orders WHERE ({where})"  # noqa: S608 - the test's own
    writing = f"UPDATE orders SET customer = customer WHERE ({where})"  # noqa: S608 - likewise
    read = await approved(office, name="n", description="n", sql=reading, parameters=[wanted])
    shown = [{**wanted, "example": value}]
    again = await approved(office, name="e", description="e", sql=reading, parameters=shown)
    write = await approved(office, name="w", description="w", sql=writing, parameters=[wanted])

    for query_id in (read, again):
        assert (await run(office, query_id))["rows"] == [[3]]
        assert (await run(office, query_id, x=value))["rows"][0][0] in {1, 2}
    assert (await run(office, write))["rows_affected"] == 3
    assert (await run(office, write, x=value))["rows_affected"] in {1, 2}


@EVERY_ENGINE
async def test_a_list_in_the_parentheses_of_in_is_its_elements(office: Office) -> None:
    ids = [{"name": "ids", "type": "integer[]", "example": [1, 2]}]
    counting = "SELECT count(*) AS n FROM orders WHERE id IN ({{ids}})"
    keeping = "DELETE FROM orders WHERE id NOT IN ({{ids}})"
    count = await approved(office, name="n", description="n", sql=counting, parameters=ids)
    keep = await approved(office, name="keep", description="k", sql=keeping, parameters=ids)

    assert (await run(office, count, ids=[1, 2]))["rows"] == [[2]]
    assert (await run(office, keep, ids=list(range(300))))["rows_affected"] == 0
    assert (await run(office, keep, ids=[3, 1]))["rows_affected"] == 1
    assert (await run(office, count, ids=[1, 2, 3]))["rows"] == [[2]]


@EVERY_ENGINE
async def test_a_list_that_would_be_taken_for_a_text_is_refused_before_and_when_it_runs(
    office: Office,
) -> None:
    fields = {"name": "n", "description": "n"}
    sql = "SELECT id FROM orders WHERE customer = {{who}}"
    parameters = [{"name": "who", "type": "string[]", "example": ["ann"]}]
    for tool, by in (("create_approved_query", DEA), ("suggest_approved_query", ANN)):
        with pytest.raises(DataFailure, match=r"write IN \(\{\{who\}\}\)"):
            await office.call(by, tool, **fields, sql=sql, parameters=parameters)

    right = sql.replace("= {{who}}", "IN ({{who}})")
    query_id = await approved(office, **fields, sql=right, parameters=parameters)
    query = await office.stores.queries.find_query("default", query_id)
    assert query is not None
    await office.stores.queries.write_queries([replace(query, sql=sql)])  # as it once was taken

    with pytest.raises(DataFailure, match=r"write IN \(\{\{who\}\}\)"):
        await run(office, query_id, who=["ann"])


@EVERY_ENGINE
async def test_a_query_that_modifies_says_how_many_rows_it_changed(office: Office) -> None:
    query_id = await approved(office, **REPRICE)

    result = await run(office, query_id, total="99.95", id=2)

    assert (result["rows_affected"], result["modified_data"]) == (1, True)
    rows: Any = await office.call(ANN, "query", sql="SELECT total FROM orders ORDER BY id")
    assert [float(row[0]) for row in rows["rows"]] == [10.5, 99.95, 30.25]
    (kept,) = [each for each in await office.ran() if each.is_modifying]
    assert (kept.query, kept.rows_affected, kept.code) == (query_id, 1, "")


@pytest.mark.parametrize(("limit", "rows", "truncated"), [(1, 1, True), (2, 2, False)])
async def test_rows_are_limited_and_the_answer_says_so(
    office: Office, limit: int, rows: int, truncated: bool
) -> None:
    query_id = await approved(office, **BY_CUSTOMER)

    result: Any = await office.call(
        KEY,
        "execute_approved_query",
        query_id=query_id,
        parameters={"customer": "ann"},
        limit=limit,
    )

    assert (result["row_count"], result["truncated"]) == (rows, truncated)


async def test_the_datasource_limits_rows_too(office: Office) -> None:
    await office.change_shop(row_limit=1)
    query_id = await approved(office, **BY_CUSTOMER)

    result = await run(office, query_id, customer="ann")

    assert (result["row_count"], result["truncated"]) == (1, True)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, DataCode.PARAMETER_VALIDATION),
        ({"customer": ""}, DataCode.PARAMETER_VALIDATION),
        ({"customer": "ann", "other": 1}, DataCode.PARAMETER_VALIDATION),
        ({"customer": {"a": 1}}, DataCode.TYPE_VALIDATION),
    ],
)
async def test_parameters_that_do_not_fit_are_refused_and_that_is_kept(
    office: Office, parameters: dict[str, Any], code: DataCode
) -> None:
    query_id = await approved(office, **BY_CUSTOMER)

    with pytest.raises(DataFailure) as failure:
        await run(office, query_id, **parameters)

    assert failure.value.code == code
    assert [(each.tool, each.code) for each in await office.ran()][-1] == (
        "execute_approved_query",
        code,
    )


async def test_a_value_that_looks_like_an_injection_is_refused_and_kept_with_its_flag(
    office: Office,
) -> None:
    query_id = await approved(office, **BY_CUSTOMER)

    with pytest.raises(DataFailure) as failure:
        await run(office, query_id, customer=HOSTILE)

    assert failure.value.code == DataCode.SECURITY_VIOLATION
    assert failure.value.details["parameter"] == "customer"
    assert failure.value.details["fingerprint"]
    assert HOSTILE not in str(failure.value)
    kept = (await office.ran())[-1]
    assert (kept.code, kept.flags, kept.user) == (
        DataCode.SECURITY_VIOLATION,
        ("injection",),
        "key:robot",
    )
    query = await office.stores.queries.find_query("default", query_id)
    assert query is not None
    assert query.usage_count == 0


@EVERY_ENGINE
async def test_where_it_only_alerts_such_a_value_runs_bound_and_finds_nothing(
    office: Office,
) -> None:
    query_id = await approved(office, **BY_CUSTOMER)
    office.screening = "alert"  # R35

    result = await run(office, query_id, customer=HOSTILE)

    assert (result["rows"], result["parameters_used"]) == ([], {"customer": HOSTILE})
    kept = (await office.ran())[-1]
    assert (kept.code, kept.flags) == ("", ("injection",))


async def test_uses_are_counted_and_not_those_of_a_dry_run(office: Office) -> None:
    query_id = await approved(office, **BY_CUSTOMER)
    office.later(minutes=5)

    await run(office, query_id, customer="ann")
    await run(office, query_id, customer="bob")

    query = await office.stores.queries.find_query("default", query_id)
    assert query is not None
    assert (query.usage_count, query.last_used) == (2, office.now)


async def test_a_query_that_is_disabled_is_neither_listed_nor_run(office: Office) -> None:
    query_id = await approved(office, **BY_CUSTOMER)
    await office.call(DEA, "update_approved_query", query_id=query_id, is_enabled=False)

    with pytest.raises(DataFailure) as failure:
        await run(office, query_id, customer="ann")

    assert failure.value.code == DataCode.QUERY_NOT_APPROVED
    assert (await office.call(KEY, "list_approved_queries"))["count"] == 0

    await office.call(DEA, "update_approved_query", query_id=query_id, is_enabled=True)
    assert (await run(office, query_id, customer="ann"))["row_count"] == 2


async def test_a_key_that_is_limited_to_queries_sees_and_runs_those_alone(office: Office) -> None:
    own = await approved(office, **BY_CUSTOMER)
    other = await approved(office, **{**BY_CUSTOMER, "name": "Other"})
    limited = replace(KEY, queries=(own,))

    listed: Any = await office.call(limited, "list_approved_queries")

    assert [each["query_id"] for each in listed["queries"]] == [own]
    assert (await run(office, own, limited, customer="ann"))["row_count"] == 2
    for query_id in (other, "never was"):  # one answer, whether there is one or not
        with pytest.raises(DataFailure) as failure:
            await run(office, query_id, limited, customer="ann")
        assert failure.value.code == DataCode.QUERY_ACCESS_DENIED


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ([], ["A", "B", "C"]),
        (["daily"], ["A", "B"]),
        (["daily", "weekly"], ["A", "B", "C"]),
        (["Daily"], []),
    ],
)
async def test_a_query_is_listed_for_any_of_its_tags(
    office: Office, tags: list[str], names: list[str]
) -> None:
    for name, own in (("A", ["daily"]), ("B", ["daily", "shop"]), ("C", ["weekly"])):
        await approved(office, **{**BY_CUSTOMER, "name": name, "tags": own})
        office.later(seconds=1)

    listed: Any = await office.call(KEY, "list_approved_queries", tags=tags)

    assert [each["name"] for each in listed["queries"]] == names


async def test_the_sql_of_a_query_is_shown_to_people_and_not_to_service_keys(
    office: Office,
) -> None:
    await approved(office, **BY_CUSTOMER)

    shown: Any = [await office.call(each, "list_approved_queries") for each in (ANN, KEY)]

    assert ["sql" in each["queries"][0] for each in shown] == [True, False]


async def test_another_tenants_query_is_not_there(office: Office) -> None:
    query_id = await approved(office, **BY_CUSTOMER)

    with pytest.raises(DataFailure) as failure:
        await run(office, query_id, replace(KEY, tenant="acme"), customer="ann")

    assert failure.value.code == DataCode.QUERY_NOT_FOUND


async def test_the_screen_does_not_stop_what_only_looks_strange(office: Office) -> None:
    query_id = await approved(office, **BY_CUSTOMER)

    for name in ("O'Brien", "Drop & Table GmbH", "a -- b", "1; 2"):
        assert (await run(office, query_id, customer=name))["row_count"] == 0


def test_a_statement_ends_before_the_call_that_waits_for_it() -> None:
    assert LONGEST <= DEFAULT_TIMEOUT - 1
