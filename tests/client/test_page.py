"""docs/python-client.md names every function of the client, and nothing else."""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import remit.client
from remit.client.operations import Operation

PAGE = Path(__file__).parents[2] / "docs" / "python-client.md"
NAMES = re.compile(r"`(\w+)`")


def functions() -> dict[str, set[str]]:
    """Return the functions that make operations, by module."""
    found: dict[str, set[str]] = {}
    for module in pkgutil.iter_modules(remit.client.__path__, "remit.client."):
        loaded = import_module(module.name)
        names = {
            name
            for name, value in inspect.getmembers(loaded, inspect.isfunction)
            if value.__module__ == module.name
            and not name.startswith("_")
            and str(inspect.signature(value).return_annotation).startswith(
                f"{Operation.__module__}.{Operation.__name__}["
            )
        }
        if names and not module.name.endswith((".operations", ".in_project")):
            found[module.name.rpartition(".")[2]] = names
    return found


def test_the_page_has_every_function() -> None:
    rows = [
        [NAMES.findall(cell) for cell in line.split("|")[1:3]]
        for line in PAGE.read_text().partition("| module |")[2].splitlines()
        if line.startswith("| `")
    ]

    assert {
        module: set(names) - {"Filter", "Draft", "Wanted"} for (module,), names in rows
    } == functions()
