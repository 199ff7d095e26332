"""A bundled server, in the gateway's own process."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import cast

import anyio
import structlog

from remit.errors import (
    RemitError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamUnavailable,
)
from remit.model.protocol import LATEST_MODERN_VERSION
from remit.upstreams.background import open_background
from remit.upstreams.era import Era
from remit.upstreams.session import (
    BuiltinServer,
    HasResources,
    KnowsCallers,
    Session,
    Setup,
    Signals,
    ToolCall,
)
from remit.upstreams.wire import json_bytes, value_of

log = structlog.get_logger(__name__)

_TOOLS_ALONE = Era(LATEST_MODERN_VERSION, {"tools": {}})
_WITH_RESOURCES = Era(LATEST_MODERN_VERSION, {"tools": {}, "resources": {"subscribe": True}})


@asynccontextmanager
async def open_builtin(setup: Setup) -> AsyncGenerator[Session]:
    """Make the bundled server that the entry names.

    Raises:
        UpstreamUnavailable: There is none of that name, or it cannot be made.
    """
    if setup.make_builtin is None:
        raise UpstreamUnavailable(f"names {setup.config.builtin!r}, which remit does not bundle")
    try:
        server = setup.make_builtin()
    except (ValueError, OSError, RemitError) as error:
        raise UpstreamUnavailable(f"cannot start: {error}") from error
    async with aclosing(server), open_background() as tasks:
        watched = None
        if isinstance(server, HasResources) and setup.owner:
            tenant, subject, *_ = setup.owner
            watched = Watched(server, tenant, subject, setup.signals)
            tasks.start_soon(watched.tell)
        yield BuiltinSession(setup.config.name, server, watched)


class Watched:
    """The resources that one caller follows on its connection.

    Args:
        server: Whose they are.
        tenant: The caller's.
        subject: The caller's.
        signals: Where updates are told.
    """

    def __init__(self, server: HasResources, tenant: str, subject: str, signals: Signals) -> None:
        self._server = server
        self._who = (tenant, subject)
        self._signals = signals
        self._seen: dict[str, object] = {}
        self._wanted = anyio.Event()

    async def watch(self, uris: frozenset[str]) -> Mapping[str, UpstreamError]:
        """Tell of updates to exactly *uris* that come after this; return what cannot be had."""
        refused: dict[str, UpstreamError] = {}
        seen: dict[str, object] = {}
        for uri in uris:
            try:
                seen[uri] = await self._server.version_for(*self._who, uri)
            except UpstreamError as error:
                refused[uri] = error
        self._seen = seen
        if seen:
            self._wanted.set()
        return refused

    async def tell(self) -> None:
        """Look whenever something may have been updated, as long as anything is watched."""
        while True:
            await self._wanted.wait()
            await self._server.stirred()
            if not self._seen:
                self._wanted = anyio.Event()
            for uri, before in list(self._seen.items()):
                await self._look(uri, before)

    async def _look(self, uri: str, before: object) -> None:
        with suppress(UpstreamError):  # it is looked at again soon
            now = await self._server.version_for(*self._who, uri)
            if now != before and uri in self._seen:
                self._seen[uri] = now
                if self._signals.follower is not None:
                    self._signals.follower.updated(uri)


class BuiltinSession:
    """A session with a bundled server: nothing in between but the encoding of its results."""

    def __init__(self, name: str, server: BuiltinServer, watched: Watched | None = None) -> None:
        self._name = name
        self._server = server
        self._watched = watched

    @property
    def era(self) -> Era:
        """The protocol revision of its objects."""
        return _WITH_RESOURCES if isinstance(self._server, HasResources) else _TOOLS_ALONE

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        """Return all that it has of what *method* lists."""
        del cursor
        if isinstance(self._server, HasResources) and method == "resources/list":
            return json_bytes({"resources": list(self._server.resources())})
        if method == "resources/templates/list":
            return json_bytes({"resourceTemplates": []})
        return json_bytes({"tools": list(self._server.tools())})

    async def watch(self, uris: frozenset[str], /) -> Mapping[str, UpstreamError]:
        """Tell of updates to *uris*, on a connection of one caller's own."""
        if self._watched is None:
            return {uri: UpstreamProtocolError("tells of no updates") for uri in uris}
        return await self._watched.watch(uris)

    async def call(self, call: ToolCall, /) -> bytes:
        """Run a tool.

        Raises:
            UpstreamProtocolError: It failed in a way that it did not foresee.
            UpstreamError: It cannot now.
        """
        try:
            return json_bytes(await self._run(call))
        except UpstreamError:
            raise
        except Exception as error:
            # This is the edge where another server's process would have ended.
            log.exception("bundled server failed", server=self._name, tool=call.name)
            raise UpstreamProtocolError(
                f"failed at {call.name!r}: {type(error).__name__}"
            ) from error

    async def _run(self, call: ToolCall) -> Mapping[str, object]:
        if call.method == "resources/read":
            if isinstance(self._server, HasResources) and call.principal is not None:
                return await self._server.read_for(call.principal, call.name)
            raise UpstreamProtocolError(f"has no resource {call.name!r}")
        arguments = _object(call.arguments)
        if isinstance(self._server, KnowsCallers) and call.principal is not None:
            return await self._server.call_for(
                call.principal, call.name, arguments, _object(call.meta)
            )
        return await self._server.call_tool(call.name, arguments)


def _object(raw: bytes) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value_of(raw or b"{}"))
