"""The page "Home": what it says of calls, and that it goes on telling by itself."""

import json
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect
from tests.console.browsing import Windows
from tests.console.office import Office
from tests.console.streams import Event, watching
from tests.console.visits import sign_in

from remit.client import alerts, data_changes, datasources, keys, overview
from remit.client.overview import Overview
from remit.doors.console.home import WINDOWS
from remit.errors import ClientError
from remit.model.data import EngineKind
from remit.testing.gateway import fixture_entry, start_gateway
from remit.testing.shops import make_shop, run_on_sqlite

AT = "/home"
LIVE = f"{AT}/live"
TOOLS = ({"name": "echo"}, {"name": "shred"})


@contextmanager
def open_shed(folder: Path, *, roles: bool = True) -> Generator[Office]:
    """Start a gateway to which nothing has happened yet."""
    config = folder / "remit.yaml"
    declared = {
        "version": "1.0",
        "mcp_servers": {"tools": fixture_entry(TOOLS, folder / "called", session="shared")},
        "roles": {"worker": {"allow": ["tools/echo"]}} if roles else {},
    }
    config.write_text(json.dumps(declared))
    running = start_gateway(folder, config)
    with ExitStack() as stack:
        stack.callback(running.stop)
        running.settle()
        given = {"administrator": running.admin_key}
        shed = Office(folder=folder, running=running, keys=given, _stack=stack)
        if roles:
            given["worker"] = shed.client().ask(keys.create("worker", role="worker")).key
        yield shed


@pytest.fixture(scope="module")
def shed(tmp_path_factory: pytest.TempPathFactory) -> Generator[Office]:
    with open_shed(tmp_path_factory.mktemp("shed")) as shed:
        yield shed


def stats(page: str) -> dict[str, str]:
    """Return the numbers on top, by their labels."""
    found = re.findall(
        r'stat-label">([^<]*)</p>\s*<p class="stat-value">([^<]*)</p>', page, re.DOTALL
    )
    return dict(found)


def calls(page: str) -> int:
    return int(stats(page)["Calls"].replace(",", ""))


def card(page: str, title: str) -> str:
    """Return the text of a card, its tags left out."""
    html = page.partition(f"<h2>{title}")[2].partition("</section>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_a_fresh_gateway_says_what_to_do_next(tmp_path: Path) -> None:
    with open_shed(tmp_path) as shed:
        page = shed.visit("administrator").page(AT)

    assert stats(page) == {"Calls": "0", "Denied": "0", "Failed": "0", "p50": "—", "p95": "—"}
    assert "remit keys create laptop --role worker" in card(page, "No calls in 1 hour")
    assert "None" in card(page, "Last alerts")
    assert "ready" in card(page, "Servers&#39; health")
    assert '<svg class="chart"' not in page


def page_and_overview(office: Office, minutes: int) -> tuple[str, Overview]:
    """Return both of the same minutes."""
    while True:
        before = office.client().ask(overview.get(minutes=minutes))
        page = office.visit("administrator").page(AT, minutes=minutes)
        after = office.client().ask(overview.get(minutes=minutes))
        if before.until == after.until:
            return page, after


def test_the_numbers_are_those_of_the_overview(office: Office) -> None:
    page, found = page_and_overview(office, 1440)

    totals = found.totals
    assert stats(page)["Calls"] == f"{totals.calls:,}"
    assert (stats(page)["Denied"], stats(page)["Failed"]) == (
        str(totals.denied),
        str(totals.errors),
    )
    numbers = re.findall(r'<tr data-key="\d+">.*?</tr>', page, re.DOTALL)
    assert len(numbers) == len(found.parts)
    listed = [re.findall(r'class="number">(\d+)<', row) for row in reversed(numbers)]
    assert listed == [[str(p.calls), str(p.denied), str(p.errors)] for p in found.parts]
    for role in found.lists:
        assert f"{role.role} {role.tools} {role.tokens:,}" in card(page, "What each role")
    for server in found.health:
        assert server.name in card(page, "Servers&#39; health")
    for slow in found.slowest:
        assert f"{slow.server}/{slow.tool} {slow.calls}" in card(page, "Slowest tools")
    waiting = card(page, "Waits for somebody")
    assert f"{found.waiting.suggestions} suggested queries to do" in waiting
    assert f"{found.waiting.alerts} open alerts to do" in waiting
    newest = office.client().ask(alerts.list_newest("default", limit=5)).data.items
    for alert in newest:
        assert f"{alert.severity} {alert.title} {alert.user}" in card(page, "Last alerts")


def test_what_waits_is_where_home_leads(tmp_path: Path) -> None:
    """Also where nothing waits of the datasource that a page shows first."""
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps({"version": "1.0", "mcp_servers": {"data": {"builtin": "data"}}}))
    running = start_gateway(tmp_path, config)
    with ExitStack() as stack:
        stack.callback(running.stop)
        running.settle()
        given = {"administrator": running.admin_key}
        desk = Office(folder=tmp_path, running=running, keys=given, _stack=stack)
        administrator, tenant = desk.client(), "default"
        given["user"] = administrator.ask(keys.create("uma", user_role="user")).key
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            url = make_shop(EngineKind.SQLITE, folder)
            administrator.ask(datasources.add(tenant, name, engine="sqlite", url=url))
            administrator.ask(data_changes.refresh(tenant, name))
        run_on_sqlite(tmp_path / "second" / "shop.sqlite", ["CREATE TABLE returned (id INTEGER)"])
        administrator.ask(data_changes.refresh(tenant, "second", auto_select=False))
        suggested: dict[str, Any] = {
            "name": "Orders by status",
            "description": "How many stand where",
            "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status",
            "parameters": [],
            "context": "Asked for every Monday",
            "datasource": "second",
        }
        result = desk.client("user").call_tool("suggest_approved_query", suggested, server="data")
        assert not result.is_error, result.text
        visit = desk.visit("administrator")

        def led_to(text: str) -> str:
            found = re.search(f'href="([^"]*)">{text}</a>', visit.page(AT))
            assert found is not None
            return visit.http.get(unescape(found[1])).text

        assert "Orders by status" in led_to("suggested queries")
        assert "returned" in led_to("changes of schemas")


def test_a_denied_tool_says_which_layer_and_rule(office: Office) -> None:
    denied = office.client().ask(overview.get(minutes=60)).denied
    text = card(office.visit("auditor").page(AT), "Most denied tools")

    assert {"git/git_merge", "github/merge_pull_request"} <= {
        f"{each.server}/{each.tool}" for each in denied
    }
    assert "git/git_merge ceiling: no rule allows it" in text
    assert "no__such_tool no such tool" in text


@pytest.mark.parametrize("minutes", ["0", "7", "nonsense", "1441"])
def test_another_window_than_those_offered_is_the_usual_one(shed: Office, minutes: str) -> None:
    assert "in 1 hour" in shed.visit("administrator").page(AT, minutes=minutes)


def test_every_window_is_offered_and_the_one_in_force_marked(shed: Office) -> None:
    page = shed.visit("administrator").page(AT, minutes=360)

    for window in WINDOWS:
        assert f'/console/home?minutes={window.minutes}"' in page
    assert 'aria-current="true">6 hours<' in page


def call(shed: Office) -> None:
    shed.client("worker").call_tool("tools__echo", {})


def until_calls(events: Iterator[Event], wanted: int) -> Event:
    """Return the event that tells of so many calls; the stream ends if there never is one."""
    return next(event for event in events if event.data and calls(event.data) == wanted)


def test_a_call_made_meanwhile_is_told(shed: Office) -> None:
    visit = shed.visit("administrator")
    with watching(visit, f"{LIVE}?minutes=15") as events:
        before = calls(next(events).data)
        call(shed)
        with pytest.raises(ClientError):
            shed.client("worker").call_tool("tools__shred", {})

        told = until_calls(events, before + 2)

    assert "tools/shred" in told.data
    assert "<html" not in told.data


def test_what_the_page_has_is_not_sent_again(shed: Office) -> None:
    visit = shed.visit("administrator")
    live = unescape(re.findall(r'data-live="/console([^"]*)"', visit.page(AT, minutes=15))[0])
    with watching(visit, live) as events:
        call(shed)

        first = next(events)

    assert first.id not in live


def test_signing_out_ends_what_is_told(shed: Office) -> None:
    with (
        sign_in(shed.base, shed.keys["administrator"]) as visit,
        watching(visit, LIVE) as events,
    ):
        assert next(events).kind == "message"
        visit.post("/sign-out")

        assert [event.kind for event in events][-1:] == ["gone"]


def test_a_revoked_key_ends_what_is_told(shed: Office) -> None:
    """R17."""
    key = shed.client().ask(keys.create("passing", auditor=True)).key
    with sign_in(shed.base, key) as visit, watching(visit, LIVE) as events:
        assert next(events).kind == "message"
        shed.client().ask(keys.revoke("passing"))

        assert [event.kind for event in events][-1:] == ["gone"]


def test_a_gateway_that_stops_ends_what_is_told(tmp_path: Path) -> None:
    with (
        open_shed(tmp_path, roles=False) as shed,
        watching(shed.visit("administrator"), LIVE) as events,
    ):
        assert "No role is declared yet" in next(events).data
        ended = shed.running.process
        ended.terminate()

        assert [event.kind for event in events if event.kind != "message"] == []
        assert shed.running.stop() == 0


@pytest.fixture
def new_page(shed: Office, chromium: Chromium) -> Generator[Windows]:
    """Give what opens pages of the gateway whose calls are all of these tests' own."""
    windows = Windows(browser=chromium, office=shed)
    yield windows
    windows.close()


def test_the_page_counts_on_while_somebody_reads_it(new_page: Windows, shed: Office) -> None:
    """Without loading it again: the keyboard stays where it is, and what is open stays open."""
    call(shed)
    tab = new_page("administrator", f"{AT}?minutes=15")
    number = tab.locator(".stat-value").first
    before = int(number.inner_text())
    tab.evaluate("window.isTheSamePage = true")
    tab.get_by_text("The same in numbers").click()
    link = tab.get_by_role("link", name="tools", exact=True).last
    link.focus()

    call(shed)

    expect(number).to_have_text(str(before + 1))
    expect(tab.get_by_role("table", name="Calls by minute")).to_be_visible()
    expect(link).to_be_focused()
    assert tab.evaluate("window.isTheSamePage") is True

    tab.get_by_role("button", name="Pause").click()
    expect(tab.get_by_text("Paused")).to_be_visible()
    expect(tab.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")


def test_a_page_whose_reader_is_signed_out_says_so(new_page: Windows, shed: Office) -> None:
    with sign_in(shed.base, shed.keys["administrator"]) as visit:
        tab = new_page(visit, AT)
        expect(tab.get_by_text("Live", exact=True)).to_be_visible()
        visit.post("/sign-out")

        expect(tab.get_by_text("Stopped: sign in again")).to_be_visible()
