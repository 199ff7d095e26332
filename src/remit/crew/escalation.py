"""Who hears of a call of an agent that failed (R25, S3.26, S3.27).

    ordinary   WORKER ──▶ its epic's ORCHESTRATOR ──▶ a SUPERVISOR ──▶ human: whoever is first there
    critical   always the human, and marked

    failed call ──▶ answered without waiting ──▶ queue ──▶ a mail and its event, in one transaction

The mail is written directly: it is no call, so that a failing mail tool makes no other one fail.
An answer to it goes to the agent whose call it was.
Of a server that is away it is one mail to each superior, and not one a call that never reached it;
what is critical, or may have taken effect, is told each time.
Refusals, bad input, and what a tool itself says is wrong are no failures (S3.23).
"""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

import anyio
import structlog

from remit.calls.redact import recorded_text
from remit.crew.outages import Outages
from remit.errors import Outdated, StorageUnavailable, UpstreamError, UpstreamUnavailable
from remit.identity.clock import utc_now
from remit.model.calls import AuthorizedCall
from remit.model.contents import Kind
from remit.model.crew import CRITICAL, GATEWAY, Change, Mail, Member, Task
from remit.model.crew_events import mail_sent
from remit.model.principals import AgentType, Principal, PrincipalKind
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.upstreams.background import open_background

log = structlog.get_logger(__name__)

CRITICAL_TOOLS: Final = frozenset(
    {
        ToolId("mail", "send"),
        ToolId("agent", "get_task"),
        ToolId("agent", "get_epic"),
        ToolId("task", "update_status"),
        ToolId("epic", "update_status"),
    }
)
"""Those of the crew without which nobody can go on (S3.26)."""

MOST_WAITING: Final = 1000
"""Failures that wait to be told of; beyond it they are only logged."""

MOST_ATTEMPTS: Final = 3
"""To write one mail."""

PAUSE: Final = 1.0
"""Seconds between two of them."""

LAST_WORDS: Final = 5.0
"""Seconds that a gateway which ends takes to tell of what failed before, and one step in its store
takes at most: a step is not cancelled.
"""

_MOST_TEXT: Final = 2048


class MailStore(Protocol):
    """Where mail is kept, and who is there to read it."""

    async def apply(self, change: Change) -> None:
        """Write all of *change*, or raise Outdated and write nothing."""
        ...

    async def find_member(self, tenant: str, agent_id: str) -> Member | None:
        """Return a registered agent, or None."""
        ...

    async def members(
        self, tenant: str, *, of_type: AgentType | None = None, epic: str | None = None
    ) -> Sequence[Member]:
        """Return registered agents, oldest first."""
        ...

    async def find_task(self, tenant: str, task_id: str) -> Task | None:
        """Return a task, or None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """One to tell of.

    Attributes:
        agent: Who acted.
        tool: As agents know it.
        away: The server, where the call never reached it and is not critical; or empty.
        body: What the mail says.
    """

    call_id: str
    agent: Principal
    tool: str
    is_critical: bool
    away: str
    body: str
    time: datetime


class Escalation:
    """Tells whoever is above an agent of its calls that failed, once each.

    Args:
        store: Where the mail goes; takes `LAST_WORDS` for anything at most.
        now: The time, aware UTC.
        pause: Seconds between attempts to write one mail.
    """

    def __init__(
        self,
        store: MailStore,
        *,
        now: Callable[[], datetime] = utc_now,
        pause: float = PAUSE,
    ) -> None:
        self._store = store
        self._now = now
        self._pause = pause
        self._outages = Outages()
        self._waiting = deque[_Failure]()
        self._some = anyio.Event()
        self._is_ending = False

    def failed(
        self,
        server_of: Callable[[str], ServerConfig | None],
        authorized: AuthorizedCall,
        failure: UpstreamError,
    ) -> None:
        """Take note of a call that failed; returns at once, and never fails.

        Args:
            server_of: Returns what is declared of a server.
            authorized: The call.
            failure: Of its last attempt.
        """
        call = authorized.call
        if call.acting.kind is not PrincipalKind.AGENT or call.kind is not Kind.TOOL:
            return
        tool = authorized.permit.tool_id
        name = f"mcp__{tool.server}__{tool.name}"
        is_critical = _is_critical(server_of(tool.server), tool)
        is_away = isinstance(failure, UpstreamUnavailable) and not failure.is_outcome_unknown
        away = tool.server if is_away and not is_critical else ""
        told = _Failure(
            call_id=call.id,
            agent=call.acting,
            tool=name,
            is_critical=is_critical,
            away=away,
            body=_body(authorized, name, failure, away),
            time=self._now(),
        )
        # What it was is in the log alone (R28).
        log.warning("call of an agent failed", call_id=call.id, tool=name, exc_info=failure)
        if self._is_ending or len(self._waiting) >= MOST_WAITING:
            why = "the gateway is stopping" if self._is_ending else "too many are waiting"
            log.error("failure is not escalated", call_id=call.id, reason=why)
            return
        self._waiting.append(told)
        self._some.set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Write mail while entered; what waits at the end is still written, if that is quick."""
        told = anyio.Event()
        async with open_background() as tasks:
            tasks.start_soon(self._tell_all, told)
            try:
                yield
            finally:
                self._is_ending = True
                self._some.set()
                with anyio.move_on_after(LAST_WORDS):
                    await told.wait()

    async def _tell_all(self, told: anyio.Event) -> None:
        while True:
            while self._waiting:
                failed = self._waiting.popleft()
                try:
                    await self._tell(failed)
                except Exception:
                    # the edge of what nobody waits for: one that cannot be told stops no other
                    log.exception("failure is not escalated", call_id=failed.call_id)
            if self._is_ending:
                told.set()
                return
            self._some = anyio.Event()
            await self._some.wait()

    async def _tell(self, failed: _Failure) -> None:
        for attempt in range(1, MOST_ATTEMPTS + 1):
            try:
                to_agent = "" if failed.is_critical else await self._superior(failed.agent)
                outage = (failed.agent.tenant, failed.away, to_agent)
                if failed.away and self._outages.goes_on(outage, failed.time):
                    log.info("failure was told of before", call_id=failed.call_id)
                    return
                await self._store.apply(_mail(failed, to_agent))
            except Outdated:
                return  # an attempt that seemed to fail did write it: its id is the call's
            except StorageUnavailable as error:
                if attempt == MOST_ATTEMPTS:
                    log.error(  # noqa: TRY400 - one line
                        "failure is not escalated", call_id=failed.call_id, reason=str(error)
                    )
                    return
                await anyio.sleep(self._pause)
            else:
                if failed.away:
                    self._outages.began(outage, failed.time)
                log.info("failure escalated", call_id=failed.call_id, to=to_agent or "human")
                return

    async def _superior(self, agent: Principal) -> str:
        """Return the id of the agent above this one; empty for the human."""
        tenant = agent.tenant
        me = await self._store.find_member(tenant, agent.name)
        epic = "" if me is None else me.epic
        if me is not None and me.task:
            task = await self._store.find_task(tenant, me.task)
            epic = epic if task is None else task.epic
        above: list[Member] = []
        if agent.agent_type is AgentType.WORKER and epic:
            above += await self._store.members(tenant, of_type=AgentType.ORCHESTRATOR, epic=epic)
        if agent.agent_type is not AgentType.SUPERVISOR:
            above += await self._store.members(tenant, of_type=AgentType.SUPERVISOR)
        return next((member.id for member in above if member.id != agent.name), "")


def _is_critical(config: ServerConfig | None, tool: ToolId) -> bool:
    if config is None:
        return tool in CRITICAL_TOOLS
    settings = config.tools.get(tool.name)
    ours = ToolId(config.builtin or tool.server, tool.name)
    return ours in CRITICAL_TOOLS or (settings is not None and settings.critical)


def _mail(failed: _Failure, to_agent: str) -> Change:
    subject = f"Tool failed: {failed.tool}"
    mail = Mail(
        id=failed.call_id,
        tenant=failed.agent.tenant,
        from_agent=failed.agent.name,
        from_type=failed.agent.agent_type,
        sender=GATEWAY,
        to_agent=to_agent,
        subject=f"{CRITICAL}{subject}" if failed.is_critical else subject,
        body=failed.body,
        created=failed.time,
    )
    return Change(mails=(mail,), events=(mail_sent(mail, failed.call_id),))


def _body(authorized: AuthorizedCall, tool: str, failure: UpstreamError, away: str) -> str:
    call = authorized.call
    agent = call.acting
    kind = "" if agent.agent_type is None else f" ({agent.agent_type.value})"
    by = "" if call.agent is None else f", for which {call.principal.subject} acted,"
    lines = [
        f"Agent {agent.name}{kind}{by} called {tool}, and the call failed.",
        "",
        f"code: {failure.code}",
        f"error: {recorded_text(str(failure), _MOST_TEXT)}",
    ]
    if failure.attempts > 1:
        lines.append(f"attempts: {failure.attempts}")
    if failure.is_outcome_unknown:
        lines.append("outcome: unknown; it may have taken effect")
    lines.append(f"request: {call.id} (remit audit search --text {call.id})")
    if away:
        lines.append(f"more that does not reach {away} is not mailed, but on record")
    return "\n".join(lines)
