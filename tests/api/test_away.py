"""Where a store is away nothing is changed, nothing is told of the store, and 503 is the answer."""

from typing import Any, NoReturn

import pytest
from tests.api.worlds import ROLE, Api

from remit.errors import AuditUnavailable, StorageUnavailable
from remit.storage.audit import AuditLog
from remit.storage.keys import Keys

PLACE = "/var/lib/secret/place"


def away(error: Exception) -> Any:
    async def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def test_a_database_that_is_away_is_503_without_its_place(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keys, "keys_after", away(StorageUnavailable(f"disk error at {PLACE}")))

    reply = api.send("GET", "/keys")

    assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json")
    assert reply.headers["retry-after"] == "2"
    assert PLACE not in reply.text


def test_what_cannot_be_recorded_is_not_changed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    # R29
    with monkeypatch.context() as patched:
        patched.setattr(AuditLog, "record", away(AuditUnavailable(f"disk full at {PLACE}")))
        key = api.send("POST", "/keys", body={"name": "unrecorded", "role": ROLE})
        role = api.send("POST", "/roles", body={"name": "unrecorded"})
        attempt = api.send("POST", "/keys", by="agent", body={"name": "unrecorded"})

    for reply in (key, role, attempt):
        assert reply.status_code == 503
        assert PLACE not in reply.text
    assert api.send("GET", "/keys/unrecorded").status_code == 404
    assert api.send("GET", "/roles/unrecorded").status_code == 404
