"""Every command and snippet of the documents is run."""

import shutil
from pathlib import Path

import pytest
from tests.docs.blocks import PAGES, REPOSITORY, Block, blocks_of, name_of
from tests.docs.rules import RULES, assert_fits, run_console, run_sh
from tests.docs.scratch import Scratch

FROM_NOTHING = {"docs/get-started.md"}
"""Pages that begin in an empty folder; the others in a git repository with one commit."""

EXAMPLES = REPOSITORY / "examples"
"""Its pages are read from the top of this repository."""


RUN_ELSEWHERE = {
    *(REPOSITORY / "docs").glob("bridge-*.md"),
    REPOSITORY / "docs" / "deployment.md",
}
"""Pages of agent frameworks, which are beside remit's own packages: tests/bridges run them; and the
page about machines, which tests of its own run."""


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks_of(page) and page not in RUN_ELSEWHERE],
    ids=name_of,
)
def test_every_block_of_a_page_does_what_it_says(page: Path, scratch: Scratch) -> None:
    if "$ curl " in page.read_text() and shutil.which("curl") is None:
        pytest.skip("the page talks HTTP with curl, which is not on this machine")
    if name_of(page) not in FROM_NOTHING:
        made = scratch.run("git init -q && git commit -q --allow-empty -m 'First commit'")
        assert made.status == 0, made.text
    if page.is_relative_to(EXAMPLES):
        where = scratch.cwd / page.parent.relative_to(REPOSITORY)
        shutil.copytree(page.parent, where, ignore=shutil.ignore_patterns(".remit"))

    for block in blocks_of(page):
        assert block.language in RULES, f"{block.place}: no rule covers {block.language!r}"
        try:
            RULES[block.language](block, scratch)
        except AssertionError as error:
            raise AssertionError(f"{block.place}: {error}") from error


@pytest.mark.parametrize(
    ("expected", "printed"),
    [("a\nb\n", "a\n"), ("a\n", "a\nb\n"), ("a…\n", "ba\n"), ("", "a\n"), ("a\n…\nb\n", "a\nc\n")],
    ids=["less", "more", "other", "nothing", "no end"],
)
def test_an_output_that_differs_fails(expected: str, printed: str) -> None:
    with pytest.raises(AssertionError):
        assert_fits(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [("a…\n", "abc  \n\n"), ("a\n…\n", "a\nb\nc\n"), ("…\n", ""), ("a…c\n", "abc\n")],
    ids=["rest of a line", "more lines", "no line", "middle"],
)
def test_an_ellipsis_stands_for_anything(expected: str, printed: str) -> None:
    assert_fits(expected, printed)


def test_a_command_that_fails_unnoticed_fails_the_page(scratch: Scratch) -> None:
    for run, text in ((run_console, "$ false\n"), (run_sh, "false\n"), (run_sh, "make nothing\n")):
        block = Block(page=PAGES[0], line=1, language="", text=text)

        with pytest.raises(AssertionError):
            run(block, scratch)
