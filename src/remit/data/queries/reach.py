"""Which queries a caller reaches, and who may do what with them (R13, S2.28)."""

from remit.data.desk import Desk
from remit.errors import DataFailure
from remit.model.data import DataCode, Query, QueryStatus
from remit.policy.toolsets import Audience


def may_reach(desk: Desk, query_id: str) -> bool:
    """Whether the caller's key opens a query; most keys open every one (S2.28)."""
    limits = desk.principal.queries
    return not limits or query_id in limits


async def reach_approved(desk: Desk, query_id: str) -> Query:
    """Return an approved query, enabled or not.

    Raises:
        DataFailure: `query_access_denied`, `query_not_found` or `query_not_approved`.
    """
    if not may_reach(desk, query_id):
        raise DataFailure(
            DataCode.QUERY_ACCESS_DENIED,
            f"this key does not open query {query_id[:80]!r}; list_approved_queries names those"
            " that it opens",
        )
    found = await desk.stores.queries.find_query(desk.tenant, query_id)
    if found is None:
        raise not_found(query_id)
    if found.status is not QueryStatus.APPROVED:
        raise DataFailure(
            DataCode.QUERY_NOT_APPROVED,
            f"query {query_id!r} is {found.status.value}, and not approved",
        )
    return found


async def reach_suggestion(desk: Desk, suggestion_id: str) -> Query:
    """Return what was suggested, decided on or not; others' only to those who may decide.

    Raises:
        DataFailure: `query_not_found`.
    """
    found = await desk.stores.queries.find_query(desk.tenant, suggestion_id, deleted=True)
    if found is None or not (desk.decides or found.suggested_by == desk.user):
        raise not_found(suggestion_id)
    return found


def require_suggesting(desk: Desk) -> None:
    """Let those suggest queries who are no service keys.

    Raises:
        DataFailure: `query_not_authorized`.
    """
    if desk.audience is Audience.SERVICE:
        raise DataFailure(
            DataCode.QUERY_NOT_AUTHORIZED, "a service key runs approved queries and suggests none"
        )


def require_deciding(desk: Desk) -> None:
    """Let only those pass who may decide on queries.

    Raises:
        DataFailure: `query_not_authorized`.
    """
    if not desk.decides:
        raise DataFailure(
            DataCode.QUERY_NOT_AUTHORIZED,
            "this is for those with the role admin, data or developer; suggest what you need and"
            " one of them decides",
        )


def not_found(query_id: str) -> DataFailure:
    """Return the refusal of a query that there is not."""
    return DataFailure(DataCode.QUERY_NOT_FOUND, f"there is no query {query_id[:80]!r}")
