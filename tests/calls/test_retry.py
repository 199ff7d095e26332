"""Which calls are attempted again, how often, and what is written of it (R23)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import anyio
import anyio.lowlevel
import pytest
from tests.calls.worlds import OPEN, RESULT, World, caller, declared, story, tool

from remit.errors import (
    AuditUnavailable,
    CallDenied,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from remit.model.events import AuditEvent
from remit.model.servers import ServerConfig, ToolSettings
from remit.model.tools import Hints, Tool
from remit.testing.fakes import InMemoryAudit

KEYED = b'{"a":1,"remit/idempotencyKey":"order-7"}'
PLAIN = tool("s", "t")
READING = replace(PLAIN, hints=Hints(read_only=True))
IDEMPOTENT = replace(PLAIN, hints=Hints(read_only=False, idempotent=True))


def refused() -> UpstreamError:
    return UpstreamUnavailable("cannot be reached: connection refused", transient=True)


def broken() -> UpstreamError:
    return UpstreamUnavailable("broke the connection", sent=True, transient=True)


def asked_to_wait(seconds: float) -> UpstreamError:
    return UpstreamUnavailable("answered HTTP 429", transient=True, retry_after=seconds)


def credentials() -> UpstreamError:
    return UpstreamUnavailable("refused our credentials (HTTP 401)")


def world_of(
    offered: Tool,
    *,
    retry: Literal["never", "safe"] | None = None,
    timeout: float = 30.0,
    pause: float = 0.0,
    audit: InMemoryAudit | None = None,
) -> World:
    config = ServerConfig(name="s", timeout=timeout, tools={"t": ToolSettings(retry=retry)})
    return World(declared([OPEN], [config]), {"s": [offered]}, pause=pause, audit=audit)


def failing(world: World, failures: Sequence[Callable[[], UpstreamError]]) -> None:
    """Let the first calls fail in these ways, and those that follow succeed."""
    left = list(failures)

    async def answer() -> bytes:
        await anyio.lowlevel.checkpoint()
        if left:
            failure = left.pop(0)()
            raise failure
        return RESULT

    world.upstreams.answer = answer


async def run(world: World, meta: bytes = b"") -> None:
    await world.pipeline.run(world.call(caller("open"), "s__t", meta=meta))


@pytest.mark.parametrize("offered", [PLAIN, READING, IDEMPOTENT], ids=["write", "read", "same"])
async def test_what_never_left_is_attempted_three_times(offered: Tool) -> None:
    world = world_of(offered)
    failing(world, [refused, refused])

    await run(world)

    assert len(world.upstreams.invocations) == 3
    assert story(world.audit.events) == [
        ("invoked", "allow", "unknown", ""),
        ("attempted", "allow", "error", "UPSTREAM_UNAVAILABLE"),
        ("attempted", "allow", "error", "UPSTREAM_UNAVAILABLE"),
        ("finished", "allow", "ok", ""),
    ]
    assert {event.call_id for event in world.audit.events} == {"call-1"}
    assert len({event.id for event in world.audit.events}) == 4
    assert [event.error for event in world.audit.events][1:3] == [
        "attempt 1: cannot be reached: connection refused",
        "attempt 2: cannot be reached: connection refused",
    ]


@pytest.mark.parametrize(
    ("code", "message", "times"),
    [
        (-32603, "Connection reset by peer", 3),
        (-32000, "upstream TIMEOUT", 3),
        (-32603, "ECONNREFUSED 127.0.0.1", 3),
        (-32603, "temporarily unavailable", 3),
        (-32603, "it broke", 1),
        (-32602, "'connection' is required", 1),
        (-32601, "no method network/list", 1),
    ],
)
async def test_an_error_of_the_servers_own_is_repeated_where_it_is_worded_as_passing(
    code: int, message: str, times: int
) -> None:
    """S3.25, within R23: only what may be repeated without harm."""
    raw = json.dumps({"code": code, "message": message}).encode()

    def answered() -> UpstreamError:
        return UpstreamProtocolError(f"answered {message}", rpc_error=raw)

    for offered, expected in ((READING, times), (PLAIN, 1)):
        world = world_of(offered)
        failing(world, [answered] * 3)
        with pytest.raises(UpstreamProtocolError) as caught:
            await run(world)

        assert len(world.upstreams.invocations) == expected
        assert caught.value.attempts == expected
        assert caught.value.transient is (times > 1)
        assert not caught.value.is_outcome_unknown


async def test_the_third_failure_is_the_answer() -> None:
    world = world_of(PLAIN)
    failing(world, [refused, refused, refused])

    with pytest.raises(UpstreamUnavailable, match="refused; attempted 3 times"):
        await run(world)

    assert len(world.upstreams.invocations) == 3
    assert story(world.audit.events)[-1] == ("finished", "allow", "error", "UPSTREAM_UNAVAILABLE")


@pytest.mark.parametrize(
    ("offered", "retry", "meta"),
    [
        (READING, None, b""),
        (IDEMPOTENT, None, b""),
        (PLAIN, "safe", b""),
        (PLAIN, None, KEYED),
    ],
    ids=["read-only", "idempotent", "declared safe", "key of the caller"],
)
async def test_what_may_be_repeated_is_repeated_although_it_was_sent(
    offered: Tool, retry: Literal["never", "safe"] | None, meta: bytes
) -> None:
    world = world_of(offered, retry=retry)
    failing(world, [broken])

    await run(world, meta)

    assert [event.outcome for event in world.audit.events] == ["unknown", "unknown", "ok"]
    assert {invocation.meta for invocation in world.upstreams.invocations} == {meta}


@pytest.mark.parametrize(
    "meta",
    [
        b"",
        b'{"idempotencyKey":"k"}',
        b'{"remit/idempotencyKey":""}',
        b'{"remit/idempotencyKey":7}',
        b'{"remit/idempotencyKey":null}',
        b'{"a":"remit/idempotencyKey"}',
        b'{"a":{"remit/idempotencyKey":"k"}}',
        b'{"remit/idempotencyKey":"\xff"}',
    ],
)
async def test_a_write_that_was_sent_is_attempted_once_and_its_outcome_unknown(
    meta: bytes,
) -> None:
    world = world_of(PLAIN)
    failing(world, [broken])

    with pytest.raises(UpstreamUnavailable) as raised:
        await run(world, meta)

    assert raised.value.is_outcome_unknown
    assert "attempted" not in str(raised.value)
    assert len(world.upstreams.invocations) == 1
    assert story(world.audit.events)[-1] == ("finished", "allow", "unknown", "UPSTREAM_UNAVAILABLE")


@pytest.mark.parametrize("failure", [refused, broken])
@pytest.mark.parametrize("offered", [PLAIN, READING], ids=["write", "read"])
async def test_a_tool_that_is_never_to_be_retried_is_not(
    offered: Tool, failure: Callable[[], UpstreamError]
) -> None:
    world = world_of(offered, retry="never")
    failing(world, [failure])

    with pytest.raises(UpstreamUnavailable):
        await run(world, KEYED)

    assert len(world.upstreams.invocations) == 1


@pytest.mark.parametrize(
    "failure",
    [
        credentials,
        lambda: UpstreamProtocolError("answered with error -32602: no", rpc_error=b"{}"),
        lambda: UpstreamTimeout("did not answer within 30 seconds", sent=True),
        lambda: UpstreamError("cannot be asked: twice"),
    ],
    ids=["credentials", "its own error", "no time left", "our own words"],
)
async def test_what_does_not_pass_is_not_attempted_again(
    failure: Callable[[], UpstreamError],
) -> None:
    world = world_of(READING)
    failing(world, [failure])

    with pytest.raises(UpstreamError):
        await run(world)

    assert len(world.upstreams.invocations) == 1


async def test_a_tools_own_failure_is_not_attempted_again() -> None:
    world = world_of(READING)

    async def fail() -> bytes:
        await anyio.lowlevel.checkpoint()
        return b'{"content":[],"isError":true}'

    world.upstreams.answer = fail

    await run(world)

    assert len(world.upstreams.invocations) == 1


async def test_what_may_have_run_once_stays_unknown_although_the_last_attempt_never_left() -> None:
    world = world_of(READING)
    failing(world, [broken, refused, refused])

    with pytest.raises(UpstreamUnavailable) as raised:
        await run(world)

    assert raised.value.is_outcome_unknown
    assert [event.outcome for event in world.audit.events] == [
        "unknown",
        "unknown",
        "unknown",
        "unknown",
    ]


async def test_all_attempts_share_the_time_of_the_call() -> None:
    world = world_of(PLAIN, timeout=5.0, pause=0.05)
    failing(world, [refused])

    await run(world)

    first, second = (invocation.timeout for invocation in world.upstreams.invocations)
    assert first == 5.0
    assert 0 < second <= 5.0 - 0.05


async def test_there_is_no_attempt_for_which_no_time_is_left() -> None:
    world = world_of(PLAIN, timeout=0.5, pause=1.0)
    failing(world, [refused])

    with pytest.raises(UpstreamUnavailable):
        await run(world)

    assert len(world.upstreams.invocations) == 1


async def test_the_server_may_ask_for_a_longer_pause_within_the_time_of_the_call() -> None:
    world = world_of(PLAIN, timeout=5.0)
    failing(world, [lambda: asked_to_wait(0.2)])

    await run(world)

    second = world.upstreams.invocations[1]
    assert second.timeout <= 5.0 - 0.2


async def test_a_pause_that_is_longer_than_the_call_may_take_is_passed_on() -> None:
    world = world_of(PLAIN)
    failing(world, [lambda: asked_to_wait(60)])

    with pytest.raises(UpstreamUnavailable) as raised:
        await run(world)

    assert raised.value.retry_after == 60
    assert len(world.upstreams.invocations) == 1


class FullAfter(InMemoryAudit):
    """A record that takes no attempt."""

    async def record(self, event: AuditEvent) -> None:
        if event.kind == "attempted":
            raise AuditUnavailable("the disk is full")
        await super().record(event)


async def test_an_attempt_that_cannot_be_recorded_is_followed_by_none() -> None:
    # R29
    world = world_of(PLAIN, audit=FullAfter())
    failing(world, [refused])

    with pytest.raises(UpstreamUnavailable, match="connection refused"):
        await run(world)

    assert len(world.upstreams.invocations) == 1
    assert story(world.audit.events)[-1] == ("finished", "allow", "error", "UPSTREAM_UNAVAILABLE")


def losing(world: World, failure: Callable[[], UpstreamError]) -> None:
    """Let the first call fail so, and its caller lose the right to it meanwhile."""

    async def answer() -> bytes:
        await anyio.lowlevel.checkpoint()
        no_more = replace(OPEN, deny=("s/t",))
        world.declare(declared([no_more], [*world.declaration.servers.values()]))
        raise failure()

    world.upstreams.answer = answer


async def test_what_never_left_is_refused_if_its_caller_may_no_more_when_it_would_be_repeated() -> (
    None
):
    # R17
    world = world_of(READING)
    losing(world, refused)

    with pytest.raises(CallDenied, match="denies"):
        await run(world)

    assert len(world.upstreams.invocations) == 1
    assert story(world.audit.events)[-1] == ("finished", "deny", "none", "PERMISSION_DENIED")
    assert world.audit.events[-1].rule == "roles.open.deny[0]"


async def test_what_may_have_run_is_not_repeated_by_who_may_no_more_and_its_failure_stands() -> (
    None
):
    # R17, R23
    world = world_of(READING)
    losing(world, broken)

    with pytest.raises(UpstreamUnavailable, match=r"broke the connection$"):
        await run(world)

    assert len(world.upstreams.invocations) == 1
    end = ("finished", "allow", "unknown", "UPSTREAM_UNAVAILABLE")
    assert story(world.audit.events)[-1] == end
