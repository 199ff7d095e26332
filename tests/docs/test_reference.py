"""The documents name what there is, and nothing else."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import typer
import yaml
from tests.docs.blocks import PAGES, REPOSITORY, blocks_of, name_of, prose_of

from remit.admin.declaration import parse_document
from remit.admin.later_releases import idle_parts
from remit.admin.schema import ANY, PLACES, Place, known_keys
from remit.cli.main import app
from remit.model.declaration import Declaration

CONFIGURATION = (REPOSITORY / "docs" / "configuration.md").read_text()
LISTS = {"grants", "identity.jwt", "limits"}
CODE = re.compile(r"`([^`]+)`")


def sections() -> dict[str, list[list[str]]]:
    """Return each heading of the configuration page with the cells of its table's rows."""
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in CONFIGURATION.splitlines():
        if line.startswith("#"):
            title = line.lstrip("#").strip().strip("`")
        elif line.startswith("| `"):
            cells = re.split(r"(?<!\\)\|", line.strip("| "))
            found.setdefault(title, []).append([cell.strip() for cell in cells])
    return found


SECTIONS = sections()


def title_of(place: Place) -> str:
    """Return the heading of the section on the keys at *place*."""
    if place == ():
        return "Top level"
    words = list(place)
    for at, word in enumerate(words):
        if word == ANY:
            before = ".".join(words[:at])
            kind = "NUMBER" if before in LISTS else "NAME"
            words[at] = "TOOL" if before.endswith(".tools") else kind
    return ".".join(words)


def named_in(title: str) -> set[str]:
    return {key for cells in SECTIONS.get(title, []) for key in CODE.findall(cells[0])}


def idle_keys() -> set[str]:
    """Return everything that does nothing yet, as the page spells it."""
    document = everything(())
    return {re.sub(r"\[\d+\]", "", title_of(tuple(map(str, at)))) for at, _ in idle_parts(document)}


def everything(place: Place) -> dict[str, object]:
    """Return a mapping with every key that there is at *place*, down to the leaves."""
    built: dict[str, object] = {}
    for key in known_keys(place):
        inner, each = (*place, key), (*place, key, ANY)
        if inner in PLACES:
            built[key] = everything(inner)
        elif each in PLACES:
            built[key] = {ANY: everything(each)}
        else:
            built[key] = {"something": "written"}
    return built


@pytest.mark.parametrize("place", PLACES, ids=title_of)
def test_every_key_has_a_row_under_the_heading_of_its_place(place: Place) -> None:
    later = named_in("Not enforced yet")
    prefix = "" if place == () else f"{title_of(place)}."

    missing = {
        key
        for key in known_keys(place)
        if key not in named_in(title_of(place)) and f"{prefix}{key}" not in later
    }

    assert missing == set()


@pytest.mark.parametrize("place", PLACES, ids=title_of)
def test_no_row_names_a_key_that_does_not_exist(place: Place) -> None:
    assert named_in(title_of(place)) <= set(known_keys(place))


def test_what_does_not_act_yet_is_listed_exactly() -> None:
    assert named_in("Not enforced yet") == idle_keys()


def defaults() -> Iterator[tuple[str, str, str]]:
    alerts = [title for title in SECTIONS if title.startswith("alerts")]
    for title in ("mcp_servers.NAME", "roles.NAME", "audit", "server", *alerts):
        for key, _, default, *_ in SECTIONS[title]:
            for value in CODE.findall(default):
                yield title, key.strip("`"), value


def declared(title: str, entry: dict[str, object]) -> Declaration:
    section, _, name = title.partition(".")
    if section == "mcp_servers":
        entry = {"command": "c", **entry}
    document = {section: {name: entry} if name else entry}
    return replace(parse_document(document).declaration, document={})


@pytest.mark.parametrize(("title", "key", "value"), list(defaults()))
def test_writing_a_default_changes_nothing(title: str, key: str, value: str) -> None:
    assert declared(title, {key: yaml.safe_load(value)}) == declared(title, {})


def command_names() -> set[str]:
    """Return every command that people use, such as `keys create`."""
    found: set[str] = set()
    group = typer.main.get_command(app)
    for name, command in getattr(group, "commands", {}).items():
        if getattr(command, "hidden", False):
            continue
        inner = getattr(command, "commands", {})
        found |= {f"{name} {below}" for below in inner} if inner else {name}
    return found


def mentioned() -> Iterator[tuple[str, str]]:
    """Give each mention of a command, with its page."""
    for page in PAGES:
        code = [*CODE.findall(prose_of(page))]
        for block in blocks_of(page):
            code += [
                line
                for line in block.text.splitlines()
                if block.language != "console" or line.startswith("$ ")
            ]
        for text in code:
            for words in re.findall(r"(?:^|\$ |\(|&& |exec )remit ([a-z-]+(?: [a-z]+)?)", text):
                yield name_of(page), words


def test_every_command_is_named_in_the_documents() -> None:
    named = {words for _, words in mentioned()}
    named |= {words.split()[0] for words in named}

    assert command_names() - named == set()


def test_the_documents_name_no_command_that_does_not_exist() -> None:
    commands = command_names()
    firsts = {command.split()[0] for command in commands}

    unknown = [
        (page, words)
        for page, words in mentioned()
        if words not in commands | firsts and words.split()[0] not in commands
    ]

    assert unknown == []
