"""Spans of OpenTelemetry around the path of a call: one a call, one a step.

    tools/call git_log          what came in (kind server), a child of the caller's own span
    ├── authorize
    ├── validate
    ├── limit
    ├── record                  before it runs
    ├── invoke                  what goes out (kind client): the upstream's spans are its children
    └── record                  how it ended

Nothing of this is there unless tracing is configured: `traced` puts it around a pipeline, which
knows nothing of it. Names follow the semantic conventions of OpenTelemetry for MCP; `remit.*` is
ours. No argument, no result and no message of an error is ever in a span. docs/observability.md
has every name, and a test compares.
"""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from msgspec.structs import replace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import Attributes

from remit.calls.current import note_trace
from remit.calls.pipeline import CallRecord, Calls, Pipeline
from remit.errors import (
    AgentNotFound,
    BadCall,
    CallDenied,
    LimitReached,
    Refused,
    RemitError,
    UpstreamError,
)
from remit.model.calls import (
    AdmittedCall,
    AuthorizedCall,
    Call,
    Outcome,
    OutcomeKind,
    RecordedCall,
    ValidCall,
)
from remit.model.contents import Kind, own_name
from remit.model.tools import ToolId
from remit.upstreams.trace_context import context_in, with_context

METHOD: Final = "mcp.method.name"
OPERATION: Final = "gen_ai.operation.name"
TOOL: Final = "gen_ai.tool.name"
PROMPT: Final = "gen_ai.prompt.name"
RESOURCE: Final = "mcp.resource.uri"
ERROR: Final = "error.type"
CALL_ID: Final = "remit.call_id"
TENANT: Final = "remit.tenant"
PRINCIPAL: Final = "remit.principal"
SERVER: Final = "remit.server"
LAYER: Final = "remit.layer"
RULE: Final = "remit.rule"
REVISION: Final = "remit.revision"
OUTCOME: Final = "remit.outcome"

_NAMES: Final = {Kind.TOOL: TOOL, Kind.PROMPT: PROMPT, Kind.RESOURCE: RESOURCE}

_W3C: Final = TraceContextTextMapPropagator()

A = TypeVar("A")
B = TypeVar("B")


def traced(pipeline: Pipeline, tracer: Tracer) -> Calls:
    """Return what does as *pipeline* does, with spans."""
    steps = _Steps(tracer)
    return _TracedCalls(
        Pipeline(
            authorize=steps.authorize(pipeline.authorize),
            validate=steps.plain("validate", pipeline.validate),
            limit=steps.awaited("limit", pipeline.limit),
            record=_TracedRecord(pipeline.record, steps),
            invoke=steps.invoke(pipeline.invoke),
            escalate=pipeline.escalate,
        ),
        tracer,
    )


class _TracedCalls:
    def __init__(self, pipeline: Pipeline, tracer: Tracer) -> None:
        self._pipeline = pipeline
        self._tracer = tracer

    async def run(self, call: Call) -> Outcome:
        with self._span(call) as span:
            outcome = await self._pipeline.run(call)
            span.set_attribute(OUTCOME, outcome.kind.value)
            if outcome.kind is OutcomeKind.TOOL_ERROR:
                _fail(span, outcome.kind.value)
            return outcome

    async def admit(self, call: Call) -> AuthorizedCall:
        with self._span(call):
            return await self._pipeline.admit(call)

    async def refuse(self, call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> None:
        with self._span(call) as span:
            await self._pipeline.refuse(call, refusal)
            _fail(span, refusal.code)

    @contextmanager
    def _span(self, call: Call) -> Generator[Span]:
        """Run the block in the span of a call."""
        attributes: dict[str, str] = {
            METHOD: call.method,
            CALL_ID: call.id,
            TENANT: call.principal.tenant,
            PRINCIPAL: call.principal.subject,
        }
        if call.method == "tools/call":
            attributes[OPERATION] = "execute_tool"
        with self._tracer.start_as_current_span(
            call.method,
            context=_W3C.extract(dict(context_in(call.meta))),
            kind=SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            note_trace(f"{span.get_span_context().trace_id:032x}")
            with _failures_told(span):
                yield span


class _Steps:
    """Puts spans around steps."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def span(
        self, name: str, kind: SpanKind = SpanKind.INTERNAL, attributes: Attributes = None
    ) -> Generator[Span]:
        """Run the block in a span of its own."""
        with (
            self._tracer.start_as_current_span(
                name,
                kind=kind,
                attributes=attributes,
                record_exception=False,
                set_status_on_exception=False,
            ) as span,
            _failures_told(span),
        ):
            yield span

    def plain(self, name: str, step: Callable[[A], B]) -> Callable[[A], B]:
        def run(given: A, /) -> B:
            with self.span(name):
                return step(given)

        return run

    def awaited(self, name: str, step: Callable[[A], Awaitable[B]]) -> Callable[[A], Awaitable[B]]:
        async def run(given: A, /) -> B:
            with self.span(name):
                return await step(given)

        return run

    def authorize(self, step: Callable[[Call], AuthorizedCall]) -> Callable[[Call], AuthorizedCall]:
        def run(call: Call, /) -> AuthorizedCall:
            whole = get_current_span()
            with self.span("authorize") as span:
                try:
                    authorized = step(call)
                except CallDenied as denied:
                    if denied.layer:  # else the name is whatever the caller wrote
                        _name(whole, call, ToolId(denied.server, denied.tool))
                        span.set_attributes({LAYER: denied.layer, RULE: denied.rule})
                    raise
                decision = authorized.permit.decision
                span.set_attributes(
                    {
                        LAYER: decision.layer.value,
                        RULE: decision.rule,
                        REVISION: decision.revision,
                    }
                )
                _name(whole, call, authorized.permit.tool_id)
                return authorized

        return run

    def invoke(
        self, step: Callable[[RecordedCall], Awaitable[Outcome]]
    ) -> Callable[[RecordedCall], Awaitable[Outcome]]:
        async def run(recorded: RecordedCall, /) -> Outcome:
            authorized = recorded.valid.authorized
            attributes = _attributes(authorized.call, authorized.permit.tool_id)
            with self.span("invoke", SpanKind.CLIENT, attributes) as span:
                outcome = await step(_carrying_context(recorded))
                if outcome.kind is OutcomeKind.TOOL_ERROR:
                    _fail(span, outcome.kind.value)
                return outcome

        return run


class _TracedRecord:
    """The record, each part of it a span named `record`."""

    def __init__(self, record: CallRecord, steps: _Steps) -> None:
        self._record = record
        self._steps = steps

    async def refused(self, call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> None:
        with self._steps.span("record"):
            await self._record.refused(call, refusal)

    async def rejected(
        self, authorized: AuthorizedCall, refusal: BadCall | UpstreamError | LimitReached
    ) -> None:
        with self._steps.span("record"):
            await self._record.rejected(authorized, refusal)

    async def broken(self, authorized: AuthorizedCall) -> None:
        with self._steps.span("record"):
            await self._record.broken(authorized)

    async def given_up(self, authorized: AuthorizedCall) -> None:
        with self._steps.span("record"):
            await self._record.given_up(authorized)

    async def invoked(self, admitted: AdmittedCall) -> RecordedCall:
        with self._steps.span("record"):
            return await self._record.invoked(admitted)

    async def finished(self, call: RecordedCall, outcome: Outcome) -> None:
        with self._steps.span("record"):
            await self._record.finished(call, outcome)

    async def failed(self, call: RecordedCall, failure: UpstreamError) -> None:
        with self._steps.span("record"):
            await self._record.failed(call, failure)

    async def withdrawn(self, call: RecordedCall, refusal: Refused) -> None:
        with self._steps.span("record"):
            await self._record.withdrawn(call, refusal)

    async def abandoned(self, call: RecordedCall) -> None:
        with self._steps.span("record"):
            await self._record.abandoned(call)


def _carrying_context(recorded: RecordedCall) -> RecordedCall:
    """Return the call with the span that is current as the one that its upstream continues."""
    context: dict[str, str] = {}
    _W3C.inject(context)
    valid: ValidCall = recorded.valid
    call = valid.authorized.call
    call = replace(call, meta=with_context(call.meta, context))
    return replace(recorded, valid=replace(valid, authorized=replace(valid.authorized, call=call)))


def _attributes(call: Call, tool: ToolId) -> dict[str, str]:
    return {METHOD: call.method, SERVER: tool.server, _NAMES[call.kind]: own_name(tool)}


def _name(span: Span, call: Call, tool: ToolId) -> None:
    """Name the span of a call by what is meant; before that is known, any text may be meant."""
    span.set_attributes(_attributes(call, tool))
    if call.kind is not Kind.RESOURCE:  # whose URIs are too many for names
        span.update_name(f"{call.method} {own_name(tool)}")


@contextmanager
def _failures_told(span: Span) -> Generator[None]:
    """Tell of a failure by its code alone: its text may hold what a caller sent."""
    try:
        yield
    except RemitError as error:
        _fail(span, error.code)
        raise
    except BaseException as error:
        _fail(span, type(error).__name__)
        raise


def _fail(span: Span, what: str) -> None:
    span.set_attribute(ERROR, what)
    span.set_status(Status(StatusCode.ERROR))
