"""The button "Back" of a real browser: a page that is gone back to tells the truth."""

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from tests.console.browsing import Windows
from tests.console.office import Office

from remit.client import agents, servers
from remit.doors.console.page import Page
from remit.doors.console.pages import PAGES


def test_a_form_that_is_gone_back_to_overwrites_nothing_of_others(
    office: Office, new_page: Windows
) -> None:
    """Its choices are those of its first time, and somebody else made others meanwhile."""
    name = f"w-{uuid4().hex[:8]}"
    office.client().ask(agents.create(name, type="WORKER", role="devops_engineer"))
    page = new_page("administrator", f"/agents/{name}", forgives=["412"])
    page.get_by_role("link", name="Keys", exact=True).click()
    expect(page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    office.client().ask(agents.change(name, {"role": "backend_developer"}, if_match="*"))

    page.go_back()
    expect(page.get_by_label("Role")).to_have_value("devops_engineer")
    page.get_by_label("Epic").fill("spring")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_contain_text("Somebody changed it")
    expect(page.get_by_text("It has backend_developer now.")).to_be_visible()
    expect(page.get_by_label("Epic")).to_have_value("spring")
    now = office.client().ask(agents.get(name))
    assert (now.role, now.epic) == ("backend_developer", None)


def test_a_servers_form_that_is_gone_back_to_knows_what_it_was_made_from(
    office: Office, new_page: Windows
) -> None:
    """What others changed meanwhile is not taken for a change of whoever saves it."""
    name = f"s-{uuid4().hex[:8]}"
    entry = {"url": "https://server.example.test/mcp", "enabled": False, "description": "first"}
    office.client().ask(servers.create(name, entry))
    page = new_page("administrator", f"/servers/{name}/edit", forgives=["412"])
    expect(page.get_by_label("Description")).to_have_value("first")
    page.get_by_role("link", name="Keys", exact=True).click()
    expect(page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    office.client().ask(servers.change(name, {"description": "second"}, if_match="*"))

    page.go_back()
    page.get_by_label("URL").fill("https://other.example.test/mcp")
    page.get_by_role("button", name="Preview").click()

    expect(page.get_by_text("Somebody else changed description of this server")).to_be_visible()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="description")).to_have_count(0)
    office.client().ask(servers.remove(name, if_match="*"))


@pytest.mark.parametrize(
    ("path", "label", "option"),
    [
        ("/alerts", "Status", "resolved"),
        ("/keys", "State", "revoked"),
        ("/access", "Callers", "agent"),
        ("/servers", "State", "ready"),
    ],
)
def test_a_page_that_is_gone_back_to_says_what_it_was_asked_for(
    new_page: Windows, path: str, label: str, option: str
) -> None:
    page = new_page("administrator", path)
    choice = page.get_by_role("main").get_by_label(label, exact=True)
    before = choice.input_value()
    choice.select_option(option)
    expect(page).to_have_url(re.compile(f"={option}"))

    page.go_back()

    expect(page).not_to_have_url(re.compile(f"={option}"))
    assert choice.input_value() == before
    choice.select_option(option)
    expect(page).to_have_url(re.compile(f"={option}"))


def test_a_search_that_is_gone_back_to_holds_the_words_that_it_was_asked_with(
    new_page: Windows,
) -> None:
    page = new_page("administrator", "/audit")
    words = page.get_by_label("Text", exact=True)
    words.fill("orders")
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile("text=orders"))

    page.go_back()

    expect(page).to_have_url(re.compile("/audit$"))
    assert words.input_value() == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.key)
def test_no_browser_fills_in_what_a_page_is_asked_for(office: Office, page: Page) -> None:
    shown = office.visit("administrator").page(page.path)

    asking = re.findall(r"<form[^>]*method=\"get\"[^>]*>", shown)

    assert [form for form in asking if 'autocomplete="off"' not in form] == []
