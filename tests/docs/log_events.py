"""Every event that the code logs, read off the code."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEVELS = {"debug", "info", "warning", "error", "exception"}


@dataclass(frozen=True, order=True)
class LogEvent:
    """A name, and a level that it is logged at."""

    name: str
    level: str


def log_events(source: Path) -> set[LogEvent]:
    """Return what the modules below *source* log; a traceback is at level error."""
    return {event for path in source.rglob("*.py") for event in _in_module(path)}


def _in_module(path: Path) -> Iterator[LogEvent]:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not _is_logging(node.func):
            continue
        assert isinstance(node.func, ast.Attribute)
        level, first, *_ = node.func.attr, *node.args
        if level == "log":
            levels, first = _levels_in(node.args[0]), node.args[1]
        else:
            levels = {"error" if level == "exception" else level}
        for name in _texts(first, tree):
            for one in levels:
                yield LogEvent(name, one)


def _levels_in(node: ast.expr) -> set[str]:
    """Return the levels that are named, or those of whoever is passed on."""
    named = {one.attr.lower() for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return named & LEVELS or {"warning", "error"}


def _is_logging(called: ast.expr) -> bool:
    if not isinstance(called, ast.Attribute) or called.attr not in LEVELS | {"log"}:
        return False
    logger = called.value
    name = logger.id if isinstance(logger, ast.Name) else getattr(logger, "attr", "")
    return name in {"log", "_log"}


def _texts(node: ast.expr, tree: ast.Module) -> Iterator[str]:
    """Give the texts that *node* may be: itself, or whatever its variable is set to."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
        return
    assert isinstance(node, ast.Name), ast.unparse(node)
    for assignment in ast.walk(tree):
        if not isinstance(assignment, ast.Assign):
            continue
        for target, value in _pairs(assignment):
            if isinstance(target, ast.Name) and target.id == node.id:
                yield from (
                    str(one.value) for one in ast.walk(value) if isinstance(one, ast.Constant)
                )


def _pairs(assignment: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in assignment.targets:
        if isinstance(target, ast.Tuple) and isinstance(assignment.value, ast.Tuple):
            yield from zip(target.elts, assignment.value.elts, strict=True)
        else:
            yield target, assignment.value
