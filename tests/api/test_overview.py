"""The overview over the API: what happened is in it, and what is so now."""

from datetime import datetime, timedelta

import pytest
from tests.api.worlds import ALERTS, ROLE, Api

from remit.client import Client
from remit.errors import RemitError


def test_calls_and_denials_are_in_the_overview_as_soon_as_they_ended(api: Api) -> None:
    with Client(api.base, key=api.credentials["role key"]) as caller:
        before = api.get("/overview", params={"minutes": "5"})
        caller.call_tool("work", {}, server="tools")
        for _ in range(2):
            with pytest.raises(RemitError):
                caller.call_tool("rest", {}, server="tools")
        found = api.get("/overview", params={"minutes": "5"})

    assert found["totals"]["calls"] == before["totals"]["calls"] + 3
    assert found["totals"]["denied"] == before["totals"]["denied"] + 2
    assert found["totals"]["p50"] > 0
    assert sum(part["calls"] for part in found["parts"]) == found["totals"]["calls"]
    [server] = [each for each in found["servers"] if each["server"] == "tools"]
    assert (server["calls"] >= 1, server["p95"] > 0) == (True, True)
    assert [(slow["server"], slow["tool"]) for slow in found["slowest"]] == [("tools", "work")]
    assert "key:caller-role" in [caller["principal"] for caller in found["callers"]]
    assert sum(each["denied"] for each in found["denied"]) == found["totals"]["denied"]


def test_parts_begin_at_whole_minutes_and_cover_what_was_asked(api: Api) -> None:
    found = api.get("/overview", params={"minutes": "90"})

    since, until = (datetime.fromisoformat(found[name]) for name in ("since", "until"))
    starts = [datetime.fromisoformat(part["start"]) for part in found["parts"]]
    assert until - since == timedelta(minutes=90)
    assert found["part_minutes"] == 2
    assert starts == [since + timedelta(minutes=2 * n) for n in range(45)]
    assert (since.second, since.microsecond) == (0, 0)
    assert len(api.get("/overview")["parts"]) == 60


@pytest.mark.parametrize("minutes", ["0", "1441", "many"])
def test_more_than_a_day_and_less_than_a_minute_are_refused(api: Api, minutes: str) -> None:
    assert api.send("GET", "/overview", params={"minutes": minutes}).status_code == 422


def test_each_roles_list_costs_what_its_tools_cost(api: Api) -> None:
    lists = {each["role"]: each for each in api.get("/overview")["lists"]}

    assert list(lists) == [ROLE, "idle"]
    for name, shown in lists.items():
        tools = api.get("/tools", params={"as": f"role:{name}"})["items"]
        assert shown["tools"] == len(tools) == 1
        assert shown["tokens"] == sum(tool["tokens"] for tool in tools) > 0


def test_servers_and_what_waits_are_as_they_are_now(api: Api) -> None:
    before = api.get("/overview")
    shown = {each["name"]: each for each in before["health"]}
    tools = {"name": "tools", "state": "ready", "reason": "", "tools": 2, "in_flight": 0}
    assert shown["tools"] == tools
    assert list(shown) == ["tools", "data"]
    assert before["waiting"] == {"alerts": 100, "mail": 1, "suggestions": 0, "changes": 0}

    tenant = "/api/projects/default/audit"
    api.send("POST", f"{tenant}/alerts/{ALERTS}000/resolve", body={"note": "seen"})

    assert api.get("/overview")["waiting"]["alerts"] == 99


def test_who_does_not_administer_is_refused(api: Api) -> None:
    for by in ("role key", "user role developer", "business user"):
        assert api.send("GET", "/overview", by=by).status_code == 403


def test_another_tenant_sees_nothing_of_it(api: Api) -> None:
    found = api.get("/overview", by="administrator of another tenant")

    assert found["totals"] == {"calls": 0, "denied": 0, "errors": 0, "p50": None, "p95": None}
    assert (found["lists"], found["health"]) == ([], [])
    assert found["waiting"] == {"alerts": 0, "mail": 0, "suggestions": 0, "changes": 0}
