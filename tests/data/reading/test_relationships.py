"""What is seen of joins between entities (S2.10, 27)."""

from tests.data.reading.shops import Shop, call, refused
from tests.data.reading.tables import ORDERS

from remit.model.data import DataCode


async def test_a_foreign_key_joins_many_to_one_without_orphans(shop: Shop) -> None:
    seen = await call(
        shop.desk(), "probe_relationship", from_entity="orders", to_entity="customers"
    )

    (joined,) = seen["relationships"]
    assert joined["origin"] == "foreign_key"
    assert joined["from_column"].endswith("orders.customer_id")
    assert (joined["cardinality"], joined["match_rate"]) == ("N:1", 1.0)
    assert (joined["rows_with_value"], joined["orphan_rows"]) == (ORDERS, 0)
    assert not joined["is_estimate"]
    assert seen["rejected_candidates"] == []


async def test_columns_named_after_an_entity_are_looked_at_and_rejected_if_they_do_not_join(
    shop: Shop,
) -> None:
    seen = await call(
        shop.desk(), "probe_relationship", from_entity="visits", to_entity="customers"
    )

    (joined,) = seen["relationships"]
    assert joined["origin"] == "name"
    assert joined["from_column"].endswith("visits.customer_id")
    assert (joined["match_rate"], joined["orphan_rows"], joined["orphan_values"]) == (0.9, 10, 10)
    assert joined["sample_orphans"] == [1010, 1020, 1030, 1040, 1050]
    (rejected,) = seen["rejected_candidates"]
    assert rejected["from_column"].endswith("visits.customer")
    assert rejected["reason"] == "types_differ"


async def test_what_is_stated_is_looked_at_under_its_names(told: Shop) -> None:
    seen = await call(told.desk(), "probe_relationship", from_entity="Order")

    (joined,) = seen["relationships"]
    assert (joined["from_entity"], joined["to_entity"]) == ("Order", "Customer")
    assert (joined["origin"], joined["label"]) == ("ontology", "placed by")
    assert joined["stated_cardinality"] == joined["cardinality"] == "N:1"


async def test_without_ends_all_that_may_be_used_is_looked_at(told: Shop) -> None:
    seen = await call(told.desk(), "probe_relationship")

    assert [each["origin"] for each in seen["relationships"]] == ["ontology"]
    assert "vault" not in str(seen).lower()


async def test_an_end_out_of_reach_is_as_one_that_is_not_there(told: Shop) -> None:
    other = await refused(told.desk(), "probe_relationship", from_entity="zzzzz")

    failure = await refused(told.desk(), "probe_relationship", from_entity="vault")

    assert failure.code == DataCode.ENTITY_NOT_FOUND
    assert str(failure) == str(other).replace("zzzzz", "vault")
