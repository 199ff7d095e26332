"""Running an approved query: parameters bound, never spliced (S2.31-S2.33, S2.37).

given ──coerced──▶ bound ──screened──▶ run
  │                          │
  └── wrong: refused         └── looks like an injection: refused, or run bound and flagged (R35)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from remit.calls.current import origin
from remit.data.apart import apart
from remit.data.desk import Desk
from remit.data.guard.parameters import bind_values
from remit.data.guard.screen import Finding, screen_values
from remit.data.kept import as_json
from remit.data.queries.reach import reach_approved
from remit.data.running import OpenSource, keep_refused, open_source, run_modifying, run_reading
from remit.errors import DataFailure, RemitError
from remit.model.data import Bound, DataCode, Query, Rows

log = structlog.get_logger(__name__)

USUAL_ROWS: Final = 100
"""Rows that a caller gets who does not say how many."""

INJECTION: Final = "injection"
"""The flag of what was run, or refused, with a value that looks like an injection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """An approved query that ran.

    Attributes:
        parameters: What was bound, as JSON, defaults included.
    """

    query: Query
    parameters: Mapping[str, object]
    rows: Rows


async def execute_approved(
    desk: Desk, query_id: str, parameters: Mapping[str, object], *, limit: int = USUAL_ROWS
) -> Executed:
    """Run an approved query.

    Args:
        desk: Who asks.
        query_id: Its id.
        parameters: Values as JSON has them, by name.
        limit: Most rows, up to 1,000; one that modifies has no such limit.

    Raises:
        DataFailure: `query_access_denied`, `query_not_found`, `query_not_approved`,
            `parameter_validation`, `type_validation`, `security_violation`, or what the database
            says.
    """
    query = await reach_approved(desk, query_id)
    if not query.is_enabled:
        raise DataFailure(
            DataCode.QUERY_NOT_APPROVED, f"query {query.name!r} is disabled, and cannot be run"
        )
    source = await open_source(desk, query.datasource)
    try:
        values = bind_values(query.parameters, parameters)
    except DataFailure as failure:
        await keep_refused(desk, source, query, values=parameters, failure=failure)
        raise
    flags = await _screen(desk, source, query, values)
    if query.allows_modification:
        rows = await run_modifying(desk, source, query.sql, query=query, values=values, flags=flags)
    else:
        rows = await run_reading(
            desk, source, query.sql, limit=limit, query=query, values=values, flags=flags
        )
    await _count(desk, query)
    shown = {name: as_json(value) for name, value in values.items()}
    return Executed(query=query, parameters=shown, rows=rows)


async def _screen(
    desk: Desk, source: OpenSource, query: Query, values: Mapping[str, Bound]
) -> tuple[str, ...]:
    """Return the flags of what is about to be run with these values.

    Raises:
        DataFailure: `security_violation`: one looks like an injection, and such are refused (R35).
    """
    finding = await apart(_characters(values), lambda: screen_values(values))
    if finding is None:
        return ()
    log.critical(
        "value looks like an injection",
        tenant=desk.tenant,
        principal=desk.user,
        address=origin(),
        query=query.id,
        parameter=finding.parameter,
        fingerprint=finding.fingerprint,
        refused=desk.screening == "refuse",
    )
    if desk.screening == "refuse":
        failure = _violation(finding)
        await keep_refused(desk, source, query, values=values, failure=failure, flags=(INJECTION,))
        raise failure
    return (INJECTION,)


def _characters(values: Mapping[str, Bound]) -> int:
    every = (each if isinstance(each, list | tuple) else (each,) for each in values.values())
    return sum(len(each) for items in every for each in items if isinstance(each, str))


def _violation(finding: Finding) -> DataFailure:
    return DataFailure(
        DataCode.SECURITY_VIOLATION,
        f"the value of {finding.parameter!r} looks like an attempt to inject SQL, and was refused",
        details={"parameter": finding.parameter, "fingerprint": finding.fingerprint},
    )


async def _count(desk: Desk, query: Query) -> None:
    """Count a use; what cannot be counted is told to the log, and turns nothing into a failure."""
    try:
        await desk.stores.queries.note_use(desk.tenant, query.id, desk.clock())
    except RemitError:
        log.exception("use of a query cannot be counted", query=query.id)
