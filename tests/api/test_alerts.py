"""Alerts and their rules over the API, and by the commands that ask it (S2.48)."""

import json
from typing import Any

import pytest
from tests.api.operations import AUDIT
from tests.api.worlds import ALERTS, Api

from remit.testing.gateway import run_remit

pytestmark = pytest.mark.timeout(180)


def listed(api: Api, **query: str) -> dict[str, Any]:
    data: dict[str, Any] = api.get(f"{AUDIT}/alerts", params=query)["data"]
    return data


def remit(api: Api, *arguments: str) -> str:
    key = api.credentials["administrator"] or ""
    done = run_remit(
        "alerts", *arguments, "--url", api.base, folder=api.folder, environ={"REMIT_KEY": key}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alerts_come_newest_first_in_pages_and_by_what_they_are(api: Api) -> None:
    first = listed(api, limit="2")
    second = listed(api, limit="2", cursor=first["next"])
    ids = [one["id"] for one in (*first["items"], *second["items"])]

    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 4
    [one] = listed(api, user="user:u7")["items"]
    assert one["id"] == f"{ALERTS}007"
    assert (one["type"], one["severity"]) == ("large_data_export", "info")
    assert listed(api, severity="critical") == {"items": [], "next": None}
    refused = api.send("GET", f"{AUDIT}/alerts", params={"cursor": "x"})
    assert refused.status_code == 422


def test_an_alert_is_closed_once_with_who_and_note_and_that_is_on_record(api: Api) -> None:
    path = f"{AUDIT}/alerts/{ALERTS}011"

    closed = api.send("POST", f"{path}/dismiss", body={"note": "ours"}).json()["data"]
    again = api.send("POST", f"{path}/resolve", body={})

    assert (closed["status"], closed["closed_by"], closed["note"]) == (
        "dismissed",
        "key:admin",
        "ours",
    )
    assert again.status_code == 409
    assert api.send("POST", f"{AUDIT}/alerts/none/resolve", body={}).status_code == 404
    found = api.get("/audit", params={"tool": "alerts.dismiss"})["items"]
    assert found[0]["principal"] == "key:admin"


def test_all_about_a_caller_are_resolved_at_once(api: Api) -> None:
    path = f"{AUDIT}/alerts/resolve-all"

    done = api.send("POST", path, body={"user": "user:u12", "type": "large_data_export"})

    assert done.json() == {"success": True, "data": {"resolved": 1}}
    assert listed(api, user="user:u12")["items"][0]["status"] == "resolved"
    assert api.send("POST", path, body={"type": "nothing"}).status_code == 422


def test_the_rules_are_shown_whole_and_set_as_a_revision(api: Api) -> None:
    path = f"{AUDIT}/alert-config"
    before = api.get("/revisions")["items"][0]["number"]

    put = api.send("PUT", path, body={"afterHoursAccess": {"enabled": True, "from": "08:00"}})
    shown = api.get(path)["data"]

    assert put.status_code == 200, put.text
    assert shown["after_hours_access"] == {
        "enabled": True,
        "severity": "info",
        "from": "08:00",
        "until": "22:00",
    }
    assert len(shown) == 7
    assert api.get("/revisions")["items"][0]["number"] == before + 1
    wrong = api.send("PUT", path, body={"repeated_errors": {"error": 3}})
    assert wrong.status_code == 422
    assert "did you mean 'errors'?" in wrong.text
    assert api.get(path)["data"] == shown


@pytest.mark.parametrize(
    "by", ["role key", "service key", "agent", "user", "administrator of another tenant"]
)
def test_who_does_not_administer_the_tenant_neither_reads_nor_closes(api: Api, by: str) -> None:
    for method, path in (
        ("GET", "alerts"),
        ("POST", f"alerts/{ALERTS}020/resolve"),
        ("GET", "alert-config"),
    ):
        body: dict[str, str] | None = {} if method == "POST" else None
        assert api.send(method, f"{AUDIT}/{path}", by=by, body=body).status_code == 403
    assert listed(api, user="user:u20")["items"][0]["status"] == "open"


def test_the_commands_ask_a_running_gateway(api: Api) -> None:
    found = json.loads(remit(api, "list", "--status", "open", "--user", "user:u30", "--json"))
    assert [one["id"] for one in found] == [f"{ALERTS}030"]

    said = remit(api, "resolve", f"{ALERTS}030", "--note", "looked at")

    assert said == f"alert '{ALERTS}030' is resolved\n"
    [one] = listed(api, user="user:u30")["items"]
    assert (one["status"], one["note"]) == ("resolved", "looked at")


def test_the_commands_do_the_same_beside_the_gateway(api: Api) -> None:
    done = run_remit("alerts", "dismiss", f"{ALERTS}031", folder=api.folder)
    assert done.returncode == 0, done.stderr

    [one] = listed(api, user="user:u31")["items"]
    assert one["status"] == "dismissed"
    assert one["closed_by"].startswith("cli:")
    shown = run_remit("alerts", "list", "--status", "dismissed", folder=api.folder)
    assert f"{ALERTS}031" in shown.stdout
