"""The record over the API: searched in pages, exported, verified; and no secret anywhere."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.api.operations import EXAMPLES
from tests.api.test_rules import OPERATIONS
from tests.api.worlds import ROLE, Api, open_api

from remit.testing.gateway import run_remit


def some_rows(api: Api, count: int = 5) -> None:
    for _ in range(count):
        api.send("DELETE", "/keys/none-such", params={"reason": "=1+1"})


def test_pages_follow_one_another_without_a_gap(api: Api) -> None:
    some_rows(api)
    whole = api.get("/audit", params={"limit": "1000"})["items"]
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("/audit", params={"limit": "2", **cursor})
        ids += [row["id"] for row in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}

    assert ids == [row["id"] for row in whole]


def test_an_export_has_every_row_in_either_form(api: Api) -> None:
    some_rows(api)
    rows = api.get("/audit", params={"tool": "keys.revoke", "limit": "1000"})["items"]

    lines = api.send("GET", "/audit/export", params={"tool": "keys.revoke"})
    table = api.send("GET", "/audit/export", params={"tool": "keys.revoke", "format": "csv"})
    few = api.send("GET", "/audit/export", params={"tool": "keys.revoke", "limit": "2"})
    none = api.send("GET", "/audit/export", params={"tool": "no-such-tool"})

    assert lines.headers["content-type"] == "application/jsonl"
    found = [json.loads(line)["id"] for line in lines.text.splitlines()]
    assert found == [row["id"] for row in rows]
    read = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["id"] for row in read] == found
    assert len(few.text.splitlines()) == 2
    assert none.text == ""


def test_the_record_holds(api: Api) -> None:
    some_rows(api, 1)

    report = api.get("/audit/verify")

    assert (report["ok"], report["broken"]) == (True, None)
    assert report["rows"] > 0


def test_an_export_can_leave_changes_out_as_a_search_can(api: Api) -> None:
    some_rows(api, 1)
    asked = {"changes": "false", "limit": "1000"}

    lines = api.send("GET", "/audit/export", params=asked).text.splitlines()

    found = api.get("/audit", params=asked)["items"]
    assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in found]
    assert not [row for row in found if row["server"] == "/admin"]


def test_a_row_is_shown_with_what_its_caller_did_around_it(api: Api) -> None:
    some_rows(api, 12)
    latest = api.get("/audit", params={"limit": "1"})["items"][0]
    mine = api.get("/audit", params={"principal": latest["principal"], "limit": "12"})
    newest = [row["id"] for row in mine["items"]]

    shown = api.get(f"/audit/{newest[6]}")

    *begun, event = shown["events"]  # its beginning too, where a batch ended between the two (R28)
    assert [each["kind"] for each in begun] in ([], ["invoked"])
    assert (event["kind"], event["tool"]) == ("finished", "keys.revoke")
    assert {each["id"] for each in shown["events"]} == {newest[6]}
    assert [row["id"] for row in shown["before"]] == newest[7:12]
    assert [row["id"] for row in shown["after"]] == newest[5:0:-1]
    gone = api.send("GET", "/audit/none-such")
    assert (gone.status_code, gone.json()["code"]) == (404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"},
        {"since": "2026-11-28"},
        {"since": "0001-01-01T00:00:00+14:00"},
        {"until": "9999-12-31T23:59:59-14:00"},
        {"until": "12"},
        {"outcome": "fine"},
        {"text": "x" * 50_001},  # more than SQLite looks for
        {"role": "x" * 50_001},
    ],
    ids=lambda query: str(query)[:40],
)
def test_a_filter_that_means_nothing_is_refused(api: Api, query: dict[str, str]) -> None:
    assert api.send("GET", "/audit", params=query).status_code == 422
    assert api.send("GET", "/audit/export", params=query).status_code == 422


def test_a_marker_that_does_not_hold_is_reported(api: Api) -> None:
    with closing(sqlite3.connect(api.folder / ".remit" / "remit.db", timeout=30)) as database:
        database.execute("INSERT INTO audit_cuts VALUES ('default', 1, 3, 'a.b.c')")
        database.commit()
        try:
            report = api.get("/audit/verify")
        finally:
            database.execute("DELETE FROM audit_cuts")
            database.commit()

    assert (report["ok"], report["broken"]["kind"]) == (False, "marker")


def test_a_reason_is_kept_without_the_secret_in_it(api: Api) -> None:
    reason = "rotated, password=hunter2hunter2 was shared"
    made = api.send("POST", "/roles", body={"name": "brief"}, params={"reason": reason}).json()

    kept = api.get(f"/revisions/{made['revision']}")["reason"]

    assert kept == "rotated, password=[redacted] was shared"


def test_no_answer_but_the_one_that_makes_a_key_holds_a_secret(api: Api) -> None:
    made = api.send("POST", "/keys", body={"name": "secretive", "role": ROLE}).json()
    rotated = api.send("POST", "/keys/secretive/rotate", params={"overlap": "600"}).json()
    secrets = [made["key"], rotated["key"], *filter(None, api.credentials.values())]
    parts = [text.split("_", 2)[-1] for text in secrets]

    for name, (method, _, _) in OPERATIONS.items():
        if name in {"keys.create", "keys.rotate"}:
            continue
        example = EXAMPLES[name](api)
        reply = api.send(
            method,
            example.path,
            body=example.body,
            params=dict(example.query),
            headers=example.headers,
        )
        assert reply.status_code == example.status, (name, reply.text)
        shown = f"{reply.text}{reply.headers}"
        assert [part for part in parts if part in shown] == [], name


def test_a_row_that_another_hand_made_unreadable_is_named_by_every_reader(
    tmp_path: Path,
) -> None:
    with open_api(tmp_path, {"roles": {ROLE: {"allow": ["*/read"]}}}) as api:
        _unreadable_row_is_named(api)


def _unreadable_row_is_named(api: Api) -> None:
    some_rows(api, 2)
    newest = api.get("/audit", params={"limit": "1"})["items"][0]["id"]
    change = "UPDATE audit_events SET time = 'yesterday' WHERE call_id = ?"
    with closing(sqlite3.connect(api.folder / ".remit" / "remit.db")) as other:
        other.execute(change, (newest,))
        other.commit()

    searched = api.get("/audit", params={"limit": "1000"})["items"]
    streamed = api.send("GET", "/audit/export").text.splitlines()
    commands = [
        run_remit("audit", *words, folder=api.folder)
        for words in (("search", "--json", "--changes"), ("tail",), ("export",))
    ]

    [named] = [row for row in searched if row["id"] == newest]
    assert "cannot be read: 'remit audit verify' says more" in named["error"]
    assert len(streamed) >= len(searched) > 1
    for ended in commands:
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "changed by another hand" in ended.stdout
