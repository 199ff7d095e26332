"""What commands log, and how: to standard error only, as JSON where that is no terminal."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import Final, TextIO, cast

import structlog
from structlog.typing import EventDict

from remit.calls.current import add_current
from remit.cli.lines import Lossy, plain, plain_text, say

LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
"""What `REMIT_LOG_LEVEL` may say, in any case of letters."""

LOG_FORMATS: Final = ("json", "text")
"""What `REMIT_LOG_FORMAT` may say; without it, JSON goes to what is no terminal."""


def set_up_logging(default: int) -> None:
    """Log to standard error only: standard output belongs to results and to JSON-RPC."""
    variable = "REMIT_LOG_LEVEL" if os.environ.get("REMIT_LOG_LEVEL") else "MCP_LOG_LEVEL"
    name = os.environ.get(variable, "").upper()
    known = logging.getLevelNamesMapping()
    level = known.get(name, default)
    if name and name not in known and variable == "REMIT_LOG_LEVEL":
        _warn(variable, LOG_LEVELS)
    form = os.environ.get("REMIT_LOG_FORMAT", "")
    if form not in ("", *LOG_FORMATS):
        _warn("REMIT_LOG_FORMAT", LOG_FORMATS)
    as_json = form == "json" if form in LOG_FORMATS else not sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            add_current,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *(
                [structlog.processors.JSONRenderer()]
                if as_json
                else [_made_plain, structlog.dev.ConsoleRenderer(colors=False)]
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", Lossy(sys.stderr))),
    )


def _warn(variable: str, allowed: Sequence[str]) -> None:
    words = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    say(f"warning: {variable} is none of {words}: it counts as not set", err=True)


def _made_plain(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Keep off the terminal what servers say; only a traceback has several lines."""
    return {
        key: plain_text(value)
        if key == "exception"
        else plain(value)
        if isinstance(value, str)
        else value
        for key, value in event.items()
    }
