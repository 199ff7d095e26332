"""What the documents point to is there, and the change log is in order."""

import re
from pathlib import Path

import pytest
from tests.docs.blocks import PAGES, REPOSITORY, name_of, prose_of

LINK = re.compile(r"\]\((?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
PLACES = (REPOSITORY, REPOSITORY / "src" / "remit")


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"(?m)^#+ (.+)$", prose_of(page))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken: list[str] = []
    for link in LINK.finditer(prose_of(page)):
        if link["path"].startswith(("http:", "https:")):
            continue
        target = (page.parent / link["path"]).resolve() if link["path"] else page
        if not target.exists() or (link["anchor"] and link["anchor"] not in anchors_of(target)):
            broken.append(link[0])

    assert broken == []


def test_every_page_of_the_docs_can_be_reached_from_the_readme() -> None:
    linked = {link["path"] for link in LINK.finditer((REPOSITORY / "README.md").read_text())}

    assert {name_of(page) for page in PAGES} - linked == {"README.md"}


def test_the_architecture_names_files_that_exist() -> None:
    text = (REPOSITORY / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`((?:[\w.-]+/)+|[\w./-]+\.(?:py|toml|md))`", text))

    missing = {name for name in named if not any((place / name).exists() for place in PLACES)}

    assert named
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_what_there_is_in_the_repository(page: Path) -> None:
    if name_of(page) == "CHANGELOG.md":  # it tells of what is gone, too
        return
    named = set(re.findall(r"`((?:bench|locks|scripts|src|tests)/[\w./-]+)", prose_of(page)))

    assert {name for name in named if not (REPOSITORY / name).exists()} == set()


def test_the_change_log_is_newest_first() -> None:
    headings = re.findall(r"(?m)^## (.+)$", (REPOSITORY / "CHANGELOG.md").read_text())
    versions = [
        tuple(int(part) for part in heading.split()[0].strip("[]").split("."))
        for heading in headings
        if heading != "Unreleased"
    ]

    assert "Unreleased" not in headings[1:]
    assert versions == sorted(versions, reverse=True)
