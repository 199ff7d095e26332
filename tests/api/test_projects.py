"""The configuration API of a project, in the shapes that clients know (S2.13-S2.26, R33)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.api.operations import PROJECT
from tests.api.worlds import Api

from remit.client.transport import TRUSTS_NOBODY
from remit.policy.toolsets import LOADOUTS

CONFIG = f"{PROJECT}/config"
KEY = f"{PROJECT}/agent-key"
ALL_ON = {
    "allowOntologyMaintenance": True,
    "addQueryTools": True,
    "addOntologyMaintenance": True,
}

pytestmark = pytest.mark.timeout(120)


def _data(api: Api, method: str, path: str, **more: Any) -> dict[str, Any]:
    reply = api.send(method, path, **more)
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/json"
    body = reply.json()
    assert body == {"success": True, "data": body["data"]}
    return body["data"]


def _refusal(api: Api, method: str, path: str, **more: Any) -> dict[str, Any]:
    reply = api.send(method, path, **more)
    body = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert (body["success"], body["status"]) == (False, reply.status_code)
    assert body["message"] == body["detail"]
    return body


@pytest.fixture
def project(api: Api) -> Iterator[Api]:
    """Give a project with every option on, and leave it so."""
    _data(api, "PATCH", CONFIG, body=ALL_ON)
    yield api
    _data(api, "PATCH", CONFIG, body=ALL_ON)


def test_the_answer_has_the_shape_of_the_source(project: Api) -> None:
    # S2.9, S2.14, S2.15, R33
    data = _data(project, "GET", CONFIG)

    lists = {"userTools": 42, "developerTools": 49, "agentTools": 3, "enabledTools": 49}
    assert set(data) == {"serverUrl", "toolGroups", *lists}
    assert {name: len(data[name]) for name in lists} == lists
    assert [one["name"] for one in data["developerTools"]] == list(LOADOUTS)
    assert all(set(one) == {"name", "description"} for name in lists for one in data[name])
    assert data["toolGroups"] == {
        "user": {"allowOntologyMaintenance": True},
        "developer": {"addQueryTools": True, "addOntologyMaintenance": True},
        "agent_tools": {},
    }
    assert data["serverUrl"].startswith(f"{project.base}/mcp/")
    assert data["serverUrl"].endswith("/data")


def test_what_is_not_sent_is_not_false(project: Api) -> None:
    # S2.13
    data = _data(project, "PATCH", CONFIG, body={"addQueryTools": False})
    assert data["toolGroups"]["developer"] == {
        "addQueryTools": False,
        "addOntologyMaintenance": True,
    }

    body = {"addOntologyMaintenance": False, "addQueryTools": None}
    data = _data(project, "PATCH", CONFIG, body=body)

    assert data["toolGroups"]["developer"] == {
        "addQueryTools": False,
        "addOntologyMaintenance": False,
    }
    assert data["toolGroups"]["user"] == {"allowOntologyMaintenance": True}
    assert data == _data(project, "GET", CONFIG)


def test_an_empty_change_is_no_revision_and_neither_is_one_that_changes_nothing(
    project: Api,
) -> None:
    before = project.get("/revisions")["items"][0]

    for body in ({}, {"addQueryTools": None}, ALL_ON):
        _data(project, "PATCH", CONFIG, body=body)

    assert project.get("/revisions")["items"][0] == before


def test_a_change_is_a_revision_with_author_and_reason_and_on_record(project: Api) -> None:
    why = f"because-{uuid4()}"
    _data(project, "PATCH", CONFIG, body={"addQueryTools": False}, params={"reason": why})

    latest = project.get("/revisions")["items"][0]
    assert (latest["author"], latest["reason"]) == ("key:admin", why)
    row = project.get("/audit", params={"text": why})["items"][0]
    assert (row["principal"], row["tool"]) == ("key:admin", "projects.configure")
    assert (row["outcome"], row["revision"]) == ("ok", latest["number"])

    _data(project, "PATCH", CONFIG, body={"addQueryTools": True})
    told = project.get("/revisions")["items"][0]["reason"]
    assert told == "toolsets: addQueryTools on"


@pytest.mark.parametrize(
    "body",
    [
        {"addQueryTools": "false"},
        {"addQueryTools": 0},
        {"addQueryTool": False},
        {"toolGroups": {"developer": {"addQueryTools": "no"}}},
        {"toolGroups": {"developer": {"add": False}}},
        {"toolGroups": []},
        [],
        "false",
    ],
    ids=["text", "number", "typo", "group text", "group typo", "no map", "list", "word"],
)
def test_a_malformed_change_is_refused_whole(project: Api, body: Any) -> None:
    before = _data(project, "GET", CONFIG)

    refusal = _refusal(project, "PATCH", CONFIG, body=body)

    assert (refusal["status"], refusal["error"]) == (422, "invalid_parameters")
    assert _data(project, "GET", CONFIG) == before


def test_older_clients_send_groups_and_an_unknown_one_has_its_own_word(project: Api) -> None:
    # S2.4, S2.15
    groups: dict[str, Any] = {
        "user": {"allowOntologyMaintenance": False, "enabled": False, "customTools": []}
    }
    data = _data(project, "PATCH", CONFIG, body={"toolGroups": groups})
    assert len(data["userTools"]) == 20

    refusal = _refusal(project, "PATCH", CONFIG, body={"toolGroups": {"approved_queries": {}}})

    assert (refusal["status"], refusal["error"]) == (422, "unknown_tool_group")


def test_of_changes_at_the_same_time_none_is_lost(project: Api) -> None:
    with ThreadPoolExecutor(len(ALL_ON)) as pool:
        sent = [
            pool.submit(_data, project, "PATCH", CONFIG, body={option: False}) for option in ALL_ON
        ]
        for one in sent:
            one.result()

    groups = _data(project, "GET", CONFIG)["toolGroups"]
    assert {name: on for options in groups.values() for name, on in options.items()} == (
        dict.fromkeys(ALL_ON, False)
    )


def test_administering_a_project_gives_no_tool(project: Api) -> None:
    # R12
    assert project.get("/me/tools")["items"] == []


def test_a_refusal_says_so_in_both_languages(api: Api) -> None:
    refusal = _refusal(api, "GET", CONFIG, by="nobody")
    assert (refusal["status"], refusal["error"]) == (401, "invalid_token")
    refusal = _refusal(api, "PATCH", CONFIG, by="user", body=ALL_ON)
    assert (refusal["status"], refusal["error"]) == (403, "insufficient_scope")
    for path in ("/api/projects/nobody/mcp/config", f"{PROJECT}/nothing"):
        refusal = _refusal(api, "GET", path)
        assert (refusal["status"], refusal["error"]) == (404, "not_found")
    assert "success" not in api.send("GET", "/nothing").json()


def test_a_key_is_shown_once_and_masked_afterwards(api: Api) -> None:
    # R33, S2.26
    made = _data(api, "POST", f"{KEY}/regenerate")
    text = made["key"]
    key_id = text.split("_")[1]
    assert (made["masked"], made["name"]) == (False, "agent-key")
    assert made["serverUrl"] == _data(api, "GET", CONFIG)["serverUrl"]

    shown = api.send("GET", KEY)

    assert shown.json()["data"]["key"] == f"rmt_{key_id}_****"
    assert shown.json()["data"]["masked"] is True
    assert text.removeprefix(f"rmt_{key_id}_") not in shown.text
    refusal = _refusal(api, "GET", KEY, params={"reveal": "true"})
    assert (refusal["status"], refusal["error"]) == (409, "key_not_recoverable")
    assert _data(api, "GET", KEY, params={"reveal": "false"})["masked"] is True
    assert text not in api.send("GET", "/audit", params={"limit": "1000"}).text


def _holds(api: Api, key: str) -> bool:
    reply = api.send("GET", "/me", by="nobody", headers={"X-API-Key": key})
    assert reply.status_code in (200, 401)
    return reply.status_code == 200


def test_a_regenerated_key_ends_the_one_before_at_once_and_a_revoked_one_is_gone(
    api: Api,
) -> None:
    # S2.24, S2.26
    first = _data(api, "POST", f"{KEY}/regenerate")["key"]
    assert _holds(api, first)
    second = _data(api, "POST", f"{KEY}/regenerate", params={"reason": "rotation"})["key"]
    assert (_holds(api, first), _holds(api, second)) == (False, True)
    assert api.get("/audit", params={"text": "rotation"})["items"][0]["outcome"] == "ok"

    revoked = _data(api, "DELETE", KEY)

    assert (revoked["key"], revoked["masked"]) == (None, True)
    assert not _holds(api, second)
    assert _refusal(api, "DELETE", KEY)["error"] == "not_found"


def test_looking_makes_no_key(api: Api) -> None:
    # R33
    _data(api, "POST", f"{KEY}/regenerate")
    _data(api, "DELETE", KEY)
    before = [one["id"] for one in api.get("/keys")["items"]]

    assert _data(api, "GET", KEY)["key"] is None

    assert [one["id"] for one in api.get("/keys")["items"]] == before


def test_a_disabled_user_is_refused_at_every_door_at_once_and_let_in_again(api: Api) -> None:
    # R17
    doors = ("/me", "/me/tools")
    mcp = f"{api.base}/mcp"
    assert [api.send("GET", door, by="user").status_code for door in doors] == [200, 200]

    api.send("POST", "/users/ann/disable")
    try:
        for door in (*doors, CONFIG):
            assert api.send("GET", door, by="user").status_code == 401
        for path in (mcp, f"{mcp}/tools"):
            assert _posted(api, path) == 401
    finally:
        api.send("POST", "/users/ann/enable")

    assert [api.send("GET", door, by="user").status_code for door in doors] == [200, 200]
    assert _posted(api, mcp) != 401


def _posted(api: Api, url: str) -> int:
    headers = {"Authorization": f"Bearer {api.credentials['user']}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return httpx2.post(
        url, json=body, headers=headers, timeout=30, verify=TRUSTS_NOBODY
    ).status_code
