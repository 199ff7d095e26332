"""One table from the codes of the `data` server to those of the JSON door (R22, S2.45)."""

from collections.abc import Mapping
from typing import Final

from remit.model.data import DataCode

_DENIED: Final = (
    DataCode.AUTHENTICATION_REQUIRED,
    DataCode.QUERY_NOT_AUTHORIZED,
    DataCode.QUERY_ACCESS_DENIED,
    DataCode.SECURITY_VIOLATION,
    DataCode.TABLE_NOT_SELECTED,
)
_ABSENT: Final = (
    DataCode.NOT_FOUND,
    DataCode.NO_DATASOURCE,
    DataCode.QUERY_NOT_FOUND,
    DataCode.ENTITY_NOT_FOUND,
    DataCode.COLUMN_NOT_FOUND,
    DataCode.TABLE_NOT_FOUND,
    DataCode.FACT_NOT_FOUND,
    DataCode.TERM_NOT_FOUND,
    DataCode.QUESTION_NOT_FOUND,
    DataCode.RELATIONSHIP_NOT_FOUND,
)

CODES: Final[Mapping[str, str]] = {
    **{code.value: "INVALID_INPUT" for code in DataCode},
    **{code.value: "PERMISSION_DENIED" for code in _DENIED},
    **{code.value: "RESOURCE_NOT_FOUND" for code in _ABSENT},
    DataCode.QUERY_NOT_APPROVED.value: "APPROVAL_REQUIRED",
    DataCode.SERVICE_UNAVAILABLE.value: "TRANSIENT_ERROR",
    DataCode.QUERY_ERROR.value: "INTERNAL_ERROR",
    DataCode.SQL_ERROR.value: "INTERNAL_ERROR",
}
"""What the caller could do better is INVALID_INPUT, a state that does not allow it included."""
