"""What the data of a datasource means, as reviewers read and state it.

A change asks for `if_match`: the tag that `ask_tagged` gave, `"v0"` in quotes for what is not there
yet (`NEW`), or `*`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from remit.client.in_project import at, changing, reading
from remit.client.operations import Operation, Page
from remit.client.queries import Column

NEW: Final = '"v0"'
"""The tag of what is not there yet."""


class Stated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all things of the ontology have: who stated them, and a version.

    Attributes:
        created_source: `inferred`, `mcp` or `manual`; the later outweighs the earlier.
        created_by: In SUBJECT spelling.
    """

    created_source: str
    created_by: str
    created: datetime
    edited_source: str
    edited_by: str
    edited: datetime
    version: int


class KeyColumn(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A column that says which one of an entity is meant."""

    name: str
    synonyms: tuple[str, ...]


class Entity(Stated, frozen=True, kw_only=True, rename="camel"):
    """An entity.

    Attributes:
        table: Its primary table as `schema.table`, or None.
        column: Of that table: what tells one from another.
    """

    name: str
    description: str
    domain: str
    table: str | None
    column: str | None
    aliases: tuple[str, ...]
    key_columns: tuple[KeyColumn, ...]


class EnumValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One of the few values that a column holds."""

    value: str
    label: str


class ColumnMeaning(Stated, frozen=True, kw_only=True, rename="camel"):
    """What a column means.

    Attributes:
        table: As `schema.table`.
        entity: That its values name, or None.
        role: `dimension`, `measure`, `identifier`, `attribute` or None.
    """

    table: str
    column: str
    description: str
    entity: str | None
    role: str | None
    enum_values: tuple[EnumValue, ...]


class Join(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Two columns whose values are the same; tables as `schema.table`."""

    from_table: str
    from_column: str
    to_table: str
    to_column: str


class Relationship(Stated, frozen=True, kw_only=True, rename="camel"):
    """How one entity belongs to another.

    Attributes:
        cardinality: `1:1`, `1:N`, `N:1`, `N:M` or `unknown`.
        confidence: 0 to 1.
    """

    from_entity: str
    to_entity: str
    description: str
    label: str
    cardinality: str
    joins: tuple[Join, ...]
    detection: str
    confidence: float


class Term(Stated, frozen=True, kw_only=True, rename="camel"):
    """A term of the glossary.

    Attributes:
        base_table: The first table of its SQL, or None.
        enrichment_status: `pending`, `success` or `failed`.
    """

    term: str
    definition: str
    sql: str
    base_table: str | None
    output_columns: tuple[Column, ...]
    aliases: tuple[str, ...]
    enrichment_status: str


class Fact(Stated, frozen=True, kw_only=True, rename="camel"):
    """What one has to know of the data."""

    id: str
    fact: str
    context: str
    category: str


class Gone(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known no longer, by its key."""

    name: str
    deleted: bool


def list_entities(
    tenant: str, datasource: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Entity]]:
    """The entities, by name."""
    path = _at(tenant, datasource, "entities")
    return reading("entities.list", path, Page[Entity], limit=limit, cursor=cursor)


def get_entity(tenant: str, datasource: str, name: str) -> Operation[Entity]:
    """One entity."""
    return reading("entities.get", _at(tenant, datasource, "entities", name), Entity)


def put_entity(
    tenant: str,
    datasource: str,
    name: str,
    body: Mapping[str, Any],
    *,
    if_match: str,
    reason: str = "",
) -> Operation[Entity]:
    """State what *body* names of an entity (`description`, `aliases`, `keyColumns`)."""
    path = _at(tenant, datasource, "entities", name)
    return changing(
        "entities.put", "PUT", path, Entity, body=body, if_match=if_match, reason=reason
    )


def remove_entity(
    tenant: str, datasource: str, name: str, *, if_match: str, reason: str = ""
) -> Operation[Gone]:
    """Take an entity away that has no relationships."""
    path = _at(tenant, datasource, "entities", name)
    return changing("entities.remove", "DELETE", path, Gone, if_match=if_match, reason=reason)


def list_columns(
    tenant: str, datasource: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[ColumnMeaning]]:
    """What is known of columns beside what the database says."""
    path = _at(tenant, datasource, "columns")
    return reading("columns.list", path, Page[ColumnMeaning], limit=limit, cursor=cursor)


def get_column(tenant: str, datasource: str, table: str, column: str) -> Operation[ColumnMeaning]:
    """What a column means; its table as `table` or `schema.table`."""
    return reading("columns.get", _at(tenant, datasource, "columns", table, column), ColumnMeaning)


def put_column(
    tenant: str,
    datasource: str,
    table: str,
    column: str,
    body: Mapping[str, Any],
    *,
    if_match: str,
    reason: str = "",
) -> Operation[ColumnMeaning]:
    """State what *body* names of a column (`description`, `entity`, `role`, `enumValues`)."""
    path = _at(tenant, datasource, "columns", table, column)
    return changing(
        "columns.put", "PUT", path, ColumnMeaning, body=body, if_match=if_match, reason=reason
    )


def remove_column(
    tenant: str, datasource: str, table: str, column: str, *, if_match: str, reason: str = ""
) -> Operation[Gone]:
    """Forget what a column means."""
    path = _at(tenant, datasource, "columns", table, column)
    return changing("columns.remove", "DELETE", path, Gone, if_match=if_match, reason=reason)


def list_relationships(
    tenant: str, datasource: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Relationship]]:
    """How entities belong together."""
    path = _at(tenant, datasource, "relationships")
    return reading("relationships.list", path, Page[Relationship], limit=limit, cursor=cursor)


def get_relationship(
    tenant: str, datasource: str, from_entity: str, to_entity: str
) -> Operation[Relationship]:
    """How one entity belongs to another."""
    return reading(
        "relationships.get",
        _at(tenant, datasource, "relationships", from_entity, to_entity),
        Relationship,
    )


def put_relationship(
    tenant: str,
    datasource: str,
    from_entity: str,
    to_entity: str,
    body: Mapping[str, Any],
    *,
    if_match: str,
    reason: str = "",
) -> Operation[Relationship]:
    """State what *body* names of a relationship (`description`, `label`, `cardinality`)."""
    path = _at(tenant, datasource, "relationships", from_entity, to_entity)
    return changing(
        "relationships.put", "PUT", path, Relationship, body=body, if_match=if_match, reason=reason
    )


def remove_relationship(
    tenant: str,
    datasource: str,
    from_entity: str,
    to_entity: str,
    *,
    if_match: str,
    reason: str = "",
) -> Operation[Gone]:
    """Take a relationship away."""
    path = _at(tenant, datasource, "relationships", from_entity, to_entity)
    return changing("relationships.remove", "DELETE", path, Gone, if_match=if_match, reason=reason)


def list_terms(
    tenant: str, datasource: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Term]]:
    """The words of the business."""
    path = _at(tenant, datasource, "glossary")
    return reading("glossary.list", path, Page[Term], limit=limit, cursor=cursor)


def get_term(tenant: str, datasource: str, term: str) -> Operation[Term]:
    """One term."""
    return reading("glossary.get", _at(tenant, datasource, "glossary", term), Term)


def put_term(
    tenant: str,
    datasource: str,
    term: str,
    body: Mapping[str, Any],
    *,
    if_match: str,
    reason: str = "",
) -> Operation[Term]:
    """State what *body* names of a term (`definition`, `sql`, `aliases`)."""
    path = _at(tenant, datasource, "glossary", term)
    return changing("glossary.put", "PUT", path, Term, body=body, if_match=if_match, reason=reason)


def remove_term(
    tenant: str, datasource: str, term: str, *, if_match: str, reason: str = ""
) -> Operation[Gone]:
    """Take a term away."""
    path = _at(tenant, datasource, "glossary", term)
    return changing("glossary.remove", "DELETE", path, Gone, if_match=if_match, reason=reason)


def list_facts(
    tenant: str, datasource: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Fact]]:
    """What one has to know of the data."""
    path = _at(tenant, datasource, "facts")
    return reading("facts.list", path, Page[Fact], limit=limit, cursor=cursor)


def get_fact(tenant: str, datasource: str, fact: str) -> Operation[Fact]:
    """One fact, by its id."""
    return reading("facts.get", _at(tenant, datasource, "facts", fact), Fact)


def put_fact(
    tenant: str,
    datasource: str,
    fact: str,
    body: Mapping[str, Any],
    *,
    if_match: str,
    reason: str = "",
) -> Operation[Fact]:
    """State a fact anew: `fact`, and `context` and `category` if they change."""
    path = _at(tenant, datasource, "facts", fact)
    return changing("facts.put", "PUT", path, Fact, body=body, if_match=if_match, reason=reason)


def remove_fact(
    tenant: str, datasource: str, fact: str, *, if_match: str, reason: str = ""
) -> Operation[Gone]:
    """Take a fact away."""
    path = _at(tenant, datasource, "facts", fact)
    return changing("facts.remove", "DELETE", path, Gone, if_match=if_match, reason=reason)


def create_fact(
    tenant: str, datasource: str, body: Mapping[str, Any], *, reason: str = ""
) -> Operation[Fact]:
    """State a fact: `fact`, and perhaps `context` and `category`."""
    path = _at(tenant, datasource, "facts")
    return changing("facts.create", "POST", path, Fact, body=body, reason=reason)


def _at(tenant: str, datasource: str, *parts: str) -> str:
    return at(tenant, "datasources", datasource, "ontology", *parts)
