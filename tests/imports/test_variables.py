"""The written table of variables is what happens (R20, T18)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.admin.imports.variables import Untranslatable, translate, variable_name
from remit.upstreams.environment import references

PAGE = (Path(__file__).parents[2] / "docs" / "init.md").read_text()
INPUTS = {"region": "eu", "token": ""}


def rows() -> Iterator[tuple[str, str]]:
    table = PAGE.split("## Variables")[1].split("## ")[0]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 2 and cells[0].startswith("`"):
            yield cells[0].strip("`"), cells[1]


@pytest.mark.parametrize(("written", "becomes"), list(rows()))
def test_every_row_of_the_table_holds(written: str, becomes: str) -> None:
    if not becomes.startswith("`"):
        with pytest.raises(Untranslatable):
            translate(written, INPUTS)
        return

    translated = translate(written, INPUTS)

    assert translated.text == becomes.strip("`")
    references(translated.text)  # remit.yaml takes it
    said = [told for told, *_ in (*translated.read, *translated.needs)]
    plain = written.startswith(("${NAME", "a$", "$name", "pa$", "$$", "C:", "100"))
    assert bool(said) is not plain or "OTHER" in written or ":?" in written


def test_the_table_has_every_syntax_that_the_handed_files_use() -> None:
    written = [cell for cell, _ in rows()]

    for form in (
        r"\$\{\w+\}",
        r":-",
        r"env:",
        r"input:",
        r"^\$\w",
        r"\{env",
        r"\{\{",
        r"os\.",
        "%",
    ):
        assert any(re.search(form, cell) for cell in written), form


def test_a_percent_sign_in_an_address_begins_no_variable() -> None:
    assert translate("https://h.test/%NAME%", {}, is_url=True).text == "https://h.test/%NAME%"


def test_a_default_is_never_said() -> None:
    translated = translate("${env:NAME:-hidden} ${OTHER:?hidden} ${input:region}", INPUTS)

    assert "hidden" not in str((translated.read, translated.needs))
    assert "eu" not in str((translated.read, translated.needs))


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("tickets", "TOKEN"), "TICKETS_TOKEN"),
        (("db.main", "apiKey"), "DB_MAIN_API_KEY"),
        (("Büro", "x"), "B_RO_X"),
        (("1st",), "_1ST"),
        (("--",), "VALUE"),
    ],
)
def test_a_variable_gets_a_name_that_a_shell_takes(parts: tuple[str, ...], name: str) -> None:
    assert variable_name(*parts) == name
