"""The tests' own browser: it sees what is wrong with a page."""

from playwright.sync_api import Browser
from tests.console.browsing import Window, axe_violations, overflow

GOOD = "<!doctype html><html lang=en><title>Good</title><main><h1>Good</h1></main>"


def test_a_page_without_fault_has_none(chromium: Browser) -> None:
    window = Window(context=chromium.new_context())
    page = window.open_page()

    page.set_content(GOOD)

    assert axe_violations(page) == []
    assert overflow(page) == []
    assert window.unforgiven() == []


def test_what_goes_wrong_in_a_page_is_noted(chromium: Browser) -> None:
    window = Window(context=chromium.new_context(), forgiven=["and this"])
    page = window.open_page()
    page.set_content(f"{GOOD}<script>console.error('one', 'and this')</script>")
    assert window.unforgiven() == []

    page.set_content(
        f"{GOOD}<script>console.error('two')</script><script>throw Error('three')</script>"
        "<img alt='' src='http://127.0.0.1:9/four'>"
    )

    noted = " ".join(window.unforgiven())
    assert [word for word in ("two", "three", "four") if word not in noted] == []


def test_axe_and_the_width_name_the_element(chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 640})
    page = Window(context=context).open_page()

    page.set_content(f"{GOOD}<main><img id=bare width=500 height=9></main>")

    assert any("bare" in violation for violation in axe_violations(page))
    assert any("bare" in element for element in overflow(page))
