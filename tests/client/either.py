"""Either client behind the same awaited methods, so that one test holds for both."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio.to_thread

from remit.client import AsyncClient, CallResult, Client, ToolDefinition


@dataclass(frozen=True, kw_only=True)
class Either:
    """One of the two clients.

    Attributes:
        run: Calls a method of it, by its name.
    """

    client: AsyncClient | Client
    run: Callable[..., Awaitable[Any]]

    async def list_tools(self, **more: Any) -> list[ToolDefinition]:
        return await self.run("list_tools", **more)

    async def call_tool(self, name: str, *arguments: Any, **more: Any) -> CallResult:
        return await self.run("call_tool", name, *arguments, **more)


@asynccontextmanager
async def open_either(kind: str, url: str, **more: Any) -> AsyncGenerator[Either]:
    """Open the client of that *kind*: `asynchronous` or `synchronous`."""
    if kind == "asynchronous":
        async with AsyncClient(url, **more) as client:
            awaited = client

            async def run(name: str, *arguments: Any, **more: Any) -> Any:
                return await getattr(awaited, name)(*arguments, **more)

            yield Either(client=client, run=run)
        return
    with Client(url, **more) as client:
        waiting = client

        async def run_in_thread(name: str, *arguments: Any, **more: Any) -> Any:
            call = partial(getattr(waiting, name), *arguments, **more)
            return await anyio.to_thread.run_sync(call)

        yield Either(client=client, run=run_in_thread)
