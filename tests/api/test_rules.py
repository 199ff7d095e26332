"""For every operation of the OpenAPI document and every kind of caller: is it let in?

Generated from the document: an operation without a rule fails the build, one without an example
fails here (S2.19: changes of a project need a role; S2.39).
"""

import re
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter
from tests.api.examples import Example
from tests.api.operations import EXAMPLES
from tests.api.worlds import CALLERS, Api

from remit.client.transport import TRUSTS_NOBODY
from remit.doors.api.application import build_routes
from remit.doors.api.envelope import PROJECTS
from remit.doors.api.openapi import PREFIX, RULE

pytestmark = pytest.mark.timeout(120)

DOCUMENT: dict[str, Any] = build_routes().openapi()
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}

REVIEWERS = {"administrator", "user role admin", "user role data", "user role developer"}
LET_IN = {
    "any caller about itself": set(CALLERS) - {"nobody", "wrong key"},
    "reviewer of the tenant": REVIEWERS,
    "business user or reviewer of the tenant": REVIEWERS | {"business user"},
    "administrator of the tenant": {"administrator"},
    "administrator of the tenant, no auditor": {"administrator"},
    "administrator of the installation": {"administrator"},
}
NO_AUDITOR = {"administrator of the tenant, no auditor"}
"""Rules of what reads, but runs programs or connects to something for it."""
UNKNOWN = {"nobody", "wrong key"}


def may_audit(name: str) -> bool:
    """Whether an auditor is let in: it reads whatever there is, and does nothing else."""
    method, _, operation = OPERATIONS[name]
    return method == "GET" and operation[RULE] not in NO_AUDITOR


@pytest.mark.parametrize("by", CALLERS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_lets_in_whom_its_rule_names_and_nobody_else(
    api: Api, name: str, by: str
) -> None:
    method, path, operation = OPERATIONS[name]
    is_let_in = by in LET_IN[operation[RULE]] or (by == "auditor" and may_audit(name))
    if is_let_in:
        example = EXAMPLES[name](api)
    else:  # who may not is told so whatever it asks for
        status = 401 if by in UNKNOWN else 403
        body: Any = {} if "requestBody" in operation else None
        meant = path.removeprefix(PREFIX).replace("{tenant}", "default")
        below = re.sub(r"\{.+?\}", "1", meant)
        example = Example(path=below, status=status, body=body)
    query = dict(example.query)
    if operation[RULE].startswith("administrator of the tenant"):
        query["tenant"] = "default"

    reply = api.send(
        method, example.path, by=by, body=example.body, params=query, headers=example.headers
    )

    assert reply.status_code == example.status, reply.text
    if not is_let_in:
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["status"] == example.status
        assert reply.headers["www-authenticate"].startswith("Bearer")


def test_every_operation_has_a_rule_and_an_example() -> None:
    assert {operation[RULE] for _, _, operation in OPERATIONS.values()} == set(LET_IN)
    assert set(EXAMPLES) == set(OPERATIONS)


def test_the_doctor_alone_reads_and_is_closed_to_auditors() -> None:
    # decide for a new one: what connects, starts or marks something needs `ByActingAdministrator`
    reading = {name for name, (method, _, _) in OPERATIONS.items() if method == "GET"}

    assert {name for name in reading if not may_audit(name)} == {"doctor.examine"}


def test_a_route_without_a_rule_fails_the_build() -> None:
    router = APIRouter()

    @router.get("/open", operation_id="open")
    async def open_to_all() -> str:
        return "all of it"

    with pytest.raises(TypeError, match="/open: a route has one rule"):
        build_routes([router])


def test_the_document_is_public_and_says_what_it_should(api: Api) -> None:
    reply = api.send("GET", "", by="nobody")
    assert reply.status_code == 401

    served = httpx2.get(f"{api.base}/api/openapi.json", verify=TRUSTS_NOBODY).json()

    assert served["openapi"].startswith("3.1")
    assert served == DOCUMENT
    assert all(path.startswith((f"{PREFIX}/", f"{PROJECTS}/")) for path in served["paths"])
