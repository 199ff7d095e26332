"""One table from what the `data` server fails at to HTTP (S2.45)."""

from collections.abc import Mapping
from typing import Final

from remit.errors import DataFailure
from remit.model.data import DataCode

OTHERWISE: Final = 422
"""The caller asked for what does not fit; so do all complaints of a database."""

STATUSES: Final[Mapping[DataCode, int]] = {
    DataCode.AUTHENTICATION_REQUIRED: 401,
    DataCode.QUERY_NOT_AUTHORIZED: 403,
    DataCode.QUERY_ACCESS_DENIED: 403,
    DataCode.NOT_FOUND: 404,
    DataCode.NO_DATASOURCE: 404,
    DataCode.QUERY_NOT_FOUND: 404,
    DataCode.ENTITY_NOT_FOUND: 404,
    DataCode.COLUMN_NOT_FOUND: 404,
    DataCode.TABLE_NOT_FOUND: 404,
    DataCode.FACT_NOT_FOUND: 404,
    DataCode.TERM_NOT_FOUND: 404,
    DataCode.QUESTION_NOT_FOUND: 404,
    DataCode.RELATIONSHIP_NOT_FOUND: 404,
    DataCode.INVALID_STATE: 409,
    DataCode.RESOURCE_CONFLICT: 409,
    DataCode.PRECEDENCE_BLOCKED: 409,
    DataCode.QUERY_NOT_APPROVED: 409,
    DataCode.APPROVAL_FAILED: 409,
    DataCode.REJECTION_FAILED: 409,
    DataCode.SERVICE_UNAVAILABLE: 503,
}


def status_of(failure: DataFailure) -> int:
    """Return the HTTP status of a failure."""
    return _BY_WORD.get(failure.code, OTHERWISE)


_BY_WORD: Final[Mapping[str, int]] = {code.value: status for code, status in STATUSES.items()}
