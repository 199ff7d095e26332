"""A change is a revision with author and reason, is on record, and is in force at once."""

import json
from typing import Any
from uuid import uuid4

import httpx2
from tests.api.worlds import ROLE, Api

from remit.client.transport import TRUSTS_NOBODY
from remit.doors.api.paging import cursor_at
from remit.model.events import ADMINISTRATION

ADMIN = "key:admin"


def tools_of(api: Api, by: str) -> set[str]:
    page = api.get("/me/tools", by=by)
    return {tool["tool"] for tool in page["items"]}


def events(api: Api, **filters: str) -> list[dict[str, Any]]:
    return api.get("/audit", params={"server": ADMINISTRATION, **filters})["items"]


def test_a_change_of_a_role_says_who_gains_what_is_on_record_and_counts_at_once(api: Api) -> None:
    before = api.get("/revisions")["items"][0]
    body = {"tools": {"tools": ["work", "rest"]}}
    headers = {"If-Match": api.tag(f"/roles/{ROLE}")}

    wish = api.send(
        "PATCH", f"/roles/{ROLE}", body=body, headers=headers, params={"dry_run": "true"}
    ).json()
    unchanged = api.get("/revisions")["items"][0]
    made = api.send(
        "PATCH",
        f"/roles/{ROLE}",
        body=body,
        headers=headers,
        params={"reason": "they need a rest"},
    )

    assert (wish["written"], wish["revision"]) == (False, before["number"] + 1)
    assert unchanged == before
    done = made.json()
    assert done == wish | {"written": True}
    gained = {"subject": f"role:{ROLE}", "tool": "tools/rest", "change": "gains"}
    assert gained.items() <= done["authority"][0].items()
    assert tools_of(api, "role key") == {"work", "rest"}
    latest = api.get("/revisions")["items"][0]
    assert (latest["author"], latest["reason"]) == (ADMIN, "they need a rest")
    assert made.headers["ETag"] == api.tag(f"/roles/{ROLE}") == f'"r{latest["number"]}"'
    row = events(api, tool="roles.change")[0]
    assert (row["principal"], row["outcome"], row["revision"]) == (ADMIN, "ok", latest["number"])
    assert json.loads(row["arguments"]) == {"name": ROLE, "reason": "they need a rest"}
    assert row["id"] == made.headers["x-request-id"]
    assert api.get(f"/revisions/{latest['number']}/diff")["authority"] == done["authority"]


def test_an_attempt_of_somebody_who_may_not_is_on_record_without_its_body(api: Api) -> None:
    reply = api.send("POST", "/keys", by="agent", body={"name": "mine", "admin": True})

    row = events(api, tool="keys.create", decision="deny")[0]
    assert (row["id"], row["principal"]) == (reply.json()["request_id"], "agent:w1")
    assert (row["outcome"], row["code"]) == ("none", "PERMISSION_DENIED")
    assert "mine" not in row["arguments"]


def test_a_change_that_fails_is_on_record_as_one(api: Api) -> None:
    reply = api.send("DELETE", "/keys/no-such-key")

    row = events(api, tool="keys.revoke")[0]
    assert (row["id"], row["outcome"]) == (reply.json()["request_id"], "error")
    assert (row["decision"], row["code"]) == ("allow", "RESOURCE_NOT_FOUND")


def test_a_rollback_says_again_what_a_revision_said(api: Api) -> None:
    first = api.get("/declaration", params={"revision": 1})
    made = api.send("POST", "/roles", body={"name": "passing", "allow": ["tools/*"]})
    assert made.status_code == 201

    reply = api.send("POST", "/revisions/1/rollback", params={"reason": "back"}).json()

    assert reply["written"]
    assert api.get("/declaration") == first
    assert api.send("GET", "/roles/passing").status_code == 404


def test_a_declaration_goes_out_without_its_secrets_and_comes_back_with_them(api: Api) -> None:
    entry = {
        "name": "vault",
        "command": "no-such-program",
        "enabled": False,
        "env": {"TOKEN": "hush-hush", "NAME": "${HOME}"},
    }
    assert api.send("POST", "/servers", body=entry).status_code == 201
    document = api.get("/declaration")
    shown = document["mcp_servers"]["vault"]["env"]
    assert shown["NAME"] == "${HOME}"
    assert "hush" not in json.dumps([document, api.get("/servers/vault")])

    document["roles"]["visitor"] = {"allow": ["vault/*"]}
    headers = {"If-Match": api.tag("/declaration")}
    reply = api.send("PUT", "/declaration", body=document, headers=headers)

    assert reply.status_code == 200, reply.text
    assert [change["path"] for change in reply.json()["changes"]] == ["roles.visitor"]
    stale = api.send("PUT", "/declaration", body=document, headers=headers)
    assert stale.status_code == 412
    yaml = api.send("GET", "/declaration", params={"format": "yaml"})
    assert yaml.headers["content-type"].startswith("application/yaml")
    assert "visitor:" in yaml.text
    assert "hush" not in yaml.text


def test_a_grant_is_known_by_what_it_says(api: Api) -> None:
    body = {"group": "guests", "effect": "deny", "tool": "tools/*"}
    made = api.send("POST", "/grants", body=body).json()
    name = made["name"]
    assert api.send("POST", "/grants", body=body).status_code == 409
    shown = api.get(f"/grants/{name}")
    assert (shown["subject"], shown["effect"], shown["tool"]) == (
        "group:guests",
        "deny",
        "tools/*",
    )
    assert f"group:guests + role:{ROLE}" in {one["subject"] for one in made["authority"]}
    assert api.get(f"/revisions/{made['revision']}/diff")["authority"] == made["authority"]

    ended = {**body, "until": "2026-01-01T00:00:00Z"}
    headers = {"If-Match": api.tag("/grants")}
    other = api.send("PUT", f"/grants/{name}", body=ended, headers=headers).json()["name"]

    assert other != name
    assert api.send("GET", f"/grants/{name}").status_code == 404
    assert api.get(f"/grants/{other}")["until"] == "2026-01-01T00:00:00Z"


def test_a_key_is_shown_once_and_ends_when_it_should(api: Api) -> None:
    made = api.send("POST", "/keys", body={"name": "ci", "role": ROLE, "expires": "30d"}).json()
    text = made["key"]
    assert as_key(api, text) == 200
    assert text not in api.send("GET", "/keys").text

    rotated = api.send("POST", "/keys/ci/rotate", params={"overlap": "60"}).json()
    assert (as_key(api, text), as_key(api, rotated["key"])) == (200, 200)
    states = [key["state"] for key in api.get("/keys")["items"] if key["name"] == "ci"]
    assert states == ["ending", "holds"]

    revoked = api.send("DELETE", "/keys/ci", params={"reason": "lost"}).json()
    assert revoked["state"] == "revoked"
    assert (as_key(api, text), as_key(api, rotated["key"])) == (401, 401)


def test_a_key_may_name_the_agents_that_it_acts_for(api: Api) -> None:
    # R26
    body = {"name": "acting", "role": ROLE, "act_for": ["w1"]}
    made = api.send("POST", "/keys", body=body).json()
    rotated = api.send("POST", "/keys/acting/rotate").json()
    refused = api.send("POST", "/keys", body={**body, "name": "other", "act_for": ["w9"]})

    assert made["act_for"] == rotated["act_for"] == ["w1"]
    assert api.get("/keys/acting")["act_for"] == ["w1"]
    me = httpx2.get(
        f"{api.base}/api/v1/me",
        headers={"X-API-Key": rotated["key"]},
        timeout=30,
        verify=TRUSTS_NOBODY,
    ).json()
    assert (me["subject"], me["act_for"]) == ("key:acting", ["w1"])
    assert (refused.status_code, "there is no agent 'w9'" in refused.text) == (404, True)


def test_a_disabled_user_is_refused_at_once(api: Api) -> None:
    assert api.send("GET", "/me", by="user").status_code == 200
    assert api.send("POST", "/users/ann/disable").json()["disabled"] is not None
    assert api.send("GET", "/me", by="user").status_code == 401
    assert api.send("POST", "/users/ann/enable").json()["disabled"] is None
    assert api.send("GET", "/me", by="user").status_code == 200
    assert api.send("POST", "/users/ann/enable").status_code == 409


def test_an_agent_gains_a_role_and_loses_it_again(api: Api) -> None:
    def patch(**body: object) -> None:
        headers = {"If-Match": api.tag("/agents/w1")}
        reply = api.send("PATCH", "/agents/w1", body=body, headers=headers)
        assert reply.status_code == 200, reply.text

    patch(role="idle", epic="harvest")
    assert api.get("/me", by="agent")["roles"] == ["idle"]
    patch(role=None)
    assert api.get("/me", by="agent")["roles"] == []
    assert api.get("/agents/w1")["epic"] == "harvest"


def test_an_epic_has_one_orchestrator_and_an_agent_a_session_until_it_is_taken_away(
    api: Api,
) -> None:
    """S3.31."""
    epic = str(uuid4())
    runner = {"id": str(uuid4()), "type": "ORCHESTRATOR", "epic": epic, "tmux_session": "remit:1"}
    path = f"/agents/{runner['id']}"
    assert api.send("POST", "/agents", body=runner).status_code == 201

    second = api.send("POST", "/agents", body={**runner, "id": str(uuid4())})
    headers = {"If-Match": api.tag(path)}
    odd = api.send("PATCH", path, body={"tmux_session": "a\nb"}, headers=headers)
    named = api.get(path)
    api.send("PATCH", path, body={"tmux_session": None}, headers=headers)

    assert (second.status_code, "has an orchestrator already" in second.text) == (409, True)
    assert odd.status_code == 422
    assert named["tmux_session"] == "remit:1"
    assert (api.get(path)["tmux_session"], api.get(path)["epic"]) == (None, epic)


def test_administering_grants_no_use(api: Api) -> None:
    # R12
    me = api.get("/me")

    assert me["admin"]
    assert api.get("/me/tools") == {
        "items": [],
        "next": None,
        "note": api.get("/me/tools")["note"],
    }
    assert "by policy" in api.get("/me/tools")["note"]


def test_an_administrator_asks_for_others(api: Api) -> None:
    asked = {"as": "role:idle", "tool": "tools/rest"}
    yes = api.get("/explain", params=asked)
    assert (yes["allowed"], yes["rule"], yes["available"]) == (True, "roles.idle.allow[0]", True)
    no = api.get("/explain", params={**asked, "tool": "tools/work"})
    assert (no["allowed"], no["layer"]) == (False, "ceiling")
    assert "idle" in api.get("/who-can", params={"tool": "tools__rest"})["roles"]
    seen = api.get("/tools", params={"as": "role:idle"})["items"]
    assert [(tool["name"], tool["tool"]) for tool in seen] == [("tools__rest", "rest")]
    for wrong, status in (("nobody", 422), ("role:nobody", 404), ("key:nobody", 404)):
        reply = api.send("GET", "/explain", params={**asked, "as": wrong})
        assert reply.status_code == status


def as_key(api: Api, text: str) -> int:
    return httpx2.get(
        f"{api.base}/api/v1/me", headers={"X-API-Key": text}, timeout=30, verify=TRUSTS_NOBODY
    ).status_code


def test_the_history_comes_in_pages_newest_first(api: Api) -> None:
    for name in ("p1", "p2", "p3"):
        api.send("POST", "/roles", body={"name": f"{name}-{uuid4().hex}", "tools": {}})
    whole = api.get("/revisions")["items"]
    found: list[Any] = []
    cursor: str | None = ""

    while cursor is not None:
        page = api.get("/revisions", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
        found += page["items"]
        cursor = page["next"]

    assert len(whole) >= 4
    assert found == whole
    assert [one["number"] for one in whole] == list(range(len(whole), 0, -1))
    for place in ("", "x", "9" * 10, "1" * 11):
        wrong = cursor_at(place, of="revisions")
        reply = api.send("GET", "/revisions", params={"cursor": wrong})
        assert (reply.status_code, reply.json()["code"]) == (422, "INVALID_INPUT")
