"""Commands in this process, which spares each of them the start of a Python."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

import typer.testing

from remit.cli.main import app
from remit.testing.gateway import Ended, environment


def run_inside(
    *arguments: str, folder: Path, environ: Mapping[str, str] | None = None, said: str = ""
) -> Ended:
    """Run a command in *folder*, as `remit.testing.gateway.run_remit` does in a process.

    Args:
        arguments: Its words.
        folder: Where.
        environ: Variables beside this process's, of which it does not see remit's own.
        said: What it reads from standard input.
    """
    hidden = dict.fromkeys(os.environ.keys() - environment().keys())
    runner = typer.testing.CliRunner()
    with contextlib.chdir(folder):
        ended = runner.invoke(app, arguments, input=said, env={**hidden, **(environ or {})})
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return Ended(arguments, ended.exit_code, ended.stdout, ended.stderr)
