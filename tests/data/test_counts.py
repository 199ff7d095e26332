"""Who is shown which of the 49 tools, with real credentials at `/mcp/data`.

S2.1-S2.12 and, by role, the tests that the document asks for (S2.49); R13.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from remit.client.transport import TRUSTS_NOBODY
from remit.policy.toolsets import LOADOUTS, Loadout
from remit.testing.data_gateway import Callers, DataGateway

SWITCHES = ("allowOntologyMaintenance", "addQueryTools", "addOntologyMaintenance")

COUNTS = [
    ("user", (True, True, True), 42),
    ("user", (False, True, True), 20),
    ("developer", (True, True, True), 49),
    ("developer", (True, True, False), 22),
    ("developer", (True, False, True), 30),
    ("developer", (True, False, False), 3),
    ("service", (True, True, True), 3),
]
"""S2.9: caller, the three options in their order, and how many tools it is shown."""

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
DESTRUCTIVE = {"execute", "execute_approved_query"}
READING = {
    *("health", "echo", "validate", "query", "explain_query", "list_approved_queries"),
    *("list_query_suggestions", "search_schema", "get_schema", "get_context", "get_entity"),
    *("get_glossary_sql", "get_ontology", "get_query_history", "list_glossary", "probe_column"),
    *("probe_columns", "probe_relationship", "sample", "list_ontology_questions"),
    "list_pending_changes",
}


def switch(gateway: DataGateway, options: Sequence[bool]) -> None:
    reply = httpx2.patch(
        f"{gateway.running.base}/api/projects/default/mcp/config",
        json=dict(zip(SWITCHES, options, strict=True)),
        headers={"Authorization": f"Bearer {gateway.running.admin_key}"},
        timeout=60,
        verify=TRUSTS_NOBODY,
    )
    assert reply.status_code == 200, reply.text


@pytest.fixture
def _all_open(data_gateway: DataGateway) -> None:
    switch(data_gateway, (True, True, True))


@pytest.mark.parametrize(("kind", "options", "count"), COUNTS)
async def test_each_caller_is_shown_exactly_its_tools_in_the_one_order(
    callers: Callers,
    data_gateway: DataGateway,
    kind: str,
    options: Sequence[bool],
    count: int,
) -> None:
    switch(data_gateway, options)
    callers_of = {
        "user": [callers.user()],
        "developer": [callers.admin(), callers.analyst(), callers.developer()],
        "service": [await callers.service()],
    }

    for caller in callers_of[kind]:
        names = list(await caller.tools())
        assert len(names) == count, caller.subject
        assert names == [name for name in LOADOUTS if name in names], caller.subject


@pytest.mark.usefixtures("_all_open")
async def test_whoever_is_none_of_these_is_shown_nothing(callers: Callers) -> None:
    # S2.7, R11: who has no verified role finds nothing, not even `health`
    assert await callers.nobody().tools() == []
    assert await callers.administrator().tools() == []


@pytest.mark.usefixtures("_all_open")
async def test_a_service_key_is_shown_three_tools(callers: Callers) -> None:
    service = await callers.service(queries=["01a2251b-dda5-79c0-817b-0b7c51feb48b"])

    assert await service.tools() == ["health", "list_approved_queries", "execute_approved_query"]


@pytest.fixture
async def listed(callers: Callers, _all_open: None) -> Mapping[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in await callers.developer().caller.tools()}


async def test_every_tool_says_what_it_does_to_whom(
    listed: Mapping[str, Mapping[str, Any]],
) -> None:
    # S2.12
    hints: Mapping[str, Mapping[str, object]] = {
        name: tool["annotations"] for name, tool in listed.items()
    }

    for name, told in hints.items():
        assert told.keys() == {"title", *HINTS}, name
        assert all(isinstance(told[hint], bool) for hint in HINTS), name
    assert {name for name, told in hints.items() if told["destructiveHint"]} == DESTRUCTIVE
    assert {name for name, told in hints.items() if told["readOnlyHint"]} == READING


async def test_every_tool_takes_what_it_names_and_nothing_else_and_says_what_it_gives(
    listed: Mapping[str, Mapping[str, Any]],
) -> None:
    for name, tool in listed.items():
        takes, gives = tool["inputSchema"], tool["outputSchema"]
        jsonschema_rs.meta.validate(takes)
        jsonschema_rs.meta.validate(gives)
        assert takes["type"] == gives["type"] == "object", name
        assert takes["additionalProperties"] is False, name
        assert set(takes["required"]) <= takes["properties"].keys(), name
        assert tool["description"], name


async def test_tools_take_the_inputs_of_the_table(
    listed: Mapping[str, Mapping[str, Any]],
) -> None:
    # S2.10
    assert INPUTS.keys() == set(LOADOUTS)
    for name, text in INPUTS.items():
        takes = listed[name]["inputSchema"]
        wanted = text.split()
        required = {each.removesuffix("*") for each in wanted if each.endswith("*")}
        assert set(takes["required"]) == required, name
        named = {each.removesuffix("*") for each in wanted}
        assert named <= takes["properties"].keys(), name


def test_the_loadouts_are_those_of_the_document() -> None:
    # S2.8; S2.11: what other branches and later versions added is not there
    def size(loadout: Loadout) -> int:
        return sum(loadout in loadouts for loadouts in LOADOUTS.values())

    assert {each.name: size(each) for each in Loadout} == {
        "DEFAULT": 1,
        "DEVELOPER_CORE": 2,
        "LIMITED_QUERY": 2,
        "QUERY": 19,
        "ONTOLOGY_MAINTENANCE": 22,
        "ONTOLOGY_QUESTIONS": 5,
    }
    assert len(LOADOUTS) == 49
    assert LATER.isdisjoint(LOADOUTS)


LATER = {
    *("create_glossary_term", "get_column_metadata", "update_columns", "update_table"),
    *("delete_table_metadata", "list_project_knowledge", "list_relationships"),
    *("create_relationship", "record_query_feedback"),
}

INPUTS = {
    "health": "",
    "echo": "message*",
    "execute": "sql*",
    "validate": "sql*",
    "query": "sql* limit",
    "explain_query": "sql*",
    "list_approved_queries": "tags",
    "execute_approved_query": "query_id* parameters limit",
    "suggest_approved_query": "name* description* sql* parameters output_column_descriptions tags",
    "suggest_query_update": "query_id* context* sql name description parameters"
    " output_column_descriptions tags",
    "list_query_suggestions": "status datasource_id",
    "approve_query_suggestion": "suggestion_id*",
    "reject_query_suggestion": "suggestion_id* reason*",
    "create_approved_query": "name* description* sql* datasource_id parameters"
    " output_column_descriptions tags",
    "update_approved_query": "query_id* sql name description parameters"
    " output_column_descriptions tags is_enabled",
    "delete_approved_query": "query_id*",
    "search_schema": "query* limit",
    "get_schema": "selected_only include_entities",
    "get_context": "depth* tables include_relationships include",
    "get_entity": "name*",
    "get_glossary_sql": "term*",
    "get_ontology": "depth* tables include_relationships",
    "get_query_history": "limit hours_back",
    "list_glossary": "",
    "probe_column": "table* column*",
    "probe_columns": "columns*",
    "probe_relationship": "from_entity to_entity",
    "sample": "table* limit",
    "list_ontology_questions": "status category entity priority limit offset",
    "dismiss_ontology_question": "question_id* reason*",
    "escalate_ontology_question": "question_id* reason*",
    "resolve_ontology_question": "question_id* resolution_notes",
    "skip_ontology_question": "question_id* reason*",
    "update_column": "table* column* description enum_values entity role",
    "update_entity": "name* description aliases key_columns",
    "update_glossary_term": "term* definition sql aliases",
    "update_project_knowledge": "fact* fact_id context category",
    "update_relationship": "from_entity* to_entity* description label cardinality",
    "delete_column_metadata": "table* column*",
    "delete_entity": "name*",
    "delete_glossary_term": "term*",
    "delete_project_knowledge": "fact_id*",
    "delete_relationship": "from_entity* to_entity*",
    "refresh_schema": "auto_select",
    "scan_data_changes": "tables",
    "list_pending_changes": "status limit",
    "approve_change": "change_id*",
    "reject_change": "change_id*",
    "approve_all_changes": "",
}
"""S2.10: what each tool takes, required ones with a star; what is ours beside may be left out."""
