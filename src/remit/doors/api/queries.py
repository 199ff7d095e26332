"""Approved queries of a datasource: seen by whom they are for, managed by reviewers (S2.39)."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from remit.data.desk import Desk
from remit.data.queries import approved, checks, execution, statements
from remit.data.queries.reach import not_found
from remit.doors.api.access import ByProjectMember, ByProjectReviewer, Member, Reason
from remit.doors.api.data_desk import (
    IN_DATASOURCE,
    LONGEST_NAMED,
    DatasourceName,
    desk_of,
    seeing,
)
from remit.doors.api.envelope import Envelope
from remit.doors.api.paging import Cursor, Limit, Page, cut, place_by_age
from remit.doors.api.preconditions import IfMatch, require_match, require_tag, version_tag
from remit.doors.api.query_shapes import (
    ColumnShape,
    DeletedShape,
    Execute,
    NewQuery,
    QueryPatch,
    QueryShape,
    ResultShape,
    Statement,
    Switch,
    Trial,
    TrialShape,
    VerdictShape,
)
from remit.errors import DataFailure
from remit.model.data import DataCode, QueryStatus
from remit.model.data import Query as DataQuery

router = APIRouter(prefix=f"{IN_DATASOURCE}/queries", tags=["queries"])

QueryId = Annotated[str, Path(max_length=LONGEST_NAMED, description="Id of the query.")]
Tag = Annotated[str | None, Query(max_length=LONGEST_NAMED, description="Only those that have it.")]
Shown = Envelope[Page[QueryShape]]

_LIST: Final = "list_approved_queries"


@router.get("", operation_id="queries.list")
async def list_queries(
    by: ByProjectMember,
    datasource: DatasourceName,
    status: Annotated[QueryStatus | None, Query(description="Only those that stand there.")] = None,
    *,
    tag: Tag = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Shown:
    """Show the queries of a datasource, oldest first: approved ones and suggestions.

    A business user sees those that are approved and enabled, and what it suggested itself.
    """
    desk = desk_of(by, _LIST)
    source = await desk.datasource(datasource)
    found = await desk.stores.queries.queries(desk.tenant, status=status, datasource=source.id)
    seen = [each for each in found if is_shown(by, each) and tag in (None, *each.tags)]
    return page_of(seen, cursor=cursor, limit=limit)


@router.get("/enabled", operation_id="queries.list_enabled")
async def list_enabled(
    by: ByProjectMember,
    datasource: DatasourceName,
    tag: Tag = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Shown:
    """Show the queries of a datasource that can be run, oldest first."""
    desk = desk_of(by, _LIST)
    found = await approved.list_approved(
        desk, tags=() if tag is None else (tag,), datasource=datasource
    )
    return page_of(list(found), cursor=cursor, limit=limit)


@router.post("", operation_id="queries.create", status_code=201)
async def create_query(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    new: NewQuery,
    response: Response,
    reason: Reason = "",
) -> Envelope[QueryShape]:
    """Make an approved and enabled query, once it ran dry with the examples of its parameters."""
    desk = desk_of(by, "create_approved_query")
    async with by.making(reason, datasource=datasource, name=new.name):
        written = await approved.create(desk, new.draft(datasource))
    return answered(written.query, response)


@router.post("/test", operation_id="queries.test")
async def test_query(
    by: ByProjectReviewer, datasource: DatasourceName, trial: Trial
) -> Envelope[TrialShape]:
    """Run a statement dry, with the examples of its parameters; one that modifies is explained."""
    desk = desk_of(by, "create_approved_query")
    found = await checks.check_draft(desk, trial.draft(datasource))
    shown = TrialShape(
        dry_run_rows=found.dry_run_rows,
        output_columns=[ColumnShape.of(column) for column in found.output_columns],
        allows_modification=found.allows_modification,
    )
    return Envelope(data=shown)


@router.post("/validate", operation_id="queries.validate")
async def validate_statement(
    by: ByProjectReviewer, datasource: DatasourceName, statement: Statement
) -> Envelope[VerdictShape]:
    """Say whether a statement without parameters would run; it is prepared, and never run."""
    desk = desk_of(by, "validate")
    problem = await statements.validate(desk, statement.sql, datasource=datasource)
    return Envelope(data=VerdictShape(valid=not problem, error=problem or None))


@router.post("/validate-parameters", operation_id="queries.validate_parameters")
async def validate_parameters(
    by: ByProjectReviewer, datasource: DatasourceName, trial: Trial
) -> Envelope[VerdictShape]:
    """Say whether placeholders and parameters match, both ways, and values their types."""
    desk = desk_of(by, "validate")
    await desk.datasource(datasource)
    try:
        await checks.check_parameters(desk, trial.draft(datasource))
    except DataFailure as failure:
        if failure.code not in _OF_PARAMETERS:
            raise
        return Envelope(data=VerdictShape(valid=False, code=failure.code, error=str(failure)))
    return Envelope(data=VerdictShape(valid=True))


_OF_PARAMETERS: Final = frozenset(
    {
        DataCode.INVALID_SQL,
        DataCode.PARAMETER_VALIDATION,
        DataCode.TYPE_VALIDATION,
        DataCode.SECURITY_VIOLATION,
    }
)


@router.get("/{query}", operation_id="queries.get")
async def get_query(
    by: ByProjectMember, datasource: DatasourceName, query: QueryId, response: Response
) -> Envelope[QueryShape]:
    """Show one query."""
    found = await _query_of(desk_of(by, _LIST), datasource, query)
    if not is_shown(by, found):
        raise not_found(query)
    return answered(found, response)


@router.put("/{query}", operation_id="queries.replace")
async def replace_query(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    query: QueryId,
    whole: NewQuery,
    response: Response,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> Envelope[QueryShape]:
    """Make an approved query what is sent, once that ran dry."""
    desk = desk_of(by, "update_approved_query")
    async with by.making(reason, datasource=datasource, id=query):
        seen = await _require_seen(desk, datasource, query, if_match)
        written = await approved.update(seen, query, whole.edit())
    return answered(written.query, response)


@router.patch("/{query}", operation_id="queries.change")
async def change_query(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    query: QueryId,
    patch: QueryPatch,
    response: Response,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> Envelope[QueryShape]:
    """Change what is sent of an approved query, once the whole ran dry."""
    desk = desk_of(by, "update_approved_query")
    async with by.making(reason, datasource=datasource, id=query):
        seen = await _require_seen(desk, datasource, query, if_match)
        written = await approved.update(seen, query, patch.edit())
    return answered(written.query, response)


@router.delete("/{query}", operation_id="queries.remove")
async def remove_query(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    query: QueryId,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> Envelope[DeletedShape]:
    """Delete an approved query; pending updates of it are rejected."""
    desk = desk_of(by, "delete_approved_query")
    async with by.making(reason, datasource=datasource, id=query):
        seen = await _require_seen(desk, datasource, query, if_match)
        deleted = await approved.delete(seen, query)
    return Envelope(data=DeletedShape(id=query, rejected_updates=deleted.rejected))


@router.put("/{query}/enabled", operation_id="queries.enable")
async def enable_query(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    query: QueryId,
    switch: Switch,
    response: Response,
    *,
    reason: Reason = "",
) -> Envelope[QueryShape]:
    """Let an approved query be run, or not."""
    desk = desk_of(by, "update_approved_query")
    async with by.making(reason, datasource=datasource, id=query, enabled=switch.is_enabled):
        await _query_of(desk, datasource, query)
        changed = await approved.set_enabled(desk, query, is_enabled=switch.is_enabled)
    return answered(changed, response)


@router.post("/{query}/execute", operation_id="queries.execute")
async def execute_query(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    query: QueryId,
    asked: Execute,
    reason: Reason = "",
) -> Envelope[ResultShape]:
    """Run an approved query; it is among the executions, with source `api`."""
    desk = desk_of(by, "execute_approved_query")
    async with by.making(reason, datasource=datasource, id=query):
        await _query_of(desk, datasource, query)
        ran = await execution.execute_approved(desk, query, asked.parameters, limit=asked.limit)
    return Envelope(data=ResultShape.of(ran))


def is_shown(by: Member, query: DataQuery) -> bool:
    """Whether the caller may see a query: reviewers and auditors see every one."""
    is_ready = query.status is QueryStatus.APPROVED and query.is_enabled
    return by.sees_all or is_ready or query.suggested_by == by.principal.subject


def place_of(query: DataQuery) -> str:
    """Return the place of a query in a list."""
    return place_by_age(query.created, query.id)


def page_of(queries: list[DataQuery], *, cursor: str | None, limit: int) -> Shown:
    """Show a page of queries, oldest first."""
    page = cut(queries, place_of, of="queries", cursor=cursor, limit=limit)
    return Envelope(data=Page(items=[QueryShape.of(each) for each in page.items], next=page.next))


def answered(query: DataQuery, response: Response) -> Envelope[QueryShape]:
    """Show a query, with its tag."""
    response.headers["ETag"] = version_tag(query.version)
    return Envelope(data=QueryShape.of(query))


async def _query_of(desk: Desk, datasource: str, query_id: str) -> DataQuery:
    """Return a query, or a suggestion, of that datasource.

    Raises:
        DataFailure: `no_datasource` or `query_not_found`.
    """
    source = await desk.datasource(datasource)
    found = await desk.stores.queries.find_query(desk.tenant, query_id)
    if found is None or found.datasource != source.id:
        raise not_found(query_id)
    return found


async def _require_seen(desk: Desk, datasource: str, query_id: str, if_match: str | None) -> Desk:
    """Return the desk of a caller that changes a query with the present state of it in view.

    Raises:
        RemitError: There is none, or the caller has seen another state (412), or none (428).
    """
    tags = require_tag(if_match)
    found = await _query_of(desk, datasource, query_id)
    require_match(tags, version_tag(found.version))
    return seeing(desk, tags)
