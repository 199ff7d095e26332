# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
# Agno is in an environment of its own, which the type checker does not see.
"""A researcher on Agno, as a server behind remit; its own tools come through remit, too.

Its model is a script, so that the example needs no network and no key of a provider.
"""

import json
import os
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.run.base import RunStatus

from remit.bridges.agno import RemitToolkit
from remit.bridges.toolset import Toolset
from remit.servers.agent import AgentServer, Ask, run_agent
from remit.servers.errors import ToolError

TOOLS = {"history": "git__git_log", "changes": "git__git_status", "commit": "git__git_commit"}
"""What the script calls for a word of the prompt."""


class Scripted(Model):
    """Calls the tool that the prompt is about, and reports what came of it."""

    def __init__(self) -> None:
        super().__init__(id="scripted")

    async def ainvoke(self, messages: Any, **_: Any) -> ModelResponse:
        """Answer one turn."""
        last = messages[-1]
        if last.role == "tool":
            return ModelResponse(role="assistant", content=f"I have found: {last.content}")
        wanted = [tool for word, tool in TOOLS.items() if word in str(last.content)]
        if not wanted:
            return ModelResponse(role="assistant", content="I do not know about that.")
        function = {"name": wanted[0], "arguments": json.dumps({})}
        call = {"id": "1", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Answer nobody who does not await."""
        raise NotImplementedError

    invoke_stream = ainvoke_stream = invoke
    _parse_provider_response = _parse_provider_response_delta = invoke


async def answer(ask: Ask) -> str:
    """Let an agent of Agno answer, with the tools that the role of its own key has."""
    await ask.tell("reading the question")
    async with Toolset.remote(os.environ["GATEWAY"], meta=ask.meta) as tools:  # key: $REMIT_KEY
        agent = Agent(model=Scripted(), tools=[RemitToolkit(tools)], telemetry=False)
        run = await agent.arun(ask.prompt)
    if run.status != RunStatus.completed:
        raise ToolError(str(run.content))
    return str(run.content)


if __name__ == "__main__":
    run_agent(
        AgentServer(
            "researcher",
            answer,
            description="Ask about the history or the changes of the repository.",
            time_limit=100,
        )
    )
