"""What is stated about the shop; some of it is about tables that may not be used."""

from typing import Final

from remit.data.ontology.columns import ColumnMeaning, EnumValue
from remit.data.ontology.entities import Entity, KeyColumn
from remit.data.ontology.facts import Fact
from remit.data.ontology.glossary import Enrichment, Term
from remit.data.ontology.relationships import Join, Relationship
from remit.model.data import Column
from remit.model.ontology import (
    Cardinality,
    ColumnRole,
    FactCategory,
)

CUSTOMER: Final = Entity(
    name="Customer",
    description="whoever has bought something",
    domain="sales",
    schema="main",
    table="customers",
    column="id",
    aliases=("client", "buyer"),
    key_columns=(KeyColumn(name="email", synonyms=("address", "mailbox")),),
)
ORDER: Final = Entity(
    name="Order",
    description="a purchase, paid or not",
    domain="sales",
    schema="main",
    table="orders",
    column="id",
    aliases=("purchase order",),
)
SECRET: Final = Entity(name="Vault", schema="main", table="vault", column="id", domain="security")
PLACES: Final = Relationship(
    from_entity="order",
    to_entity="customer",
    label="placed by",
    cardinality=Cardinality.MANY_TO_ONE,
    joins=(
        Join(
            from_schema="main",
            from_table="orders",
            from_column="customer_id",
            to_schema="main",
            to_table="customers",
            to_column="id",
        ),
    ),
)
KEPT_IN: Final = Relationship(from_entity="order", to_entity="vault", label="kept in")
REVENUE: Final = Term(
    term="Net revenue",
    definition="what was paid, without open orders",
    sql="SELECT sum(total) AS revenue FROM orders WHERE status = 'paid'",
    base_table="main.orders",
    output_columns=(Column(name="revenue", type="numeric"),),
    aliases=("turnover",),
    enrichment=Enrichment.SUCCESS,
)
CODE: Final = Term(term="Vault code", definition="of the safe", sql="SELECT note FROM vault")
CHURN: Final = Term(term="Churn", definition="customers who are gone")
STATUS: Final = ColumnMeaning(
    schema="main",
    table="orders",
    column="status",
    description="whether somebody has settled the bill",
    role=ColumnRole.DIMENSION,
    enum_values=(EnumValue(value="paid", label="Paid for"), EnumValue(value="open")),
)
VISITOR: Final = ColumnMeaning(
    schema="main", table="visits", column="customer_id", entity="customer"
)
HIDDEN: Final = ColumnMeaning(schema="main", table="vault", column="note", description="the code")
FACT: Final = Fact(id="f1", fact="the year begins in April", category=FactCategory.CONVENTION)
