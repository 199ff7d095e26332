"""`Retry-After` asks everybody for the same seconds, in whatever zone this host is."""

import time
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from remit.client.exchange import Reply
from remit.model.http_times import LONGEST_AFTER, http_date, retry_after
from remit.servers.rest.waits import wait_asked
from remit.upstreams.http import status_error

NOW = datetime(2030, 3, 17, 17, 46, 40, tzinfo=UTC)
DATES = (
    "Sun, 17 Mar 2030 17:48:00 GMT",
    "Sun, 17 Mar 2030 17:48:00 +0000",
    "Sun, 17 Mar 2030 17:48:00 -0000",
    "Sun, 17 Mar 2030 17:48:00",
    "Sun, 17 Mar 2030 19:48:00 +0200",
    "Sunday, 17-Mar-30 17:48:00 GMT",
    "Sun Mar 17 17:48:00 2030",
)


@pytest.fixture(autouse=True, params=["America/New_York", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Let the host be far from UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("text", DATES)
def test_a_date_is_the_same_moment_everywhere(text: str) -> None:
    assert http_date(text) == NOW + timedelta(seconds=80)
    assert retry_after(text, NOW) == 80
    # Bundled servers import nothing of ours, and so have their own.
    assert wait_asked(429, {"retry-after": text}, "", NOW.timestamp()) == 80


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("9" * 400, LONGEST_AFTER),
        ("Sun, 17 Mar 2030 17:46:39 GMT", 0),
        ("", None),
        ("1.5", None),
        ("-1", None),
        ("soon", None),
        ("١٢", None),
        ("Sun, 17 Mar 99999999999999999999 17:48:00 GMT", None),
        ("Sun, 17 Mar 2030 17:48:00 +99999999999999999999", None),
    ],
)
def test_seconds_and_what_makes_no_sense(text: str, seconds: float | None) -> None:
    assert retry_after(text, NOW) == seconds


def test_servers_behind_us_and_gateways_are_understood_alike() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=600)).replace("+0000", "-0000")
    headers = {"retry-after": until}

    told = status_error(503, headers)

    assert told is not None
    assert told.retry_after == pytest.approx(600, abs=30)
    assert Reply(status=503, headers=headers, body=b"").retry_after == pytest.approx(600, abs=30)
