"""A bundled server, in the gateway's own process."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import cast

import structlog

from remit.errors import (
    RemitError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamUnavailable,
)
from remit.model.protocol import LATEST_MODERN_VERSION
from remit.upstreams.era import Era
from remit.upstreams.session import BuiltinServer, KnowsCallers, Session, Setup, ToolCall
from remit.upstreams.wire import json_bytes, value_of

log = structlog.get_logger(__name__)

_TOOLS_ALONE = Era(LATEST_MODERN_VERSION, {"tools": {}})


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
    async with aclosing(server):
        yield BuiltinSession(setup.config.name, server)


class BuiltinSession:
    """A session with a bundled server: nothing in between but the encoding of its results."""

    def __init__(self, name: str, server: BuiltinServer) -> None:
        self._name = name
        self._server = server

    @property
    def era(self) -> Era:
        """The protocol revision of its objects."""
        return _TOOLS_ALONE

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        """Return all its tools; it says that it has nothing else."""
        del cursor, method
        return json_bytes({"tools": list(self._server.tools())})

    async def watch(self, uris: frozenset[str], /) -> Mapping[str, UpstreamError]:
        """Tell of nothing."""
        return {uri: UpstreamProtocolError("tells of no updates") for uri in uris}

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
        arguments = _object(call.arguments)
        if isinstance(self._server, KnowsCallers) and call.principal is not None:
            return await self._server.call_for(
                call.principal, call.name, arguments, _object(call.meta)
            )
        return await self._server.call_tool(call.name, arguments)


def _object(raw: bytes) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value_of(raw or b"{}"))
