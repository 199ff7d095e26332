"""Tools on approved queries: list, run, make, change and delete them."""

from typing import Final

from remit.data.desk import Desk, Result
from remit.data.queries.approved import create, delete, list_approved, update
from remit.data.queries.arguments import (
    DATASOURCE,
    FIELDS,
    QUERY_ID,
    TAGS,
    draft_of,
    edit_of,
)
from remit.data.queries.execution import USUAL_ROWS, execute_approved
from remit.data.queries.shapes import (
    DELETED,
    EXECUTED,
    QUERY,
    WRITTEN,
    executed_result,
    query_result,
    written_result,
)
from remit.data.queries.statement_tools import LIMIT
from remit.servers.arguments import Arguments
from remit.servers.shapes import COUNT, flag, given, list_of, record
from remit.servers.toolbox import Hints, Tool


async def _list(desk: Desk, arguments: Arguments) -> Result:
    queries = await list_approved(
        desk, tags=arguments.texts("tags"), datasource=arguments.find_text("datasource")
    )
    return {"queries": [query_result(desk, each) for each in queries], "count": len(queries)}


async def _execute(desk: Desk, arguments: Arguments) -> Result:
    executed = await execute_approved(
        desk,
        arguments.text("query_id"),
        arguments.mapping("parameters"),
        limit=arguments.number("limit", USUAL_ROWS),
    )
    return executed_result(executed)


async def _create(desk: Desk, arguments: Arguments) -> Result:
    draft = draft_of(arguments, datasource=arguments.find_text("datasource_id"))
    return written_result(await create(desk, draft))


async def _update(desk: Desk, arguments: Arguments) -> Result:
    return written_result(await update(desk, arguments.text("query_id"), edit_of(arguments)))


async def _delete(desk: Desk, arguments: Arguments) -> Result:
    deleted = await delete(desk, arguments.text("query_id"))
    return {
        "query_id": deleted.query.id,
        "rejected_suggestions": deleted.rejected,
        "message": f"deleted; {deleted.rejected} pending suggestions to change it were rejected",
    }


APPROVED_TOOLS: Final[tuple[Tool[Desk], ...]] = (
    Tool(
        name="list_approved_queries",
        title="List approved queries",
        description="Queries that were reviewed and can be run with execute_approved_query: what"
        " each answers, its parameters, its columns, and whether it changes anything.",
        takes=given(
            {
                "tags": {**TAGS, "description": "Only queries with one of these tags at least."},
                "datasource": {**DATASOURCE, "description": "Name or id of one datasource."},
            }
        ),
        gives=record(queries=list_of(QUERY), count=COUNT),
        hints=Hints(read_only=True, idempotent=True),
        run=_list,
    ),
    Tool(
        name="execute_approved_query",
        title="Run an approved query",
        description="Runs an approved query with the given parameters, and gives its rows, one list"
        " of values a row in the order of the columns. One whose `allows_modification` is true"
        " changes data.",
        takes=given(
            {
                "query_id": QUERY_ID,
                "parameters": {
                    "type": "object",
                    "description": "Values by the names of the parameters.",
                },
                "limit": LIMIT,
            },
            ["query_id"],
        ),
        gives=EXECUTED,
        hints=Hints(destructive=True),
        run=_execute,
    ),
    Tool(
        name="create_approved_query",
        title="Create an approved query",
        description="Makes a query that is approved and enabled at once, after a dry run with the"
        " examples of its parameters. Of a business user it becomes a suggestion that somebody"
        " else decides on; the status of the answer says which.",
        takes=given(
            {
                **FIELDS,
                "datasource_id": DATASOURCE,
            },
            ["name", "description", "sql"],
        ),
        gives=WRITTEN,
        hints=Hints(),
        run=_create,
    ),
    Tool(
        name="update_approved_query",
        title="Change an approved query",
        description="Changes the given fields of an approved query at once, after a dry run where"
        " its SQL or parameters change. Of a business user it becomes a suggestion that somebody"
        " else decides on; the status of the answer says which.",
        takes=given(
            {
                "query_id": QUERY_ID,
                **FIELDS,
                "is_enabled": flag("Whether it can be run.", default=True),
            },
            ["query_id"],
        ),
        gives=WRITTEN,
        hints=Hints(idempotent=True),
        run=_update,
    ),
    Tool(
        name="delete_approved_query",
        title="Delete an approved query",
        description="Takes an approved query away. Pending suggestions to change it are rejected.",
        takes=given({"query_id": QUERY_ID}, ["query_id"]),
        gives=DELETED,
        hints=Hints(),
        run=_delete,
    ),
)
