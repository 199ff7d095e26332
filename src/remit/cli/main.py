"""`remit`: the command line, one module a command."""

import logging
import os
import signal
import sys
from types import FrameType
from typing import Annotated, Final

import typer

from remit.cli.deferred import Deferred, DeferredCommands
from remit.cli.library_log import LibraryLog
from remit.cli.lines import say

BEGIN: Final = "Begin and serve"
ASK: Final = "Ask and try"
DECLARATION: Final = "Change the declaration"
CALLERS: Final = "Tenants and callers"
RECORD: Final = "What happened"
WORKER: Final = "serve-worker"
_INTERRUPTED: Final = 130  # 128 and SIGINT, as typer has it


class Commands(DeferredCommands):
    """What `remit` can do."""

    table = tuple(
        Deferred(name=name, place=f"remit.cli.{place}", panel=panel, summary=summary)
        for name, place, panel, summary in (
            (
                "demo",
                "demo.command:demo",
                BEGIN,
                "See one caller allowed, another refused, and why, on a scratch repository.",
            ),
            (
                "init",
                "init:init",
                BEGIN,
                "Write the declaration: a first one to start from, or what other programs have.",
            ),
            ("serve", "serve:serve", BEGIN, "Serve MCP at /mcp and /mcp/{server} until Ctrl-C."),
            (
                "stdio",
                "stdio:stdio",
                BEGIN,
                "Serve one caller over stdio, for clients that start their servers themselves.",
            ),
            (
                "check",
                "check:check",
                ASK,
                "Say everything that is wrong or suspicious in the declaration.",
            ),
            (
                "tools",
                "tools:tools",
                ASK,
                "Show the tools that a caller sees, and what their list costs a model in tokens.",
            ),
            (
                "call",
                "call:call",
                ASK,
                "Call a tool as a caller would: checked, bounded and recorded.",
            ),
            (
                "explain",
                "explain:explain",
                ASK,
                "Say whether a caller may call a tool, and what every layer says.",
            ),
            (
                "who-can",
                "explain:who_can",
                ASK,
                "Show every role, key, agent, user role and agent type that can call a tool.",
            ),
            (
                "test",
                "test:policy_test",
                ASK,
                "Run policy tests: files of cases {as, tool, args, expect: allow|deny, rule}.",
            ),
            (
                "doctor",
                "doctor:doctor",
                ASK,
                "Look at servers, declaration, database, record, files and port: what to do?",
            ),
            (
                "apply",
                "apply:apply",
                DECLARATION,
                "Make FILE the declaration in force, in every gateway on this database within 2 s.",
            ),
            (
                "revisions",
                "revisions:revisions",
                DECLARATION,
                "Show the declaration's history, newest first, or one revision of it.",
            ),
            (
                "rollback",
                "revisions:rollback",
                DECLARATION,
                "Make what revision N says the current revision again, as a new one.",
            ),
            (
                "export",
                "revisions:export",
                DECLARATION,
                "Write the current declaration, or that of revision N, as YAML that `apply` takes.",
            ),
            ("tenants", "tenants:tenants_app", CALLERS, "Make and list tenants."),
            ("keys", "keys:keys_app", CALLERS, "Make, list, rotate and revoke API keys."),
            ("agents", "agents:agents_app", CALLERS, "Register, change and list agents."),
            ("users", "users:users_app", CALLERS, "Keep users out, and let them in again."),
            (
                "datasources",
                "datasources:datasources_app",
                CALLERS,
                "Add, change, try out and remove what the data server works on.",
            ),
            ("token", "token:token_app", CALLERS, "Make tokens for development, on this machine."),
            (
                "audit",
                "audit:audit_app",
                RECORD,
                "Search, follow, export, verify and prune the record of calls.",
            ),
            (
                "queries",
                "queries:queries_app",
                CALLERS,
                "See approved queries, and decide on those that were suggested.",
            ),
            ("inbox", "inbox:inbox_app", RECORD, "Read and answer what agents write to the human."),
            ("alerts", "alerts:alerts_app", RECORD, "Show and close alerts on use of data."),
            ("events", "events:events_app", RECORD, "Show who is told of events."),
            (WORKER, "worker:serve_worker", None, "Serve until the supervisor ends, or says so."),
        )
    )


app = typer.Typer(
    name="remit",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - 20 ms of every command's start

        say(f"remit {version('remit')}")
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
    # Deferred: 40 ms that the help need not wait for.
    from remit.cli.logs import set_up_logging  # noqa: PLC0415 - see above
    from remit.cli.output import EXIT_USAGE, fail  # noqa: PLC0415 - see above
    from remit.settings import silence_problem  # noqa: PLC0415 - see above

    set_up_logging(logging.WARNING if runs_on else logging.ERROR)
    if (problem := silence_problem(os.environ.get("REMIT_AGENT_SILENCE", ""))) is not None:
        fail(problem, EXIT_USAGE)


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
            say(f"error: {' '.join(message.split())}; see `{command} --help`", err=True)
        status = wrong.exit_code
    except RuntimeError as error:
        # What Python 3.11 makes of an interrupt that meets it while it makes a class.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        status = _INTERRUPTED
    sys.exit(status)
