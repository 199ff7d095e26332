"""One operation of each kind on queries, the ontology and the record of a project's data."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from tests.api.worlds import SHOP

from remit.client import (
    Client,
    Operation,
    data_audit,
    data_changes,
    ontology,
    queries,
    questions,
)

PROJECT = "default"
HERE = (PROJECT, SHOP)

SQL = "SELECT name FROM customers WHERE city = {{city}}"
CITY = {"name": "city", "type": "string", "example": "Bern"}
DRAFT = queries.Draft(name="by city", description="Who lives there.", sql=SQL, parameters=[CITY])

Make = Callable[[Client], Operation[Any]]


def draft() -> queries.Draft:
    return replace(DRAFT, name=f"q{uuid4().hex[:8]}")


def new_query(client: Client) -> queries.Query:
    return client.ask(queries.create(*HERE, draft()))


def tag_of(client: Client, operation: Operation[Any]) -> str:
    return client.ask_tagged(operation).etag


def on_query(make: Callable[[str, str], Operation[Any]]) -> Make:
    """Return what changes a query of its own, with its present state in view."""

    def example(client: Client) -> Operation[Any]:
        made = new_query(client)
        return make(made.id, tag_of(client, queries.get(*HERE, made.id)))

    return example


def new_entity(client: Client) -> str:
    name = f"Thing {uuid4().hex[:8]}"
    body = {"description": "A thing."}
    return client.ask(ontology.put_entity(*HERE, name, body, if_match=ontology.NEW)).name


def new_pair(client: Client) -> tuple[str, str]:
    pair = new_entity(client), new_entity(client)
    client.ask(ontology.put_relationship(*HERE, *pair, {"label": "has"}, if_match=ontology.NEW))
    return pair


def known_column(client: Client) -> tuple[str, str]:
    client.ask(data_changes.refresh(*HERE))
    place = "main.customers", "city"
    client.ask(ontology.put_column(*HERE, *place, {"description": "Where."}, if_match="*"))
    return place


def new_term(client: Client) -> str:
    body = {"definition": "What is sold."}
    name = f"term {uuid4().hex[:8]}"
    return client.ask(ontology.put_term(*HERE, name, body, if_match=ontology.NEW)).term


def new_fact(client: Client) -> str:
    return client.ask(ontology.create_fact(*HERE, {"fact": "It rains."})).id


PROVIDED: dict[str, Callable[[], str]] = {}
"""What an administrator cannot make itself: the gateway's fixture says how it comes about."""


def suggested(_: Client) -> str:
    """Return the id of a suggestion of somebody else's."""
    return PROVIDED["suggestion"]()


def rejected(client: Client) -> str:
    return client.ask(queries.reject(PROJECT, suggested(client), "twice")).id


def question(_: Client) -> str:
    return PROVIDED["question"]()


def change(_: Client) -> str:
    return PROVIDED["change"]()


DATA_EXAMPLES: Mapping[str, Make] = {
    "queries.list": lambda _: queries.list_all(*HERE, status="approved"),
    "queries.list_enabled": lambda _: queries.list_enabled(*HERE),
    "queries.create": lambda _: queries.create(*HERE, draft()),
    "queries.get": lambda c: queries.get(*HERE, new_query(c).id),
    "queries.replace": on_query(lambda q, tag: queries.replace(*HERE, q, draft(), if_match=tag)),
    "queries.change": on_query(
        lambda q, tag: queries.change(*HERE, q, {"tags": ["city"]}, if_match=tag)
    ),
    "queries.remove": on_query(lambda q, tag: queries.remove(*HERE, q, if_match=tag)),
    "queries.enable": lambda c: queries.enable(*HERE, new_query(c).id, enabled=False),
    "queries.execute": lambda c: queries.execute(*HERE, new_query(c).id, {"city": "Bern"}),
    "queries.test": lambda _: queries.try_out(*HERE, SQL, [CITY]),
    "queries.validate": lambda _: queries.validate(*HERE, "SELECT 1"),
    "queries.validate_parameters": lambda _: queries.validate_parameters(*HERE, SQL, [CITY]),
    "queries.pending": lambda _: queries.pending(PROJECT),
    "queries.approve": lambda c: queries.approve(PROJECT, suggested(c), if_match="*"),
    "queries.reject": lambda c: queries.reject(PROJECT, suggested(c), "twice"),
    "queries.move_to_pending": lambda c: queries.move_to_pending(PROJECT, rejected(c)),
    "entities.list": lambda _: ontology.list_entities(*HERE),
    "entities.get": lambda c: ontology.get_entity(*HERE, new_entity(c)),
    "entities.put": lambda c: ontology.put_entity(
        *HERE, new_entity(c), {"description": "Another."}, if_match="*"
    ),
    "entities.remove": lambda c: ontology.remove_entity(*HERE, new_entity(c), if_match="*"),
    "columns.list": lambda _: ontology.list_columns(*HERE),
    "columns.get": lambda c: ontology.get_column(*HERE, *known_column(c)),
    "columns.put": lambda c: ontology.put_column(
        *HERE, *known_column(c), {"role": "dimension"}, if_match="*"
    ),
    "columns.remove": lambda c: ontology.remove_column(*HERE, *known_column(c), if_match="*"),
    "relationships.list": lambda _: ontology.list_relationships(*HERE),
    "relationships.get": lambda c: ontology.get_relationship(*HERE, *new_pair(c)),
    "relationships.put": lambda c: ontology.put_relationship(
        *HERE, *new_pair(c), {"cardinality": "1:N"}, if_match="*"
    ),
    "relationships.remove": lambda c: ontology.remove_relationship(
        *HERE, *new_pair(c), if_match="*"
    ),
    "glossary.list": lambda _: ontology.list_terms(*HERE),
    "glossary.get": lambda c: ontology.get_term(*HERE, new_term(c)),
    "glossary.put": lambda c: ontology.put_term(
        *HERE, new_term(c), {"definition": "What is left."}, if_match="*"
    ),
    "glossary.remove": lambda c: ontology.remove_term(*HERE, new_term(c), if_match="*"),
    "facts.list": lambda _: ontology.list_facts(*HERE),
    "facts.create": lambda _: ontology.create_fact(*HERE, {"fact": "It rains."}),
    "facts.get": lambda c: ontology.get_fact(*HERE, new_fact(c)),
    "facts.put": lambda c: ontology.put_fact(
        *HERE, new_fact(c), {"fact": "It pours."}, if_match="*"
    ),
    "facts.remove": lambda c: ontology.remove_fact(*HERE, new_fact(c), if_match="*"),
    "questions.list": lambda _: questions.list_all(*HERE),
    "questions.get": lambda c: questions.get(*HERE, question(c)),
    "questions.resolve": lambda c: questions.resolve(*HERE, question(c), "Both."),
    "questions.skip": lambda c: questions.skip(*HERE, question(c), "Nobody is in."),
    "questions.escalate": lambda c: questions.escalate(*HERE, question(c), "Ann knows."),
    "questions.dismiss": lambda c: questions.dismiss(*HERE, question(c), "Never mind."),
    "data_schema.get": lambda _: data_changes.schema(*HERE),
    "data_schema.refresh": lambda _: data_changes.refresh(*HERE),
    "data_changes.list": lambda _: data_changes.list_all(*HERE),
    "data_changes.get": lambda c: data_changes.get(*HERE, change(c)),
    "data_changes.approve": lambda c: data_changes.approve(*HERE, change(c)),
    "data_changes.reject": lambda c: data_changes.reject(*HERE, change(c)),
    "data_changes.approve_all": lambda _: data_changes.approve_all(*HERE),
    "data_changes.scan": lambda _: data_changes.scan(*HERE),
    "data_audit.executions": lambda _: data_audit.executions(PROJECT),
    "data_audit.approvals": lambda _: data_audit.approvals(PROJECT),
    "data_audit.ontology_changes": lambda _: data_audit.ontology_changes(PROJECT),
    "data_audit.schema_changes": lambda _: data_audit.schema_changes(PROJECT),
    "data_audit.mcp_events": lambda _: data_audit.mcp_events(PROJECT),
    "data_audit.summary": lambda _: data_audit.summary(
        PROJECT, since=datetime(2026, 1, 1, tzinfo=UTC)
    ),
    "data_audit.retention": lambda _: data_audit.retention(PROJECT),
    "data_audit.retain": lambda _: data_audit.retain(PROJECT, days=400, rows=None, if_match="*"),
}
