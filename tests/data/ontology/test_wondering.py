"""What is asked about tables because nobody but people can tell (S2.42)."""

from dataclasses import replace

from tests.data.ontology.conftest import SHOP
from tests.data.ontology.test_knowledge import stored

from remit.data.ontology.entities import Entity
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.wondering import MOST_QUESTIONS, questions_about
from remit.model.ontology import ForeignKey, ItemKind, SchemaColumn, SchemaTable

VISITS = SchemaTable(
    schema="public",
    name="visits",
    columns=(
        SchemaColumn(name="customer_id", type="integer"),
        SchemaColumn(name="agent_id", type="integer"),
        SchemaColumn(name="shop_id", type="integer"),
        SchemaColumn(name="status", type="text"),
        SchemaColumn(name="began", type="timestamp without time zone"),
        SchemaColumn(name="ended", type="timestamp with time zone"),
        SchemaColumn(name="qx", type="text"),
        SchemaColumn(name="note", type="text"),
    ),
    foreign_keys=(
        ForeignKey(column="shop_id", to_schema="public", to_table="shops", to_column="id"),
    ),
)
CUSTOMER = Entity(name="Customer")
KNOWN = Knowledge(
    datasource=SHOP,
    schema=None,
    tables=(VISITS,),
    items={(ItemKind.ENTITY, "customer"): stored(ItemKind.ENTITY, CUSTOMER)},
)


def test_what_names_types_and_keys_leave_open_is_asked_the_most_urgent_first() -> None:
    asked = [(each.text, each.category, each.priority) for each in questions_about(KNOWN, [VISITS])]

    assert asked == [
        ("Which columns tell one row of public.visits from another?", "data_quality", 2),
        ("Does public.visits.customer_id point to Customer?", "relationship", 2),
        ("What does public.visits.agent_id point to?", "relationship", 3),
        ("What do the values of public.visits.status stand for?", "enumeration", 3),
        ("In which time zone is public.visits.began?", "temporal", 4),
        ("What is public.visits.qx?", "terminology", 4),
    ]


def test_nothing_is_asked_twice_whatever_became_of_it() -> None:
    first, *others = questions_about(KNOWN, [VISITS])
    dismissed = replace(stored(ItemKind.QUESTION, first), key="any")
    items = {**KNOWN.items, (ItemKind.QUESTION, "any"): dismissed}

    again = questions_about(replace(KNOWN, items=items), [VISITS])

    assert again == others
    assert [each.id for each in questions_about(KNOWN, [VISITS])[1:]] == [each.id for each in again]


def test_a_view_needs_no_key_and_one_look_asks_no_more_than_it_may() -> None:
    view = replace(VISITS, is_view=True)
    many = [replace(VISITS, name=f"visits{count}") for count in range(MOST_QUESTIONS)]

    assert all("tell one row" not in each.text for each in questions_about(KNOWN, [view]))
    asked = questions_about(KNOWN, many)
    assert len(asked) == MOST_QUESTIONS
    assert {each.priority for each in asked} == {2}
