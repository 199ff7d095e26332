"""Where the library's log goes: to Python's own, so that the program decides about it."""

import structlog


def log_through_logging() -> None:
    """Send remit's log to `logging`, unless the program has set up structlog itself.

    structlog left alone prints to standard output, which may be a program's protocol.
    """
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
