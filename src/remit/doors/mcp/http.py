"""Streamable HTTP of both eras: the door's protocol part as an ASGI application.

    host and origin → endpoint → credential → headers → body → message → era → answer

Era by header, as the protocol library does it: `MCP-Protocol-Version` present and no revision
of the handshake means 2026-07-28 or a refusal. A message with the modern envelope is modern too.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import structlog

from remit.doors.asgi import ClientGone, Exchange, HttpRefusal, later
from remit.doors.credentials import Authenticate, of_another_tenant, principal_of
from remit.doors.guard import Guard
from remit.doors.mcp.answers import STOPPED, error_answer
from remit.doors.mcp.approach import approach_of
from remit.doors.mcp.disconnects import Disconnects
from remit.doors.mcp.envelope import NULL, Fault, read_message
from remit.doors.mcp.requests import Request, refuse
from remit.doors.mcp.sessions import Sessions
from remit.doors.mcp.tenants import Eras, TenantDoor, TenantDoors
from remit.doors.mcp.trace_headers import in_trace
from remit.doors.mcp.unfinished import Unfinished
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.errors import StorageUnavailable
from remit.model.protocol import ERROR_CODE_HTTP_STATUS, INTERNAL_ERROR

log = structlog.get_logger(__name__)


class McpEndpoint:
    """Serves `/mcp` and `/mcp/{server}`, of the credential's tenant, which a UUID may precede.

    A server that does not exist is one of which the caller may use nothing: an empty list, and
    every call refused (R14).
    """

    def __init__(
        self,
        *,
        doors: Callable[[str], TenantDoor | None],
        authenticate: Authenticate,
        sessions: Sessions,
        guard: Guard,
        resources: ProtectedResources,
        refusals: Refusals | None = None,
        siblings: Path | None = None,
    ) -> None:
        """Open no door yet.

        Args:
            doors: Returns the door of the tenant of that name, or None where it is not served.
            authenticate: Who a credential stands for.
            sessions: Seals the sessions of the older eras.
            guard: Checks host and origin.
            resources: Says to whom a refused caller turns for a token.
            refusals: Counts whom it turns away.
            siblings: A folder that the workers of the port share, if there are several.
        """
        self._resources = resources
        self._refusals = Refusals() if refusals is None else refusals
        self._authenticate = authenticate
        self._guard = guard
        self._disconnects = Disconnects()
        self._doors = TenantDoors(doors, sessions, self._disconnects, Unfinished(siblings))
        self._is_stopping = False

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Tell of changes and notice clients that leave while entered."""
        async with self._disconnects.running(), self._doors.running():
            yield

    def stop(self) -> None:
        """End all streams, so that a server that is stopping need not wait for their clients."""
        self._is_stopping = True
        self._doors.close()

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request."""
        try:
            eras, request = await self._admitted(exchange)
            if exchange.head.method == "POST":
                await _posted(eras, request, exchange.whole or await exchange.body())
            else:
                await _opened(eras, request)
        except HttpRefusal as refusal:
            await self._refuse(exchange, refusal)
        except ClientGone:
            return
        except anyio.get_cancelled_exc_class():
            if exchange.started or not self._is_stopping:
                raise
            # The server ends calls that outlast its grace; their callers are told, not cut off.
            await self._refuse(exchange, HttpRefusal(503, STOPPED))
        except StorageUnavailable:
            log.exception("credential cannot be verified")
            await self._refuse(exchange, later(5))
        except Exception:
            log.exception("request failed", path=exchange.path)
            if exchange.started:
                raise
            fault = Fault(code=INTERNAL_ERROR, message="Internal error")
            await exchange.respond(500, error_answer(NULL, fault).body)

    async def _refuse(self, exchange: Exchange, refusal: HttpRefusal) -> None:
        self._refusals.note(refusal)
        await refuse(exchange, refusal, self._resources.headers(exchange, refusal))

    async def _admitted(self, exchange: Exchange) -> tuple[Eras, Request]:
        """Return the request with its sender, and the doors that are the sender's.

        Raises:
            HttpRefusal: What its head says refuses it.
        """
        self._guard.check(exchange)
        head = exchange.head
        approach = head.made(approach_of)
        principal = await principal_of(self._authenticate, approach.credential, head.path)
        eras = self._doors.get(principal.tenant)
        if eras is None:
            raise later(1)
        if approach.tenant is not None and approach.tenant != eras.uuid:
            raise of_another_tenant()
        if approach.unfit is not None and head.method == "POST":
            raise HttpRefusal(*approach.unfit)
        return eras, Request(
            exchange=exchange,
            approach=approach,
            authenticate=self._authenticate,
            principal=principal,
        )


def _opened(eras: Eras, request: Request) -> Awaitable[None]:
    """Return what answers a request without a message."""
    method = request.exchange.method
    if method not in {"GET", "DELETE"}:
        raise HttpRefusal(405, "not a method of MCP", [(b"allow", b"GET, POST, DELETE")])
    if request.approach.is_modern:
        raise HttpRefusal(405, "this revision of MCP has POST only", [(b"allow", b"POST")])
    return eras.legacy.get(request) if method == "GET" else eras.legacy.delete(request)


def _posted(eras: Eras, request: Request, body: bytes) -> Awaitable[None]:
    """Return what answers the message in *body*."""
    message, approach = read_message(body), request.approach
    if isinstance(message, Fault):
        answer = error_answer(message.id, message)
        status = ERROR_CODE_HTTP_STATUS.get(answer.code, 400)
        return request.exchange.respond(status, answer.body)
    if approach.is_traced:
        message = in_trace(message, request.exchange)
    if approach.is_modern or message.is_modern:
        return eras.modern.post(request, message)
    return eras.legacy.post(request, message)
