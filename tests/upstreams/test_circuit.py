"""A server that keeps failing is left alone after a while, and says so."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from remit.errors import UpstreamUnavailable
from remit.model.servers import ServerConfig, ServerState, Transport
from remit.testing.fleets import BRISK, call_tool, eventually, open_servers, status_of
from remit.testing.upstream import FixtureOptions, WebFixture, executed, fixture_server_config

STORMY = replace(BRISK, most_failures=4, window=60.0, probe=600.0)
PROBED = replace(STORMY, probe=0.3)


def _starts(counted: Path) -> int:
    return len(counted.read_text()) if counted.exists() else 0


def _failing(counted: Path) -> ServerConfig:
    """Return a server that says that it was started, and ends."""
    script = f"printf x >> {counted}; echo no licence >&2; exit 3"
    return ServerConfig(name="s", command="sh", args=("-c", script))


async def test_a_respawn_storm_is_ended_shown_and_logged_once(tmp_path: Path) -> None:
    counted = tmp_path / "starts"
    with capture_logs() as logs:
        async with open_servers(_failing(counted), pace=STORMY) as fleet:
            await eventually(lambda: status_of(fleet, "s").state is ServerState.QUARANTINED)
            starts = _starts(counted)
            status = status_of(fleet, "s")
            with pytest.raises(UpstreamUnavailable, match="server 's' failed 4 times"):
                await call_tool(fleet, "s", "t")

    assert starts == STORMY.most_failures
    circuit = "failed 4 times within 60 s, so it is tried only every 600 s"
    assert status.reason == f"{circuit}: exited with code 3: no licence"
    assert status.failures == 4
    assert status.retry_in is not None
    assert 0 < status.retry_in <= STORMY.probe
    assert status.connections == 0
    assert _told(logs) == ["server failed", "server quarantined"]
    assert _starts(counted) == starts


def _told(logs: Sequence[Any]) -> list[str]:
    return [entry["event"] for entry in logs if entry.get("server") == "s"]


async def test_probes_of_a_server_in_quarantine_are_not_logged(tmp_path: Path) -> None:
    counted = tmp_path / "starts"
    with capture_logs() as logs:
        async with open_servers(_failing(counted), pace=PROBED) as fleet:
            await eventually(lambda: _starts(counted) >= STORMY.most_failures + 2)
            assert status_of(fleet, "s").state is ServerState.QUARANTINED

    assert _told(logs).count("server quarantined") == 1


async def test_a_probe_that_succeeds_ends_the_quarantine(ran: Path) -> None:
    # T12: what comes up late is found without anybody asking.
    fixture = WebFixture(FixtureOptions(tools=["t"], count_file=str(ran)))
    fixture.start()
    fixture.stop()
    server = ServerConfig(name="s", transport=Transport.HTTP, url=fixture.url)
    async with open_servers(server, pace=PROBED) as fleet:
        await eventually(lambda: status_of(fleet, "s").state is ServerState.QUARANTINED)
        fixture.start()
        await eventually(lambda: status_of(fleet, "s").state is ServerState.READY)
        await call_tool(fleet, "s", "t")
    fixture.stop()
    assert len(executed(ran)) == 1


async def test_a_restart_ends_the_quarantine_and_begins_anew(tmp_path: Path) -> None:
    counted = tmp_path / "starts"
    async with open_servers(_failing(counted), pace=STORMY) as fleet:
        await eventually(lambda: status_of(fleet, "s").state is ServerState.QUARANTINED)
        starts = _starts(counted)
        fleet.restart("s")
        assert status_of(fleet, "s").failures == 0
        await eventually(lambda: status_of(fleet, "s").state is ServerState.QUARANTINED)
        assert _starts(counted) == starts + STORMY.most_failures


async def test_a_changed_declaration_ends_the_quarantine_and_the_same_one_does_not(
    tmp_path: Path, ran: Path
) -> None:
    broken = _failing(tmp_path / "starts")
    async with open_servers(broken, pace=STORMY) as fleet:
        await eventually(lambda: status_of(fleet, "s").state is ServerState.QUARANTINED)
        fleet.reconfigure({"s": broken})
        assert status_of(fleet, "s").state is ServerState.QUARANTINED
        fleet.reconfigure({"s": fixture_server_config("s", ["t"], ran)})
        await eventually(lambda: status_of(fleet, "s").state is ServerState.READY)
        await call_tool(fleet, "s", "t")


async def test_one_callers_storm_is_ended_and_no_other_caller_minds(ran: Path) -> None:
    # Each caller has a child of its own, which one of them kills with each call.
    leave = {"name": "leave", "x-fixture": {"exit": 7}}
    server = fixture_server_config("s", [leave, "t"], ran)
    async with open_servers(server, pace=STORMY) as fleet:
        for _ in range(STORMY.most_failures):
            with pytest.raises(UpstreamUnavailable, match="code 7"):
                await call_tool(fleet, "s", "leave", by="ann")
            await eventually(lambda: status_of(fleet, "s").connections == 1)
        with pytest.raises(UpstreamUnavailable, match=r"failed 4 times .*code 7") as caught:
            await call_tool(fleet, "s", "t", by="ann")
        assert not caught.value.sent
        assert not caught.value.transient
        status = status_of(fleet, "s")
        assert status.state is ServerState.DEGRADED
        assert status.reason == "the connections of 1 of its callers failed too often"
        await call_tool(fleet, "s", "t", by="ben")
    assert [call.name for call in executed(ran)] == ["leave"] * STORMY.most_failures + ["t"]


async def test_a_server_that_starts_and_dies_again_and_again_is_quarantined_too(
    tmp_path: Path, ran: Path
) -> None:
    # It comes up each time, and what it offers is withdrawn once there is no end to it.
    inner = fixture_server_config("s", ["t"], ran)
    script = f'printf x >> {tmp_path}/starts; (sleep 0.7; kill -9 $$) & exec "$@"'
    server = replace(inner, command="sh", args=("-c", script, "sh", inner.command, *inner.args))
    async with open_servers(server, pace=STORMY) as fleet:
        await eventually(lambda: status_of(fleet, "s").state is ServerState.QUARANTINED)
        assert executed(ran) == []
        assert _starts(tmp_path / "starts") == STORMY.most_failures
        assert fleet.catalogue.tools == {}
