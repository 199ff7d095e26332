"""Every one of the 49 tools, called by every kind of caller with real credentials (R13, S2.2).

What is listed is what can be called, by one function (S2.7, R10).

A tool without a row here fails `test_every_tool_has_a_row`; which callers have it is said by the
table of loadouts, and every other one is told that there is no such tool.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from remit.model.principals import DEFAULT_TENANT
from remit.policy.toolsets import LOADOUTS, Loadout
from remit.testing.data_gateway import SOURCE, Callers, DataCaller
from remit.testing.questions import put_question
from remit.testing.shops import run_on_sqlite

UNKNOWN: Final = "-32602"
"""What is hidden is not there (R14)."""

USER = {Loadout.DEFAULT, Loadout.QUERY, Loadout.ONTOLOGY_MAINTENANCE}
DEVELOPER = set(Loadout) - {Loadout.LIMITED_QUERY}
SERVICE = {Loadout.DEFAULT, Loadout.LIMITED_QUERY}

HAS: Mapping[str, set[Loadout]] = {
    "user": USER,
    "developer": DEVELOPER,
    "service": SERVICE,
    "nobody": set(),
    "administrator": set(),
}

DECIDING = {"approve_query_suggestion", "reject_query_suggestion", "delete_approved_query"}
"""What a business user sees and may not do (R13)."""


@dataclass(frozen=True)
class World:
    """What makes what a tool needs, as others would have made it before."""

    callers: Callers

    @property
    def dev(self) -> DataCaller:
        return self.callers.developer("somebody-else")

    async def query(self) -> str:
        made = await self.dev.does("create_approved_query", **draft())
        assert made["status"] == "approved"
        return made["query_id"]

    async def suggestion(self) -> str:
        made = await self.callers.user("another-user").does("suggest_approved_query", **draft())
        assert made["status"] == "pending"
        return made["suggestion_id"]

    async def question(self) -> str:
        source = await self.callers.stores.datasources.find_datasource(DEFAULT_TENANT, SOURCE)
        assert source is not None
        return await put_question(self.callers.stores.ontology, source.id, "What is a pot?")

    async def change(self) -> str:
        await self.dev.does("refresh_schema")  # the first look selects what is there
        table = fresh("t")
        path = Path(self.callers.gateway.location)
        run_on_sqlite(path, [f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)"])
        await self.dev.does("refresh_schema", auto_select=False)
        listed = await self.dev.does("list_pending_changes", limit=500)
        (change,) = [one["change_id"] for one in listed["changes"] if one["table"].endswith(table)]
        return change

    async def entity(self) -> str:
        name = fresh("entity")
        await self.dev.does("update_entity", name=name, description="Who buys.")
        return name

    async def term(self) -> str:
        term = fresh("term")
        await self.dev.does("update_glossary_term", term=term, sql="SELECT 1 AS one")
        return term

    async def fact(self) -> str:
        made = await self.dev.does("update_project_knowledge", fact=fresh("fact"))
        return made["fact_id"]


def fresh(what: str) -> str:
    return f"{what}_{uuid4().hex[:10]}"


def draft() -> dict[str, Any]:
    return {
        "name": fresh("query"),
        "description": "Who lives there.",
        "sql": "SELECT name FROM customers WHERE city = {{city}}",
        "parameters": [{"name": "city", "type": "string", "example": "Bern"}],
    }


Make = Callable[[World], Awaitable[dict[str, Any]]]


def plain(**arguments: Any) -> Make:
    async def make(_world: World) -> dict[str, Any]:
        return arguments

    return make


def of(name: str, make: Callable[[World], Awaitable[str]], **more: Any) -> Make:
    async def made(world: World) -> dict[str, Any]:
        return {name: await make(world), **more}

    return made


def seen(**arguments: Any) -> Make:
    """Return what works once the schema was read."""

    async def made(world: World) -> dict[str, Any]:
        await world.dev.does("refresh_schema")
        return arguments

    return made


async def a_draft(_world: World) -> dict[str, Any]:
    return draft()


async def a_relationship(world: World) -> dict[str, Any]:
    return {"from_entity": await world.entity(), "to_entity": await world.entity()}


async def with_parameters(world: World) -> dict[str, Any]:
    return {"query_id": await world.query(), "parameters": {"city": "Bern"}, "limit": 1}


ROWS: Mapping[str, Make] = {
    "health": plain(),
    "echo": plain(message="hello"),
    "execute": plain(sql="UPDATE notes SET body = 'seen' WHERE id = 1"),
    "validate": plain(sql="SELECT name FROM customers"),
    "query": plain(sql="SELECT name FROM customers ORDER BY id", limit=2),
    "explain_query": plain(sql="SELECT name FROM customers"),
    "list_approved_queries": plain(),
    "execute_approved_query": with_parameters,
    "suggest_approved_query": a_draft,
    "suggest_query_update": of("query_id", World.query, context="clearer", description="Who."),
    "list_query_suggestions": plain(),
    "approve_query_suggestion": of("suggestion_id", World.suggestion),
    "reject_query_suggestion": of("suggestion_id", World.suggestion, reason="twice"),
    "create_approved_query": a_draft,
    "update_approved_query": of("query_id", World.query, description="Who lives in a city."),
    "delete_approved_query": of("query_id", World.query),
    "search_schema": plain(query="customer"),
    "get_schema": plain(),
    "get_context": plain(depth="columns"),
    "get_entity": of("name", World.entity),
    "get_glossary_sql": of("term", World.term),
    "get_ontology": plain(depth="domain"),
    "get_query_history": plain(),
    "list_glossary": plain(),
    "probe_column": plain(table="customers", column="city"),
    "probe_columns": plain(columns=[{"table": "customers", "column": "city"}]),
    "probe_relationship": plain(),
    "sample": plain(table="customers"),
    "list_ontology_questions": plain(),
    "dismiss_ontology_question": of("question_id", World.question, reason="idle"),
    "escalate_ontology_question": of("question_id", World.question, reason="hard"),
    "resolve_ontology_question": of("question_id", World.question),
    "skip_ontology_question": of("question_id", World.question, reason="later"),
    "update_column": seen(table="customers", column="city", description="Where they live."),
    "update_entity": of("name", World.entity, description="Whoever buys."),
    "update_glossary_term": of("term", World.term, definition="Just one."),
    "update_project_knowledge": plain(fact="Prices are in francs."),
    "update_relationship": a_relationship,
    "delete_column_metadata": seen(table="customers", column="email"),
    "delete_entity": of("name", World.entity),
    "delete_glossary_term": of("term", World.term),
    "delete_project_knowledge": of("fact_id", World.fact),
    "delete_relationship": a_relationship,
    "refresh_schema": plain(),
    "scan_data_changes": seen(tables="customers"),
    "list_pending_changes": plain(),
    "approve_change": of("change_id", World.change),
    "reject_change": of("change_id", World.change),
    "approve_all_changes": plain(),
}


def test_every_tool_has_a_row() -> None:
    assert list(ROWS) == list(LOADOUTS)


async def caller_of(callers: Callers, kind: str) -> DataCaller:
    if kind == "service":
        return await callers.service()
    make: Callable[[], DataCaller] = getattr(callers, kind)
    return make()


@pytest.mark.parametrize("kind", list(HAS))
@pytest.mark.parametrize("tool", list(ROWS))
async def test_a_tool_runs_for_whom_it_is_and_is_unknown_to_all_others(
    callers: Callers, tool: str, kind: str
) -> None:
    caller = await caller_of(callers, kind)
    if not LOADOUTS[tool] & HAS[kind]:
        # whatever the arguments: nobody learns that there is such a tool
        assert await caller.fails(tool) == UNKNOWN
        return
    arguments = await ROWS[tool](World(callers))
    if kind == "user" and tool in DECIDING:
        assert await caller.fails(tool, **arguments) == "query_not_authorized"
        return

    given = await caller.does(tool, **arguments)

    if kind == "user" and tool in {"create_approved_query", "update_approved_query"}:
        assert given["status"] == "pending"


@pytest.mark.parametrize("kind", ["admin", "analyst", "developer"])
async def test_every_reviewer_decides_on_a_suggestion_of_another(
    callers: Callers, kind: str
) -> None:
    reviewer = await caller_of(callers, kind)

    for tool in ("approve_query_suggestion", "reject_query_suggestion"):
        await reviewer.does(tool, **await ROWS[tool](World(callers)))


@pytest.mark.parametrize("kind", ["admin", "analyst", "developer"])
async def test_nobody_decides_on_a_suggestion_of_their_own(callers: Callers, kind: str) -> None:
    reviewer = await caller_of(callers, kind)
    own = (await reviewer.does("suggest_approved_query", **draft()))["suggestion_id"]

    assert await reviewer.fails("approve_query_suggestion", suggestion_id=own) == (
        "query_not_authorized"
    )


async def test_a_service_key_runs_only_the_queries_that_it_is_limited_to(callers: Callers) -> None:
    # S2.28
    world = World(callers)
    chosen, other = await world.query(), await world.query()
    service = await callers.service(queries=[chosen])

    listed = await service.does("list_approved_queries")
    await service.does("execute_approved_query", query_id=chosen, parameters={"city": "Bern"})

    assert [each["query_id"] for each in listed["queries"]] == [chosen]
    code = await service.fails(
        "execute_approved_query", query_id=other, parameters={"city": "Bern"}
    )
    assert code == "query_access_denied"
