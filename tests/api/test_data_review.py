"""Reviewing by the API: who decides on what, sees what, what is on record (S2.36, S2.39, R13)."""

from typing import Any
from uuid import uuid4

import pytest
from tests.api.data_operations import (
    AUDIT,
    ONTOLOGY,
    PROJECT,
    QUERIES,
    data,
    draft,
    new_column,
    suggested,
)
from tests.api.worlds import Api

pytestmark = pytest.mark.timeout(120)

ANALYST, BUSINESS = "user role data", "business user"


def refused(api: Api, method: str, path: str, status: int, **more: Any) -> dict[str, Any]:
    reply = api.send(method, path, **more)
    assert reply.status_code == status, reply.text
    body = reply.json()
    assert (body["success"], body["message"]) == (False, body["detail"])
    return body


def test_nobody_decides_on_a_suggestion_of_their_own_and_somebody_else_does(api: Api) -> None:
    # R13
    suggestion = suggested(api, "user role data")
    path = f"{PROJECT}/queries/{suggestion}"

    own = refused(api, "POST", f"{path}/approve", 403, by=ANALYST)
    also = refused(api, "POST", f"{path}/reject", 403, by=ANALYST, body={"reason": "mine"})
    approved = data(api, "POST", f"{path}/approve", by="user role developer")

    assert own["error"] == also["error"] == "query_not_authorized"
    assert (approved["status"], approved["reviewedBy"]) == ("approved", "user:dev")
    again = refused(api, "POST", f"{path}/approve", 409, by="user role admin")
    assert again["error"] == "invalid_state"


def test_a_business_user_sees_what_is_approved_and_its_own_suggestions_alone(api: Api) -> None:
    mine, theirs = suggested(api, BUSINESS), suggested(api, ANALYST)
    made = data(api, "POST", QUERIES, body=draft())["id"]
    off = data(api, "POST", QUERIES, body=draft())["id"]
    data(api, "PUT", f"{QUERIES}/{off}/enabled", body={"isEnabled": False})

    def seen(by: str, path: str = QUERIES) -> set[str]:
        items = data(api, "GET", path, by=by, params={"limit": 1000})["items"]
        return {(each.get("query") or each)["id"] for each in items}

    assert {mine, made} <= seen(BUSINESS)
    assert not {theirs, off} & seen(BUSINESS)
    assert {mine, theirs, made, off} <= seen(ANALYST)
    waiting = f"{PROJECT}/queries/pending"
    assert mine in seen(BUSINESS, waiting)
    assert theirs not in seen(BUSINESS, waiting)
    assert refused(api, "GET", f"{QUERIES}/{theirs}", 404, by=BUSINESS)["error"] == (
        "query_not_found"
    )


def test_a_change_that_saw_an_older_state_is_refused_and_one_that_saw_none_asked_for_it(
    api: Api,
) -> None:
    path = f"{QUERIES}/{data(api, 'POST', QUERIES, body=draft())['id']}"
    old = {"If-Match": api.tag(path)}

    first = data(api, "PATCH", path, body={"constraints": "Bern alone."}, headers=old)
    refused(api, "PATCH", path, 412, body={"constraints": "Basel."}, headers=old)
    refused(api, "DELETE", path, 412, headers=old)
    refused(api, "DELETE", path, 428)

    assert first["constraints"] == "Bern alone."
    assert data(api, "GET", path)["constraints"] == "Bern alone."


@pytest.mark.parametrize("tags", [[str(n) for n in range(51)], ["t" * 201], [""]])
def test_a_query_has_as_many_tags_and_as_long_ones_as_by_its_tools(
    api: Api, tags: list[str]
) -> None:
    most = [f"{n:0200}" for n in range(50)]

    made = data(api, "POST", QUERIES, body={**draft(), "tags": most})
    path = f"{QUERIES}/{made['id']}"
    refused(api, "POST", QUERIES, 422, body={**draft(), "tags": tags})
    refused(api, "PATCH", path, 422, body={"tags": tags}, headers={"If-Match": "*"})

    assert data(api, "GET", path)["tags"] == most


def test_a_column_has_as_many_possible_values_as_by_its_tool(api: Api) -> None:
    path = f"{ONTOLOGY}/columns/{new_column(api)}"
    values = [{"value": str(number)} for number in range(501)]

    put = data(api, "PUT", path, body={"enumValues": values[:500]}, headers={"If-Match": "*"})
    refused(api, "PUT", path, 422, body={"enumValues": values}, headers={"If-Match": "*"})

    assert len(put["enumValues"]) == 500


def test_a_statement_that_the_api_runs_or_refuses_is_kept_with_its_source(api: Api) -> None:
    # S2.38
    query = data(api, "POST", QUERIES, body=draft())["id"]
    run = f"{QUERIES}/{query}/execute"

    ran = data(api, "POST", run, by=ANALYST, body={"parameters": {"city": "Bern"}, "limit": 1})
    wrong = refused(api, "POST", run, 422, by=ANALYST, body={"parameters": {"town": "Bern"}})

    assert (ran["rowCount"], ran["truncated"], ran["rowsAffected"]) == (1, True, None)
    assert ran["parametersUsed"] == {"city": "Bern"}
    assert wrong["error"] == "parameter_validation"
    kept = data(api, "GET", f"{AUDIT}/query-executions", params={"query": query, "limit": 10})
    good = [e for e in kept["items"] if e["success"] and e["tool"] == "execute_approved_query"]
    assert [(e["source"], e["user"], e["rowCount"]) for e in good] == [("api", "user:dana", 1)]


def test_executions_are_read_page_by_page_newest_first(api: Api) -> None:
    query = data(api, "POST", QUERIES, body=draft())["id"]
    for _ in range(3):
        data(api, "POST", f"{QUERIES}/{query}/execute", body={"parameters": {"city": "Bern"}})
    path, asked = f"{AUDIT}/query-executions", {"query": query, "limit": 2, "user": "key:admin"}

    first = data(api, "GET", path, params=asked)
    second = data(api, "GET", path, params={**asked, "cursor": first["next"]})

    every = [*first["items"], *second["items"]]
    assert len({each["id"] for each in every}) == len(every) == 4
    assert every[-1]["tool"] == "create_approved_query"  # its dry run
    assert [e["started"] for e in every] == sorted((e["started"] for e in every), reverse=True)
    assert second["next"] is None


def test_decisions_are_on_record_also_attempts_at_them(api: Api) -> None:
    path = f"{PROJECT}/queries/{suggested(api)}"
    refused(api, "POST", f"{path}/approve", 403, by=BUSINESS)
    data(api, "POST", f"{path}/approve", by=ANALYST, params={"reason": "we need it"})

    def latest(user: str) -> dict[str, Any]:
        asked = {"user": user, "limit": 1}
        (row,) = data(api, "GET", f"{AUDIT}/query-approvals", params=asked)["items"]
        return row

    done, tried = latest("user:dana"), latest("user:bea")
    assert (done["operation"], done["source"], done["outcome"]) == ("queries.approve", "api", "ok")
    assert "we need it" in done["arguments"]
    assert (tried["operation"], tried["decision"]) == ("queries.approve", "deny")


def test_what_the_api_states_outweighs_what_tools_say(api: Api) -> None:
    # S2.43
    path = f"{ONTOLOGY}/entities/Thing {uuid4().hex[:8]}"

    made = data(
        api, "PUT", path, by=ANALYST, body={"aliases": ["it"]}, headers={"If-Match": '"v0"'}
    )
    refused(api, "PUT", path, 412, by=ANALYST, body={}, headers={"If-Match": '"v0"'})

    assert (made["createdSource"], made["createdBy"]) == ("manual", "user:dana")
    changes = data(api, "GET", f"{AUDIT}/ontology-changes", params={"user": "user:dana"})
    assert changes["items"][0]["operation"] == "entities.put"


def test_another_tenant_and_whom_the_rules_keep_out_reach_nothing(api: Api) -> None:
    # R8, R14
    query = data(api, "POST", QUERIES, body=draft())["id"]
    other = "/api/projects/elsewhere"

    for by in ("analyst of another tenant", "administrator of another tenant"):
        refused(api, "GET", f"{QUERIES}/{query}", 403, by=by)
        refused(api, "GET", f"{PROJECT}/queries/pending", 403, by=by)
    assert refused(api, "GET", f"{other}/datasources/shop/queries", 404)["error"] == "no_datasource"
    refused(api, "POST", f"{other}/queries/{query}/approve", 404)
    refused(api, "GET", f"{other}/queries/pending", 403, by=ANALYST)


def test_the_bounds_of_the_record_are_declared(api: Api) -> None:
    path = f"{AUDIT}/retention"

    set_to = data(api, "PUT", path, body={"days": 365, "rows": None})

    assert set_to == data(api, "GET", path) == {"days": 365, "rows": None}
    assert api.get("/declaration")["audit"]["retention_days"] == 365
    for days in (0, 365_001, 9_999_999):
        refused(api, "PUT", path, 422, body={"days": days})


def test_numbers_of_what_happened_are_of_the_time_that_is_asked_for(api: Api) -> None:
    query = data(api, "POST", QUERIES, body=draft())["id"]
    data(api, "POST", f"{QUERIES}/{query}/execute", body={"parameters": {"city": "Bern"}})

    now = data(api, "GET", f"{AUDIT}/summary")
    before = data(api, "GET", f"{AUDIT}/summary", params={"until": "2020-01-01T00:00:00Z"})

    assert now["users"]["key:admin"] >= 1
    assert now["executions"] >= now["failed"] + 1
    assert (before["executions"], before["users"], before["isPartial"]) == (0, {}, False)
