"""No file or function grows beyond what one sitting can read (style.md 2.2)."""

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MOST_LINES = {"src": 500, "tests": 600, "bench": 500}
MOST_FUNCTION_LINES = 60
MOST_PARAMETERS = 8
TABLES = ("migrations",)


def sources() -> Iterator[tuple[str, Path]]:
    for folder in MOST_LINES:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            if not any(part in path.parts for part in TABLES):
                yield folder, path


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_file_is_longer_than_its_stop() -> None:
    lengths = {path: (folder, len(path.read_text().splitlines())) for folder, path in sources()}

    too_long = [
        f"{path.relative_to(REPOSITORY)}: {lines} lines"
        for path, (folder, lines) in lengths.items()
        if lines > MOST_LINES[folder]
    ]

    assert too_long == []


def test_no_function_is_longer_than_its_stop() -> None:
    too_long = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}"
        for folder, path in sources()
        if folder == "src"
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
    ]

    assert too_long == []


def test_no_function_takes_more_parameters_than_a_reader_can_hold() -> None:
    too_many = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}"
        for folder, path in sources()
        if folder == "src"
        for node in functions(path)
        if len(node.args.posonlyargs) + len(node.args.args) > MOST_PARAMETERS
    ]

    assert too_many == []


def test_half_of_the_files_are_short() -> None:
    lengths = sorted(
        len(path.read_text().splitlines()) for folder, path in sources() if folder == "src"
    )

    assert lengths[len(lengths) // 2] <= 120
    assert lengths[int(len(lengths) * 0.9)] <= 300


def test_the_sources_do_without_stubs_and_notes_to_self() -> None:
    marks = ("TODO", "FIXME", "XXX", "NotImplementedError")

    left = [
        f"{path.relative_to(REPOSITORY)}: {mark}"
        for folder, path in sources()
        if folder == "src"
        for mark in marks
        if mark in path.read_text()
    ]

    assert left == []
