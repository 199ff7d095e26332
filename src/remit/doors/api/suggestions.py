"""Suggestions of queries and of changes of them, and the decisions on those (S2.36, S2.39, R13)."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from remit.data.queries import decisions, suggestions
from remit.doors.api.access import ByProjectMember, ByProjectReviewer, Reason
from remit.doors.api.camel import CamelShape
from remit.doors.api.data_desk import LONGEST_NAMED, desk_of, seeing
from remit.doors.api.envelope import PROJECTS, Envelope
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.doors.api.preconditions import IfSeen
from remit.doors.api.queries import QueryId, answered, place_of
from remit.doors.api.query_shapes import QueryShape, Rejection
from remit.model.data import QueryStatus

router = APIRouter(prefix=f"{PROJECTS}/{{tenant}}/queries", tags=["queries"])


class SuggestionShape(CamelShape):
    """A suggestion, with what it would change."""

    query: QueryShape
    original: QueryShape | None = Field(description="Null for a new query, or where it is gone.")
    is_outdated: bool = Field(description="Whether the original was changed since.")


@router.get("/pending", operation_id="queries.pending")
async def list_pending(
    by: ByProjectMember,
    datasource: Annotated[
        str | None, Query(max_length=LONGEST_NAMED, description="Name or id; all if none.")
    ] = None,
    *,
    rejected: Annotated[bool, Query(description="Those that were rejected, instead.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Envelope[Page[SuggestionShape]]:
    """Show what waits for a decision, oldest first; to a business user, what it suggested."""
    found = await suggestions.list_suggestions(
        desk_of(by, "list_query_suggestions"),
        status=QueryStatus.REJECTED if rejected else QueryStatus.PENDING,
        datasource=datasource,
    )
    page = cut(found, lambda each: place_of(each.query), of="pending", cursor=cursor, limit=limit)
    shown = [
        SuggestionShape(
            query=QueryShape.of(each.query),
            original=None if each.original is None else QueryShape.of(each.original),
            is_outdated=each.is_outdated,
        )
        for each in page.items
    ]
    return Envelope(data=Page(items=shown, next=page.next))


@router.post("/{query}/approve", operation_id="queries.approve")
async def approve(
    by: ByProjectReviewer,
    query: QueryId,
    response: Response,
    *,
    if_match: IfSeen = None,
    reason: Reason = "",
) -> Envelope[QueryShape]:
    """Approve a suggestion of somebody else; what is in force now is shown.

    A new query is approved and enabled; what an update changes is merged into its original, whose
    tag `If-Match` may hold.
    """
    desk = desk_of(by, "approve_query_suggestion")
    desk = desk if if_match is None else seeing(desk, if_match)
    async with by.making(reason, id=query):
        approved = await decisions.approve(desk, query)
    return answered(approved, response)


@router.post("/{query}/reject", operation_id="queries.reject")
async def reject(
    by: ByProjectReviewer, query: QueryId, rejection: Rejection, response: Response
) -> Envelope[QueryShape]:
    """Reject a suggestion of somebody else, with a reason that its author reads."""
    desk = desk_of(by, "reject_query_suggestion")
    async with by.making("", id=query, rejection=rejection.reason):
        rejected = await decisions.reject(desk, query, rejection.reason)
    return answered(rejected, response)


@router.post("/{query}/move-to-pending", operation_id="queries.move_to_pending")
async def move_to_pending(
    by: ByProjectReviewer, query: QueryId, response: Response, reason: Reason = ""
) -> Envelope[QueryShape]:
    """Put a rejected suggestion back among those to be decided on."""
    desk = desk_of(by, "list_query_suggestions")
    async with by.making(reason, id=query):
        moved = await decisions.move_to_pending(desk, query)
    return answered(moved, response)
