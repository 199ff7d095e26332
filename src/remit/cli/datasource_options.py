"""What `remit datasources add` and `set` have in common: options, and where URLs come from.

A URL with a password is taken from the environment or from standard input alone: what stands on a
command line, every user of the machine can read in its list of processes.
"""

import os
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import typer

from remit.cli.output import EXIT_USAGE, fail
from remit.data.urls import has_secret
from remit.model.data import MOST_ROWS, MOST_SECONDS

WritableFlag = Annotated[
    bool | None,
    typer.Option(
        "--writable/--read-only",
        help="Whether approved queries that modify, and `execute`, may run on it.",
    ),
]
SchemaFlag = Annotated[
    list[str] | None,
    typer.Option("--schema", metavar="SCHEMA", help="A schema that may be used; repeatable."),
]
TableFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="PATTERN",
        help="Tables that may be used, such as `orders` or `sales.*`; repeatable. All if none is"
        " given, `*` for all again, '' for none.",
    ),
]
SensitiveFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive", metavar="PATTERN", help="Tables whose use raises an alert; repeatable."
    ),
]
RowsFlag = Annotated[
    int | None, typer.Option("--row-limit", min=1, max=MOST_ROWS, help="Most rows of an answer.")
]
SecondsFlag = Annotated[
    float | None,
    typer.Option(
        "--time-limit", min=0.001, max=MOST_SECONDS, help="Seconds that a statement may run."
    ),
]
ConcurrencyFlag = Annotated[
    int | None, typer.Option("--concurrency", min=1, help="Statements at once, in one process.")
]
DefaultFlag = Annotated[
    bool | None,
    typer.Option("--default/--no-default", help="Whether it is meant where a call names none."),
]
UntestedFlag = Annotated[
    bool, typer.Option("--untested", help="Keep it although it does not answer.")
]

_STDIN: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a new datasource is.

    Attributes:
        engine: Which of the three.
    """

    engine: str
    url: str = field(repr=False)


def place_of(*, sqlite: str | None, duckdb: str | None, postgresql: str | None) -> Place:
    """Return where a new datasource is; leave with status 2 unless exactly one place is given."""
    given = {"sqlite": sqlite, "duckdb": duckdb, "postgresql": postgresql}
    places = [Place(engine=engine, url=url) for engine, url in given.items() if url is not None]
    if len(places) != 1 or not places[0].url:
        fail(
            "say where it is, in one way: --sqlite PATH, --duckdb PATH or --postgresql-env VAR",
            EXIT_USAGE,
        )
    return places[0]


def given_url(option: str, given: str | None, variable: str | None) -> str | None:
    """Return a URL, or None where none is given; leave with status 2 when it does not do.

    Args:
        option: How it is given, for messages.
        given: On the command line; `-` stands for standard input.
        variable: The environment variable that it stands in.
    """
    if variable is not None:
        if given is not None:
            fail(f"give {option} or {option}-env, not both", EXIT_USAGE)
        url = os.environ.get(variable, "")
        if not url:
            fail(f"{variable} is not set", EXIT_USAGE)
        return url
    if given == _STDIN:
        return sys.stdin.read().strip()
    if given and has_secret(given):
        fail(
            f"{option}: the URL has a password, which every user of this machine can read on a"
            f" command line: give {option}-env VAR, or {option} - to read it from standard input",
            EXIT_USAGE,
        )
    return given


def settings_of(
    *,
    writable: bool | None,
    schemas: list[str] | None,
    tables: list[str] | None,
    sensitive: list[str] | None,
    row_limit: int | None,
    time_limit: float | None,
    concurrency: int | None,
    default: bool | None,
    **urls: str | None,
) -> dict[str, Any]:
    """Return what was given, in the spelling of the API."""
    given: dict[str, Any] = {
        "url": urls.get("url"),
        "writeUrl": urls.get("write_url"),
        "isWritable": writable,
        "schemas": _listed(schemas),
        "tables": _listed(tables),
        "sensitive": _listed(sensitive),
        "rowLimit": row_limit,
        "timeLimit": time_limit,
        "concurrency": concurrency,
        "isDefault": default,
    }
    return {name: value for name, value in given.items() if value is not None}


def _listed(given: list[str] | None) -> list[str] | None:
    """Return a list that was given; an empty text alone stands for an empty one."""
    return [] if given == [""] else given or None
