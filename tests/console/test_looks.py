"""Every page in a real browser: no fault, no violation, nothing that is too wide (must-show 3)."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import ViewportSize
from starlette.routing import compile_path
from tests.console.browsing import Theme, Windows, look_at, overflow
from tests.console.office import Office
from tests.console.reading import Reading
from tests.console.visits import CONSOLE

from remit.doors.console.page import Page
from remit.doors.console.pages import PAGES

LARGEST = ViewportSize(width=3840, height=2160)

LOOKS: tuple[tuple[Theme, int], ...] = (("light", 1280), ("dark", 360))
"""Both colours, and both widths: that of a desk and that of a telephone."""

ENDLESS = "/home/live"
"""What goes on as long as somebody listens, and is no page."""


@pytest.mark.parametrize(("theme", "width"), LOOKS)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.key)
def test_a_page_can_be_read_by_everybody(
    office: Office, new_page: Windows, page: Page, theme: Theme, width: int
) -> None:
    tab = new_page("administrator", page.path, theme=theme, width=width)
    look_at_on_any_screen(tab)
    for path in (
        *below(office, page),
        *details(office.visit("administrator").page(page.path), page),
    ):
        tab.goto(path)
        look_at_on_any_screen(tab)


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_the_sign_in_can_be_read_by_everybody(new_page: Windows, theme: Theme, width: int) -> None:
    tab = new_page(None, "/sign-in", theme=theme, width=width)
    look_at_on_any_screen(tab)


@pytest.mark.parametrize("path", ["/home", "/mcp-server", "/roles/edit?name=tech_lead"])
def test_a_telephone_may_show_everything_twice_as_large(new_page: Windows, path: str) -> None:
    # WCAG 1.4.4: at 200 % a window of 380 pixels has 190
    assert overflow(new_page("administrator", path, width=190)) == []


def look_at_on_any_screen(tab: Tab) -> None:
    look_at(tab)
    size = tab.viewport_size
    assert size is not None
    tab.set_viewport_size(LARGEST)
    assert overflow(tab) == [], f"{tab.url} on a large screen"
    tab.set_viewport_size(size)


def below(office: Office, page: Page) -> Iterator[str]:
    """Give what else has a place of its own under *page*, such as the form of a new server."""
    for action in page.actions:
        if action.method == "GET" and "{" not in action.path and action.path not in ENDLESS:
            reply = office.visit("administrator").get(action.path)
            kind = reply.headers.get("content-type", "")
            if reply.is_success and kind.startswith("text/html"):
                yield f"{CONSOLE}{action.path}"


def details(text: str, page: Page) -> Iterator[str]:
    """Give one link to each kind of page that belongs to *page*, such as that of one server."""
    fixed = {f"{CONSOLE}{a.path}" for a in page.actions if "{" not in a.path}
    links = [link.partition("?")[0] for link in Reading(text).links]
    for action in page.actions:
        pattern: re.Pattern[str] = compile_path(f"{CONSOLE}{action.path}")[0]
        if action.method == "GET" and "{" in action.path:
            fits = [link for link in links if link not in fixed and pattern.match(link)]
            yield from fits[:1]
