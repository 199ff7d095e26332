"""The seven servers of the crew, for callers that the gateway has let in."""

import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Final

import structlog

from remit.calls.ids import new_id
from remit.calls.invoke import KEY
from remit.crew.agents import AGENT_TOOLS
from remit.crew.decisions import SYSTEM_TOOLS
from remit.crew.desk import UNHEALTHY_AFTER, Desk, Request
from remit.crew.epics import EPIC_TOOLS
from remit.crew.mailbox import MAIL_TOOLS
from remit.crew.orchestration import ORCHESTRATOR_TOOLS, SUPERVISOR_TOOLS
from remit.crew.store import Changes, CrewStore
from remit.crew.tasks import TASK_TOOLS
from remit.errors import (
    BadCall,
    Conflict,
    InvalidAgentState,
    NotFound,
    Refused,
    StorageUnavailable,
    UpstreamUnavailable,
)
from remit.identity.clock import utc_now
from remit.model.agents import active_agent
from remit.model.principals import Principal
from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.toolbox import Tool, ToolServer, admit_nobody, failed

log = structlog.get_logger(__name__)

TOOLS: Final[Mapping[str, tuple[Tool[Desk], ...]]] = MappingProxyType(
    {
        "mail": MAIL_TOOLS,
        "agent": AGENT_TOOLS,
        "system": SYSTEM_TOOLS,
        "task": TASK_TOOLS,
        "epic": EPIC_TOOLS,
        "orchestrator": ORCHESTRATOR_TOOLS,
        "supervisor": SUPERVISOR_TOOLS,
    }
)
"""Server to its tools, in the order in which they are listed."""

_LONGEST_KEY: Final = 512


class CrewServer(ToolServer[Desk]):
    """One of the servers.

    Args:
        name: Which one.
        store: Where the crew's work is kept.
        changes: Tells that something was changed.
        silence: How long an agent may be without activity.
    """

    def __init__(
        self,
        name: str,
        store: CrewStore,
        changes: Changes,
        *,
        silence: timedelta = UNHEALTHY_AFTER,
    ) -> None:
        super().__init__(name, TOOLS[name], admit_nobody, time_limit=29.0)
        self._store = store
        self._changes = changes
        self._silence = silence
        self._waiting = Counter[tuple[str, str]]()

    async def call_for(
        self,
        principal: Principal,
        name: str,
        arguments: Mapping[str, object],
        meta: Mapping[str, object],
    ) -> Mapping[str, object]:
        """Call a tool as *principal* and return its result in wire format.

        Raises:
            KeyError: There is no such tool.
            UpstreamUnavailable: The database cannot be used now, or others change the same.
        """
        key = meta.get(KEY, "")
        if not isinstance(key, str):  # leaving it out would do twice what is asked for once
            return failed("an idempotency key is a text", BadCall.code)
        asked = Request(
            tool=f"{self.name}/{name}",
            key=key,
            digest=_digest(arguments),
        )
        desk = self.desk(principal, asked)
        try:
            return await self.call_at(partial(_at, desk), name, arguments)
        except StorageUnavailable as error:
            # whether its last transaction took effect is not known
            raise UpstreamUnavailable(f"cannot: {error}", sent=True, transient=True) from error
        finally:
            await self._note_active(desk)

    def desk(self, principal: Principal, asked: Request) -> Desk:
        """Return where *principal* is served."""
        return Desk(
            principal=principal,
            request=asked,
            store=self._store,
            changes=self._changes,
            clock=utc_now,
            new_id=new_id,
            silence=self._silence,
            waiting=self._waiting,
        )

    async def _note_active(self, desk: Desk) -> None:
        """Take note that an agent is active (S3.11); failing at that fails nothing else."""
        agent = active_agent(desk.principal)
        if agent is None:
            return
        try:
            await self._store.touch(desk.tenant, agent.name, desk.clock())
        except StorageUnavailable as error:
            log.warning("activity cannot be noted", agent=agent.name, error=str(error))


def list_only(name: str) -> ToolServer[Desk]:
    """Return a server that shows its tools to somebody who has no gateway to call them in."""
    return ToolServer(name, TOOLS[name], admit_nobody)


def _digest(arguments: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


@asynccontextmanager
async def _at(desk: Desk, _tool: Tool[Desk], _arguments: Arguments) -> AsyncGenerator[Desk]:
    """Open the desk, and say in words what cannot be done at it."""
    if len(desk.request.key) > _LONGEST_KEY:
        raise ToolError(
            f"an idempotency key has at most {_LONGEST_KEY} characters", code=BadCall.code
        )
    try:
        yield desk
    except (BadCall, Conflict, InvalidAgentState, NotFound, Refused) as error:
        raise ToolError(str(error), code=error.code) from error
