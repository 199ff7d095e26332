"""A long statement of one caller keeps no other waiting: it is parsed beside the event loop."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.data.queries.office import ANN, DEA, KEY, Office

from remit.data import apart, attempts
from remit.data.queries import execution
from remit.errors import DataFailure

LONG = "SELECT id FROM orders WHERE id IN (" + ",".join(map(str, range(3000))) + ")"  # noqa: S608 - numbers alone


def watched(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[int]:
    """Note in which threads a function of a module is called."""
    real: Callable[..., Any] = getattr(module, name)
    threads: list[int] = []

    def watch(*values: Any, **named: Any) -> Any:
        threads.append(threading.get_ident())
        return real(*values, **named)

    monkeypatch.setattr(module, name, watch)
    return threads


async def test_a_long_statement_is_parsed_beside_the_loop_and_a_short_one_in_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = watched(monkeypatch, attempts, "parse_statement")
    result: Any = await office.call(ANN, "query", sql=LONG)
    assert result["row_count"] == 3
    await office.call(ANN, "validate", sql=LONG)
    assert threading.get_ident() not in threads
    await office.call(ANN, "query", sql="SELECT id FROM orders")
    assert threads[-1] == threading.get_ident()


async def test_a_long_suggestion_and_a_long_term_are_parsed_beside_the_loop(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = watched(monkeypatch, apart, "parse_statement")
    await office.call(ANN, "suggest_approved_query", name="n", description="d", sql=LONG)
    assert threads
    assert threading.get_ident() not in threads


async def test_long_values_are_screened_beside_the_loop(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = await office.call(
        DEA,
        "create_approved_query",
        name="n",
        description="d",
        sql="SELECT id FROM orders WHERE customer = {{who}}",
        parameters=[{"name": "who", "type": "string", "example": "ann"}],
    )
    threads = watched(monkeypatch, execution, "screen_values")
    given = {"query_id": made["query_id"], "parameters": {"who": "x" * 100_000}}
    await office.call(KEY, "execute_approved_query", **given)
    assert threads
    assert threading.get_ident() not in threads


async def test_a_long_statement_that_is_refused_is_kept_without_its_texts(office: Office) -> None:
    with pytest.raises(DataFailure):
        await office.call(ANN, "query", sql=LONG.replace("orders", "secrets") + " AND 'shh' = 'x'")
    (kept,) = await office.ran()
    assert "shh" not in kept.sql
    assert kept.code
