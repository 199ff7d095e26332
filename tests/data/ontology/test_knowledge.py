"""What is known of a datasource, as those who read and write it see it (S2.41-S2.43)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from remit.data.ontology.columns import ColumnMeaning, EnumValue
from remit.data.ontology.entities import Entity, KeyColumn
from remit.data.ontology.facts import Fact
from remit.data.ontology.glossary import Enrichment, Term
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import column_key, folded
from remit.data.ontology.questions import Question, content_hash
from remit.data.ontology.relationships import Detection, Join, Relationship
from remit.errors import DataFailure
from remit.model.data import Column, Datasource, EngineKind
from remit.model.ontology import (
    Cardinality,
    ColumnRole,
    FactCategory,
    Item,
    ItemKind,
    Provenance,
    QuestionCategory,
    QuestionStatus,
    Schema,
    SchemaColumn,
    SchemaTable,
    Source,
)

NOW = datetime(2026, 11, 29, 1, 0, 0, tzinfo=UTC)
SHOP = Datasource(
    id="d1",
    tenant="default",
    name="shop",
    engine=EngineKind.POSTGRESQL,
    location="postgresql://db.test/shop",
    schemas=("shop", "archive"),
    created=NOW,
    updated=NOW,
)
ENTITY = Entity(
    name="Customer",
    description="Who buys",
    domain="sales",
    schema="shop",
    table="customers",
    column="id",
    aliases=("client", "Kundin"),
    key_columns=(KeyColumn(name="id", synonyms=("customer number",)),),
)
COLUMN = ColumnMeaning(
    schema="shop",
    table="customers",
    column="state",
    description="Where it stands",
    entity="customer",
    role=ColumnRole.DIMENSION,
    enum_values=(EnumValue(value="A", label="active"), EnumValue(value="B")),
)
RELATIONSHIP = Relationship(
    from_entity="order",
    to_entity="customer",
    description="Who bought",
    label="was placed by",
    cardinality=Cardinality.MANY_TO_ONE,
    joins=(
        Join(
            from_schema="shop",
            from_table="orders",
            from_column="customer",
            to_schema="shop",
            to_table="customers",
            to_column="id",
        ),
    ),
    detection=Detection.FOREIGN_KEY,
    confidence=0.5,
)
TERM = Term(
    term="Net Revenue",
    definition="What is left",
    sql="SELECT 1 AS net",
    base_table="shop.orders",
    output_columns=(Column(name="net", type="integer", description="euros"),),
    aliases=("net", "Umsatz"),
    enrichment=Enrichment.SUCCESS,
)
FACT = Fact(id="f1", fact="April", context="fiscal year", category=FactCategory.CONVENTION)
QUESTION = Question(
    id="q1",
    text="What is C?",
    reasoning="nobody said",
    category=QuestionCategory.ENUMERATION,
    priority=1,
    is_required=True,
    tables=("shop.customers",),
    columns=("shop.customers.state",),
    status=QuestionStatus.ESCALATED,
    status_reason="ask Ann",
    answer="",
    content_hash="x",
)


class Body(Protocol):
    @property
    def key(self) -> str: ...
    def to_body(self) -> Mapping[str, object]: ...


def stored(kind: ItemKind, value: Body, *, created: datetime = NOW) -> Item:
    return Item(
        tenant="default",
        datasource="d1",
        kind=kind,
        key=value.key,
        body=value.to_body(),
        provenance=Provenance(
            created_source=Source.MCP,
            created_by="user:ann",
            created=created,
            edited_source=Source.MCP,
            edited_by="user:ann",
            edited=created,
        ),
        version=1,
    )


def a_table(name: str, *columns: str, schema: str = "shop") -> SchemaTable:
    made = tuple(SchemaColumn(name=column, type="text") for column in columns)
    return SchemaTable(schema=schema, name=name, columns=made)


def known(*items: Item, tables: Sequence[SchemaTable] = ()) -> Knowledge:
    schema = Schema(tenant="default", datasource="d1", tables=tables, refreshed=NOW)
    by_place = {(item.kind, item.key): item for item in items}
    return Knowledge(datasource=SHOP, schema=schema, tables=tables, items=by_place)


CUSTOMERS = a_table("customers", "id", "state")
ORDERS = a_table("orders", "id", "customer")
ORDER = Entity(name="Order", schema="shop", table="orders")


def test_every_kind_is_read_as_it_was_written() -> None:
    found = known(
        stored(ItemKind.ENTITY, ENTITY),
        stored(ItemKind.ENTITY, ORDER),
        stored(ItemKind.COLUMN, COLUMN),
        stored(ItemKind.RELATIONSHIP, RELATIONSHIP),
        stored(ItemKind.TERM, TERM),
        stored(ItemKind.FACT, FACT),
        stored(ItemKind.QUESTION, QUESTION),
        tables=[CUSTOMERS, ORDERS],
    )

    assert found.entities == {"customer": ENTITY, "order": ORDER}
    assert found.columns == {"shop.customers.state": COLUMN}
    assert found.relationships == {"order->customer": RELATIONSHIP}
    assert found.terms == {"net revenue": TERM}
    assert found.facts == {"f1": FACT}
    assert found.questions == {"q1": QUESTION}


def test_a_body_without_a_newer_field_is_read_with_its_default() -> None:
    item = replace(stored(ItemKind.TERM, TERM), body={"term": "Old", "of_a_later_remit": 1})

    assert Term.from_item(item) == Term(term="Old")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Net Revenue", " net  REVENUE "), ("Ä\u0301", "a\u0308\u0301"), ("Straße", "STRASSE")],
)
def test_words_are_the_same_whatever_their_case_spaces_and_accents(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_no_two_columns_share_a_key() -> None:
    places = [("a", "b.c", "d"), ("a.b", "c", "d"), ("a", "b", "c.d"), ("a", 'b"."c', "d")]

    assert len({column_key(*place) for place in places}) == len(places)
    assert column_key("main", "orders", "id") == "main.orders.id"


def test_a_table_is_found_by_its_exact_name_first_and_then_whatever_its_case() -> None:
    upper, lower = a_table("Users"), a_table("users")
    archived = a_table("users", schema="archive")
    found = known(tables=[archived, upper, lower, a_table("Orders")])

    assert found.find_table("Users") is upper
    assert found.find_table("users") is lower  # the datasource names the schema `shop` first
    assert found.find_table("archive.users") is archived
    assert found.find_table("orders") == a_table("Orders")
    assert found.find_table("SHOP.ORDERS") == a_table("Orders")
    assert found.find_table("USERS") is None  # which one?


def test_what_is_not_there_is_answered_with_what_is_nearest() -> None:
    found = known(
        stored(ItemKind.ENTITY, ENTITY), stored(ItemKind.TERM, TERM), tables=[CUSTOMERS, ORDERS]
    )

    for code, nearest, ask in (
        ("table_not_found", "customers", lambda: found.table("custumers")),
        ("table_not_found", "shop.orders", lambda: found.table("shop.order")),
        ("column_not_found", "state", lambda: found.column(CUSTOMERS, "status")),
        ("entity_not_found", "Customer", lambda: found.entity("Costumer")),
        ("term_not_found", "Net Revenue", lambda: found.term("net revenues")),
    ):
        with pytest.raises(DataFailure) as failed:
            ask()
        assert failed.value.code == code
        assert repr(nearest) in str(failed.value)
        named = failed.value.details["nearest"]
        assert isinstance(named, list)
        assert named[0] == nearest


def test_before_the_first_look_one_is_told_to_look() -> None:
    found = Knowledge(datasource=SHOP, schema=None, tables=(), items={})

    with pytest.raises(DataFailure, match="call refresh_schema first"):
        found.table("orders")


def test_entities_and_terms_are_found_by_alias_after_name() -> None:
    other = Entity(name="Client")
    found = known(
        stored(ItemKind.ENTITY, ENTITY),
        stored(ItemKind.TERM, TERM),
        stored(ItemKind.ENTITY, ORDER),
        stored(ItemKind.RELATIONSHIP, RELATIONSHIP),
        tables=[CUSTOMERS, ORDERS],
    )
    beside = known(
        stored(ItemKind.ENTITY, ENTITY), stored(ItemKind.ENTITY, other), tables=[CUSTOMERS]
    )

    assert found.entity("KUNDIN") == ENTITY
    assert found.term("umsatz") == TERM
    assert beside.entity("client") == other


def test_what_is_about_tables_that_may_not_be_used_is_not_there() -> None:
    about = [
        stored(ItemKind.ENTITY, ENTITY),
        stored(ItemKind.ENTITY, ORDER),
        stored(ItemKind.COLUMN, COLUMN),
        stored(ItemKind.RELATIONSHIP, RELATIONSHIP),
        stored(ItemKind.QUESTION, QUESTION),
    ]
    found = known(*about, tables=[ORDERS])

    assert found.entities == {"order": ORDER}
    assert (found.columns, found.relationships, found.questions) == ({}, {}, {})
    assert found.find_table("customers") is None
    assert found.item(ItemKind.ENTITY, "customer") is about[0]  # for whoever writes


def test_an_entity_that_was_taken_away_is_not_there() -> None:
    gone = stored(ItemKind.ENTITY, replace(ENTITY, is_deleted=True))
    found = known(gone, tables=[CUSTOMERS])

    assert found.find_entity("customer") is None
    assert found.entity_of(CUSTOMERS) is None
    assert known(stored(ItemKind.ENTITY, ENTITY), tables=[CUSTOMERS]).entity_of(CUSTOMERS) == ENTITY


def test_facts_and_questions_come_oldest_first() -> None:
    later = NOW + timedelta(minutes=1)
    found = known(
        stored(ItemKind.FACT, FACT, created=later),
        stored(ItemKind.FACT, replace(FACT, id="f2")),
        stored(ItemKind.QUESTION, replace(QUESTION, tables=()), created=later),
        stored(ItemKind.QUESTION, replace(QUESTION, id="q2", tables=())),
    )

    assert list(found.facts) == ["f2", "f1"]
    assert list(found.questions) == ["q2", "q1"]


def test_two_questions_that_ask_the_same_of_the_same_have_one_hash() -> None:
    category = QuestionCategory.TERMINOLOGY
    asked = content_hash("What is it?", category, ("a", "b"), ())

    assert content_hash("what  is IT?", category, ("b", "a"), ()) == asked
    assert content_hash("What is it?", category, ("a",), ("b",)) != asked
    assert content_hash("What is it?", QuestionCategory.TEMPORAL, ("a", "b"), ()) != asked
