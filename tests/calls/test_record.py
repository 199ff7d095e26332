"""What is written of a call: who, which tool, what decided, and bodies without secrets (R28)."""

from datetime import timedelta
from uuid import UUID

import pytest
from tests.calls.worlds import (
    HERE,
    NOON,
    RESULT,
    World,
    caller,
    clerks_world,
    declared,
    story,
    tool,
)

from remit.calls.record import MOST_ERROR, Recorder
from remit.calls.words import MOST_NAME
from remit.errors import (
    BadCall,
    CallDenied,
    UnreadableAnswer,
    UpstreamProtocolError,
    UpstreamUnavailable,
)
from remit.identity.clock import utc_now
from remit.model.calls import Outcome, OutcomeKind
from remit.model.declaration import AuditSettings
from remit.model.roles import Role
from remit.testing.fakes import InMemoryAudit


async def test_a_call_that_ran_has_two_events_that_make_one_row() -> None:
    world = clerks_world()

    await world.pipeline.run(world.call(HERE, "git__status", b'{"n":1}'))

    invoked, finished = world.audit.events
    assert story([invoked, finished]) == [
        ("invoked", "allow", "unknown", ""),
        ("finished", "allow", "ok", ""),
    ]
    assert invoked.call_id == finished.call_id == "call-1"
    assert invoked.id == "call-1"
    assert str(UUID(finished.id)) == finished.id
    for event in (invoked, finished):
        assert (event.tenant, event.principal, event.role) == ("default", "key:ci", "clerk")
        assert (event.server, event.tool) == ("git", "status")
        assert (event.layer, event.rule) == ("ceiling", "roles.clerk.tools.git[0]")
        assert event.revision == 7
        assert (event.arguments, event.arguments_size) == ('{"n":1}', 7)
        assert event.time == NOON
    assert (invoked.result, invoked.result_size) == (None, 0)
    assert (finished.result, finished.result_size) == (RESULT.decode(), len(RESULT))


@pytest.mark.parametrize(
    ("name", "scope", "expected"),
    [
        ("git__push", None, ("git", "push", "ceiling", "roles.clerk")),
        ("push", "git", ("git", "push", "ceiling", "roles.clerk")),
        ("jira__delete_all", None, ("jira", "delete_all", "deny", "roles.clerk.deny[0]")),
        ("nosuch", None, ("", "nosuch", "", "")),
        ("status", None, ("", "status", "", "")),
    ],
)
async def test_every_denial_is_recorded_with_what_decided(
    name: str, scope: str | None, expected: tuple[str, ...]
) -> None:
    # S0.23, R14: told apart in the record alone
    world = clerks_world()

    with pytest.raises(CallDenied) as denied:
        await world.pipeline.run(world.call(HERE, name, b'{"n":1}', scope=scope))

    (event,) = world.audit.events
    assert type(denied.value) is CallDenied
    assert (event.server, event.tool, event.layer, event.rule) == expected
    assert story([event]) == [("refused", "deny", "none", "PERMISSION_DENIED")]
    assert (event.principal, event.role, event.revision) == ("key:ci", "clerk", 7)
    assert (event.arguments, event.error) == ('{"n":1}', str(denied.value))
    assert (event.call_id, event.result) == ("call-1", None)
    assert world.upstreams.invocations == []


async def test_a_name_that_means_nothing_is_recorded_at_its_endpoint() -> None:
    world = clerks_world()

    with pytest.raises(CallDenied):
        await world.pipeline.run(world.call(HERE, "nosuch", scope="git"))

    (event,) = world.audit.events
    assert (event.server, event.tool, event.layer) == ("git", "nosuch", "")


async def test_an_endpoint_can_be_called_anything_a_secret_too() -> None:
    # R28: whoever pastes a key into the address has it in no record.
    world = clerks_world()

    with pytest.raises(CallDenied):
        await world.pipeline.run(
            world.call(HERE, "nosuch", scope="rmt_abcdefgh12_0123456789abcdef0123")
        )

    (event,) = world.audit.events
    assert (event.server, event.tool) == ("[redacted]", "nosuch")


async def test_a_name_that_means_nothing_can_be_anything_and_is_kept_short() -> None:
    world = clerks_world()
    names = ["x" * 10_000, "Bearer abcdefgh12345678", "a\ud800"]

    for name in names:
        with pytest.raises(CallDenied):
            await world.pipeline.run(world.call(HERE, name))

    kept = [event.tool for event in world.audit.events]
    assert kept == ["x" * MOST_NAME + "…", "[redacted]", "a\\ud800"]


class Brief:
    """A wording that says little."""

    most = 70

    def arguments(self, body: bytes) -> bytes:
        return b'{"size":%d}' % len(body)

    def result(self, body: bytes) -> bytes:
        return body

    def code(self, body: bytes) -> str:
        return "wrong" if b"wrong" in body else ""


async def test_a_server_with_a_wording_of_its_own_is_recorded_in_it_and_no_other_one() -> None:
    # S2.46, S2.47
    world, audit = clerks_world(), InMemoryAudit()
    wordings = {"git": Brief()}
    recorder = Recorder(audit, revision=lambda: 1, body_cap=lambda: 100, wording=wordings.get)
    call = world.call(HERE, "git__status", b'{"n":1}')
    admitted = await world.limit(world.validate(world.authorize(call)))
    refused = CallDenied("no", tool="x", server="git", layer="deny")
    elsewhere = CallDenied("no", tool="x", server="jira", layer="deny")
    said = b'{"content":"it is wrong"' + b" " * 60 + b"}"

    recorded = await recorder.invoked(admitted)
    for kind in (OutcomeKind.TOOL_ERROR, OutcomeKind.OK):
        await recorder.finished(recorded, Outcome(kind=kind, result=said))
    await recorder.refused(call, refused)
    await recorder.refused(call, elsewhere)

    first, failed, done, denied, other = audit.events
    assert [each.arguments for each in (first, failed, denied)] == ['{"size":7}'] * 3
    assert (other.arguments, first.arguments_size) == ('{"n":1}', 7)
    assert (failed.code, done.code) == ("wrong", "")
    assert failed.result is not None
    assert failed.result.startswith('{"truncated":true')
    assert failed.result_size == len(said)


async def test_arguments_that_do_not_fit_are_recorded_as_allowed_and_never_run() -> None:
    world = clerks_world()

    with pytest.raises(BadCall):
        await world.pipeline.run(world.call(HERE, "git__status", b'{"n":"one"}'))

    (event,) = world.audit.events
    assert story([event]) == [("refused", "allow", "none", "INVALID_INPUT")]
    assert (event.server, event.tool, event.layer) == ("git", "status", "ceiling")
    assert event.error is not None
    assert event.error.startswith("n: ")
    assert world.upstreams.invocations == []


async def test_a_tool_whose_server_is_away_is_recorded_as_allowed_and_never_run() -> None:
    world = clerks_world()

    with pytest.raises(UpstreamUnavailable):
        await world.pipeline.run(world.call(HERE, "git/gone"))

    assert story(world.audit.events) == [("refused", "allow", "none", "UPSTREAM_UNAVAILABLE")]
    assert world.upstreams.invocations == []


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (UpstreamProtocolError("answered", rpc_error=b'{"code":-32000}'), "error"),
        (UnreadableAnswer("answered with more bytes than its max_message"), "unknown"),
    ],
)
async def test_an_answer_that_cannot_be_read_says_nothing_of_whether_the_call_ran(
    failure: UpstreamProtocolError, outcome: str
) -> None:
    # R23
    world = clerks_world()

    async def fail() -> bytes:
        raise failure

    world.upstreams.answer = fail
    with pytest.raises(UpstreamProtocolError):
        await world.pipeline.run(world.call(HERE, "git__status"))

    assert world.audit.events[-1].outcome == outcome


async def test_a_name_that_fits_several_tools_of_the_caller_is_recorded_as_bad_input() -> None:
    world = World(
        declared([Role(name="all", allow=("a/*", "a_/*"))], ["a", "a_"]),
        {"a": [tool("a", "_x")], "a_": [tool("a_", "x")]},
    )

    with pytest.raises(BadCall, match=r"a/_x, a_/x"):
        await world.pipeline.run(world.call(caller("all", "more"), "mcp__a___x"))

    (event,) = world.audit.events
    assert story([event]) == [("refused", "deny", "none", "INVALID_INPUT")]
    assert (event.server, event.tool) == ("", "mcp__a___x")
    assert (event.layer, event.rule, event.role) == ("", "", "all,more")


async def test_what_a_server_says_of_its_failure_is_stored_without_secrets_and_short() -> None:
    world = clerks_world()

    async def fail() -> bytes:
        raise UpstreamProtocolError("token=hunter2 is bad\n" + "x" * 100_000)

    world.upstreams.answer = fail

    with pytest.raises(UpstreamProtocolError):
        await world.pipeline.run(world.call(HERE, "git__status"))

    error = world.audit.events[-1].error
    assert error is not None
    assert error.startswith("token=[redacted] is bad\nxxx")
    assert len(error) < MOST_ERROR + 50


async def test_bodies_are_stored_redacted_and_within_the_declared_cap() -> None:
    # R28
    world = clerks_world(audit=AuditSettings(body_cap=100))

    async def long() -> bytes:
        return b'{"content":[],"token":"hunter2","long":"' + b"x" * 1000 + b'"}'

    world.upstreams.answer = long

    await world.pipeline.run(world.call(HERE, "git__status", b'{"password":"hunter2"}'))

    event = world.audit.events[-1]
    assert event.arguments == '{"password":"[redacted]"}'
    assert event.arguments_size == 22
    assert event.result is not None
    assert len(event.result) <= 100
    assert event.result_size == 1042
    assert "hunter2" not in repr([(e.arguments, e.result) for e in world.audit.events])


async def test_a_row_has_the_time_from_the_door_to_the_answer() -> None:
    audit = InMemoryAudit()
    world = clerks_world()
    recorder = Recorder(
        audit,
        revision=lambda: 1,
        body_cap=lambda: 100,
        now=lambda: NOON - timedelta(hours=1),  # somebody has set the clock back meanwhile
        monotonic=lambda: 2.0,
    )
    valid = world.validate(world.authorize(world.call(HERE, "git__status")))

    recorded = await recorder.invoked(await world.limit(valid))
    await recorder.abandoned(recorded)

    assert [event.ms for event in audit.events] == [0.0, 2000.0]


async def test_the_clock_of_the_machine_gives_aware_utc() -> None:
    audit = InMemoryAudit()
    recorder = Recorder(audit, revision=lambda: 1, body_cap=lambda: 100)

    before = utc_now()
    await recorder.refused(clerks_world().call(HERE, "x"), CallDenied("no", tool="x"))

    assert before <= audit.events[0].time <= utc_now()
    assert audit.events[0].time.utcoffset() == timedelta(0)
