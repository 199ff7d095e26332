"""What all pages have in common, in a real browser: coming in, finding the way, going out."""

import re

from playwright.sync_api import expect
from tests.console.browsing import Windows, sign_in_by_form
from tests.console.office import Office
from tests.console.visits import CONSOLE

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
