"""A collector of spans: it takes OTLP over HTTP, as any other does."""

import gzip
import importlib
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass(frozen=True, kw_only=True)
class Span:
    """A span as it arrived."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    failed: bool
    attributes: Mapping[str, Any]

    @property
    def is_root(self) -> bool:
        return "remit.call_id" in self.attributes


@dataclass(kw_only=True)
class Collector:
    """What was collected."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list[bytes])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])

    def resources(self) -> list[Mapping[str, Any]]:
        return [_attributes(group.resource.attributes) for group in self._groups()]

    def spans(self) -> list[Span]:
        """Return every span, in the order in which they began."""
        found = [
            span for group in self._groups() for scope in group.scope_spans for span in scope.spans
        ]
        found.sort(key=lambda span: span.start_time_unix_nano)
        return [
            Span(
                name=span.name,
                kind=span.kind,
                trace=span.trace_id.hex(),
                id=span.span_id.hex(),
                parent=span.parent_span_id.hex(),
                failed=span.status.code == 2,
                attributes=_attributes(span.attributes),
            )
            for span in found
        ]

    def of_call(self, name: str) -> tuple[Span, list[Span]]:
        """Return the one span of that name that is a call, and its children."""
        (root,) = [span for span in self.spans() if span.is_root and span.name == name]
        return root, [span for span in self.spans() if span.parent == root.id]

    def _groups(self) -> list[Any]:
        messages = importlib.import_module(
            "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
        )
        return [
            group
            for body in self.bodies
            for group in messages.ExportTraceServiceRequest.FromString(body).resource_spans
        ]


def _attributes(held: Sequence[Any]) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in held}


@contextmanager
def open_collector() -> Generator[Collector]:
    """Collect on a free port; a test that needs it is skipped where the extra is missing."""
    pytest.importorskip("opentelemetry.sdk.trace", reason="needs remit[otel]")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs remit[otel]")
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collector.bodies.append(body)
            collector.headers.append(dict(self.headers.items()))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
