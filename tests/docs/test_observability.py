"""`docs/observability.md` names what there is to watch, and nothing else (issue 4)."""

import re
from pathlib import Path

import pytest
from tests.docs.blocks import REPOSITORY
from tests.docs.log_events import LogEvent, log_events
from tests.observability.collector import open_collector
from tests.observability.worlds import Scrape, open_watched

from remit.app import measures
from remit.calls import tracing

PAGE = (REPOSITORY / "docs" / "observability.md").read_text()
METRIC = re.compile(r"(?m)^\| `(\w+)` \| (counter|gauge|histogram) \|([^|]*)\|")
CODE = re.compile(r"`([^`]+)`")
METRIC_IN = re.compile(r"\b(?:remit|process)_\w+")
GROUPED = re.compile(r"by \(([^)]+)\)")
PARTS = ("_bucket", "_sum", "_count")


def documented() -> dict[str, tuple[str, set[str]]]:
    """Return each metric of the page with its kind and its labels."""
    return {name: (kind, set(CODE.findall(labels))) for name, kind, labels in METRIC.findall(PAGE)}


def test_the_page_has_every_metric_with_its_kind_and_labels() -> None:
    declared = {
        measure.name: (measure.kind, set(measure.labels))
        for name, measure in vars(measures).items()
        if isinstance(measure, measures.Measure) and name.isupper()
    }

    assert documented() == declared
    assert set(declared) == {measure.name for measure in measures.ALL}


def test_what_is_worth_an_alert_is_asked_of_metrics_that_there_are() -> None:
    # S0.21: usage is measured, and what is unusual in it raises an alert
    table = PAGE.partition("What is worth an alert:")[2].partition("###")[0]
    expressions = [row.split("`")[1] for row in table.splitlines() if "`" in row]
    known = documented()

    assert {"remit_calls_total", "remit_denials_total"} <= set(
        METRIC_IN.findall("".join(expressions))
    )
    for expression in expressions:
        asked = METRIC_IN.findall(expression)
        by = [name for names in GROUPED.findall(expression) for name in names.split(", ")]
        labels = {*by, *re.findall(r'(\w+)=~?"', expression)}
        assert asked
        assert all(labels <= known[name][1] for name in asked)


def test_a_gateway_that_was_used_tells_of_every_metric_of_the_page(tmp_path: Path) -> None:
    with open_watched(tmp_path) as watched:
        for name in ("work", "fail", "break", "often", "often", "rest", "nothing"):
            watched.call(f"tools__{name}")
        watched.call("tools__work", by="nobody")
        told = watched.scrape()

    assert families(told) == {
        name: (kind, labels | {"worker"}) for name, (kind, labels) in documented().items()
    }


def families(told: Scrape) -> dict[str, tuple[str, set[str]]]:
    kinds = dict(re.findall(r"(?m)^# TYPE (\w+) (\w+)$", told.text))
    found: dict[str, tuple[str, set[str]]] = {}
    for sample, labels in told.values:
        name = sample
        for part in PARTS:
            if kinds.get(sample.removesuffix(part)) == "histogram":
                name = sample.removesuffix(part)
        held = {label for label, _ in labels} - {"le"}
        assert found.setdefault(name, (kinds[name], held)) == (kinds[name], held)
    return found


DOCTOR = (REPOSITORY / "docs" / "doctor.md").read_text()
FINDING = re.compile(r"(?m)^\| `([a-z-]+)` \| (ok|warning|error) \|")


def test_the_page_on_the_doctor_has_every_finding_with_its_grade() -> None:
    sources = [
        *(REPOSITORY / "src/remit/admin").glob("doctor*.py"),
        REPOSITORY / "src/remit/app/looks.py",
        REPOSITORY / "src/remit/cli/doctor.py",
    ]
    text = "\n".join(path.read_text() for path in sources)
    areas = (
        "declaration|server|datasource|database|record|journal|state|session|disk|file|limits|port"
    )
    named = set(re.findall(rf'"((?:{areas})-[a-z-]+)"', text))

    documented = dict(FINDING.findall(DOCTOR))

    composed = {"declaration-errors", "declaration-warnings", "exposed-file", "ok"}
    assert set(documented) == named | composed


EVENT = re.compile(r"(?m)^\| `([^`]+)` \| ((?:debug|info|warning|error)(?:, \w+)?) \|")
SPAN = re.compile(r"(?m)^\| `([a-z/]+)(?: [A-Z]+)?` \| (server|client|internal) \|")
ATTRIBUTE = re.compile(r"(?m)^\| `((?:mcp|gen_ai|error|remit)\.[\w.]+)` \| ([^|]+) \|")


def test_the_page_has_every_event_of_the_log_with_its_levels() -> None:
    documented = {
        LogEvent(name, level)
        for name, levels in EVENT.findall(PAGE)
        for level in levels.split(", ")
    }

    assert documented == log_events(REPOSITORY / "src" / "remit")


def test_the_page_has_every_span_and_attribute_that_calls_really_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {1: "internal", 2: "server", 3: "client"}
    with open_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with open_watched(tmp_path) as watched:
            for name in ("work", "fail", "break", "often", "often", "rest", "nothing"):
                watched.call(f"tools__{name}")
    spans = collector.spans()

    documented = dict(ATTRIBUTE.findall(PAGE))
    assert {(span.name.partition(" ")[0], kinds[span.kind]) for span in spans} == set(
        SPAN.findall(PAGE)
    )
    for span in spans:
        here = "call" if span.is_root else f"`{span.name}`"
        for attribute in span.attributes:
            assert here in documented[attribute] or documented[attribute].startswith("any")
    seen = {attribute for span in spans for attribute in span.attributes}
    assert set(documented) - seen == {"gen_ai.prompt.name", "mcp.resource.uri"}


def test_the_page_has_every_attribute_of_the_code() -> None:
    declared = {
        value
        for name, value in vars(tracing).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str)
    }

    assert set(dict(ATTRIBUTE.findall(PAGE))) == declared
