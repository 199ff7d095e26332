"""Whether calls are traced, and where spans go: decided by OpenTelemetry's own variables.

Off unless `OTEL_TRACES_EXPORTER=otlp` or an OTLP endpoint is set. The SDK is the extra `otel`.
"""

import importlib
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import anyio.to_thread
import structlog

from remit.calls.pipeline import Calls, Pipeline

log = structlog.get_logger(__name__)

LAST_SPANS: Final = 5.0
"""Seconds that sending the last spans may take at a stop."""

Around = Callable[[Pipeline], Calls]
"""Puts spans around a pipeline, or nothing."""

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def is_tracing_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for spans."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter in ("", "otlp"):
        return exporter == "otlp" or any(environ.get(name) for name in _ENDPOINTS)
    if exporter != "none":
        log.warning("calls are not traced: OTEL_TRACES_EXPORTER may be otlp or none")
    return False


@asynccontextmanager
async def open_tracing(environ: Mapping[str, str]) -> AsyncGenerator[Around]:
    """Give what puts spans around a pipeline; the last spans are sent when the block ends.

    Spans go out by OTLP over HTTP, from a thread of the SDK.
    """
    provider = _provider(environ) if is_tracing_wanted(environ) else None
    if provider is None:
        yield lambda pipeline: pipeline
        return
    # Deferred: it imports OpenTelemetry, for which nobody else has any use.
    from remit.calls.tracing import traced  # noqa: PLC0415 - see above

    try:
        yield partial(traced, tracer=provider.get_tracer("remit", version("remit")))
    finally:
        with anyio.CancelScope(shield=True):
            # A collector that does not answer must not keep the process from ending.
            last = threading.Thread(target=provider.shutdown, daemon=True)
            last.start()
            await anyio.to_thread.run_sync(last.join, LAST_SPANS)


def _provider(environ: Mapping[str, str]) -> Any:
    # By name, since the extra may be missing, and neither start nor type checker may need it.
    try:
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        resources = importlib.import_module("opentelemetry.sdk.resources")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ModuleNotFoundError as missing:
        log.warning("calls are not traced: install remit[otel]", missing=missing.name)
        return None
    about = {"service.version": version("remit")}
    named = environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not environ.get("OTEL_SERVICE_NAME") and "service.name=" not in named:
        about["service.name"] = "remit"
    provider = sdk.TracerProvider(resource=resources.Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return provider
