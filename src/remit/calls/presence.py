"""Which agents have a call under way: whoever waits for an answer is there, however long it takes.

A call may take longer than an agent may be silent (R24, S3.38), and its key is used at the
beginning alone.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection

from remit.model.agents import active_agent
from remit.model.calls import Outcome, RecordedCall

Invoke = Callable[[RecordedCall], Awaitable[Outcome]]


class Presence:
    """Counts the calls that each agent has under way in this process."""

    def __init__(self) -> None:
        self._calls = Counter[tuple[str, str]]()

    @property
    def agents(self) -> Collection[tuple[str, str]]:
        """Tenant and id of each agent that waits for an answer now."""
        return tuple(self._calls)

    def around(self, invoke: Invoke) -> Invoke:
        """Return *invoke*, during which the agent that is active by it is there."""

        def counted(recorded: RecordedCall) -> Awaitable[Outcome]:
            # Most callers are no agents, and pay nothing for those that are.
            if recorded.event.agent is None:
                return invoke(recorded)
            return self._counted(invoke, recorded)

        return counted

    async def _counted(self, invoke: Invoke, recorded: RecordedCall) -> Outcome:
        who = active_agent(recorded.valid.call.acting)
        if who is None:
            return await invoke(recorded)
        agent = (who.tenant, who.name)
        self._calls[agent] += 1
        try:
            return await invoke(recorded)
        finally:
            self._calls[agent] -= 1
            if not self._calls[agent]:
                del self._calls[agent]
