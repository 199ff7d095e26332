"""What all pages have in common, in a real browser: coming in, finding the way, going out."""

import re
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import Dialog, expect
from tests.console.browsing import Windows, sign_in_by_form
from tests.console.office import Office
from tests.console.visits import CONSOLE, SIGN_IN

from remit.client import users
from remit.client.transport import TRUSTS_NOBODY

WRONG = "rmt_" + "a" * 12 + "_" + "b" * 43


def test_somebody_signs_in_where_they_wanted_to_go_and_out_again(
    office: Office, new_page: Windows
) -> None:
    page = new_page(None, "/me?from=mail", forgives=["403"])
    expect(page).to_have_url(re.compile("sign-in"))
    expect(page.get_by_label("Key")).to_be_focused()

    sign_in_by_form(page, WRONG)
    expect(page.get_by_role("alert")).to_contain_text("does not hold")

    sign_in_by_form(page, office.keys["user"])
    expect(page).to_have_url(f"{office.base}{CONSOLE}/me?from=mail")
    expect(page.get_by_role("main")).to_contain_text("key:uma")

    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Key")).to_be_visible()
    page.goto(f"{CONSOLE}/me")
    expect(page).to_have_url(re.compile("sign-in"))


def test_colours_are_chosen_and_kept(new_page: Windows) -> None:
    page = new_page("user", "/me")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)

    page.get_by_label("Colours").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page).to_have_url(re.compile("/me$"))
    assert page.evaluate(ground) != light

    page.reload()
    expect(page.get_by_label("Colours")).to_have_value("dark")


@pytest.mark.parametrize("path", ["/audit?decision=deny", "/roles/edit?name=guest"])
def test_colours_change_on_the_page_that_is_looked_at(new_page: Windows, path: str) -> None:
    page = new_page("administrator", path)

    page.get_by_label("Colours").select_option("dark")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page).to_have_url(re.compile(re.escape(path) + "$"))


def test_a_form_that_was_refused_leads_back_to_its_own_page(office: Office) -> None:
    visit = office.visit("administrator")
    sender = f"{office.base}{CONSOLE}/agents/-new?x=1"
    elsewhere = "https://elsewhere.test/console/keys"
    fields = {"csrf": visit.csrf, "id": "?", "type": "WORKER"}

    pages = [
        visit.http.post(f"{CONSOLE}/agents/-new", data=fields, headers={"referer": referer}).text
        for referer in (sender, elsewhere, "http://[")
    ]

    backs = [re.findall(r'name="back" value="([^"]*)"', page) for page in pages]
    assert backs[0] == [f"{CONSOLE}/agents/-new?x=1"]
    assert all("elsewhere" not in back for (back,) in backs)


def test_what_was_typed_is_not_left_without_asking(new_page: Windows) -> None:
    """Neither by a link, nor by another form of the page, such as that of the colours."""
    page = new_page("administrator", "/agents/-new")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    field = page.get_by_label("Id")
    field.click()
    field.press_sequentially("typed")
    colours = page.get_by_label("Colours")
    for colour in ("dark", "light"):
        colours.select_option(colour)
    page.get_by_role("link", name="Cancel").click()

    assert asked == ["beforeunload"] * 3
    expect(field).to_have_value("typed")
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_a_form_that_is_sent_is_left_without_asking(new_page: Windows) -> None:
    page = new_page("administrator", "/agents/-new", forgives=["400", "422"])
    page.on("dialog", lambda dialog: pytest.fail(dialog.type))
    field = page.get_by_label("Id")
    field.click()
    field.press_sequentially("?")

    page.get_by_role("button", name="Register").click()

    expect(page.get_by_role("alert")).to_be_visible()


def test_what_was_typed_when_the_session_ended_is_found_again(
    office: Office, new_page: Windows
) -> None:
    page = new_page("administrator", "/agents/-new")
    page.get_by_label("Id").fill("typed")
    page.get_by_label("Reason").fill("a long one")
    page.context.clear_cookies()

    page.get_by_role("button", name="Register").click()

    expect(page.get_by_role("status")).to_contain_text("your session has ended")
    sign_in_by_form(page, office.keys["administrator"])
    expect(page).to_have_url(f"{office.base}{CONSOLE}/agents/-new")
    expect(page.get_by_label("Reason")).to_have_value("")
    page.go_back()
    page.go_back()
    expect(page.get_by_label("Reason")).to_have_value("a long one")


def test_a_form_of_another_site_says_nothing_of_where_to_go(office: Office) -> None:
    with httpx2.Client(base_url=office.base, timeout=60, verify=TRUSTS_NOBODY) as stranger:

        def led_to(referer: str) -> str:
            sent = stranger.post(f"{CONSOLE}/keys/-new", headers={"referer": referer})
            return sent.headers["location"]

        assert led_to("https://elsewhere.test/console/keys") == SIGN_IN
        own = led_to(f"{office.base}{CONSOLE}/roles/edit?name=a%20b")
        assert own == f"{SIGN_IN}?next={CONSOLE}/roles/edit%3Fname%3Da%2520b&typed=yes"
        assert "your session has ended" in stranger.get(own).text
        assert "your session has ended" not in stranger.get(SIGN_IN).text


def test_a_keyboard_goes_past_the_menu(new_page: Windows) -> None:
    page = new_page("administrator", "/me")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_be_focused()


def test_on_a_telephone_the_menu_is_behind_a_button(new_page: Windows) -> None:
    page = new_page("administrator", "/me", width=360, height=640)
    button = page.get_by_role("button", name="Menu")
    menu = page.get_by_role("navigation", name="Pages")
    expect(menu).to_be_hidden()

    button.click()

    expect(button).to_have_attribute("aria-expanded", "true")
    expect(menu.get_by_role("link", name="Me", exact=True)).to_be_visible()


def test_times_are_those_of_the_readers_zone(new_page: Windows) -> None:
    page = new_page("administrator", "/me")
    moment = page.locator("time").first

    there = page.evaluate(
        """(text) => new Date(text).toLocaleTimeString('en-GB', {timeZone: 'Europe/Zurich'})""",
        moment.get_attribute("datetime"),
    )

    expect(moment).to_contain_text(there)


def test_a_page_that_is_not_there_says_so_within_the_console(new_page: Windows) -> None:
    page = new_page("administrator", "/no/such/page", forgives=["404"])

    expect(page.get_by_role("main")).to_contain_text("There is no such page")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


@pytest.mark.parametrize("path", ["/keys", "/alerts"])
def test_arrow_keys_go_through_a_list_that_is_sent_as_soon_as_it_is_changed(
    new_page: Windows, path: str
) -> None:
    """Each arrow loads the page anew, which takes the focus from nobody."""
    page = new_page("administrator", path)
    choice = page.get_by_role("main").locator("select[data-send]").last
    values = choice.locator("option").evaluate_all("options => options.map((o) => o.value)")
    choice.focus()

    for value in values[1:3]:
        page.keyboard.press("ArrowDown")
        expect(page).to_have_url(re.compile(f"={value}"))
        expect(choice).to_be_focused()
        expect(choice).to_have_value(value)

    page.get_by_role("link", name="Me", exact=True).click()
    expect(page.get_by_role("heading", name="Me", exact=True)).to_be_visible()
    page.go_back()
    expect(choice).not_to_be_focused()


def test_whoever_stays_on_a_page_is_asked_again_before_harm(
    office: Office, new_page: Windows
) -> None:
    """A yes counts once: what else was typed may have kept the page from being left."""
    name = f"kept-{uuid4().hex[:6]}"
    office.client().ask(users.disable(name))
    page = new_page("administrator", "/users")
    page.on("dialog", lambda dialog: dialog.dismiss())
    field = page.get_by_label("Reason")
    field.click()
    field.press_sequentially("typed")
    row = page.get_by_role("row").filter(has_text=name)

    for _ in range(2):
        row.get_by_role("button", name="Let in again").click()
        asked = page.get_by_role("dialog")
        expect(asked).to_contain_text(f"Let {name} in again?")
        with page.expect_event("dialog"):
            asked.get_by_role("button", name="Let in again").click()
        expect(asked).to_have_count(0)

    office.client().ask(users.enable(name))
