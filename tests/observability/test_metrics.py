"""`/metrics`: what it counts, what it never names, and who may read it (issue 4)."""

import asyncio
import resource
import sys
from pathlib import Path, PosixPath

import httpx2
import pytest
from tests.api.worlds import ELSEWHERE, ROLE
from tests.observability.worlds import Scrape, Watched, open_watched

from remit.calls.tally import BOUNDS
from remit.client.transport import TRUSTS_NOBODY
from remit.doors.metrics import exposition
from remit.model.events import ADMINISTRATION
from remit.model.measures import Family, Measure, Sample
from remit.testing.gateway import fixture_entry
from remit.upstreams import memory


def test_every_call_is_counted_by_how_it_ended(watched: Watched) -> None:
    for name in ("work", "work", "fail", "break", "often", "often", "rest"):
        watched.call(f"tools__{name}")
    watched.call("tools__strict", {"n": "no number"})

    told = watched.scrape()

    def calls(**labels: str) -> float:
        return told.sum("remit_calls_total", tenant="default", **labels)

    assert calls() == 8
    assert calls(server="tools", decision="allow", outcome="ok", code="") == 3
    assert calls(server="tools", outcome="tool_error") == 1
    assert calls(server="tools", outcome="error") == 1
    assert calls(server="tools", decision="deny", outcome="none", code="PERMISSION_DENIED") == 1
    assert calls(server="tools", decision="allow", outcome="none", code="LIMIT_REACHED") == 1
    assert calls(server="tools", decision="allow", outcome="none", code="INVALID_INPUT") == 1
    assert told.sum("remit_limited_calls_total", server="tools") == 1
    assert told.sum("remit_denials_total", layer="ceiling") == 1
    assert told.sum("remit_calls_in_flight", server="tools") == 0


def test_the_record_and_the_numbers_agree(watched: Watched) -> None:
    for name in ("work", "fail", "rest", "nothing"):
        watched.call(f"tools__{name}")

    found = watched.api.get("/audit?limit=100")["items"]
    rows = [row for row in found if row["server"] != ADMINISTRATION]

    told = watched.scrape()
    assert told.sum("remit_calls_total") == len(rows) == 4
    for row in rows:
        assert told.sum("remit_calls_total", decision=row["decision"], outcome=row["outcome"])


def test_what_a_caller_writes_never_becomes_a_label(watched: Watched) -> None:
    for at in range(20):
        watched.call(f"invented-{at}__tool")
        httpx2.post(
            f"{watched.api.base}/mcp/made-up-{at}", json={}, timeout=30, verify=TRUSTS_NOBODY
        )

    told = watched.scrape()

    assert "invented" not in told.text
    assert "made-up" not in told.text
    assert told.sum("remit_denials_total", layer="unknown") == 20
    assert len(told.labels("remit_calls_total")) == 1
    names = {name for labels in map(dict, (key[1] for key in told.values)) for name in labels}
    assert not names & {"tool", "principal", "role", "call_id"}


def test_durations_are_a_histogram_of_the_calls_that_ran(watched: Watched) -> None:
    for _ in range(3):
        watched.call("tools__work")
    watched.call("tools__rest")

    told = watched.scrape()

    name = "remit_call_duration_seconds"
    assert told.sum(f"{name}_count", server="tools") == 3
    assert told.sum(f"{name}_bucket", server="tools", le="+Inf") == 3
    rising = [told.sum(f"{name}_bucket", server="tools", le=str(bound)) for bound in BOUNDS]
    assert rising == sorted(rising)
    assert 0 < told.sum(f"{name}_sum", server="tools") < 600


def test_the_state_of_every_server_is_told(watched: Watched) -> None:
    told = watched.scrape()

    def state(server: str) -> str:
        held = [
            dict(labels)["state"]
            for (name, labels), value in told.values.items()
            if name == "remit_server_state" and value == 1 and ("server", server) in labels
        ]
        assert len(held) == 1
        return held[0]

    assert state("tools") == "ready"
    assert state("gone") != "ready"
    assert told.sum("remit_server_tools", server="tools") == 6


def test_how_near_the_process_is_to_its_last_descriptor_is_told(watched: Watched) -> None:
    told = watched.scrape()

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert told.sum("process_max_fds") == most
    assert 3 < told.sum("process_open_fds") < most


def test_refused_credentials_are_counted_by_reason(watched: Watched) -> None:
    watched.call("tools__work", by="nobody")
    watched.call("tools__work", by="wrong key")
    watched.api.send("GET", "/keys", by="wrong key")

    told = watched.scrape()

    assert told.sum("remit_not_admitted_total", reason="no_credential") == 1
    assert told.sum("remit_not_admitted_total", reason="invalid_token") == 2


def test_on_loopback_whoever_is_on_this_machine_may_read(watched: Watched) -> None:
    assert watched.scrape(by=None).sum("remit_build_info") == 1


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_what_a_proxy_passed_on_needs_a_credential(watched: Watched, header: str) -> None:
    reply = watched.metrics(None, **{header: "for=192.0.2.7"})

    assert reply.status_code == 401
    assert "remit_" not in reply.text


@pytest.mark.parametrize("by", ["role key", "service key", "agent", "user"])
def test_whoever_administers_nothing_may_not_read(watched: Watched, by: str) -> None:
    reply = watched.metrics(by)

    assert (reply.status_code, reply.headers["content-type"]) == (403, "application/problem+json")


def test_a_wrong_key_is_refused_although_none_would_do(watched: Watched) -> None:
    assert watched.metrics("wrong key").status_code == 401


def test_a_page_of_another_host_reads_nothing(watched: Watched) -> None:
    assert watched.metrics(None, Host="evil.example.test").status_code == 421


def test_an_administrator_of_another_tenant_reads_of_that_tenant_alone(watched: Watched) -> None:
    watched.call("tools__work")

    told = watched.scrape(by="administrator of another tenant")

    assert told.values
    assert {dict(labels).get("tenant") for _, labels in told.values} == {ELSEWHERE}


def test_a_gateway_that_has_a_public_address_asks_everybody_for_a_credential(
    tmp_path: Path,
) -> None:
    with open_watched(tmp_path, server={"public_url": "https://remit.example.test"}) as watched:
        assert watched.metrics(None).status_code == 401
        assert watched.scrape().sum("remit_build_info") == 1


def test_metrics_are_read_with_get(watched: Watched) -> None:
    assert (
        httpx2.post(f"{watched.api.base}/metrics", timeout=30, verify=TRUSTS_NOBODY).status_code
        == 405
    )


def test_prometheus_itself_reads_what_is_written(watched: Watched) -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus_client")
    watched.call("tools__work")

    families = list(parser.text_string_to_metric_families(watched.scrape().text))

    kinds = {family.name: family.type for family in families}
    assert kinds["remit_calls"] == "counter"
    assert kinds["remit_call_duration_seconds"] == "histogram"
    ours = watched.scrape()
    for family in families:
        for sample in family.samples:
            assert (sample.name, frozenset(sample.labels.items())) in ours.values


class Processes(PosixPath):
    """`/proc`, which notes whether each reading of all of it is made on an event loop."""

    readings: list[bool]

    def __fspath__(self) -> str:
        path = super().__fspath__()
        if path == "/proc":
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                Processes.readings.append(False)
            else:
                Processes.readings.append(True)
        return path


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Give a list with an entry for each reading of all processes, from now on."""
    if sys.platform != "linux":
        pytest.skip("memory is read from /proc")
    Processes.readings = []
    monkeypatch.setattr(memory, "_PROCESSES", Processes("/proc"))
    return Processes.readings


@pytest.mark.parametrize("by", [None, "wrong key", "role key"])
def test_for_whoever_may_not_read_nothing_is_collected(
    watched: Watched, readings: list[bool], by: str | None
) -> None:
    assert watched.metrics(by, Via="1.1 proxy").status_code in (401, 403)
    assert not readings

    assert watched.scrape().sum("remit_server_memory_bytes", server="tools") > 1_000_000
    assert readings


def test_processes_are_read_once_for_all_children_and_beside_the_calls(
    tmp_path: Path, readings: list[bool]
) -> None:
    servers = {
        f"s{at}": fixture_entry(["work"], tmp_path / f"ran{at}", session="shared")
        for at in range(3)
    }
    roles = {ROLE: {"allow": ["s0/*"]}}
    with open_watched(tmp_path, mcp_servers=servers, roles=roles, limits=[]) as watched:
        readings.clear()

        told = watched.scrape()

    for server in servers:
        assert told.sum("remit_server_memory_bytes", server=server) > 1_000_000
    assert readings == [False]


def test_odd_characters_in_a_label_are_escaped() -> None:
    measure = Measure(name="m", kind="gauge", help="a\nb", labels=("l",))
    samples = (Sample(labels={"l": 'a"b\\c\nd'}, value=1.5), Sample(labels={}, value=2))

    text = exposition([Family(measure=measure, samples=samples)]).decode()

    assert text == '# HELP m a\\nb\n# TYPE m gauge\nm{l="a\\"b\\\\c\\nd"} 1.5\nm 2\n'
    assert len(Scrape.read(text).values) == 2
