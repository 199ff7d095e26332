"""Tools that run, check or explain a caller's own SQL, and tell what ran."""

from typing import Final

from remit.data.desk import Desk, Result
from remit.data.queries.arguments import DATASOURCE, SQL
from remit.data.queries.execution import USUAL_ROWS
from remit.data.queries.history import (
    MOST_ENTRIES,
    MOST_HOURS,
    USUAL_ENTRIES,
    USUAL_HOURS,
    history,
)
from remit.data.queries.shapes import CHANGED, ENTRY, ROWS, entry_result, rows_result
from remit.data.queries.statements import execute, explain, run_query, validate
from remit.model.data import MOST_ROWS
from remit.servers.arguments import Arguments
from remit.servers.shapes import (
    COUNT,
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    count,
    flag,
    given,
    list_of,
    record,
)
from remit.servers.toolbox import Hints, Tool

LIMIT: Final = count("Most rows of the answer.", USUAL_ROWS, 1, MOST_ROWS)
_READING: Final = Hints(read_only=True, idempotent=True)


async def _execute(desk: Desk, arguments: Arguments) -> Result:
    rows = await execute(desk, arguments.text("sql"), datasource=arguments.find_text("datasource"))
    return {**rows_result(rows), "rows_affected": rows.rows_affected}


async def _validate(desk: Desk, arguments: Arguments) -> Result:
    error = await validate(
        desk, arguments.text("sql"), datasource=arguments.find_text("datasource")
    )
    return {"valid": not error, "error": error or None}


async def _query(desk: Desk, arguments: Arguments) -> Result:
    rows = await run_query(
        desk,
        arguments.text("sql"),
        limit=arguments.number("limit", USUAL_ROWS),
        datasource=arguments.find_text("datasource"),
    )
    return rows_result(rows)


async def _explain(desk: Desk, arguments: Arguments) -> Result:
    plan = await explain(desk, arguments.text("sql"), datasource=arguments.find_text("datasource"))
    return {"plan": list(plan.lines), "hints": list(plan.hints)}


async def _history(desk: Desk, arguments: Arguments) -> Result:
    entries = await history(
        desk,
        limit=arguments.number("limit", USUAL_ENTRIES),
        hours_back=arguments.number("hours_back", USUAL_HOURS),
        successes=not arguments.flag("include_failures"),
    )
    return {"queries": [entry_result(each) for each in entries], "count": len(entries)}


STATEMENT_TOOLS: Final[tuple[Tool[Desk], ...]] = (
    Tool(
        name="execute",
        title="Execute SQL",
        description="Runs one SQL statement at once, which may change rows and tables. It runs for"
        " 30 seconds at most, and only where the datasource is writable. Gives the number of rows"
        " that it changed, and rows where it returns some. After a change of tables call"
        " refresh_schema.",
        takes=given({"sql": SQL, "datasource": DATASOURCE}, ["sql"]),
        gives=CHANGED,
        hints=Hints(destructive=True),
        run=_execute,
    ),
    Tool(
        name="validate",
        title="Check SQL",
        description="Says whether one SQL statement would run, by having the database explain it,"
        " without running it. Definitions such as CREATE TABLE cannot be checked.",
        takes=given({"sql": SQL, "datasource": DATASOURCE}, ["sql"]),
        gives=record(valid=FLAG, error=TEXT_OR_NULL),
        hints=_READING,
        run=_validate,
    ),
    Tool(
        name="query",
        title="Query",
        description="Runs one SELECT (WITH ... SELECT included) and gives its rows, one list of"
        " values a row in the order of the columns. `truncated` says that there are more.",
        takes=given({"sql": SQL, "limit": LIMIT, "datasource": DATASOURCE}, ["sql"]),
        gives=ROWS,
        hints=_READING,
        run=_query,
    ),
    Tool(
        name="explain_query",
        title="Explain a query",
        description="Gives the database's plan of one SELECT, and hints to make it cheaper, without"
        " running it.",
        takes=given({"sql": SQL, "datasource": DATASOURCE}, ["sql"]),
        gives=record(plan=list_of(TEXT), hints=list_of(TEXT)),
        hints=_READING,
        run=_explain,
    ),
    Tool(
        name="get_query_history",
        title="Query history",
        description="Statements that ran lately, newest first, to learn from: their SQL without its"
        " text values, what they were for, the tables they used, their time and rows. Business"
        " users see their own.",
        takes=given(
            {
                "limit": count("Most entries.", USUAL_ENTRIES, 1, MOST_ENTRIES),
                "hours_back": count("How many hours back.", USUAL_HOURS, 1, MOST_HOURS),
                "include_failures": flag("Whether those that failed or were refused come, too."),
            }
        ),
        gives=record(queries=list_of(ENTRY), count=COUNT),
        hints=_READING,
        run=_history,
    ),
)
