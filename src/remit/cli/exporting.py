"""Rows that leave remit: on standard output or into a private file."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from remit.cli.output import fail


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
