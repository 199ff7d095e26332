"""The console can do nothing that the REST API cannot (must-show 5): both are listed here.

Its modules ask for operations of `remit.client`, which are those of the OpenAPI document
(`tests/client`).
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import remit.client
import remit.doors.console
from remit.doors.console.pages import PAGES

WHOLE = "a part of what a page asks for as a whole"
TOLD_APART = "the page Audit shows the same rows, and those of queries and changes show their own"
CREDENTIALS = "a datasource comes with credentials, which are written on the gateway's machine"

NOT_IN_CONSOLE: Mapping[str, str] = {
    "data_audit.approvals": TOLD_APART,
    "data_audit.mcp_events": TOLD_APART,
    "data_audit.ontology_changes": TOLD_APART,
    "data_audit.schema_changes": TOLD_APART,
    "data_audit.summary": TOLD_APART,
    "data_changes.get": WHOLE,
    "datasources.add": CREDENTIALS,
    "datasources.change": CREDENTIALS,
    "datasources.get": CREDENTIALS,
    "datasources.remove": CREDENTIALS,
    "datasources.test": CREDENTIALS,
    "queries.list_enabled": WHOLE,
    "queries.validate": WHOLE,
    "queries.validate_parameters": WHOLE,
    "queries.change": "a form sends all of a query, with queries.replace",
    "roles.replace": "a form changes what it shows, with roles.change",
    "servers.replace": "a form changes what it shows, with servers.change",
}
"""Operation to the reason why no page asks for it."""

WITHIN = (
    "remit.client",
    "remit.doors.console",
    "remit.model",
    "remit.errors",
    "remit.calls.redact",
)
"""What the module of a page may take of ours: none of it reaches anything by itself."""

BUILDERS = frozenset({"in_project", "operations"})
"""Modules whose functions others make operations with."""

CLIENT = Path(remit.client.__path__[0])
CONSOLE = Path(remit.doors.console.__path__[0])


def offered() -> Iterator[str]:
    """Give every operation of the client, as `keys.create`."""
    names = {info.name for info in pkgutil.iter_modules([str(CLIENT)])} - BUILDERS
    for name in sorted(names):
        tree = ast.parse((CLIENT / f"{name}.py").read_text())
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if makes_operation(node):
                yield f"{name}.{node.name}"


def makes_operation(node: ast.FunctionDef) -> bool:
    """Whether it makes an operation of its own; `id` is what the OpenAPI document calls that."""
    given = "" if node.returns is None else ast.unparse(node.returns)
    takes_one = any(
        argument.annotation is not None and "Operation" in ast.unparse(argument.annotation)
        for argument in node.args.args
    )
    return given.startswith("Operation[") and not takes_one and "TypeVar" not in given


def used() -> set[str]:
    """Return every operation that a module of the console names."""
    return {
        name for path in CONSOLE.rglob("*.py") for name in named_in(ast.parse(path.read_text()))
    }


def named_in(tree: ast.Module) -> Iterator[str]:
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "remit.client":
            modules |= {each.asname or each.name: each.name for each in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module is not None and node.attr.islower():
                yield f"{module}.{node.attr}"


def test_what_the_console_asks_for_are_operations_of_the_client() -> None:
    assert used() - set(offered()) == set()


def test_every_operation_is_in_the_console_or_there_is_a_reason() -> None:
    asked, there = used(), set(offered())

    assert there - asked == NOT_IN_CONSOLE.keys()


def test_pages_reach_nothing_but_by_those_operations() -> None:
    modules = {page.show.__module__ for page in PAGES}
    modules |= {action.run.__module__ for page in PAGES for action in page.actions}

    foreign = {
        name: sorted(set(imports_of(importlib.import_module(name)))) for name in sorted(modules)
    }

    assert {name: names for name, names in foreign.items() if names} == {}


def imports_of(module: ModuleType) -> Iterator[str]:
    """Give what a module takes of ours and may not."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (n for n in names if n.startswith("remit.") and not n.startswith(WITHIN))
