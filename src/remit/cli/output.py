"""How commands speak: tables for people, JSON for programs, one line for errors."""

import shutil
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar, cast

import anyio
import typer

from remit.cli.lines import plain, print_json, say
from remit.errors import (
    AuditUnavailable,
    BadCall,
    ClientError,
    Conflict,
    DeclarationError,
    GatewayUnreachable,
    NotFound,
    ProblemDetails,
    RemitError,
    StartupError,
    UpstreamError,
)

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3

T = TypeVar("T")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

ConfigFlag = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The declaration; default $REMIT_CONFIG, else remit.yaml."
    ),
]

TenantFlag = Annotated[
    str | None,
    typer.Option("--tenant", metavar="TENANT", help="Name or UUID of a tenant; default: default."),
]


def waiting(what: str) -> AbstractContextManager[object]:
    """Show on a terminal's standard error that something takes its time."""
    # Deferred: rich takes 3 MB, and most commands show nothing of the kind.
    from rich.console import Console  # noqa: PLC0415 - see above

    return Console(stderr=True, highlight=False).status(what)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str, titled: bool = True
) -> None:
    """Print a table, or the line *empty* when it would have no rows.

    On a terminal that is too narrow each row's last cell goes on a line of its own; nothing is
    ever cut, and nothing is folded in a file or a pipe.
    """
    if not rows:
        say(empty)
        return
    # Deferred, as above.
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - see above

    table = [list(columns), *([plain(cell) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    is_narrow = (
        sys.stdout.isatty()
        and sum(widths) + 2 * len(widths) - 2 > shutil.get_terminal_size().columns
    )
    for number, row in enumerate(table):
        if number == 0 and not titled:
            continue
        *cells, last = row
        first = "  ".join(map(set_cell_size, cells, widths))
        for line in (first, f"    {last}") if is_narrow else (f"{first}  {last}",):
            say(line.rstrip(), bold=number == 0)


def print_entries(
    entries: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]] | None = None,
    *,
    empty: str,
    as_json: bool,
    titled: bool = True,
) -> None:
    """Print a list: all of it as JSON, or some members of each entry as a table.

    Args:
        entries: What there is.
        columns: The members that the table shows.
        rows: The entries as the table has them, where people read them otherwise.
        empty: The line in the place of a table without rows.
        as_json: Whether JSON was asked for.
        titled: Whether the columns are named above the table.
    """
    if as_json:
        print_json(entries)
    else:
        cells = as_rows(entries if rows is None else rows, columns)
        print_table(columns, cells, empty=empty, titled=titled)


def exit_status(error: RemitError) -> int:
    """Return the exit status that an error means (contract, product.md)."""
    if isinstance(error, NotFound | BadCall):  # what was typed means nothing, or does not do
        return EXIT_USAGE
    if isinstance(error, StartupError | UpstreamError | AuditUnavailable | GatewayUnreachable):
        return EXIT_UNREACHABLE
    if isinstance(error, ClientError) and (error.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return EXIT_UNREACHABLE
    return EXIT_NO


def fail(message: str, status: int = EXIT_NO) -> NoReturn:
    """Print one line on standard error and leave with *status*."""
    say(f"error: {message}", err=True)
    raise typer.Exit(status)


def refuse(error: RemitError) -> NoReturn:
    """Print what an error says, a line for each single thing that is wrong, and leave."""
    lines: Sequence[object] = [error]
    if isinstance(error, DeclarationError | ProblemDetails):
        lines = error.problems or lines
    elif isinstance(error, Conflict):  # with the difference, a line each
        lines = str(error).split("\n")
    *before, last = lines
    for line in before:
        say(f"error: {line}", err=True)
    fail(str(last), exit_status(error))


def run(command: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run an async command; what remit refuses becomes one line and an exit status."""
    try:
        return anyio.run(command, backend_options={"use_uvloop": True})
    except RemitError as error:
        refused: BaseException = error
    except BaseExceptionGroup as group:
        refused = _what_ended(group)
    if not isinstance(refused, RemitError):
        raise refused
    refuse(refused)


def _what_ended(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one error that tasks ended with, the first of several refusals, or the group."""
    errors = list(_errors_in(group))
    if len(errors) == 1 or all(isinstance(error, RemitError) for error in errors):
        return errors[0]
    return group


def _errors_in(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _errors_in(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error


def as_rows(entries: Sequence[Mapping[str, object]], columns: Sequence[str]) -> list[list[str]]:
    """Return table rows with the named members of *entries*."""
    return [["" if entry[c] is None else str(entry[c]) for c in columns] for entry in entries]
