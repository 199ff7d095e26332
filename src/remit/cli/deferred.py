"""Commands that are imported when they run: one need not wait for what the others need."""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """A command, or a group of commands, that stands in a module.

    Attributes:
        name: As it is called.
        place: `module:name` of the function or the `typer.Typer`.
        panel: The heading under which `remit --help` lists it; none hides it.
        summary: What that list says: the first sentence of its own help.
    """

    name: str
    place: str
    panel: str | None
    summary: str

    def load(self) -> Any:
        """Import it."""
        # structlog draws tracebacks with rich where that is there; ours are plain, and rich with
        # pygments takes 6 MB and 60 ms.
        module, _, name = self.place.partition(":")
        with _uncollected():
            with _hidden("rich"):
                import_module("structlog")
            found = getattr(import_module(module), name)
        if isinstance(found, typer.Typer):
            return get_command(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, hidden=self.panel is None)(found)
        return get_command(alone)


class DeferredCommands(TyperGroup):
    """The group of *table*: lists what the table says, and imports the one that is called."""

    table: ClassVar[tuple[Deferred, ...]] = ()

    def __init__(self, **attributes: Any) -> None:
        """List the table's commands, none of them imported."""
        super().__init__(**attributes)
        for entry in self.table:
            self.add_command(
                TyperCommand(
                    entry.name,
                    help=entry.summary,
                    rich_help_panel=entry.panel,
                    hidden=entry.panel is None,
                )
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that *args* begin with, and import it."""
        name, stub, rest = super().resolve_command(ctx, args)
        found = next((entry for entry in self.table if entry.name == name), None)
        return name, stub if found is None else found.load(), rest


@contextmanager
def _uncollected() -> Generator[None]:
    """Look for no garbage meanwhile: imports leave next to none, and it is an eighth of a start."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _hidden(name: str) -> Generator[None]:
    """Let no import find the module *name* meanwhile, unless somebody has imported it before.

    None in `sys.modules` is how Python is told that a module is not to be found.
    """
    modules: dict[str, Any] = sys.modules
    if name in modules:
        yield
        return
    modules[name] = None
    try:
        yield
    finally:
        del modules[name]
