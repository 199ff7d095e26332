"""Who hears of an agent's call that failed, of what, and how often (R25, S3.23, S3.26, S3.27)."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import anyio
import anyio.lowlevel
import pytest
import structlog.testing

from remit.crew.escalation import CRITICAL_TOOLS, Escalation
from remit.crew.human import HumanInbox
from remit.errors import (
    StorageUnavailable,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from remit.model.agents import Agent
from remit.model.calls import AuthorizedCall, Call, Permit
from remit.model.contents import Kind
from remit.model.crew import CRITICAL, Change, Mail
from remit.model.decisions import Decision, Layer
from remit.model.principals import AgentType, Principal, PrincipalKind
from remit.model.servers import ServerConfig, ToolSettings, Transport
from remit.model.tools import ToolId
from remit.testing.crew import InMemoryCrew
from remit.testing.fakes import sample_event

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
PUSH = ToolId("git", "git_push")
GONE = UpstreamUnavailable("server 'git' is away")


def agent(name: str, kind: AgentType, *, epic: str = "", tenant: str = "default") -> Agent:
    return Agent(id=name, tenant=tenant, type=kind, epic=epic, created=NOON)


WORKER = agent("w1", AgentType.WORKER, epic="e1")
CHIEF = agent("chief", AgentType.ORCHESTRATOR, epic="e1")
OTHER_CHIEF = agent("other", AgentType.ORCHESTRATOR, epic="e2")
BOSS = agent("boss", AgentType.SUPERVISOR)


def call_of(
    principal: Principal,
    tool: ToolId = PUSH,
    *,
    number: int = 1,
    for_agent: Principal | None = None,
    kind: Kind = Kind.TOOL,
) -> AuthorizedCall:
    """Return an allowed call."""
    decision = Decision(allowed=True, layer=Layer.CEILING, rule="", reason="", revision=1)
    call = Call(
        id=f"call-{number}",
        principal=principal,
        agent=for_agent,
        kind=kind,
        requested=str(tool),
        scope=None,
        arguments=b"{}",
        started=0.0,
    )
    permit = Permit(
        principal=principal,
        tool_id=tool,
        decision=decision,
        allowances=(),
        words=sample_event(),
    )
    return AuthorizedCall(call=call, permit=permit)


def undeclared(name: str) -> ServerConfig | None:
    del name
    return None


class Sick(InMemoryCrew):
    """A store that cannot be used so many times."""

    def __init__(self, *agents: Agent, times: int, after_writing: bool = False) -> None:
        super().__init__(*agents)
        self.left = times
        self.tried = 0
        self._after_writing = after_writing

    async def apply(self, change: Change) -> None:
        self.tried += 1
        if self._after_writing:
            await super().apply(change)
        if self.left:
            self.left -= 1
            raise StorageUnavailable("the database is away")
        if not self._after_writing:
            await super().apply(change)


class Faulty(InMemoryCrew):
    """A store that has a fault at the first call."""

    async def apply(self, change: Change) -> None:
        if change.mails[0].id == "call-1":
            raise RuntimeError("a fault")
        await super().apply(change)


async def told(
    store: InMemoryCrew,
    *calls: AuthorizedCall,
    failure: UpstreamError = GONE,
    config: ServerConfig | None = None,
) -> None:
    """Escalate the failure of each of *calls*, and wait until that is done."""
    escalation = Escalation(store, now=lambda: NOON, pause=0.0)
    async with escalation.running():
        for one in calls:
            escalation.failed(lambda _: config, one, failure)


async def inbox(store: InMemoryCrew, to_agent: str = "", tenant: str = "default") -> Sequence[Mail]:
    return await store.inbox(tenant, to_agent, include_read=True, limit=100)


@pytest.mark.parametrize(
    ("who", "there", "hears"),
    [
        (WORKER, (CHIEF, OTHER_CHIEF, BOSS), "chief"),
        (WORKER, (OTHER_CHIEF, BOSS), "boss"),
        (WORKER, (OTHER_CHIEF,), ""),
        (replace(WORKER, epic=""), (CHIEF, BOSS), "boss"),
        (CHIEF, (BOSS, OTHER_CHIEF), "boss"),
        (CHIEF, (OTHER_CHIEF,), ""),
        (BOSS, (agent("boss2", AgentType.SUPERVISOR), CHIEF), ""),
        (WORKER, (agent("boss", AgentType.SUPERVISOR, tenant="other"),), ""),
    ],
)
async def test_the_superior_that_there_is_hears_of_an_ordinary_failure(
    who: Agent, there: tuple[Agent, ...], hears: str
) -> None:
    """R25: worker, its epic's orchestrator, a supervisor, human."""
    store = InMemoryCrew(who, *there)

    await told(store, call_of(who.principal))

    (mail,) = await inbox(store, hears)
    assert mail.subject == "Tool failed: mcp__git__git_push"
    assert mail.sender == "remit"
    assert mail.is_for_human is (not hears)
    found = [await inbox(store, name) for name in ("", "chief", "other", "boss", "boss2", "w1")]
    assert sum(map(len, found)) == 1


@pytest.mark.parametrize("there", [(), (BOSS,)])
async def test_an_answer_to_the_mail_goes_to_the_agent_whose_call_failed(
    there: tuple[Agent, ...],
) -> None:
    """The mail is the gateway's own, and says of which agent it is (R25)."""
    store = InMemoryCrew(WORKER, *there)

    await told(store, call_of(WORKER.principal))

    (mail,) = await inbox(store, there[0].id if there else "")
    assert (mail.sender, mail.from_agent, mail.from_type) == ("remit", "w1", AgentType.WORKER)
    if not there:
        human = HumanInbox(store=store, clock=lambda: NOON, new_id=lambda: "answer")
        await human.reply("default", mail.id, "Push again.", author="key:boss")
        (answer,) = await inbox(store, "w1")
        assert (answer.sender, answer.body) == ("key:boss", "Push again.")
        assert [each.id for each in await human.thread("default", mail.id)] == sorted(
            ["answer", mail.id]
        )


async def test_an_agent_that_is_not_registered_any_more_is_the_humans_business() -> None:
    store = InMemoryCrew()

    await told(store, call_of(WORKER.principal))

    assert len(await inbox(store)) == 1


@pytest.mark.parametrize("tool", sorted(CRITICAL_TOOLS))
async def test_the_human_hears_of_a_critical_failure_with_its_mark(tool: ToolId) -> None:
    """S3.26: always, whoever else there is; by whatever name the server is declared."""
    store = InMemoryCrew(WORKER, CHIEF, BOSS)
    config = ServerConfig(name="x", transport=Transport.BUILTIN, builtin=tool.server)

    await told(store, call_of(WORKER.principal, tool))
    await told(store, call_of(WORKER.principal, ToolId("x", tool.name), number=2), config=config)

    mails = await inbox(store)
    assert {mail.subject for mail in mails} == {
        f"⚠️ CRITICAL: Tool failed: mcp__{server}__{tool.name}" for server in (tool.server, "x")
    }
    assert not await inbox(store, "chief")


async def test_a_tool_is_critical_where_its_entry_says_so() -> None:
    store = InMemoryCrew(WORKER, CHIEF)
    config = ServerConfig(name="git", tools={"git_push": ToolSettings(critical=True)})

    await told(store, call_of(WORKER.principal), config=config)
    await told(store, call_of(WORKER.principal, ToolId("git", "git_log"), number=2), config=config)

    assert [mail.subject for mail in await inbox(store)] == [
        f"{CRITICAL}Tool failed: mcp__git__git_push"
    ]
    assert len(await inbox(store, "chief")) == 1


async def test_the_mail_says_what_happened_without_secrets_or_a_stack() -> None:
    """R28."""
    store = InMemoryCrew(WORKER)
    failure = UpstreamTimeout("no answer to token=abcdefghij", sent=True, transient=True)
    failure.attempts = 3

    with structlog.testing.capture_logs() as lines:
        await told(store, call_of(WORKER.principal), failure=failure)

    (mail,) = await inbox(store)
    assert mail.body.splitlines() == [
        "Agent w1 (WORKER) called mcp__git__git_push, and the call failed.",
        "",
        "code: UPSTREAM_TIMEOUT",
        "error: no answer to token=[redacted]",
        "attempts: 3",
        "outcome: unknown; it may have taken effect",
        "request: call-1 (remit audit search --text call-1)",
    ]
    assert [(line["event"], line["call_id"]) for line in lines] == [
        ("call of an agent failed", "call-1"),
        ("failure escalated", "call-1"),
    ]
    assert lines[0]["exc_info"] is failure


async def test_a_mail_is_told_of_as_any_other() -> None:
    """S3.29: with the mail, so that neither is without the other."""
    store = InMemoryCrew(WORKER, CHIEF)

    await told(store, call_of(WORKER.principal))

    ((_, event),) = await store.events(after=0, limit=10)
    (mail,) = await inbox(store, "chief")
    assert event.topic == "mail.sent"
    assert json.loads(json.dumps(dict(event.payload))) == {
        "mailId": mail.id,
        "toAgentId": "chief",
        "isForHuman": False,
        "subject": "Tool failed: mcp__git__git_push",
    }


async def test_the_agent_that_is_acted_for_is_whose_superior_hears() -> None:
    store = InMemoryCrew(WORKER, CHIEF, BOSS)

    await told(store, call_of(BOSS.principal, for_agent=WORKER.principal))

    (mail,) = await inbox(store, "chief")
    assert mail.body.startswith("Agent w1 (WORKER), for which agent:boss acted, called")


async def test_of_a_server_that_is_away_each_superior_hears_once() -> None:
    """R25: not once a call; what comes after five quiet minutes is another outage."""
    store = InMemoryCrew(WORKER, replace(WORKER, id="w2"), CHIEF, BOSS)
    clock = [NOON]
    escalation = Escalation(store, now=lambda: clock[0], pause=0.0)
    numbers = count(1)

    def fail(agent: Agent, tool: ToolId = PUSH) -> None:
        one = call_of(agent.principal, tool, number=next(numbers))
        escalation.failed(undeclared, one, GONE)

    with structlog.testing.capture_logs() as lines:
        async with escalation.running():
            for minutes in (0, 4, 8):
                clock[0] = NOON + timedelta(minutes=minutes)
                fail(WORKER)
                fail(replace(WORKER, id="w2"), ToolId("git", "git_log"))
            fail(CHIEF)
            fail(WORKER, ToolId("wiki", "read"))
            clock[0] += timedelta(minutes=5, seconds=1)
            fail(WORKER)

    mails = await inbox(store, "chief")
    assert [mail.id for mail in mails] == ["call-9", "call-8", "call-1"]
    assert mails[-1].body.endswith("more that does not reach git is not mailed, but on record")
    assert [mail.id for mail in await inbox(store, "boss")] == ["call-7"]
    known = [line["call_id"] for line in lines if line["event"] == "failure was told of before"]
    assert known == [f"call-{number}" for number in range(2, 7)]


@pytest.mark.parametrize(
    ("failure", "is_critical"),
    [
        (GONE, True),
        (UpstreamUnavailable("broke the connection", sent=True), False),
        (UpstreamTimeout("no answer", sent=True), False),
        (UpstreamProtocolError("it broke", rpc_error=b"{}"), False),
    ],
)
async def test_what_is_critical_or_may_have_run_or_was_answered_is_told_each_time(
    failure: UpstreamError, *, is_critical: bool
) -> None:
    """S3.26: always."""
    store = InMemoryCrew(WORKER, CHIEF)
    config = ServerConfig(name="git", tools={"git_push": ToolSettings(critical=is_critical)})
    calls = [call_of(WORKER.principal, number=number) for number in (1, 2)]

    await told(store, *calls, failure=failure, config=config)

    assert len(await inbox(store, "" if is_critical else "chief")) == 2


@pytest.mark.parametrize(
    "call",
    [
        call_of(Principal(kind=PrincipalKind.KEY, name="ci")),
        call_of(Principal(kind=PrincipalKind.USER, name="w1")),
        call_of(WORKER.principal, kind=Kind.RESOURCE),
    ],
)
async def test_only_calls_of_agents_are_escalated(call: AuthorizedCall) -> None:
    store = InMemoryCrew(WORKER, CHIEF)

    await told(store, call)

    assert not await inbox(store)
    assert not await inbox(store, "chief")


@pytest.mark.parametrize("after_writing", [False, True])
async def test_a_store_that_comes_back_is_told_once(*, after_writing: bool) -> None:
    """Also where the attempt that seemed to fail had written it."""
    store = Sick(WORKER, times=2, after_writing=after_writing)

    await told(store, call_of(WORKER.principal))

    assert len(await inbox(store)) == 1


async def test_mail_that_cannot_be_written_ends_in_the_log() -> None:
    """S3.27: no loop, and nothing raised."""
    store = Sick(WORKER, times=100)

    with structlog.testing.capture_logs() as lines:
        await told(store, call_of(WORKER.principal, ToolId("mail", "send")))

    assert store.tried == 3
    assert lines[-1] == {
        "event": "failure is not escalated",
        "log_level": "error",
        "call_id": "call-1",
        "reason": "the database is away",
    }


async def test_a_fault_of_ours_stops_no_other_mail() -> None:
    store = Faulty(WORKER)

    with structlog.testing.capture_logs() as lines:
        await told(store, *(call_of(WORKER.principal, number=number) for number in (1, 2)))

    assert [mail.id for mail in await inbox(store)] == ["call-2"]
    assert [line["call_id"] for line in lines if line["log_level"] == "error"] == ["call-1"]


async def test_whoever_fails_does_not_wait_and_no_more_than_so_many_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remit.crew.escalation.MOST_WAITING", 2)
    store = InMemoryCrew(WORKER)
    escalation = Escalation(store, now=lambda: NOON)

    with structlog.testing.capture_logs() as lines:
        for number in range(3):
            late = UpstreamTimeout("no answer", sent=True)
            escalation.failed(undeclared, call_of(WORKER.principal, number=number), late)
        async with escalation.running():
            pass

    assert [line["call_id"] for line in lines if line["log_level"] == "error"] == ["call-2"]
    assert len(await inbox(store)) == 2


@asynccontextmanager
async def stuck() -> AsyncGenerator[Escalation]:
    """An escalation whose store answers never."""

    class Stuck(InMemoryCrew):
        async def apply(self, change: Change) -> None:
            del change
            await anyio.sleep_forever()

    escalation = Escalation(Stuck(WORKER), now=lambda: NOON)
    async with escalation.running():
        yield escalation


async def test_a_gateway_that_ends_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.crew.escalation.LAST_WORDS", 0.05)

    with anyio.fail_after(20):
        async with stuck() as escalation:
            escalation.failed(undeclared, call_of(WORKER.principal), GONE)
            await anyio.lowlevel.checkpoint()
