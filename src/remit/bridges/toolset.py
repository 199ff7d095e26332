"""The tools of one principal, wherever the engine is: what every bridge is made from.

    framework ─tools(), call()─▶ Toolset ─▶ a gateway over HTTP   `Toolset.remote`
                                         └▶ the engine in this process   `Toolset.local`

Both have a loop of their own, so that a toolset serves any loop and any thread. No framework is
imported here, and nothing of the gateway before `local` is used.
"""

import asyncio
import inspect
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import structlog

from remit.bridges.answers import advised, not_json
from remit.bridges.remote import RemoteSource
from remit.client.tools import CallResult, Progress, ToolDefinition
from remit.library.log import log_through_logging

log = structlog.get_logger(__name__)

Told = Callable[[float, float | None, str], None]
"""Takes news of progress, on the loop of whoever called."""


class Source(Protocol):
    """Where the tools of a toolset come from; may be asked from any loop."""

    @property
    def caller(self) -> str:
        """Whose tools they are, for people; never a secret."""
        ...

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools as of now."""
        ...

    async def why_none(self) -> str:
        """Say why there are no tools, or nothing."""
        ...

    async def begin(
        self, name: str, arguments: Mapping[str, Any], told: Told | None
    ) -> "asyncio.Future[CallResult]":
        """Return a call that is under way; cancelling it cancels the call."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class Toolset:
    """The tools that one principal may use, now: listed anew each time, called with a record.

    It can be used from any event loop and from several. `async with` or `aclose` ends it; what is
    never closed ends with the program; one that is used again after that begins anew.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        log_through_logging()

    @classmethod
    def remote(
        cls,
        url: str,
        *,
        key: str | None = None,
        server: str | None = None,
        tenant: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> "Toolset":
        """Return the tools of whoever holds *key*, over a running gateway.

        Nothing is asked before the first use.

        Args:
            url: The gateway's root, such as `http://127.0.0.1:8400`.
            key: An API key or a token; else `$REMIT_KEY`, read at the first use.
            server: One server, whose own names count then, or None for all.
            tenant: Its UUID, where it is not that of the key.
            meta: What goes into the `_meta` of each call, such as the `remit/member` that acts.
        """
        return cls(RemoteSource(url, key, server, tenant, meta=meta))

    @classmethod
    def local(
        cls,
        config: str | os.PathLike[str] | None = None,
        *,
        subject: str,
        server: str | None = None,
        tenant: str | None = None,
    ) -> "Toolset":
        """Return the tools of *subject*, with the gateway's own engine in this process.

        Nothing is opened before the first use. Changes that a gateway or a command makes to the
        same installation are followed.

        Args:
            config: The declaration; else where the commands look for it.
            subject: As `--as` of the commands has it, such as `role:qa_tester`.
            server: One server, whose own names count then, or None for all.
            tenant: Its name or UUID, where it is not the default.
        """
        try:
            # deferred: the engine, which a remote toolset works without
            from remit.bridges.local import LocalSource  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                "Toolset.local needs the whole of remit, and here its package"
                f" {missing.name} is missing; use Toolset.remote, over a running gateway",
                name=missing.name,
            ) from missing

        return cls(LocalSource(None if config is None else Path(config), subject, server, tenant))

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.aclose()

    def __repr__(self) -> str:
        """Say whose tools they are."""
        return f"Toolset({self._source.caller})"

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools as of now; none at all is logged as a warning that says why.

        Raises:
            RemitError: The set-up is broken: no declaration or a wrong one, no such subject, no
                gateway, a credential that does not hold; the text says what to do.
        """
        found = await self._source.tools()
        if not found:
            why = await self._source.why_none()
            log.warning("a toolset is empty", caller=self._source.caller, why=why)
        return found

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        progress: Progress | None = None,
    ) -> CallResult:
        """Call a tool; whoever is cancelled meanwhile has cancelled the call, too.

        Whatever a model can act on is a result with `is_error`, and a text that says what was
        refused or failed, whether trying again helps, and under which id it is in the record.

        Args:
            name: As `tools` has it.
            arguments: As its schema says.
            progress: Is told how far it is, on this loop.

        Raises:
            RemitError: The set-up is broken, as `tools` says.
        """
        try:
            json.dumps(dict(arguments), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return not_json(name, error)
        if progress is None:
            return advised(await (await self._source.begin(name, arguments, None)))
        return advised(await self._call_aloud(name, arguments, progress))

    async def aclose(self) -> None:
        """Let go of everything; calls under way end. Harmless when nothing is open."""
        await self._source.close()

    async def _call_aloud(
        self, name: str, arguments: Mapping[str, Any], progress: Progress
    ) -> CallResult:
        loop = asyncio.get_running_loop()
        news: asyncio.Queue[tuple[float, float | None, str] | None] = asyncio.Queue()

        def told(done: float, total: float | None, message: str) -> None:
            loop.call_soon_threadsafe(news.put_nowait, (done, total, message))

        call = await self._source.begin(name, arguments, told)
        call.add_done_callback(lambda _: news.put_nowait(None))
        try:
            while (heard := await news.get()) is not None:
                answer = progress(*heard)
                if inspect.isawaitable(answer):
                    await answer
            return await call
        finally:
            call.cancel()
