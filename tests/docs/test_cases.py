"""`docs/cases.md` has every case that was handed over, and every test that it names is there."""

import ast
import re
from pathlib import Path

import pytest
from tests.docs.blocks import REPOSITORY

ROW = re.compile(r"(?m)^\| (T\d+) \| (.+) \|$")
FILE = re.compile(r"`(tests/[\w/]+\.py)`")
NAME = re.compile(r"`(test_\w+)`")
ROWS = dict(ROW.findall((REPOSITORY / "docs" / "cases.md").read_text()))


def names_in(file: str) -> set[str]:
    """Return the names of a file's tests."""
    module = ast.parse((REPOSITORY / file).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in module.body if isinstance(one, functions)}


@pytest.mark.parametrize("case", ROWS)
def test_every_test_that_is_named_exists_and_has_the_name_of_its_case(case: str) -> None:
    named = NAME.findall(ROWS[case])
    there = {name for file in FILE.findall(ROWS[case]) for name in names_in(file)}

    assert named
    assert set(named) <= there
    assert [name for name in named if not name.startswith(f"test_{case.lower()}_")] == []


def test_every_test_with_the_name_of_a_case_is_in_a_file_that_its_row_names() -> None:
    found = {
        (f"T{case}", str(file.relative_to(REPOSITORY)))
        for file in (REPOSITORY / "tests").rglob("test_*.py")
        for case in re.findall(r"(?m)^(?:async )?def test_t(\d+)_", file.read_text())
    }

    assert found
    assert [(case, file) for case, file in sorted(found) if file not in ROWS[case]] == []


def test_every_case_that_was_handed_over_has_its_row(shared: Path) -> None:
    cases = (shared / "cases" / "open-cases.md").read_text()

    assert set(re.findall(r"(?m)^### (T\d+) ", cases)) == set(ROWS)
