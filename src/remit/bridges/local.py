"""A toolset's tools from the gateway's own engine, open in this process."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from remit.bridges.answers import read_answer
from remit.client.door import state_alone
from remit.client.tools import CallResult, ToolDefinition
from remit.library.beside import Beside
from remit.library.inside import Inside, Params, open_inside
from remit.model.conversation import PAUSES
from remit.settings import Settings


class LocalSource:
    """What one subject may use of an installation, which is opened when it is first asked.

    Attributes:
        caller: The subject.
    """

    def __init__(
        self, config: Path | None, subject: str, server: str | None, tenant: str | None
    ) -> None:
        settings = Settings.read(config, tenant=tenant)
        self.caller = subject
        self._inside = Beside(lambda: open_inside(settings, subject, server), name="remit toolset")

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools as of now.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        answer = await self._inside.use(lambda inside: inside.ask("tools/list", {}))
        read = (ToolDefinition.of(entry) for entry in answer["result"]["tools"])
        return tuple(tool for tool in read if tool is not None)

    async def why_none(self) -> str:
        """Say why there are no tools."""
        return await self._inside.use(lambda inside: inside.why_none())

    async def begin(
        self,
        name: str,
        arguments: Mapping[str, Any],
        told: Callable[[float, float | None, str], None] | None,
    ) -> "asyncio.Future[CallResult]":
        """Return a call that is under way; cancelling it cancels the call.

        Raises:
            RemitError: As `Toolset.tools` says; of the subject, the future does.
        """

        async def call(inside: Inside) -> CallResult:
            params: dict[str, Any] = {"name": name, "arguments": dict(arguments)}
            ears = told and _ears(told)
            answer = await inside.ask("tools/call", params, ears)
            for pause in PAUSES:
                state = state_alone(answer.get("result") or {})
                if state is None:
                    break
                await asyncio.sleep(pause)
                params["requestState"] = state
                answer = await inside.ask("tools/call", params, ears)
            return read_answer(name, answer, has_begun="requestState" in params)

        return await self._inside.begin(call)

    async def close(self) -> None:
        """Close the installation and end its servers."""
        await self._inside.close()


def _ears(told: Callable[[float, float | None, str], None]) -> Callable[[Params], Awaitable[None]]:
    async def hear(params: Params) -> None:
        told(params["progress"], params.get("total"), params.get("message") or "")

    return hear
