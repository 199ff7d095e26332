"""The record in the console: found, followed, exported, verified (R28, S0.28)."""

import csv
import io
import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from msgspec import structs
from playwright.sync_api import expect
from tests.console.browsing import Windows, look_at
from tests.console.office import AGENT, Office
from tests.console.reading import Reading

from remit.model.events import ADMINISTRATION, AuditEvent, EventKind
from remit.storage.database import default_url, open_database
from remit.storage.insertion import insert_events
from remit.testing.fakes import sample_event

READERS = ("administrator", "auditor")

THEN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
"""Noon of a day long before everything else that is on record in the office."""

HOSTILE = '"><img src=x onerror=alert(1)> {{ 7 * 7 }} \u202egpj.exe'
FORMULA = "=HYPERLINK(0)"

_TIMES = re.compile(r'<time datetime="([^"]*)"')


def event(minutes: float, call: str, **changes: object) -> AuditEvent:
    """Return an event of that day, whose id sorts by its time as a gateway's does."""
    time = THEN + timedelta(minutes=minutes)
    number = int(time.timestamp() * 1000)
    return structs.replace(sample_event(number), time=time, call_id=call, **changes)


RETRIED: Mapping[str, object] = {
    "principal": "key:retry", "server": "deploy", "tool": "restart_service", "outcome": "unknown",
}  # fmt: skip
LATER = {"since": "2026-03-01T12:00", "until": "2026-03-01T13:00"}
"""The hour in which all of it happened."""

ROWS = (
    event(1, "plain"),
    event(2, "by-arguments", arguments='{"service":"shop-of-gold","version":"v9"}'),
    event(3, "by-role", role="tech_lead,night_watch", principal="key:night", member="m-1"),
    event(4, "by-server", server="vault", tool="open_vault"),
    event(5, "by-denial", kind=EventKind.REFUSED, decision="deny", layer="ceiling", outcome="none",
          code="PERMISSION_DENIED", rule="", result=None, error="no role allows it"),
    event(6, "by-outcome", outcome="tool_error", code="NO_SUCH_VAULT"),
    event(7, "change", server=ADMINISTRATION, tool="keys.revoke", principal="user:root"),
    event(8, "hostile", principal=HOSTILE, tool=HOSTILE, arguments=json.dumps({"a": HOSTILE}),
          error=HOSTILE, rule=HOSTILE),
    event(9, "formula", tool=FORMULA, arguments='{"truncated":true,"size":99000,"head":"{"}'),
    event(10, "retried", kind=EventKind.INVOKED, result=None, ms=0.0, **RETRIED),
    event(10.01, "retried", kind=EventKind.ATTEMPTED, code="UPSTREAM_UNAVAILABLE", result=None,
          error="attempt 1: the first failure", **RETRIED),
    event(10.02, "retried", kind=EventKind.ATTEMPTED, code="UPSTREAM_UNAVAILABLE", result=None,
          error="attempt 2: the second failure", **RETRIED),
    event(10.03, "retried", kind=EventKind.FINISHED,
          result='{"content":[{"type":"text","text":"up again"}]}', **RETRIED | {"outcome": "ok"}),
    event(11, "next-of-retry", principal="key:retry"),
)  # fmt: skip
"""What is looked for, each row in its own way."""

EVERY = [each.call_id for each in ROWS if each.kind in ("finished", "refused")][::-1]


@pytest.fixture(scope="module", autouse=True)
def record(office: Office) -> None:
    """Put the rows on record."""

    async def remember() -> None:
        async with (
            open_database(default_url(office.folder / ".remit")) as database,
            database.writing() as connection,
        ):
            await connection.run_sync(insert_events, ROWS)

    with start_blocking_portal() as portal:  # a loop of its own, whatever runs in this thread
        portal.call(remember)


def search(office: Office, who: str = "administrator", **query: str) -> list[str]:
    """Return the ids of the rows that the page shows, in its order."""
    page = office.visit(who).page("/audit", **(LATER | query))
    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r'<th scope="row"[^>]*><a href="/console/audit/([^"]*)">', table)
    return [unescape(each) for each in rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, EVERY),
        ({"text": "Shop-of-Gold"}, ["by-arguments"]),
        ({"role": "night_watch"}, ["by-role"]),
        ({"role": "night"}, []),
        ({"principal": "key:night"}, ["by-role"]),
        ({"server": "vault"}, ["by-server"]),
        ({"tool": "open_vault"}, ["by-server"]),
        ({"decision": "deny"}, ["by-denial"]),
        ({"outcome": "tool_error"}, ["by-outcome"]),
        ({"outcome": "none"}, ["by-denial"]),
        ({"code": "NO_SUCH_VAULT"}, ["by-outcome"]),
        ({"changes": "false"}, [each for each in EVERY if each != "change"]),
        ({"server": ADMINISTRATION}, ["change"]),
        ({"since": "2026-03-01T12:11"}, ["next-of-retry"]),
        ({"until": "2026-03-01T12:02:00Z"}, ["plain"]),
        ({"since": "2026-03-01T13:11:00+01:00"}, ["next-of-retry"]),
        ({"tool": "git_status", "decision": "allow", "text": "gold"}, ["by-arguments"]),
    ],
    ids=str,
)
def test_a_filter_finds_exactly_its_rows(
    office: Office, query: dict[str, str], found: list[str]
) -> None:
    assert search(office, **query) == found


@pytest.mark.parametrize("who", READERS)
def test_pages_follow_one_another_without_a_gap(office: Office, who: str) -> None:
    seen: list[str] = []
    path: str | None = "/audit?changes=false"
    while path is not None:
        page = office.visit(who).page(path)
        seen += _TIMES.findall(page.partition("<tbody>")[2])
        after = [link for link in Reading(page).links if "cursor=" in link]
        path = after[-1].removeprefix("/console") if after else None

    assert len(seen) > 100
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("query", [{}, {"changes": "false"}, {"tool": FORMULA}, {"text": "gold"}])
def test_an_export_has_what_the_search_has(
    office: Office, form: str, query: dict[str, str]
) -> None:
    reply = office.visit("auditor").get("/audit/export", format=form, **(LATER | query))

    rows = (
        list(csv.DictReader(io.StringIO(reply.text)))
        if form == "csv"
        else [json.loads(line) for line in reply.text.splitlines()]
    )
    assert [row["id"] for row in rows] == search(office, **query)
    named = rf'attachment; filename="audit-default-\d{{8}}T\d{{6}}Z\.{form}"'
    assert re.fullmatch(named, reply.headers["content-disposition"])


def test_the_buttons_export_what_is_shown(office: Office) -> None:
    page = office.visit("administrator").page("/audit", **LATER, tool="open_vault")

    links = [link for link in Reading(page).links if "/audit/export" in link]

    given = [dict(parse_qsl(urlsplit(link).query)) for link in links]
    wanted = LATER | {"tool": "open_vault"}
    assert given == [wanted | {"format": "csv"}, wanted | {"format": "jsonl"}]


def test_an_export_stays_in_no_cache_and_what_is_refused_is_no_file(office: Office) -> None:
    visit = office.visit("auditor")

    given = visit.get("/audit/export", format="csv", **LATER)
    refused = visit.get("/audit/export", format="csv", outcome="nothing")

    assert given.headers["cache-control"] == "no-store"
    assert given.headers["x-content-type-options"] == "nosniff"
    assert (refused.status_code, refused.headers["cache-control"]) == (422, "no-store")
    assert "content-disposition" not in refused.headers
    assert unescape(refused.text.partition("<main")[2]).count("outcome: ") == 1


def test_a_spreadsheet_runs_no_formula_of_a_caller(office: Office) -> None:
    reply = office.visit("administrator").get("/audit/export", format="csv", **LATER, tool=FORMULA)

    (row,) = csv.DictReader(io.StringIO(reply.text))
    assert row["tool"] == f"'{FORMULA}"


def test_a_call_is_followed_through_its_attempts(office: Office) -> None:
    # R23
    page = office.visit("auditor").page("/audit/retried")

    told = texts(page.partition('class="timeline"')[2].partition("</ol>")[0])
    parts = [
        "Came in",
        "Sent to the server",
        "attempt 1: the first",
        "attempt 2: the second",
        "Ended",
    ]
    places = [told.index(part) for part in parts]
    assert places == sorted(places)
    assert "up again" in page
    around = texts(page.partition("Before and after")[2])
    assert "(this one)" in around
    assert "/console/audit/next-of-retry" in Reading(page).links


def test_a_real_call_is_there_with_everything_that_the_record_has(office: Office) -> None:
    given = {"principal": f"agent:{AGENT}", "tool": "deploy_service", "outcome": "ok"}
    (call,) = re.findall(
        r'<th scope="row"[^>]*><a href="/console(/audit/[^"]*)">',
        office.visit("auditor").page("/audit", **given),
    )

    page = office.visit("auditor").page(call)

    told = texts(page)
    for part in ("deploy/deploy_service", f"agent:{AGENT}", "devops_engineer", "v1.4.2", "ceiling"):
        assert part in told, part
    links = Reading(page).links
    assert any(re.fullmatch(r"/console/revisions/\d+", link) for link in links)
    asked = {"as": f"agent:{AGENT}", "tool": "deploy/deploy_service"}
    (what_if,) = [link for link in links if "/access/what-if" in link]
    assert dict(parse_qsl(urlsplit(what_if).query)) == asked


def test_what_is_cut_is_said_to_be(office: Office) -> None:
    assert "too long to be kept whole" in office.visit("auditor").page("/audit/formula")
    assert "too long to be kept whole" not in office.visit("auditor").page("/audit/plain")


@pytest.mark.parametrize(
    "path",
    [
        "/audit/hostile",
        "/audit?text=onerror",
        f"/audit?text={quote(HOSTILE)}",
        f"/audit/{quote(HOSTILE)}",
    ],
)
def test_what_callers_wrote_is_text(office: Office, path: str) -> None:
    page = office.visit("administrator").get(path).text

    assert "<img" not in page
    without_form = re.sub(r'<form class="filters.*?</form>', "", page, flags=re.DOTALL)
    assert "\u202e" not in without_form.partition("<main")[2]
    assert Reading(page).inline == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"since": "yesterday"}, "write a time like"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "write a time like"),
        ({"decision": "maybe"}, "decision"),
        ({"cursor": "none"}, "cursor"),
    ],
)
def test_what_means_nothing_is_said_beside_what_was_entered(
    office: Office, query: dict[str, str], told: str
) -> None:
    reply = office.visit("administrator").get("/audit", text="kept as it is", **query)

    assert reply.status_code == 422
    assert told in reply.text
    assert 'value="kept as it is"' in reply.text


def test_what_is_not_on_record_is_said_to_be_nowhere(office: Office) -> None:
    reply = office.visit("auditor").get("/audit/none-such")

    assert reply.status_code == 404
    assert "no call or change" in unescape(reply.text)
    page = office.visit("auditor").page("/audit", text="what nobody ever sent")
    assert "Nothing on record is like that" in page


@pytest.mark.parametrize("who", READERS)
def test_the_decision_log_tells_what_an_agent_did(office: Office, who: str) -> None:
    # S3.22
    page = office.visit(who).page("/audit/decisions", agent=AGENT)

    told = texts(page)
    for part in ("Invoked tool: mcp__mail__send", "Tool error: mcp__deploy__read_metrics"):
        assert part in told
    assert "Nothing by that agent" in office.visit(who).page("/audit/decisions", agent="nobody")


@pytest.mark.parametrize("who", READERS)
def test_the_chain_is_verified_when_somebody_asks(office: Office, who: str) -> None:
    before = office.visit(who).page("/audit/verify")
    after = office.visit(who).page("/audit/verify", now="1")

    assert "The record holds" not in before
    assert "The record holds" in after


def test_a_row_that_another_hand_changed_is_named(office: Office) -> None:
    database = office.folder / ".remit" / "remit.db"
    with closing(sqlite3.connect(database, timeout=30)) as other:
        change = "UPDATE audit_events SET rule = ? WHERE call_id = 'plain'"
        other.execute(change, ("forged",))
        other.commit()
        try:
            page = office.visit("auditor").page("/audit/verify", now="1")
        finally:
            other.execute(change, (ROWS[0].rule,))
            other.commit()

    assert "The record does not hold" in page
    assert "changed" in texts(page)


def test_a_call_is_found_by_argument_role_and_time(new_page: Windows) -> None:
    """The page's main job, in a browser of a reader in Zurich: an hour before UTC (must-show 1)."""
    tab = new_page("auditor", "/audit")
    tab.get_by_label("Text").fill("shop-of-gold")
    tab.get_by_label("Role").fill("backend_developer")
    tab.get_by_label("Since").fill("2026-03-01T13:01")
    tab.get_by_label("Until").fill("2026-03-01T13:03")
    tab.get_by_role("button", name="Search").click()

    rows = tab.get_by_role("table", name="Calls and changes").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(tab.get_by_label("Since")).to_have_value("2026-03-01T13:01")
    assert "since=2026-03-01T12%3A01" in tab.url
    rows.get_by_role("link").first.click()
    expect(tab.get_by_text('"version": "v9"')).to_be_visible()
    expect(tab.get_by_text("1 Mar 2026, 13:02").first).to_be_visible()
    look_at(tab)

    tab.go_back()
    tab.get_by_label("Until").fill("2026-03-01T13:01:30")
    tab.get_by_role("button", name="Search").click()
    expect(tab.get_by_text("Nothing on record is like that")).to_be_visible()


def texts(page: str) -> str:
    """Return what a reader reads of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_only_readers_get_what_is_on_record(office: Office) -> None:
    for path in ("/audit", "/audit/plain", "/audit/export", "/audit/decisions", "/audit/verify"):
        reply: httpx2.Response = office.visit("reviewer").get(path)
        assert reply.status_code == 403, path
