"""Tools to suggest queries and changes of them, and to decide on what others suggested."""

from dataclasses import replace
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.queries.arguments import (
    DATASOURCE,
    DATASOURCE_ID,
    FIELDS,
    QUERY_ID,
    SUGGESTION_ID,
    draft_of,
    edit_of,
)
from remit.data.queries.decisions import approve, reject
from remit.data.queries.shapes import (
    DECIDED,
    SUGGESTED,
    SUGGESTION,
    decided_result,
    suggested_result,
    suggestion_result,
)
from remit.data.queries.suggestions import list_suggestions, suggest, suggest_update
from remit.model.data import QueryStatus
from remit.servers.arguments import Arguments
from remit.servers.shapes import COUNT, LONGEST_TEXT, choice, given, list_of, record, text
from remit.servers.toolbox import Hints, Tool

_CONTEXT: Final = text("Why this is suggested, for whoever decides.", LONGEST_TEXT)


async def _suggest(desk: Desk, arguments: Arguments) -> Result:
    draft = draft_of(arguments, datasource=arguments.find_text("datasource"))
    draft = replace(draft, context=arguments.text("context"))
    return suggested_result(await suggest(desk, draft))


async def _suggest_update(desk: Desk, arguments: Arguments) -> Result:
    written = await suggest_update(
        desk, arguments.text("query_id"), edit_of(arguments), context=arguments.text("context")
    )
    return suggested_result(written)


async def _list(desk: Desk, arguments: Arguments) -> Result:
    found = await list_suggestions(
        desk,
        status=QueryStatus(arguments.text("status", QueryStatus.PENDING)),
        datasource=arguments.find_text("datasource_id"),
    )
    return {"suggestions": [suggestion_result(each) for each in found], "count": len(found)}


async def _approve(desk: Desk, arguments: Arguments) -> Result:
    suggestion_id = arguments.text("suggestion_id")
    query = await approve(desk, suggestion_id)
    is_new = query.id == suggestion_id
    message = "approved and enabled" if is_new else "approved and merged into the query"
    return decided_result(suggestion_id, query, message)


async def _reject(desk: Desk, arguments: Arguments) -> Result:
    suggestion_id = arguments.text("suggestion_id")
    query = await reject(desk, suggestion_id, arguments.text("reason"))
    return decided_result(suggestion_id, query, "rejected")


SUGGESTION_TOOLS: Final[tuple[Tool[Desk], ...]] = (
    Tool(
        name="suggest_approved_query",
        title="Suggest a query",
        description="Suggests a query for review, after a dry run with the examples of its"
        " parameters; one that modifies is only explained. It can be run once it is approved.",
        takes=given(
            {**FIELDS, "context": _CONTEXT, "datasource": DATASOURCE},
            ["name", "description", "sql"],
        ),
        gives=SUGGESTED,
        hints=Hints(),
        run=_suggest,
    ),
    Tool(
        name="suggest_query_update",
        title="Suggest a change of a query",
        description="Suggests to change at least one field of an approved query, which stays as it"
        " is until the change is approved.",
        takes=given(
            {"query_id": QUERY_ID, "context": _CONTEXT, **FIELDS},
            ["query_id", "context"],
        ),
        gives=SUGGESTED,
        hints=Hints(),
        run=_suggest_update,
    ),
    Tool(
        name="list_query_suggestions",
        title="List suggestions",
        description="Suggested queries and changes, with what they are and what they change."
        " Business users see their own.",
        takes=given(
            {
                "status": choice("Which.", QueryStatus.PENDING, QueryStatus.REJECTED),
                "datasource_id": DATASOURCE_ID,
            }
        ),
        gives=record(suggestions=list_of(SUGGESTION), count=COUNT),
        hints=Hints(read_only=True, idempotent=True),
        run=_list,
    ),
    Tool(
        name="approve_query_suggestion",
        title="Approve a suggestion",
        description="Approves a pending suggestion of somebody else: a new query is enabled, a"
        " change is merged into its query, if the whole still works.",
        takes=given({"suggestion_id": SUGGESTION_ID}, ["suggestion_id"]),
        gives=DECIDED,
        hints=Hints(),
        run=_approve,
    ),
    Tool(
        name="reject_query_suggestion",
        title="Reject a suggestion",
        description="Rejects a pending suggestion of somebody else, for a reason.",
        takes=given(
            {"suggestion_id": SUGGESTION_ID, "reason": text("Why.", LONGEST_TEXT)},
            ["suggestion_id", "reason"],
        ),
        gives=DECIDED,
        hints=Hints(),
        run=_reject,
    ),
)
