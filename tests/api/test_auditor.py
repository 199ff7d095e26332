"""An auditor reads what an administrator reads, but no secret, and changes nothing (issue 10).

`test_rules.py` asks every operation as an auditor; here is what is seen, refused and recorded.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.api.data_operations import ONTOLOGY, PROJECT, QUERIES, UNSEEN, suggested
from tests.api.worlds import ELSEWHERE, SHOP, Api

from remit.client import Client
from remit.client.transport import TRUSTS_NOBODY
from remit.doors.api.access import (
    AUDITORS_READ,
    ONLY_ADMINISTRATORS,
    ONLY_MEMBERS,
    ONLY_OPERATORS,
)
from remit.identity.development import KEY_FILE
from remit.identity.development_tokens import sign_token

pytestmark = pytest.mark.timeout(120)


def as_bearer(api: Api, credential: str, method: str, path: str, **more: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {credential}", **more.pop("headers", {})}
    return api.send(method, path, by="nobody", headers=headers, **more)


def elsewhere(api: Api) -> str:
    """Make a key of an auditor of another tenant by the API."""
    body = {"name": f"audit-{uuid4()}", "auditor": True}
    made = api.send("POST", "/keys", body=body, params={"tenant": ELSEWHERE})
    assert made.status_code == 201, made.text
    assert (made.json()["auditor"], made.json()["admin"]) == (True, False)
    return made.json()["key"]


def token(api: Api, **claims: Any) -> str:
    now = datetime.now(UTC)
    return sign_token(
        (api.folder / ".remit" / KEY_FILE).read_text(),
        subject="aude",
        claims={"tenant": "default", **claims},
        issued=now,
        expires=now + timedelta(hours=1),
    )


def test_an_auditor_knows_that_it_is_one_and_has_no_tool(api: Api) -> None:
    # R12: neither administering nor auditing grants use
    me = api.get("/me", by="auditor")

    assert (me["auditor"], me["admin"]) == (True, False)
    assert api.get("/me/tools", by="auditor")["items"] == []
    with Client(api.base, key=api.credentials["auditor"]) as client:
        assert client.list_tools() == []
    assert api.get("/me", by="administrator")["auditor"] is False


@pytest.mark.parametrize(
    "path",
    [
        *("/servers", "/servers/tools", "/roles", "/grants", "/declaration", "/revisions", "/keys"),
        *("/agents", "/users", "/tenants", "/inbox?all=true", "/audit/decisions", "/audit/verify"),
        *(f"{PROJECT}/datasources", f"{PROJECT}/mcp/config", f"{PROJECT}/mcp/agent-key"),
        *(f"{PROJECT}/audit/alerts", f"{PROJECT}/audit/retention", f"{QUERIES}?status=rejected"),
    ],
)
def test_it_reads_word_for_word_what_an_administrator_reads(api: Api, path: str) -> None:
    assert api.get(path, by="auditor") == api.get(path)


def test_it_sees_what_business_users_suggest_as_reviewers_do(api: Api) -> None:
    suggestion = suggested(api)

    for credential in (api.credentials["auditor"], token(api, isAuditor=True, user_roles=["user"])):
        assert credential is not None
        pending = as_bearer(api, credential, "GET", f"{PROJECT}/queries/pending").json()
        assert suggestion in [each["query"]["id"] for each in pending["data"]["items"]]
        found = as_bearer(api, credential, "GET", f"{QUERIES}/{suggestion}")
        assert found.status_code == 200, found.text


def test_an_attempt_at_a_change_is_refused_and_on_record(api: Api) -> None:
    name = f"k-{uuid4()}"

    reply = api.send("POST", "/keys", by="auditor", body={"name": name, "admin": True})

    assert (reply.status_code, reply.json()["detail"]) == (403, AUDITORS_READ)
    (row,) = api.get("/audit", params={"caller": "key:caller-auditor", "limit": "1"})["items"]
    assert (row["tool"], row["decision"], row["error"]) == ("keys.create", "deny", AUDITORS_READ)
    assert api.send("GET", f"/keys/{name}").status_code == 404


def test_no_other_hat_lets_an_auditor_change_anything(api: Api) -> None:
    both = token(api, isAuditor=True, user_roles=["data"])
    path = f"{ONTOLOGY}/entities/Thing {uuid4().hex[:8]}"
    change = {"body": {"description": "A thing."}, "headers": UNSEEN}

    refused = as_bearer(api, both, "PUT", path, **change)

    assert (refused.status_code, refused.json()["detail"]) == (403, AUDITORS_READ)
    assert as_bearer(api, token(api, user_roles=["data"]), "PUT", path, **change).is_success


def test_what_only_looks_but_runs_something_is_refused(api: Api) -> None:
    for path in (
        "/servers/tools/test",
        f"{QUERIES}/validate",
        f"{PROJECT}/datasources/{SHOP}/test",
    ):
        reply = api.send("POST", path, by="auditor", body={"sql": "SELECT 1"})
        assert (reply.status_code, reply.json()["detail"]) == (403, AUDITORS_READ), path
    doctor = api.send("GET", "/doctor", by="auditor")
    assert (doctor.status_code, doctor.json()["detail"]) == (403, ONLY_ADMINISTRATORS)


def test_a_secret_is_not_revealed(api: Api) -> None:
    assert api.send("POST", f"{PROJECT}/mcp/agent-key/regenerate").status_code == 200

    shown = api.get(f"{PROJECT}/mcp/agent-key", by="auditor")["data"]
    asked = api.send("GET", f"{PROJECT}/mcp/agent-key", by="auditor", params={"reveal": "true"})

    assert shown["masked"] is True
    assert asked.json()["error"] == "key_not_recoverable"


def test_one_of_the_first_tenant_reads_every_tenant_and_another_its_own(api: Api) -> None:
    other = {"tenant": ELSEWHERE}
    assert api.get("/declaration", by="auditor", params=other) == api.get(
        "/declaration", params=other
    )
    assert api.send("GET", "/keys?tenant=nowhere", by="auditor").status_code == 404

    key = elsewhere(api)
    assert as_bearer(api, key, "GET", "/declaration").status_code == 200
    for path, words in {
        "/declaration?tenant=default": ONLY_ADMINISTRATORS,
        f"{PROJECT}/datasources": ONLY_MEMBERS,
        "/keys?tenant=nowhere": ONLY_ADMINISTRATORS,
        "/tenants": ONLY_OPERATORS,
    }.items():
        reply = as_bearer(api, key, "GET", path)
        assert (reply.status_code, reply.json()["detail"]) == (403, words), path


def test_it_sees_the_state_of_servers_and_the_metrics(api: Api) -> None:
    key = {"Authorization": f"Bearer {api.credentials['auditor']}"}

    assert "servers" in httpx2.get(f"{api.base}/readyz", headers=key, verify=TRUSTS_NOBODY).json()
    assert (
        "remit_build_info"
        in httpx2.get(f"{api.base}/metrics", headers=key, verify=TRUSTS_NOBODY).text
    )
