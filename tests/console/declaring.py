"""What pages of the console say that edit the declaration, read from their HTML."""

import re
from html import unescape

from tests.console.office import Office
from tests.console.reading import Reading

from remit.client import revisions


def number(office: Office) -> int:
    """Return the revision in force."""
    return office.client().ask(revisions.list_all(limit=1)).items[0].number


def hidden(page: str) -> dict[str, list[str]]:
    """Return the fields of a preview."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page):
        if name not in ("csrf", "back"):  # of the form of colours
            found.setdefault(unescape(name), []).append(unescape(value))
    return found


def entered(page: str) -> dict[str, list[str]]:
    """Return what the form of a role sends as it is shown."""
    ticked = re.findall(r'name="(\w+)" value="([^"]*)"[^>]*? checked', page)
    areas = re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    texts = re.findall(r'name="(description|name|etag)"[^>]*? value="([^"]*)"', page)
    found: dict[str, list[str]] = {}
    for name, value in [*ticked, *areas, *texts]:
        found.setdefault(name, []).append(unescape(value))
    return found


def rows(page: str) -> list[str]:
    """Return the rows of all tables as text, their cells apart."""
    return [
        " | ".join(
            unescape(re.sub(r"<[^>]*>", "", cell)).strip()
            for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        )
        for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    ]


def changing(page: str) -> list[str]:
    """Return where the forms of a page send changes to, but for those that every page has."""
    common = ("/console/theme", "/console/sign-out", "/console/tenant")
    return [
        form.action
        for form in Reading(page).forms
        if form.method == "post" and form.action not in common
    ]
