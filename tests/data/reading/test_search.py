"""Finding tables, columns, entities and terms by words (S2.10, 17)."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.data.reading.shops import Shop, call

from remit.data.known import look_up
from remit.data.reading.search import search
from remit.data.reading.words import stem, words_of


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("customers", "main.customers"),
        ("customer", "Customer"),
        ("client", "Customer"),
        ("Clients", "Customer"),
        ("buyer", "Customer"),
        ("email", "main.customers.email"),
        ("customer email", "main.customers.email"),
        ("mailbox", "main.customers.email"),
        ("net revenue", "Net revenue"),
        ("turnover", "Net revenue"),
        ("what is the revenue", "Net revenue"),
        ("order status", "main.orders.status"),
        ("bills settled", "main.orders.status"),
        ("Paid for", "main.orders.status"),
        ("purchase", "Order"),
        ("joining", "main.customers.joined"),
        ("reg", "main.customers.region"),
        ("customer_id", "main.orders.customer_id"),
        ("spenders", "main.spenders"),
        ("churned", "Churn"),
    ],
)
async def test_what_is_meant_comes_first(told: Shop, query: str, first: str) -> None:
    found = await call(told.desk(), "search_schema", query=query)

    assert found["results"][0]["name"] == first


async def test_an_exact_name_comes_before_a_beginning_a_word_and_another_form(told: Shop) -> None:
    found = await call(told.desk(), "search_schema", query="customer")

    fits = {result["name"]: result["matches"][0]["fit"] for result in found["results"]}
    scores = {result["name"]: result["score"] for result in found["results"]}
    order = ["Customer", "main.visits.customer", "main.customers", "main.orders.customer_id"]
    assert [fits[name] for name in order] == ["exact", "exact", "exact", "prefix"]
    assert all(scores[one] >= scores[other] for one, other in pairwise(order))


async def test_results_come_in_one_order_and_no_more_than_are_wanted(told: Shop) -> None:
    every = await call(told.desk(), "search_schema", query="customer id", limit=100)
    again = await call(told.desk(), "search_schema", query="customer id", limit=100)
    two = await call(told.desk(), "search_schema", query="customer id", limit=2)

    assert every == again
    assert two["results"] == every["results"][:2]
    assert (two["total"], two["truncated"]) == (len(every["results"]), True)


@pytest.mark.parametrize("query", ["vault", "vault code", "note vault_id", "safe", "security"])
async def test_nothing_is_found_of_tables_that_may_not_be_used(told: Shop, query: str) -> None:
    found = await call(told.desk(), "search_schema", query=query, limit=100)

    names = [result["name"] for result in found["results"]]
    assert "Vault" not in names
    assert "Vault code" not in names
    assert not [name for name in names if name.startswith("main.vault")]


@pytest.mark.parametrize("query", ["  ", "?!", "xyzzy", "\x00", "%", "_"])
async def test_what_has_no_words_finds_nothing(told: Shop, query: str) -> None:
    found = await call(told.desk(), "search_schema", query=query)

    assert found["results"] == []


async def test_a_search_works_before_the_schema_was_read(shop: Shop) -> None:
    found = await call(shop.desk(), "search_schema", query="spent")

    assert found["results"][0]["name"].endswith(".spenders.spent")


@pytest.mark.parametrize(
    "words",
    [
        ("order", "orders", "ordered", "ordering"),
        ("category", "categories"),
        ("price", "prices", "priced", "pricing"),
        ("ship", "ships", "shipped", "shipping"),
        ("address", "addresses"),
    ],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


@pytest.mark.parametrize(
    "words", [("bus", "bu"), ("thing", "th"), ("id", "i"), ("red", "r"), ("status", "statu")]
)
def test_different_words_keep_different_stems(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == len(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("customerEmail", ["customer", "email"]),
        ("HTTPStatusCode", ["http", "status", "code"]),
        ("order_line-items", ["order", "line", "items"]),
        ("Größe in cm²", ["grosse", "in", "cm2"]),
        ("id2", ["id2"]),
    ],
)
def test_names_are_taken_apart_into_words(text: str, words: list[str]) -> None:
    assert list(words_of(text)) == words


async def test_many_words_are_looked_for_in_little_more_time_than_one(told: Shop) -> None:
    known = (await look_up(told.desk(), None)).knowledge
    long = " ".join(f"{number:x}ings" for number in range(2000))
    items = {
        place: replace(item, body={**item.body, "description": long})
        for place, item in known.items.items()
    }
    wordy = replace(known, items=items)

    def seconds(query: str) -> float:
        began = time.process_time()
        search(wordy, query)
        return time.process_time() - began

    one = min(seconds("fffs") for _ in range(3))
    many = min(seconds(" ".join(f"x{number:x}s" for number in range(120))) for _ in range(3))

    assert many < 30 * one
