"""Debian's Chromium, and pages in it that are watched for whatever goes wrong.

Playwright's plain interface keeps an event loop running in the thread that it is used in. So a
browser lives as long as one module's tests, and a module with a browser has no asynchronous test.
"""

import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.console.office import Office
from tests.console.visits import CONSOLE, Visit

Theme = Literal["light", "dark"]

AXE: Final = Path(__file__).parents[2] / ".tools/node_modules/axe-core/axe.min.js"
ZONE: Final = "Europe/Zurich"
"""Where the reader is."""

LONGEST: Final = 20_000.0
"""Milliseconds that something may take to appear."""

_LEFT: Final = "net::ERR_ABORTED"
"""What a request ends with whose page was left, such as that of a stream."""


@contextmanager
def open_chromium() -> Generator[Browser]:
    """Start Chromium, or skip the test where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: make setup installs it on Debian, for root")
    expect.set_options(timeout=LONGEST)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(kw_only=True)
class Window:
    """One browser window with pages of somebody, and what went wrong in them.

    Attributes:
        faults: Errors that a page logged or threw, and requests that failed.
        forgiven: Parts of faults that the test expects.
    """

    context: BrowserContext
    faults: list[str] = field(default_factory=list[str])
    forgiven: Sequence[str] = ()

    def open_page(self) -> Page:
        """Return a new page, which is watched."""
        page = self.context.new_page()
        page.set_default_timeout(LONGEST)
        page.on("console", lambda said: self._note(said.text, is_fault=said.type == "error"))
        page.on("pageerror", lambda error: self._note(f"thrown: {error}"))
        page.on(
            "requestfailed",
            lambda asked: self._note(
                f"{asked.url}: {asked.failure}", is_fault=asked.failure != _LEFT
            ),
        )
        page.on(
            "response",
            lambda reply: self._note(f"{reply.status} {reply.url}", is_fault=reply.status >= 400),
        )
        return page

    def unforgiven(self) -> list[str]:
        """Return what went wrong and was not expected."""
        return [f for f in self.faults if not any(part in f for part in self.forgiven)]

    def _note(self, fault: str, *, is_fault: bool = True) -> None:
        if is_fault:
            self.faults.append(fault)


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Opens windows, and looks at all of them at the end."""

    browser: Browser
    office: Office
    opened: list[Window] = field(default_factory=list[Window])

    def __call__(
        self,
        who: str | Visit | None = "administrator",
        path: str = "",
        *,
        theme: Theme = "light",
        width: int = 1280,
        height: int = 900,
        forgives: Sequence[str] = (),
        scripts: bool = True,
    ) -> Page:
        """Open a page of the console in a window of its own.

        Args:
            who: Somebody with a key, signed in already; None for a stranger.
            path: Below `/console`; nothing is shown without it.
            theme: What the reader's machine prefers.
            width: Of the window in pixels of CSS, and so is *height*.
            height: See there.
            forgives: Parts of the faults that are expected.
            scripts: Whether the browser runs any.
        """
        window = Window(
            context=self.browser.new_context(
                base_url=self.office.base,
                viewport={"width": width, "height": height},
                color_scheme=theme,
                timezone_id=ZONE,
                locale="en-GB",
                reduced_motion="reduce",
                java_script_enabled=scripts,
                permissions=["clipboard-read", "clipboard-write"],
            ),
            forgiven=forgives,
        )
        self.opened.append(window)
        visit = self.office.visit(who) if isinstance(who, str) else who
        if visit is not None:
            window.context.add_cookies(
                [
                    {"name": cookie.name, "value": cookie.value or "", "url": self.office.base}
                    for cookie in visit.http.cookies.jar
                ]
            )
        page = window.open_page()
        if path:
            page.goto(f"{CONSOLE}{path}")
        return page

    def close(self) -> None:
        """Close every window; nothing went wrong in any of them."""
        for window in self.opened:
            window.context.close()
        faults = [fault for window in self.opened for fault in window.unforgiven()]
        assert faults == []


def sign_in_by_form(page: Page, key: str) -> None:
    """Type a key into the form of the sign-in and send it."""
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def axe_violations(page: Page) -> list[str]:
    """Return what axe-core finds wrong with a page, each with the element, or skip without it."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: scripts/node-tools all, which needs npm")
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not by a script tag: the page forbids that
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def overflow(page: Page) -> list[str]:
    """Return the elements that make a page wider than its window; none if it fits."""
    wide: list[str] = page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= width) return [];
          const inside = (e) => {  // whatever scrolls within an element of its own is well
            for (let p = e.parentElement; p; p = p.parentElement)
              if (getComputedStyle(p).overflowX !== 'visible' && p !== document.body) return true;
            return false;
          };
          return [...document.body.querySelectorAll('*')]
            .filter((e) => e.getBoundingClientRect().right > width + 1 && !inside(e))
            .map((e) => e.outerHTML.slice(0, 160)).slice(0, 5).concat(['page is too wide']);
        }"""
    )
    return wide


def look_at(page: Page) -> None:
    """Fail unless a page can be read by everybody and fits its window."""
    assert axe_violations(page) == [], page.url
    assert overflow(page) == [], page.url
