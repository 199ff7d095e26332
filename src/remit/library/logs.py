"""The library logs to the standard `logging`, whatever program it is imported into.

The gateway's own set-up (`cli/logs.py`) is a process's; a library must not print where its program
may be speaking a protocol.
"""

import logging
from typing import cast

import structlog


def logger_of(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger whose events reach the standard logger *name*, as `key=value` text."""
    wrapped = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.LogfmtRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return cast("structlog.stdlib.BoundLogger", wrapped)
