"""What a server has taken once counts as sent, whatever fails afterwards (R23)."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.upstreams.callers import Quiet, call

from remit.errors import UpstreamProtocolError, UpstreamUnavailable
from remit.model.servers import ServerConfig, Transport
from remit.testing.fleets import call_tool, open_servers
from remit.testing.upstream import FixtureOptions, WebFixture, executed, open_web_fixture, received

ASKS: dict[str, Any] = {"resultType": "input_required", "inputRequests": {}, "requestState": "kept"}
MISSING = {"code": -32002, "message": "no such ticket"}
DONE: dict[str, Any] = {"content": [], "structuredContent": {"session": "closed"}}


@contextmanager
def serving(ran: Path, era: str, **quirks: Any) -> Generator[tuple[WebFixture, ServerConfig]]:
    """Give a server whose tool `t` has these quirks, and its entry."""
    tool = {"name": "t", "x-fixture": quirks}
    with open_web_fixture(FixtureOptions(tools=[tool], count_file=str(ran), era=era)) as web:
        yield web, ServerConfig(name="s", transport=Transport.HTTP, url=web.url)


async def test_a_call_whose_stream_cannot_be_resumed_since_its_server_went(ran: Path) -> None:
    with serving(ran, "legacy") as (web, config):
        async with open_servers(config) as fleet:
            web.leaves_at = "tools/call"
            with pytest.raises(UpstreamUnavailable, match="connection refused") as failed:
                await call_tool(fleet, "s", "t")
    assert failed.value.is_outcome_unknown
    assert len(executed(ran)) == 1


async def test_a_call_of_which_the_server_took_one_round_and_went(ran: Path) -> None:
    with serving(ran, "modern", result=ASKS) as (web, config):
        async with open_servers(config) as fleet:
            web.leaves_at = "tools/call"
            with pytest.raises(UpstreamUnavailable, match="connection refused") as failed:
                await call(fleet, Quiet())
    assert failed.value.is_outcome_unknown
    assert len(executed(ran)) == 1


async def test_a_call_whose_first_round_never_left_is_not_sent(ran: Path) -> None:
    with serving(ran, "modern", result=ASKS) as (web, config):
        web.leaves_at = "tools/list"
        async with open_servers(config) as fleet:
            with pytest.raises(UpstreamUnavailable, match="connection refused") as failed:
                await call(fleet, Quiet())
    assert not failed.value.sent
    assert executed(ran) == []


async def test_a_tools_own_error_with_the_status_of_a_lost_session(ran: Path) -> None:
    with serving(ran, "legacy", error=MISSING, status=404) as (_, config):
        async with open_servers(config) as fleet:
            with pytest.raises(UpstreamProtocolError, match="no such ticket"):
                await call_tool(fleet, "s", "t")
    assert len(executed(ran)) == 1
    assert len(received(ran, "initialize")) == 2  # the status says that the session is lost


@pytest.mark.parametrize("status", [404, 400])
async def test_a_result_with_the_status_of_a_lost_session(ran: Path, status: int) -> None:
    with serving(ran, "legacy", result=DONE, status=status) as (_, config):
        async with open_servers(config) as fleet:
            assert b"closed" in await call_tool(fleet, "s", "t")
    assert len(executed(ran)) == 1
