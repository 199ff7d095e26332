"""A request for every operation on queries, the ontology and the record of a project's data."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tests.api.examples import Example, Make, plain
from tests.api.worlds import SHOP, Api

from remit.client import Client
from remit.testing.shops import run_on_sqlite

PROJECT = "/api/projects/default"
SOURCE = f"{PROJECT}/datasources/{SHOP}"
QUERIES = f"{SOURCE}/queries"
ONTOLOGY = f"{SOURCE}/ontology"
AUDIT = f"{PROJECT}/audit"

CITY = {"name": "city", "type": "string", "example": "Bern"}
TRIAL = {"sql": "SELECT name FROM customers WHERE city = {{city}}", "parameters": [CITY]}
UNSEEN = {"If-Match": "*"}


def draft(**changes: Any) -> dict[str, Any]:
    """Return a query that works, under a name of its own."""
    return {"name": f"q{uuid4().hex[:8]}", "description": "Who lives there.", **TRIAL, **changes}


def data(api: Api, method: str, path: str, **more: Any) -> Any:
    """Send what succeeds, and return what is answered."""
    reply = api.send(method, path, **more)
    assert reply.status_code in {200, 201}, reply.text
    body = reply.json()
    assert body["success"] is True
    return body["data"]


def new_query(api: Api, **changes: Any) -> str:
    """Make a query that nobody else needs; return its id."""
    made = data(api, "POST", QUERIES, body=draft(**changes))
    assert (made["status"], made["isEnabled"]) == ("approved", True)
    return made["id"]


def suggested(api: Api, by: str = "business user") -> str:
    """Let somebody suggest a query by the tool; return the id of the suggestion."""
    with Client(api.base, key=api.credentials[by]) as client:
        result = client.call_tool("suggest_approved_query", draft(datasource=SHOP), server="data")
    assert not result.is_error, result.text
    assert result.structured is not None
    return result.structured["suggestion_id"]


def rejected(api: Api) -> str:
    suggestion = suggested(api)
    path = f"{PROJECT}/queries/{suggestion}/reject"
    assert data(api, "POST", path, body={"reason": "twice"})["status"] == "rejected"
    return suggestion


def seen(make: Any, path: str, body: Any = None) -> Make:
    """Return what changes something of its own, with its present state in view."""

    def example(api: Api) -> Example:
        whole = f"{path}/{make(api)}"
        return Example(path=whole, body=body, headers={"If-Match": api.tag(whole)})

    return example


def refreshed(api: Api) -> str:
    """Let the schema be known; return its path."""
    path = f"{SOURCE}/schema"
    if data(api, "GET", path)["refreshed"] is None:
        data(api, "POST", f"{path}/refresh", body={})
    return path


def new_entity(api: Api) -> str:
    name = f"Thing {uuid4().hex[:8]}"
    put(api, f"{ONTOLOGY}/entities/{name}", {"description": "A thing."})
    return name


def new_relationship(api: Api) -> str:
    pair = f"{new_entity(api)}/{new_entity(api)}"
    put(api, f"{ONTOLOGY}/relationships/{pair}", {"label": "has"})
    return pair


def new_column(api: Api) -> str:
    refreshed(api)
    column = "main.customers/city"
    put(api, f"{ONTOLOGY}/columns/{column}", {"description": "Where they live."})
    return column


def new_term(api: Api) -> str:
    term = f"term {uuid4().hex[:8]}"
    put(api, f"{ONTOLOGY}/glossary/{term}", {"definition": "What is sold."})
    return term


def new_fact(api: Api) -> str:
    return data(api, "POST", f"{ONTOLOGY}/facts", body={"fact": "It rains."})["id"]


def put(api: Api, path: str, body: Any) -> Any:
    return data(api, "PUT", path, body=body, headers=UNSEEN)


def question(api: Api) -> str:
    """Let there be a question; return its id."""
    return api.ask("Are prices with tax?")


def change(api: Api) -> str:
    """Let there be a table that nobody has decided on; return the id of the change."""
    table = f"t{uuid4().hex[:8]}"
    refreshed(api)
    run_on_sqlite(api.folder / "shop" / "shop.sqlite", [f"CREATE TABLE {table} (id INTEGER)"])
    data(api, "POST", f"{SOURCE}/schema/refresh", body={"autoSelect": False})
    waiting = data(api, "GET", f"{ONTOLOGY}/changes", params={"limit": 1000})["items"]
    (found,) = (each["id"] for each in waiting if each["table"].endswith(table))
    return found


def on_query(verb: str, body: Any = None) -> Make:
    return lambda api: Example(path=f"{QUERIES}/{new_query(api)}/{verb}", body=body)


def on_question(verb: str, body: Any) -> Make:
    return lambda api: Example(path=f"{ONTOLOGY}/questions/{question(api)}/{verb}", body=body)


DATA_EXAMPLES: Mapping[str, Make] = {
    "queries.list": plain(QUERIES, status="approved"),
    "queries.list_enabled": plain(f"{QUERIES}/enabled"),
    "queries.create": lambda _: Example(path=QUERIES, body=draft(), status=201),
    "queries.get": lambda api: Example(path=f"{QUERIES}/{new_query(api)}"),
    "queries.replace": seen(new_query, QUERIES, draft()),
    "queries.change": seen(new_query, QUERIES, {"tags": ["city"]}),
    "queries.remove": seen(new_query, QUERIES),
    "queries.enable": on_query("enabled", {"isEnabled": False}),
    "queries.execute": on_query("execute", {"parameters": {"city": "Bern"}}),
    "queries.test": lambda _: Example(path=f"{QUERIES}/test", body=TRIAL),
    "queries.validate": lambda _: Example(path=f"{QUERIES}/validate", body={"sql": "SELECT 1"}),
    "queries.validate_parameters": lambda _: Example(
        path=f"{QUERIES}/validate-parameters", body=TRIAL
    ),
    "queries.pending": plain(f"{PROJECT}/queries/pending"),
    "queries.approve": lambda api: Example(path=f"{PROJECT}/queries/{suggested(api)}/approve"),
    "queries.reject": lambda api: Example(
        path=f"{PROJECT}/queries/{suggested(api)}/reject", body={"reason": "twice"}
    ),
    "queries.move_to_pending": lambda api: Example(
        path=f"{PROJECT}/queries/{rejected(api)}/move-to-pending"
    ),
    "entities.list": plain(f"{ONTOLOGY}/entities"),
    "entities.get": lambda api: Example(path=f"{ONTOLOGY}/entities/{new_entity(api)}"),
    "entities.put": seen(new_entity, f"{ONTOLOGY}/entities", {"description": "Another."}),
    "entities.remove": seen(new_entity, f"{ONTOLOGY}/entities"),
    "columns.list": plain(f"{ONTOLOGY}/columns"),
    "columns.get": lambda api: Example(path=f"{ONTOLOGY}/columns/{new_column(api)}"),
    "columns.put": seen(new_column, f"{ONTOLOGY}/columns", {"role": "dimension"}),
    "columns.remove": seen(new_column, f"{ONTOLOGY}/columns"),
    "relationships.list": plain(f"{ONTOLOGY}/relationships"),
    "relationships.get": lambda api: Example(
        path=f"{ONTOLOGY}/relationships/{new_relationship(api)}"
    ),
    "relationships.put": seen(
        new_relationship, f"{ONTOLOGY}/relationships", {"cardinality": "1:N"}
    ),
    "relationships.remove": seen(new_relationship, f"{ONTOLOGY}/relationships"),
    "glossary.list": plain(f"{ONTOLOGY}/glossary"),
    "glossary.get": lambda api: Example(path=f"{ONTOLOGY}/glossary/{new_term(api)}"),
    "glossary.put": seen(new_term, f"{ONTOLOGY}/glossary", {"definition": "What is left."}),
    "glossary.remove": seen(new_term, f"{ONTOLOGY}/glossary"),
    "facts.list": plain(f"{ONTOLOGY}/facts"),
    "facts.create": lambda _: Example(
        path=f"{ONTOLOGY}/facts", body={"fact": "It rains."}, status=201
    ),
    "facts.get": lambda api: Example(path=f"{ONTOLOGY}/facts/{new_fact(api)}"),
    "facts.put": seen(new_fact, f"{ONTOLOGY}/facts", {"fact": "It pours."}),
    "facts.remove": seen(new_fact, f"{ONTOLOGY}/facts"),
    "questions.list": plain(f"{ONTOLOGY}/questions", status="pending"),
    "questions.get": lambda api: Example(path=f"{ONTOLOGY}/questions/{question(api)}"),
    "questions.resolve": on_question("resolve", {"notes": "Both."}),
    "questions.skip": on_question("skip", {"reason": "Nobody is in."}),
    "questions.escalate": on_question("escalate", {"reason": "Ann knows."}),
    "questions.dismiss": on_question("dismiss", {"reason": "Never mind."}),
    "data_schema.get": lambda api: Example(path=refreshed(api)),
    "data_schema.refresh": lambda _: Example(path=f"{SOURCE}/schema/refresh", body={}),
    "data_changes.list": plain(f"{ONTOLOGY}/changes"),
    "data_changes.get": lambda api: Example(path=f"{ONTOLOGY}/changes/{change(api)}"),
    "data_changes.approve": lambda api: Example(path=f"{ONTOLOGY}/changes/{change(api)}/approve"),
    "data_changes.reject": lambda api: Example(path=f"{ONTOLOGY}/changes/{change(api)}/reject"),
    "data_changes.approve_all": plain(f"{ONTOLOGY}/changes/approve-all"),
    "data_changes.scan": lambda _: Example(path=f"{ONTOLOGY}/changes/scan", body={}),
    "data_audit.executions": plain(f"{AUDIT}/query-executions"),
    "data_audit.approvals": plain(f"{AUDIT}/query-approvals"),
    "data_audit.ontology_changes": plain(f"{AUDIT}/ontology-changes"),
    "data_audit.schema_changes": plain(f"{AUDIT}/schema-changes"),
    "data_audit.mcp_events": plain(f"{AUDIT}/mcp-events"),
    "data_audit.summary": plain(f"{AUDIT}/summary"),
    "data_audit.retention": plain(f"{AUDIT}/retention"),
    "data_audit.retain": lambda _: Example(path=f"{AUDIT}/retention", body={"days": 400}),
}
