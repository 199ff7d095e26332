import logging

import pytest
import structlog

from remit.library.log import log_through_logging


def test_the_librarys_log_goes_to_pythons_own(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    log_through_logging()

    with caplog.at_level(logging.INFO):
        structlog.get_logger("remit.library").warning("a server is lost", server="store")

    assert [(one.name, one.levelname) for one in caplog.records] == [("remit.library", "WARNING")]
    assert "server='store'" in caplog.text
    assert capsys.readouterr().out == ""


def test_a_program_that_set_up_its_log_keeps_it() -> None:
    seen: list[structlog.typing.EventDict] = []

    def collect(
        _logger: object, _name: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        seen.append(event)
        raise structlog.DropEvent

    structlog.configure(processors=[collect])

    log_through_logging()
    structlog.get_logger("remit.library").warning("a server is lost")

    assert [event["event"] for event in seen] == ["a server is lost"]
