"""`remit`: the command line, one module a command."""

import logging
import os
import signal
import sys
from importlib.metadata import version
from types import FrameType
from typing import Annotated, Final

import structlog
import typer

from remit.calls.current import add_current
from remit.cli.agents import agents_app
from remit.cli.apply import apply
from remit.cli.audit import audit_app
from remit.cli.call import call
from remit.cli.check import check
from remit.cli.demo.command import demo
from remit.cli.doctor import doctor
from remit.cli.explain import explain, who_can
from remit.cli.init import init
from remit.cli.keys import keys_app
from remit.cli.library_log import LibraryLog
from remit.cli.revisions import export, revisions, rollback
from remit.cli.serve import serve
from remit.cli.stdio import stdio
from remit.cli.tenants import tenants_app
from remit.cli.test import policy_test
from remit.cli.token import token_app
from remit.cli.tools import tools
from remit.cli.users import users_app
from remit.cli.worker import COMMAND as WORKER
from remit.cli.worker import serve_worker

app = typer.Typer(
    name="remit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
START: Final = "Begin and serve"
ASK: Final = "Ask and try"
DECLARATION: Final = "Change the declaration"
CALLERS: Final = "Tenants and callers"
RECORD: Final = "What happened"

for panel, commands in {
    START: (demo, init, serve, stdio),
    ASK: (check, tools, call, explain, doctor),
    DECLARATION: (apply, revisions, rollback, export),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.command("who-can", rich_help_panel=ASK)(who_can)
app.command("test", rich_help_panel=ASK)(policy_test)
app.command(WORKER, hidden=True)(serve_worker)
app.add_typer(tenants_app, name="tenants", rich_help_panel=CALLERS)
app.add_typer(keys_app, name="keys", rich_help_panel=CALLERS)
app.add_typer(agents_app, name="agents", rich_help_panel=CALLERS)
app.add_typer(users_app, name="users", rich_help_panel=CALLERS)
app.add_typer(token_app, name="token", rich_help_panel=CALLERS)
app.add_typer(audit_app, name="audit", rich_help_panel=RECORD)


LOG_FORMATS: Final = ("json", "text")
"""What `REMIT_LOG_FORMAT` may say; without it, JSON goes to what is no terminal."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"remit {version('remit')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """An MCP gateway: who can call what, why, and what did they do?"""
    del show_version
    # A command that ends says itself what is wrong; a gateway that runs has nothing but its log.
    runs_on = context.invoked_subcommand in {"serve", "stdio", WORKER}
    _set_up_logging(logging.WARNING if runs_on else logging.ERROR)


def _set_up_logging(default: int) -> None:
    """Log to standard error only: standard output belongs to results and to JSON-RPC."""
    name = os.environ.get("REMIT_LOG_LEVEL") or os.environ.get("MCP_LOG_LEVEL") or ""
    level = logging.getLevelNamesMapping().get(name.upper(), default)
    form = os.environ.get("REMIT_LOG_FORMAT", "")
    as_json = form == "json" if form in LOG_FORMATS else not sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            add_current,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer()
            if as_json
            else structlog.dev.ConsoleRenderer(colors=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM like Ctrl-C, so that what a command opened is closed and no child is left.

    Only the first: a second Ctrl-C ends at once, and nobody who sends SIGTERM twice means that.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.raise_signal(signal.SIGINT)


def main() -> None:
    """Run the command that the arguments name; a wrong use is one line, as any other error is."""
    # A shell without job control starts what runs behind it with Ctrl-C ignored, and SIGTERM too
    # would then end nothing.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().addHandler(LibraryLog())
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        status: int | None = app(standalone_mode=False)
    except typer.TyperException as wrong:
        message = wrong.format_message().rstrip(".")
        if message:  # without one, the help was shown
            context = getattr(wrong, "ctx", None)
            command = context.command_path if context is not None else "remit"
            typer.echo(f"error: {message}; see `{command} --help`", err=True)
        status = wrong.exit_code
    sys.exit(status)
