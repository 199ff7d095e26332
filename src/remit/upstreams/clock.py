"""How far a server's clock is from ours, by the `Date` of any answer that it gives."""

from datetime import UTC, datetime
from typing import Final

from remit.model.http_times import http_date
from remit.upstreams.http import USER_AGENT
from remit.upstreams.trust import Trust

PATIENCE: Final = 5.0
"""Seconds for the one request."""


async def clock_skew(url: str, trust: Trust) -> float | None:
    """Return the seconds by which the clock at *url* is ahead; None where it tells no time.

    No credential is sent, and whatever the answer is, it has a date. The date has whole seconds,
    so less than two mean nothing.
    """
    # Deferred: a gateway that nobody examines has no use for it.
    import aiohttp  # noqa: PLC0415 - see above

    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    connector = aiohttp.TCPConnector(ssl=trust.context)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=timeout, connector=connector, headers={"User-Agent": USER_AGENT}
            ) as session,
            session.get(url, allow_redirects=False) as reply,
        ):
            theirs = http_date(reply.headers.get("Date", ""))
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    return None if theirs is None else (theirs - datetime.now(UTC)).total_seconds()
