"""Commands print by `cli/lines.py`, which lets nothing raw onto a terminal."""

import ast
from collections.abc import Iterator
from pathlib import Path

COMMANDS = Path(__file__).parents[2] / "src" / "remit" / "cli"
PRINTER = COMMANDS / "lines.py"
DRAWN = COMMANDS / "demo"
"""Drawn by rich, of a scratch repository and of servers that remit brings along."""

NAMES = {"echo", "secho", "echo_via_pager", "print", "pprint", "write", "writelines"}
SINKS = {"sink.write"}
"""An export goes as it is to whoever reads it: rows of the audit, in `audit export`."""


def printed(path: Path) -> Iterator[str]:
    """Give what prints, or may, in a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            if function.rpartition(".")[2] in NAMES and function not in SINKS:
                yield f"{path.name}:{node.lineno}: {function}"
        elif isinstance(node, ast.ImportFrom) and node.module == "typer":
            yield from (f"{path.name}: {one.name}" for one in node.names if one.name in NAMES)


def test_no_command_prints_but_by_the_one_way() -> None:
    modules = [
        path for path in COMMANDS.rglob("*.py") if path != PRINTER and DRAWN not in path.parents
    ]

    assert len(modules) > 30
    assert [found for path in modules for found in printed(path)] == []
    assert list(printed(PRINTER))
