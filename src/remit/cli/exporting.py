"""Rows that leave remit: as JSON Lines or CSV, on standard output or into a private file."""

import csv
import json
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TextIO

from remit.cli.output import fail

Row = Mapping[str, object]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run; names and arguments are the callers' own."""


@contextmanager
def open_sink(output: Path | None) -> Generator[TextIO]:
    """Give standard output, or a file that only its owner can read, in place once it is whole."""
    if output is None:
        try:
            yield sys.stdout
            sys.stdout.flush()
        except BrokenPipeError:
            # whoever read has enough; what is still buffered must not fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as sink:
            yield sink
        beside.replace(output)
    except OSError as error:
        fail(f"cannot write {str(output)!r}: {error.strerror}")
    finally:
        beside.unlink(missing_ok=True)


def json_lines(sink: TextIO) -> Callable[[Row], None]:
    """Return what writes one row as a line of JSON."""

    def write(row: Row) -> None:
        # line separators that are no line ends to JSON would be to some readers
        sink.write(json.dumps(row, ensure_ascii=True) + "\n")

    return write


def comma_separated(sink: TextIO) -> Callable[[Row], None]:
    """Return what writes rows as CSV under a header; what looks like a formula gets a `'`."""
    writer = csv.writer(sink, lineterminator="\r\n")
    has_header = False

    def write(row: Row) -> None:
        nonlocal has_header
        if not has_header:
            has_header = True
            writer.writerow(row)
        writer.writerow([_cell(value) for value in row.values()])

    return write


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


ROW_WRITERS: Mapping[Literal["jsonl", "csv"], Callable[[TextIO], Callable[[Row], None]]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
}
