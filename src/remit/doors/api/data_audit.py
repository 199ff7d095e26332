"""The record of a project's data, from what is stored anyway (S2.38, S2.46, S2.48).

    query-executions     what ran and what was refused        executions
    query-approvals      decisions on suggestions             the audit
    ontology-changes     who changed what something means     the audit
    schema-changes       what was found to differ             pending changes
    mcp-events           every call of a tool                 the audit

What a tool did and what the API did stand beside one another.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Response

from remit.admin.edits import set_retention
from remit.admin.toolset_config import data_server_of
from remit.doors.api.access import (
    Administrator,
    ByProjectAdministrator,
    ByProjectReviewer,
    Caller,
    Reason,
    Reviewer,
)
from remit.doors.api.audit import LONGEST, Moment, cut_looked
from remit.doors.api.audit_shapes import (
    ChangeShape,
    EventShape,
    ExecutionShape,
    RetentionShape,
    SummaryShape,
)
from remit.doors.api.data_desk import LONGEST_NAMED, desk_of
from remit.doors.api.envelope import PROJECTS, Envelope
from remit.doors.api.paging import Cursor, Limit, Page, cursor_at, cut, position
from remit.doors.api.preconditions import IfMatch, of_seen, section_tag
from remit.model.data import QueryStatus
from remit.model.events import ADMINISTRATION, AuditQuery
from remit.model.ontology import ChangeStatus, PendingChange

router = APIRouter(prefix=f"{PROJECTS}/{{tenant}}/audit", tags=["data audit"])

MOST_COUNTED: Final = 10_000
"""Executions that a summary looks at."""

USUAL_TIME: Final = timedelta(days=1)
"""What a summary is of, where nobody says."""

APPROVALS: Final = (
    "approve_query_suggestion",
    "reject_query_suggestion",
    "queries.approve",
    "queries.reject",
    "queries.move_to_pending",
)
"""Tools and operations that decide on suggestions."""

_SECTION: Final = "audit"
_ITEMS: Final = ("column", "entity", "glossary_term", "project_knowledge", "relationship")
_DELETED: Final = ("column_metadata", *_ITEMS[1:])
_KINDS: Final = ("entities", "columns", "relationships", "glossary", "facts")
_ANSWERS: Final = ("resolve", "skip", "escalate", "dismiss")

ONTOLOGY: Final = (
    *(f"update_{noun}" for noun in _ITEMS),
    *(f"delete_{noun}" for noun in _DELETED),
    *(f"{verb}_ontology_question" for verb in _ANSWERS),
    "approve_change",
    "reject_change",
    "approve_all_changes",
    *(f"{kind}.{verb}" for kind in _KINDS for verb in ("put", "remove")),
    *(f"questions.{verb}" for verb in _ANSWERS),
    *(f"data_changes.{verb}" for verb in ("approve", "reject", "approve_all")),
)
"""Tools and operations that change what something means."""

User = Annotated[
    str | None, Query(max_length=LONGEST_NAMED, description="In SUBJECT spelling, as `user:ann`.")
]
Since = Annotated[Moment | None, Query(description="From it on.")]
Until = Annotated[Moment | None, Query(description="Before it.")]
Datasource = Annotated[
    str | None, Query(max_length=LONGEST_NAMED, description="Name or id; all if none.")
]


class Wanted:
    """What an entry must be like, and which page of them is meant."""

    def __init__(
        self,
        *,
        user: User = None,
        since: Since = None,
        until: Until = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> None:
        self.user = user
        self.since, self.until = since, until
        self.limit, self.cursor = limit, cursor


Asked = Annotated[Wanted, Depends()]


@router.get("/query-executions", operation_id="data_audit.executions")
async def executions(
    by: ByProjectReviewer,
    asked: Asked,
    query: Annotated[
        str | None, Query(max_length=LONGEST_NAMED, description="Id of an approved query.")
    ] = None,
    datasource: Datasource = None,
) -> Envelope[Page[ExecutionShape]]:
    """Show what ran and what was refused, by tools and by the API, newest first."""
    desk = desk_of(by, "get_query_history")
    source = None if datasource is None else (await desk.datasource(datasource)).id
    found = await desk.stores.executions.executions(
        desk.tenant,
        since=asked.since,
        until=asked.until,
        user=asked.user,
        query=query,
        datasource=source,
        before=position(asked.cursor, of="executions"),
        limit=asked.limit + 1,
    )
    page, more = found[: asked.limit], len(found) > asked.limit
    shown = [ExecutionShape.of(each) for each in page]
    return Envelope(
        data=Page(items=shown, next=cursor_at(page[-1].id, of="executions") if more else None)
    )


@router.get("/query-approvals", operation_id="data_audit.approvals")
async def approvals(by: ByProjectReviewer, asked: Asked) -> Envelope[Page[EventShape]]:
    """Show decisions on suggested queries, attempts that were refused too, newest first."""
    return await _events(by, asked, APPROVALS, of="approvals")


@router.get("/ontology-changes", operation_id="data_audit.ontology_changes")
async def ontology_changes(by: ByProjectReviewer, asked: Asked) -> Envelope[Page[EventShape]]:
    """Show who changed what something means, newest first."""
    return await _events(by, asked, ONTOLOGY, of="ontology")


@router.get("/mcp-events", operation_id="data_audit.mcp_events")
async def mcp_events(
    by: ByProjectAdministrator,
    asked: Asked,
    tool: Annotated[str | None, Query(max_length=LONGEST_NAMED)] = None,
) -> Envelope[Page[EventShape]]:
    """Show every call of a tool of the `data` server, refused ones too, newest first."""
    tools = () if tool is None else (tool,)
    return await _events(by, asked, tools, of="mcp", with_changes=False)


@router.get("/schema-changes", operation_id="data_audit.schema_changes")
async def schema_changes(
    by: ByProjectReviewer,
    asked: Asked,
    status: Annotated[ChangeStatus | None, Query()] = None,
    datasource: Datasource = None,
) -> Envelope[Page[ChangeShape]]:
    """Show what databases were found to hold that was not known, newest first.

    `user` is who decided on it.
    """
    found = [
        change
        for change in await _changes(by, datasource, status)
        if asked.user in (None, change.decided_by)
        and (asked.since is None or change.created >= asked.since)
        and (asked.until is None or change.created < asked.until)
    ]
    page = cut(found, _newest_first, of="schema-changes", cursor=asked.cursor, limit=asked.limit)
    shown = [ChangeShape.of(change) for change in page.items]
    return Envelope(data=Page(items=shown, next=page.next))


@router.get("/summary", operation_id="data_audit.summary")
async def summary(
    by: ByProjectReviewer, since: Since = None, until: Until = None
) -> Envelope[SummaryShape]:
    """Show what happened, in numbers: in the last day, if nobody says since when."""
    desk = desk_of(by, "get_query_history")
    end = until or desk.clock()
    begin = since or _before(end)
    ran = await desk.stores.executions.executions(
        desk.tenant, since=begin, until=end, limit=MOST_COUNTED + 1
    )
    counted = ran[:MOST_COUNTED]
    waiting = await desk.stores.queries.queries(desk.tenant, status=QueryStatus.PENDING)
    shown = SummaryShape(
        since=begin,
        until=end,
        executions=len(counted),
        failed=sum(bool(each.code) for each in counted),
        modifying=sum(each.is_modifying for each in counted),
        flagged=sum(bool(each.flags) for each in counted),
        rows=sum(each.row_count for each in counted),
        users=Counter(each.user for each in counted),
        codes=Counter(each.code for each in counted if each.code),
        is_partial=len(ran) > MOST_COUNTED,
        pending_queries=len(waiting),
        pending_changes=len(await _changes(by, None, ChangeStatus.PENDING)),
    )
    return Envelope(data=shown)


@router.get("/retention", operation_id="data_audit.retention")
async def get_retention(by: ByProjectAdministrator, response: Response) -> Envelope[RetentionShape]:
    """Show how long the record of the project is kept."""
    return _retention(by, response)


@router.put("/retention", operation_id="data_audit.retain")
async def set_how_long(
    by: ByProjectAdministrator,
    bounds: RetentionShape,
    response: Response,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> Envelope[RetentionShape]:
    """Say how long the record is kept, as a revision of the declaration; null for no bound.

    With `If-Match` only while `audit` is declared as it was read.
    """
    why = reason or f"retention: {bounds.days or 'any'} days, {bounds.rows or 'any'} rows"
    async with by.making(why, **bounds.model_dump()) as progress:
        edited = await by.services.editor.write(
            by.tenant.key,
            of_seen(set_retention(days=bounds.days, rows=bounds.rows), _SECTION, if_match),
            author=by.principal.subject,
            reason=by.reason(why),
        )
        progress.revision = edited.number
    return _retention(by, response)


def _retention(by: Administrator, response: Response) -> Envelope[RetentionShape]:
    declared = by.tenant.policy.declaration
    response.headers["ETag"] = section_tag(declared.document, _SECTION)
    return Envelope(data=RetentionShape.of(declared.audit.retention))


async def _events(
    by: Caller, asked: Wanted, tools: Sequence[str], *, of: str, with_changes: bool = True
) -> Envelope[Page[EventShape]]:
    """Show a page of the audit: calls of *tools*, or of any, and changes by the API."""
    server = data_server_of(by.tenant.policy.declaration)
    looked = await by.services.audit.look(
        AuditQuery(
            tenant=by.tenant.key,
            principal=asked.user,
            servers=(server, ADMINISTRATION) if with_changes else (server,),
            tools=tuple(tools),
            since=asked.since,
            until=asked.until,
            before=position(asked.cursor, of=of),
            limit=asked.limit + 1,
        ),
        longest=LONGEST,
    )
    page = cut_looked(looked, asked.limit, of=of)
    return Envelope(data=Page(items=list(map(EventShape.of, page.items)), next=page.next))


async def _changes(
    by: Reviewer, datasource: str | None, status: ChangeStatus | None
) -> list[PendingChange]:
    desk = desk_of(by, "list_pending_changes")
    if datasource is None:
        sources = await desk.stores.datasources.all_datasources(desk.tenant)
    else:
        sources = [await desk.datasource(datasource)]
    ontology = desk.stores.ontology
    return [
        change
        for source in sources
        for change in await ontology.changes(desk.tenant, source.id, status=status)
    ]


def _newest_first(change: PendingChange) -> str:
    """Return what sorts changes by their age, backwards."""
    age = _LAST - change.created.astimezone(UTC)
    return f"{age // timedelta(microseconds=1):020} {change.id}"


_LAST: Final = datetime.max.replace(tzinfo=UTC)


def _before(moment: datetime) -> datetime:
    """Return a day earlier, or the beginning of the calendar."""
    try:
        return moment - USUAL_TIME
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
