"""Spans of calls: their tree, their names, and what is never in them (issue 4)."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.observability.collector import Collector, open_collector
from tests.observability.worlds import Watched, open_watched

from remit.app.tracing import is_tracing_wanted
from remit.doors.mcp.envelope import Message, read_message
from remit.testing.upstream import FixtureOptions, open_web_fixture, received
from remit.upstreams.trace_context import context_in, with_context

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
SERVER, CLIENT = 2, 3
STEPS = ["authorize", "validate", "limit", "record", "invoke", "record"]


@contextmanager
def traced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> Generator[tuple[Watched, Collector]]:
    """Serve with tracing; spans are all there once the block has ended."""
    with open_collector() as collector, monkeypatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        patch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=ops")
        with open_watched(folder, **more) as watched:
            yield watched, collector


def test_a_call_is_a_span_with_a_child_for_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch) as (watched, collector):
        watched.call("tools__work", {"secret": "s3cr3t-argument"})
        row = watched.api.get("/audit")["items"][0]

    root, steps = collector.of_call("tools/call work")
    assert (root.kind, root.parent, root.failed) == (SERVER, "", False)
    assert root.attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
        "remit.call_id": row["id"],
        "remit.tenant": "default",
        "remit.principal": "key:caller-role",
        "remit.server": "tools",
        "remit.outcome": "ok",
    }
    assert [step.name for step in steps] == STEPS
    assert {step.trace for step in steps} == {root.trace}
    authorize, invoke = steps[0], steps[4]
    assert authorize.attributes["remit.layer"] == "ceiling"
    assert authorize.attributes["remit.rule"] == "roles.developer.allow[0]"
    assert authorize.attributes["remit.revision"] >= 1
    assert invoke.kind == CLIENT
    assert not any(b"s3cr3t-argument" in body for body in collector.bodies)
    assert {resource["service.name"] for resource in collector.resources()} == {"remit"}
    assert {headers["x-tenant"] for headers in collector.headers} == {"ops"}


@pytest.mark.parametrize("carried", ["in _meta", "in a header", "in both"])
def test_the_callers_trace_goes_on_to_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, carried: str
) -> None:
    meta = {} if carried == "in a header" else {"traceparent": PARENT, "tracestate": "a=1"}
    headers: dict[str, str] = {}
    if carried != "in _meta":
        other = PARENT.replace("4bf9", "5bf9") if carried == "in both" else PARENT
        headers = {"traceparent": other, "tracestate": "a=1"}
    with traced(tmp_path, monkeypatch) as (watched, collector):
        watched.call("tools__work", meta=meta, **headers)
        got = watched.received()[0]["params"]["_meta"]

    root, steps = collector.of_call("tools/call work")
    assert (root.trace, root.parent) == (TRACE, SPAN)
    assert got["traceparent"] == f"00-{TRACE}-{steps[4].id}-01"
    assert got["tracestate"] == "a=1"


@pytest.mark.parametrize(
    ("transport", "era"), [("http", "modern"), ("http", "legacy"), ("sse", "legacy")]
)
def test_a_server_on_http_gets_the_trace_in_its_headers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str, era: str
) -> None:
    options = FixtureOptions(tools=["work"], count_file=str(tmp_path / "web"), era=era)
    with open_web_fixture(options, transport=transport) as web:
        servers = {"tools": {"url": web.url, "transport": transport}}
        with traced(tmp_path, monkeypatch, mcp_servers=servers) as (watched, collector):
            watched.call("tools__work", traceparent=PARENT)
            message = received(tmp_path / "web", "tools/call")[0]

    _, steps = collector.of_call("tools/call work")
    expected = f"00-{TRACE}-{steps[4].id}-01"
    assert message["headers"]["traceparent"] == expected
    assert message["params"]["_meta"]["traceparent"] == expected


def test_a_refused_call_ends_after_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch) as (watched, collector):
        watched.call("tools__rest")

    root, steps = collector.of_call("tools/call rest")
    assert [step.name for step in steps] == ["authorize", "record"]
    assert (root.failed, root.attributes["error.type"]) == (True, "PERMISSION_DENIED")
    assert steps[0].attributes["remit.layer"] == "ceiling"


def test_a_name_that_means_no_tool_is_in_no_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch) as (watched, collector):
        watched.call("made__up-by-the-caller")

    root, _ = collector.of_call("tools/call")
    assert "gen_ai.tool.name" not in root.attributes
    assert not any(b"made__up" in body for body in collector.bodies)


def test_failures_are_told_by_their_code_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch) as (watched, collector):
        watched.call("tools__fail")
        watched.call("tools__break")
        watched.call("tools__strict", {"n": "s3cr3t-argument"})

    for name, error, step in (
        ("fail", "tool_error", "invoke"),
        ("break", "INTERNAL_ERROR", "invoke"),
        ("strict", "INVALID_INPUT", "validate"),
    ):
        root, steps = collector.of_call(f"tools/call {name}")
        assert (root.failed, root.attributes["error.type"]) == (True, error)
        (failed,) = [one for one in steps if one.failed]
        assert failed.name == step
    assert not any(b"s3cr3t-argument" in body for body in collector.bodies)


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_untraced_a_server_on_http_gets_the_callers_trace_in_its_headers_too(
    tmp_path: Path, transport: str
) -> None:
    options = FixtureOptions(tools=["work"], count_file=str(tmp_path / "web"), era="legacy")
    with open_web_fixture(options, transport=transport) as web:
        servers = {"tools": {"url": web.url, "transport": transport}}
        with open_watched(tmp_path, mcp_servers=servers) as watched:
            watched.call("tools__work", traceparent=PARENT)
            watched.call("tools__work", {"traceparent": PARENT})
            first, second = received(tmp_path / "web", "tools/call")

    assert first["headers"]["traceparent"] == PARENT
    # An argument of that name is none.
    assert "traceparent" not in second["headers"]


def test_untraced_the_callers_trace_still_goes_on(watched: Watched) -> None:
    watched.call("tools__work", traceparent=PARENT)
    watched.call("tools__work", meta={"traceparent": PARENT})
    watched.call("tools__work", traceparent="no-trace")
    watched.call("tools__work")

    sent = [message["params"]["_meta"].get("traceparent") for message in watched.received()]
    assert sent == [PARENT, PARENT, None, None]


def test_a_collector_that_is_away_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.sdk.trace", reason="needs remit[otel]")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1/traces")

    with open_watched(tmp_path) as watched:
        assert "result" in watched.call("tools__work").json()


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, False),
        ({"OTEL_TRACES_EXPORTER": "console"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, True),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_TRACES_EXPORTER": "otlp"}, False),
    ],
)
def test_it_is_off_unless_the_standard_variables_ask_for_it(
    environ: dict[str, str], wanted: bool
) -> None:
    assert is_tracing_wanted(environ) is wanted


@pytest.mark.parametrize(
    "parent",
    [
        "",
        PARENT.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"{PARENT}-more",
        7,
        None,
    ],
)
def test_what_names_no_trace_is_not_taken_up(parent: object) -> None:
    assert context_in(json.dumps({"traceparent": parent}).encode()) == {}


def test_a_meta_that_is_no_object_is_left_to_whoever_refuses_it() -> None:
    assert with_context(b'"traceparent"', {"traceparent": PARENT}) == b'"traceparent"'
    assert context_in(b'"traceparent"') == {}


def test_the_rest_of_meta_passes_byte_for_byte() -> None:
    merged = with_context(b'{"n":9007199254740993.0,"u":"\\u00e9"}', {"traceparent": PARENT})

    assert b'"n":9007199254740993.0' in merged
    assert b'"u":"\\u00e9"' in merged
    read = read_message(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":%b}}' % merged)
    assert isinstance(read, Message)
