"""The record: searched, exported, verified."""

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, Field
from starlette.responses import StreamingResponse

from remit.admin.audit_rows import (
    Form,
    audit_entry,
    decision_entry,
    event_entry,
    exported,
    report_entry,
)
from remit.doors.api.access import ByAdministrator
from remit.doors.api.paging import MOST, Cursor, Cut, Limit, Page, cursor_at, position
from remit.errors import NotFound
from remit.model.calls import OutcomeKind
from remit.model.decision_log import usual_rows
from remit.model.events import ENDS, AuditEvent, AuditQuery, EventKind, Looked
from remit.storage.chain import BreakKind
from remit.storage.event_ids import time_of

router = APIRouter(tags=["audit"])

_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
"""RFC 3339; pydantic would take a number for a time, too."""

LONGEST_FILTER: Final = 1000
"""Characters of what is searched for; SQLite looks for no text of more than 50,000 bytes."""

LONGEST: Final = 2.0
"""Seconds after which a search looks no further for this answer."""

AROUND: Final = 5
"""Rows of the same caller that are shown before a call, and after it."""

_KINDS: dict[Form, str] = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8"}


def _read_moment(value: object) -> object:
    if isinstance(value, str) and _MOMENT.fullmatch(value) is None:
        raise ValueError("a time is written like 2027-01-31T18:00:00Z, with its zone")
    return value


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("this time is beyond the calendar in UTC") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_read_moment), AfterValidator(_in_utc)]


class RowShape(BaseModel):
    """A call or a change, as it ended."""

    id: str = Field(description="The request id that the caller was given.")
    time: datetime
    tenant: str
    principal: str
    role: str
    member: str | None = Field(description="The acting member, where the caller named one.")
    server: str = Field(description="`/admin` for a change that somebody made.")
    tool: str
    decision: Literal["allow", "deny"]
    layer: str
    rule: str
    outcome: OutcomeKind
    code: str
    revision: int
    ms: float
    arguments: str = Field(description="JSON, redacted and cut to the cap.")
    arguments_size: int
    result_size: int
    error: str | None
    agent: str | None = Field(description="The agent that acted, for itself or by another caller.")


class RowsShape(Page[RowShape]):
    """One page of a search."""

    searched_to: datetime | None = Field(
        default=None,
        description="Older rows were not looked at yet: `next` does. Null where all were, or where"
        " the page is full.",
    )


class CallEventShape(RowShape):
    """What happened to a call: one event of it."""

    kind: EventKind = Field(
        description="`refused`; or `invoked`, `attempted` for each that failed, `finished`."
    )
    result: str | None = Field(description="JSON, redacted and cut to the cap.")


class RecordedCallShape(BaseModel):
    """A call or a change, and what its caller did around it."""

    events: list[CallEventShape] = Field(description="What happened to it, in that order.")
    before: list[RowShape] = Field(description="What its caller did before, newest first.")
    after: list[RowShape] = Field(description="What its caller did next, oldest first.")


class DecisionShape(BaseModel):
    """What an agent did or decided (`DecisionLog`)."""

    id: str
    agentId: str  # noqa: N815 - the source's spelling
    decision: str = Field(description="As `Invoked tool: mcp__mail__send`, or a title.")
    reasoning: str
    context: str | None = Field(description="JSON, redacted and cut to the cap.")
    timestamp: datetime


class BreakShape(BaseModel):
    """The first row that does not fit."""

    kind: BreakKind
    seq: int
    id: str
    number: int
    message: str


class MarkerShape(BaseModel):
    """What stands for rows that retention removed."""

    number: int
    time: datetime
    by: str = Field(description="Who removed them.")
    reason: str
    up_to: int = Field(description="The number of the last row that is gone.")
    hash: str = Field(description="Of that row.")
    removed: int = Field(description="How many rows went since the marker before.")
    signed: str = Field(description="A compact JWS that proves it.")


class ReportShape(BaseModel):
    """What looking at every row found."""

    ok: bool
    rows: int = Field(description="How many are there and hold, from the first on.")
    hash: str = Field(description="Of the last that holds; worth noting elsewhere.")
    broken: BreakShape | None
    markers: list[MarkerShape]


class Filters:
    """What a row must be like; what is not given may be anything."""

    def __init__(
        self,
        *,
        principal: Annotated[
            str | None, Query(max_length=LONGEST_FILTER, description="As `key:ci`.")
        ] = None,
        server: Annotated[str | None, Query(max_length=LONGEST_FILTER)] = None,
        tool: Annotated[str | None, Query(max_length=LONGEST_FILTER)] = None,
        decision: Annotated[Literal["allow", "deny"] | None, Query()] = None,
        outcome: Annotated[OutcomeKind | None, Query()] = None,
        code: Annotated[
            str | None, Query(max_length=LONGEST_FILTER, description="As INVALID_INPUT.")
        ] = None,
        role: Annotated[
            str | None, Query(max_length=LONGEST_FILTER, description="A role that the caller had.")
        ] = None,
        since: Annotated[Moment | None, Query(description="From it on.")] = None,
        until: Annotated[Moment | None, Query(description="Before it.")] = None,
        text: Annotated[
            str | None,
            Query(
                max_length=LONGEST_FILTER,
                description="Part of request id, tool, server, caller, member, arguments, error.",
            ),
        ] = None,
    ) -> None:
        self._given: dict[str, Any] = {
            "principal": principal,
            "server": server,
            "tool": tool,
            "decision": decision,
            "outcome": None if outcome is None else outcome.value,
            "code": code,
            "role": role,
            "text": text,
        }
        self._since, self._until = since, until

    def query(
        self, tenant: str, *, limit: int = 100, before: str | None = None, changes: bool = True
    ) -> AuditQuery:
        """Return the question that they ask of the rows of *tenant*."""
        return AuditQuery(
            tenant=tenant,
            since=self._since,
            until=self._until,
            limit=limit,
            before=before,
            changes=changes,
            **self._given,
        )


Given = Annotated[Filters, Depends()]
Changes = Annotated[bool, Query(description="Also changes, beside calls.")]


@router.get("/audit", operation_id="audit.search")
async def search(
    by: ByAdministrator,
    filters: Given,
    *,
    changes: Changes = True,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> RowsShape:
    """Show calls and changes, newest first: one row each, refused ones too.

    Looking for what no index leads to, such as a text, ends after two seconds and goes on with
    `next`.
    """
    before = position(cursor, of="audit")
    query = filters.query(by.tenant.key, limit=limit + 1, before=before, changes=changes)
    looked = await by.services.audit.look(query, longest=LONGEST)
    page = cut_looked(looked, limit, of="audit")
    return RowsShape(
        items=[RowShape.model_validate(audit_entry(event)) for event in page.items],
        next=page.next,
        searched_to=None if looked.reached is None else time_of(looked.reached),
    )


def cut_looked(looked: Looked, limit: int, *, of: str) -> Cut[AuditEvent]:
    """Return the page of a search for one row above *limit*; `next` goes on where that ended."""
    page, more = looked.events[:limit], len(looked.events) > limit
    following = page[-1].id if more else looked.reached
    return Cut(items=page, next=None if following is None else cursor_at(following, of=of))


@router.get("/audit/decisions", operation_id="audit.decisions")
async def decisions(
    by: ByAdministrator,
    agent: Annotated[str | None, Query(description="Of this agent alone.")] = None,
    limit: Annotated[
        int | None, Query(ge=1, le=MOST, description="Rows; 50 of one agent, else 100.")
    ] = None,
) -> Page[DecisionShape]:
    """Show what agents did and decided, newest first: two rows a call, one a decision."""
    most = usual_rows(agent) if limit is None else limit
    rows = await by.services.audit.decisions(by.tenant.key, agent=agent, limit=most)
    return Page(items=[DecisionShape.model_validate(decision_entry(row)) for row in rows])


@router.get("/audit/verify", operation_id="audit.verify")
async def verify(by: ByAdministrator) -> ReportShape:
    """Say whether every row is as it was written, in its place, and none is gone."""
    report = await by.services.audit.verify(by.tenant.key)
    return ReportShape.model_validate(report_entry(report))


@router.get(
    "/audit/export",
    operation_id="audit.export",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Every row that matches, newest first.",
            "content": {
                kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _KINDS.values()
            },
        }
    },
)
async def export(
    by: ByAdministrator,
    filters: Given,
    *,
    form: Annotated[Form, Query(alias="format", description="JSON Lines or CSV.")] = "jsonl",
    changes: Changes = True,
    limit: Annotated[int | None, Query(ge=1, description="Rows; all unless given.")] = None,
) -> StreamingResponse:
    """Stream every row that matches, however many there are."""
    query = filters.query(by.tenant.key, changes=changes)
    rows = exported(by.services.audit, query, form, limit=limit)
    first = await anext(rows)  # what is wrong is told before the answer begins

    async def text() -> AsyncGenerator[bytes]:
        yield first[1].encode()
        async for _, page in rows:
            yield page.encode()

    headers = {"Content-Disposition": f'attachment; filename="audit.{form}"'}
    return StreamingResponse(text(), media_type=_KINDS[form], headers=headers)


@router.get("/audit/{id}", operation_id="audit.get")
async def get(
    by: ByAdministrator,
    id_: Annotated[str, Path(alias="id", description="The request id that the caller was given.")],
) -> RecordedCallShape:
    """Show a call or a change: each attempt at it, its result, and what its caller did around it.

    A call that a server took in several rounds is several calls on record, around one another.
    """
    audit, tenant = by.services.audit, by.tenant.key
    events = await audit.events_of(tenant, id_)
    if not events:
        raise NotFound(f"there is no call or change {id_[:80]!r} on record")
    last = _last_of(events)
    whose = AuditQuery(tenant=tenant, principal=last.principal, limit=AROUND + 1)
    before = await audit.search(replace(whose, before=last.id))
    after = await audit.search(replace(whose, after=last.id))
    return RecordedCallShape.model_validate(
        {
            "events": [event_entry(event) for event in events],
            "before": _rows_of_others(before, id_),
            "after": _rows_of_others(after, id_),
        }
    )


def _last_of(events: Sequence[AuditEvent]) -> AuditEvent:
    """Return the event that searches show of a call."""
    ends = [event for event in events if event.kind in ENDS]
    return ends[-1] if ends else events[0]


def _rows_of_others(rows: Sequence[AuditEvent], call: str) -> list[dict[str, object]]:
    return [audit_entry(row) for row in rows if row.call_id != call][:AROUND]
