"""Connections that are kept between callers serve as many statements as there are."""

import pytest
from tests.data.engines.shops import Shop

pytestmark = pytest.mark.anyio

MANY = 25
"""More often than a library waits before it prepares what comes again and again."""


async def test_the_same_statement_is_read_again_and_again(shop: Shop) -> None:
    for _ in range(MANY):
        assert (await shop.read("SELECT name FROM customers WHERE id = $1", 1)).rows == [["Ada"]]


async def test_the_same_change_is_made_again_and_again(shop: Shop) -> None:
    for _ in range(MANY):
        rows = await shop.write("UPDATE customers SET name = 'Ada' WHERE id = $1", 1)
        assert rows.rows_affected == 1
