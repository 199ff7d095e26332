# pyright: basic, reportMissingImports=false
# Agno is in an environment of its own, which the type checker does not see.
"""A member of a squad: an agent of Agno with the tools that its role may use."""

from pathlib import Path
from types import TracebackType
from typing import Self

from agno.agent import Agent
from agno.models.base import Model
from agno.run.agent import RunOutput

from remit.bridges.agno import RemitToolkit
from remit.bridges.toolset import Toolset


class AgnoSquadAgent:
    """Works in one role; what that may use is loaded when the agent is created (S0.25).

    Args:
        role: Of the declaration.
        config: The declaration. Over a running gateway, a `Toolset.remote` takes its place.
        model: Any of Agno's.
    """

    def __init__(self, role: str, *, config: Path, model: Model) -> None:
        self.role = role
        self.model = model
        self._toolset = Toolset.local(config, subject=f"role:{role}")
        self._agent: Agent | None = None

    async def __aenter__(self) -> Self:
        """Connect, and make the agent.

        Raises:
            RemitError: The set-up is broken; an agent that can do nothing would help nobody.
        """
        tools = await self._prepare_tools()
        self._agent = Agent(name=self.role, model=self.model, tools=tools, telemetry=False)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disconnect."""
        await self._toolset.aclose()

    async def process(self, message: str) -> RunOutput:
        """Work on *message*; what failed or was refused is for the model to read."""
        if self._agent is None:
            raise RuntimeError("use the agent in `async with`")
        return await self._agent.arun(message)

    async def _prepare_tools(self) -> list[RemitToolkit]:
        """Return the role's tools, once they can be had; each run has those of its moment."""
        await self._toolset.tools()
        return [RemitToolkit(self._toolset, name=self.role)]
