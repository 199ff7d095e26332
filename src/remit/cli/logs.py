"""What commands log, and how: to standard error only, as JSON where that is no terminal."""

import logging
import os
import sys
from typing import Final

import structlog

from remit.calls.current import add_current

LOG_FORMATS: Final = ("json", "text")
"""What `REMIT_LOG_FORMAT` may say; without it, JSON goes to what is no terminal."""


def set_up_logging(default: int) -> None:
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
