"""What happens to a call, in which order, and what is written of it."""

from dataclasses import replace
from typing import NoReturn

import anyio
import anyio.lowlevel
import pytest
import structlog.testing
from tests.calls.worlds import HERE, RESULT, clerks_world, story

from remit.calls.record import Recorder
from remit.errors import (
    AuditUnavailable,
    BadCall,
    CallDenied,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from remit.model.calls import AdmittedCall, ValidCall
from remit.model.events import AuditEvent, EventKind
from remit.model.tools import ToolId
from remit.testing.fakes import InMemoryAudit


async def test_a_call_is_answered_with_the_servers_own_bytes() -> None:
    world = clerks_world()

    async def spaced() -> bytes:
        return b'{ "content" : [],"n":1.0, "token":"shown to the caller" }'

    world.upstreams.answer = spaced

    outcome = await world.pipeline.run(world.call(HERE, "git__status"))

    assert outcome.kind == "ok"
    assert outcome.result == b'{ "content" : [],"n":1.0, "token":"shown to the caller" }'


async def test_the_upstream_gets_the_very_bytes_that_were_decided_on() -> None:
    world = clerks_world()
    arguments = b'{"n": 9007199254740993 ,"token":"goes through"}'

    await world.pipeline.run(world.call(HERE, "git__status", arguments, meta=b'{"a":1}'))

    (invocation,) = world.upstreams.invocations
    assert invocation.tool == ToolId("git", "status")
    assert invocation.arguments == arguments
    assert invocation.meta == b'{"a":1}'
    assert invocation.principal is HERE
    assert invocation.timeout == 30.0


async def test_a_call_is_recorded_before_it_reaches_the_upstream() -> None:
    # R29
    world = clerks_world()
    recorded_before: list[EventKind] = []

    async def look() -> bytes:
        recorded_before.extend(event.kind for event in world.audit.events)
        return RESULT

    world.upstreams.answer = look

    await world.pipeline.run(world.call(HERE, "git__status"))

    assert recorded_before == [EventKind.INVOKED]


async def test_a_tools_own_failure_is_an_outcome_and_no_error() -> None:
    # R22
    world = clerks_world()

    async def fail() -> bytes:
        return b'{"content":[],"isError":true}'

    world.upstreams.answer = fail

    outcome = await world.pipeline.run(world.call(HERE, "git__status"))

    assert outcome.kind == "tool_error"
    assert story(world.audit.events)[-1] == ("finished", "allow", "tool_error", "")


async def test_a_call_that_cannot_be_recorded_is_not_made() -> None:
    # R29
    world = clerks_world()
    world.audit.available = False

    with pytest.raises(AuditUnavailable):
        await world.pipeline.run(world.call(HERE, "git__status"))

    assert world.upstreams.invocations == []


@pytest.mark.parametrize(
    ("name", "arguments"), [("git__push", b"{}"), ("nosuch", b"{}"), ("git__status", b"[]")]
)
async def test_a_refusal_that_cannot_be_recorded_lets_nothing_through(
    name: str, arguments: bytes
) -> None:
    world = clerks_world()
    world.audit.available = False

    with pytest.raises(AuditUnavailable):
        await world.pipeline.run(world.call(HERE, name, arguments))

    assert world.upstreams.invocations == []


async def test_an_outcome_that_cannot_be_recorded_is_answered_and_logged() -> None:
    # R29: a failure to record the result never turns a success into a failure
    world = clerks_world()

    async def and_then_the_disk_is_full() -> bytes:
        world.audit.available = False
        return RESULT

    world.upstreams.answer = and_then_the_disk_is_full

    with structlog.testing.capture_logs() as logged:
        outcome = await world.pipeline.run(world.call(HERE, "git__status"))

    assert outcome.result == RESULT
    (entry,) = [one for one in logged if one["log_level"] != "info"]
    assert (entry["event"], entry["log_level"], entry["call_id"]) == (
        "outcome cannot be recorded",
        "error",
        "call-1",
    )
    assert story(world.audit.events) == [("invoked", "allow", "unknown", "")]


@pytest.mark.parametrize(
    ("failure", "outcome", "code"),
    [
        (UpstreamUnavailable("gone", sent=False), "error", "UPSTREAM_UNAVAILABLE"),
        (UpstreamUnavailable("gone", sent=True), "unknown", "UPSTREAM_UNAVAILABLE"),
        (UpstreamTimeout("late", sent=True), "unknown", "UPSTREAM_TIMEOUT"),
        (UpstreamTimeout("never sent", sent=False), "error", "UPSTREAM_TIMEOUT"),
        (UpstreamProtocolError("nonsense"), "error", "INTERNAL_ERROR"),
    ],
)
async def test_a_servers_failure_says_whether_the_outcome_is_known(
    failure: UpstreamError, outcome: str, code: str
) -> None:
    # R23
    world = clerks_world()

    async def fail() -> bytes:
        raise failure

    world.upstreams.answer = fail

    with pytest.raises(type(failure)) as raised:
        await world.pipeline.run(world.call(HERE, "git__status"))

    assert raised.value is failure
    assert story(world.audit.events) == [
        ("invoked", "allow", "unknown", ""),
        ("finished", "allow", outcome, code),
    ]
    assert world.audit.events[-1].error == str(failure)


async def test_a_servers_failure_is_escalated_once_after_its_attempts() -> None:
    """R25, S3.27: with all that is known of it, and before its caller hears of it."""
    world = clerks_world()
    failure = UpstreamUnavailable("gone", transient=True)

    async def fail() -> bytes:
        raise failure

    world.upstreams.answer = fail
    call = world.call(HERE, "git__status")
    with pytest.raises(UpstreamUnavailable):
        await world.pipeline.run(call)

    assert len(world.upstreams.invocations) == 3
    ((authorized, escalated),) = world.escalated
    assert authorized.call is call
    assert escalated is failure
    assert failure.attempts == 3


async def test_nothing_else_is_escalated() -> None:
    """S3.23, R25: not what is refused, nor bad input, nor what a tool itself says is wrong."""
    world = clerks_world()

    async def wrong() -> bytes:
        return b'{"content":[],"isError":true}'

    world.upstreams.answer = wrong
    await world.pipeline.run(world.call(HERE, "git__status"))
    for name, arguments in (("git__push", b"{}"), ("nothing", b"{}"), ("git__status", b"[]")):
        with pytest.raises((CallDenied, BadCall)):
            await world.pipeline.run(world.call(HERE, name, arguments))
    world.audit.available = False
    with pytest.raises(AuditUnavailable):
        await world.pipeline.run(world.call(HERE, "git__status"))

    assert world.escalated == []


async def test_a_servers_failure_that_cannot_be_recorded_stays_that_failure() -> None:
    world = clerks_world()

    async def fail() -> bytes:
        world.audit.available = False
        raise UpstreamUnavailable("gone")

    world.upstreams.answer = fail

    with pytest.raises(UpstreamUnavailable):
        await world.pipeline.run(world.call(HERE, "git__status"))


async def test_a_caller_that_goes_away_leaves_a_call_of_unknown_outcome() -> None:
    world = clerks_world()
    running = anyio.Event()

    async def never() -> bytes:
        running.set()
        await anyio.sleep_forever()
        raise AssertionError

    world.upstreams.answer = never

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(world.pipeline.run, world.call(HERE, "git__status"))
            await running.wait()
            tasks.cancel_scope.cancel()

    assert story(world.audit.events) == [
        ("invoked", "allow", "unknown", ""),
        ("finished", "allow", "unknown", ""),
    ]
    assert world.audit.events[-1].error == "the caller went away before the answer"


class WaitingAudit(InMemoryAudit):
    """An audit that takes its time, as a database does."""

    async def record(self, event: AuditEvent) -> None:
        await anyio.lowlevel.checkpoint()
        await super().record(event)


async def test_the_record_of_an_abandoned_call_is_not_cut_off_with_it() -> None:
    world = clerks_world()
    audit = WaitingAudit()
    pipeline = world.pipeline
    valid = world.validate(world.authorize(world.call(HERE, "git__status")))
    slow = type(pipeline)(
        authorize=pipeline.authorize,
        validate=lambda _: valid,
        limit=pipeline.limit,
        record=Recorder(audit, revision=lambda: 7, body_cap=lambda: 100),
        invoke=pipeline.invoke,
        escalate=pipeline.escalate,
    )

    async def cancelled_meanwhile() -> bytes:
        tasks.cancel_scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    world.upstreams.answer = cancelled_meanwhile

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow.run, world.call(HERE, "git__status"))

    assert [event.kind for event in audit.events] == ["invoked", "finished"]


async def test_a_call_that_is_given_up_while_it_waits_for_its_turn_is_on_record() -> None:
    # R28, R29: every call, also one that never ran
    world = clerks_world()

    async def waits(_: ValidCall) -> AdmittedCall:
        tasks.cancel_scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    waiting = replace(world.pipeline, limit=waits)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiting.run, world.call(HERE, "git__status"))

    (event,) = world.audit.events
    assert (event.kind, event.outcome, event.decision) == ("refused", "none", "allow")
    assert event.error == "the caller went away before the call ran"


async def test_a_step_that_fails_as_nobody_foresaw_before_the_call_is_on_record() -> None:
    # R28, R29: what was not allowed to run is on record, whatever the reason
    world = clerks_world()

    async def fails(_: ValidCall) -> AdmittedCall:
        raise OverflowError("token=hunter2 is too large to convert")

    with pytest.raises(OverflowError):
        await replace(world.pipeline, limit=fails).run(world.call(HERE, "git__status"))

    (event,) = world.audit.events
    assert (event.kind, event.outcome, event.decision) == ("refused", "none", "allow")
    assert event.code == "INTERNAL_ERROR"
    assert event.error == "a step before the call failed as nobody foresaw: the log has more"
    assert world.upstreams.invocations == []


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("limit", "the gateway was stopped before the call ran"),
        ("invoke", "the gateway was stopped before the answer"),
    ],
)
async def test_a_call_that_the_gateways_own_end_cuts_off_is_told_from_one_whose_caller_left(
    step: str, told: str
) -> None:
    world = clerks_world()
    record = Recorder(
        world.audit, revision=lambda: 7, body_cap=lambda: 100, is_stopping=lambda: True
    )

    async def cut_off(_: object) -> NoReturn:
        tasks.cancel_scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    stopped = replace(world.pipeline, record=record, **{step: cut_off})
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stopped.run, world.call(HERE, "git__status"))

    assert world.audit.events[-1].error == told
