"""What libraries log, told in the form in which remit's own log is."""

import logging


class LibraryLog(logging.Handler):
    """Passes warnings and errors of libraries on; without it, Python prints their bare text."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of one line."""
        # Deferred: a command that only shows its help has no use for it.
        import structlog  # noqa: PLC0415 - see above

        log = structlog.get_logger(__name__)
        log.log(
            record.levelno,
            "a library says",
            library=record.name,
            text=record.getMessage(),
            exc_info=record.exc_info,
        )
