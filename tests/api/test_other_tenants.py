"""Whatever belongs to one tenant is nothing to the administrator of another, by whichever id."""

from typing import Any

import pytest
from tests.api.operations import EXAMPLES
from tests.api.test_rules import OPERATIONS
from tests.api.worlds import AGENT, ELSEWHERE, ROLE, Api

from remit.doors.api.openapi import RULE

pytestmark = pytest.mark.timeout(120)

OTHER = "administrator of another tenant"

ANY_NAME = {"users.get", "users.disable", "users.enable"}
"""Every name may be some user's, whom only the issuers know; each tenant keeps its own list."""

NAMING = sorted(
    name
    for name, (_, path, operation) in OPERATIONS.items()
    if "{" in path.replace("{tenant}", "")
    and operation[RULE] != "administrator of the installation"
    and name not in ANY_NAME
)
"""Operations on something that the path names."""


@pytest.mark.parametrize("name", NAMING)
def test_what_another_tenant_has_is_not_there(api: Api, name: str) -> None:
    method, _, _ = OPERATIONS[name]
    example = EXAMPLES[name](api)  # of the default tenant
    path = example.path.replace("/projects/default/", f"/projects/{ELSEWHERE}/")
    headers = dict(example.headers) | ({"If-Match": "*"} if "If-Match" in example.headers else {})

    reply = api.send(
        method, path, by=OTHER, body=example.body, params=dict(example.query), headers=headers
    )

    assert reply.status_code == 404, reply.text


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/explain", {"as": f"agent:{AGENT}", "tool": "tools/work"}),
        ("/explain", {"as": f"role:{ROLE}", "tool": "tools/work"}),
        ("/tools", {"as": "key:caller-role"}),
        ("/declaration", {"revision": "1"}),
    ],
    ids=str,
)
def test_nobody_of_another_tenant_is_asked_about(
    api: Api, path: str, query: dict[str, str]
) -> None:
    assert api.send("GET", path, params=query).status_code == 200
    assert api.send("GET", path, by=OTHER, params=query).status_code == 404


@pytest.mark.parametrize(
    "body", [{"agent": AGENT}, {"role": ROLE}, {"service": True, "act_for": [AGENT]}], ids=str
)
def test_no_key_of_a_tenant_is_for_somebody_of_another(api: Api, body: dict[str, Any]) -> None:
    reply = api.send("POST", "/keys", by=OTHER, body={"name": "reaching", **body})

    assert reply.status_code in {404, 422}, reply.text
    assert api.send("GET", "/keys/reaching", by=OTHER).status_code == 404


@pytest.mark.parametrize("by", [OTHER, "analyst of another tenant"])
@pytest.mark.parametrize("path", ["/audit", "/audit/decisions", "/keys", "/agents", "/inbox"])
def test_no_list_of_a_tenant_has_anything_of_another(api: Api, by: str, path: str) -> None:
    reply = api.send("GET", path, by=by, params={"limit": "1000"})

    if by != OTHER:
        assert reply.status_code == 403
        return
    rows = reply.json()["items"]
    assert {str(row.get("tenant", ELSEWHERE)) for row in rows} <= {ELSEWHERE}
    for row in rows:  # what they asked for themselves stands in their own record
        assert AGENT not in str({**row, "arguments": "", "error": ""})
    assert "caller-role" not in reply.text
