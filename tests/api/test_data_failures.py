"""One table from what the `data` server fails at to HTTP (S2.45)."""

import pytest

from remit.doors.api.data_failures import OTHERWISE, STATUSES, status_of
from remit.doors.api.envelope import refusal_members
from remit.doors.api.problems import problem_of
from remit.errors import DataFailure
from remit.model.data import DataCode

PATH = "/api/projects/default/queries/pending"

OF_THE_REQUEST = {
    "authentication_required": 401,
    "query_not_authorized": 403,
    "query_access_denied": 403,
    "invalid_state": 409,
    "resource_conflict": 409,
    "precedence_blocked": 409,
    "query_not_approved": 409,
    "approval_failed": 409,
    "rejection_failed": 409,
    "service_unavailable": 503,
    "not_found": 404,
    "no_datasource": 404,
}


@pytest.mark.parametrize("code", DataCode)
def test_every_code_has_one_status_and_is_the_word_of_the_refusal(code: DataCode) -> None:
    failure = DataFailure(code, "it cannot be done; do another thing", details={"table": "t"})
    missing = code.value.endswith("_not_found")
    expected = OF_THE_REQUEST.get(code, 404 if missing else OTHERWISE)

    document, headers = problem_of(failure)

    assert (status_of(failure), document.status) == (expected, expected)
    assert (document.code, document.detail) == (code, "it cannot be done; do another thing")
    assert refusal_members(PATH, document.status, document.detail, failure) == {
        "success": False,
        "error": code,
        "message": document.detail,
        "details": {"table": "t"},
    }
    assert (b"www-authenticate" in dict(headers)) == (expected in {401, 403})


def test_the_table_names_no_code_that_is_answered_so_anyway() -> None:
    assert OTHERWISE not in STATUSES.values()
