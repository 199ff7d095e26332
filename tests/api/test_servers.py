"""Servers: where they stand, tried, restarted, switched off and on."""

import time
from typing import Any

from tests.api.worlds import Api


def until(api: Api, name: str, state: str, within: float = 20) -> dict[str, Any]:
    deadline = time.monotonic() + within
    while (shown := api.get(f"/servers/{name}"))["state"] != state:
        assert time.monotonic() < deadline, shown
    return shown


def test_a_server_that_fails_says_why_and_is_tried_on_demand(api: Api) -> None:
    made = api.send("POST", "/servers", body={"name": "broken", "command": "no-such-program"})
    assert made.status_code == 201

    shown = until(api, "broken", "backing_off")

    assert "no-such-program" in shown["reason"]
    trial = api.send("POST", "/servers/broken/test").json()
    assert (trial["ok"], trial["tools"]) == (False, [])
    assert "no-such-program" in trial["reason"]


def test_a_server_is_tried_beside_what_is_connected_even_when_it_is_disabled(api: Api) -> None:
    trial = api.send("POST", "/servers/tools/test").json()
    assert (trial["ok"], trial["reason"], trial["tools"]) == (True, "", ["work", "rest"])
    assert until(api, "tools", "ready")["tools"] == 2

    api.send("POST", "/servers/tools/disable", params={"reason": "maintenance"})
    assert until(api, "tools", "stopped")["enabled"] is False
    assert api.send("POST", "/servers/tools/test").json()["ok"]
    api.send("POST", "/servers/tools/enable")

    assert until(api, "tools", "ready")["tools"] == 2


def test_a_restart_connects_anew_and_is_on_record(api: Api) -> None:
    until(api, "tools", "ready")

    reply = api.send("POST", "/servers/tools/restart", params={"reason": "it hangs"})

    assert reply.status_code == 200
    until(api, "tools", "ready")
    row = api.get("/audit", params={"tool": "servers.restart"})["items"][0]
    assert "it hangs" in row["arguments"]
    assert api.send("POST", "/servers/none/restart").status_code == 404


def test_pages_hold_every_server_once(api: Api) -> None:
    for name in ("p1", "p2", "p3"):
        body = {"name": name, "command": "no-such-program", "enabled": False}
        assert api.send("POST", "/servers", body=body).status_code == 201
    names: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("/servers", params={"limit": "2", **cursor})
        names += [server["name"] for server in page["items"]]
        assert len(page["items"]) <= 2
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}

    assert names == sorted(set(names))
    assert {"p1", "p2", "p3", "tools"} <= set(names)


def test_the_bundled_servers_are_listed_with_the_entries_that_are_them(api: Api) -> None:
    body = {"name": "repository", "builtin": "git", "enabled": False}
    assert api.send("POST", "/servers", body=body).status_code == 201

    listed = {one["name"]: one for one in api.get("/bundled-servers")["items"]}

    assert "repository" in listed["git"]["servers"]
    assert "git_status" in listed["git"]["tools"]
    assert listed["jira"]["servers"] == []
    assert all(one["description"] for one in listed.values())
