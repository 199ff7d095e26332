"""What the `data` server says of a failure, at the JSON door (R22, S2.45)."""

import json

import pytest

from remit.doors.execute.answers import CODES, INTERNAL, Failure, result_of
from remit.doors.execute.data_codes import CODES as DATA_CODES
from remit.model.data import DataCode


def failed(code: str, **told: object) -> bytes:
    text = json.dumps({"error": True, "code": code, **told})
    content = [{"type": "text", "text": text}]
    meta = {"remit/error": {"code": code}}
    return json.dumps({"content": content, "isError": True, "_meta": meta}).encode()


def failure(result: bytes, *, is_ours: bool = True) -> Failure:
    told = result_of(result, "r1", is_ours=is_ours)
    assert isinstance(told, Failure)
    return told


@pytest.mark.parametrize("code", list(DataCode))
def test_every_code_has_one_that_the_door_knows_and_is_told_beside_it(code: DataCode) -> None:
    told = failure(failed(code, message="no such luck", details={"parameter": "since"}))

    assert told.code in CODES | {INTERNAL, "APPROVAL_REQUIRED"}
    assert told.message == "no such luck"
    assert told.details == {
        "requestId": "r1",
        "code": code.value,
        "details": {"parameter": "since"},
    }


def test_every_code_is_in_the_table_and_nothing_else() -> None:
    assert DATA_CODES.keys() == {code.value for code in DataCode}


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("query_not_authorized", "PERMISSION_DENIED"),
        ("security_violation", "PERMISSION_DENIED"),
        ("query_not_found", "RESOURCE_NOT_FOUND"),
        ("query_not_approved", "APPROVAL_REQUIRED"),
        ("invalid_sql", "INVALID_INPUT"),
        ("service_unavailable", "TRANSIENT_ERROR"),
        ("sql_error", "INTERNAL_ERROR"),
    ],
)
def test_a_code_says_whose_turn_it_is(code: str, ours: str) -> None:
    assert failure(failed(code, message="no")).code == ours


def test_another_servers_codes_are_not_ours() -> None:
    assert failure(failed("invalid_sql", message="no"), is_ours=False).code == INTERNAL
