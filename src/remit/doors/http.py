"""Everything that remit serves over HTTP, as one ASGI application on one port."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec
import structlog

from remit.calls.current import came_from
from remit.doors.asgi import PROBLEM, App, Exchange, HttpRefusal, Receive, Scope, Send
from remit.doors.console.cookies import PREFIX as CONSOLE
from remit.doors.credentials import Authenticate, admitted, credential_of
from remit.doors.execute.endpoint import ExecuteEndpoint, is_execute
from remit.doors.guard import Guard
from remit.doors.head import Headers
from remit.doors.mcp.http import McpEndpoint
from remit.doors.metrics import PATH as METRICS
from remit.doors.metrics import Metrics
from remit.doors.oauth import WELL_KNOWN, ProtectedResources
from remit.errors import RemitError
from remit.model.endpoints import ROOT
from remit.model.principals import Principal
from remit.model.servers import ServerState, ServerStatus

Statuses = Callable[[str | None], Sequence[ServerStatus]]
"""Returns where the servers of one tenant stand, or those of all."""

log = structlog.get_logger(__name__)

API: Final = "/api/"
"""Where the management API begins."""


def create_app(
    *,
    mcp: McpEndpoint,
    authenticate: Authenticate,
    statuses: Statuses,
    guard: Guard,
    resources: ProtectedResources,
    lifespan: Callable[[], AbstractAsyncContextManager[object]],
    execute: ExecuteEndpoint | None = None,
    api: App | None = None,
    console: App | None = None,
    metrics: Metrics | None = None,
) -> "Application":
    """Return the application.

    Args:
        mcp: Serves `/mcp` and below.
        authenticate: Tells administrators from others at `/readyz`.
        statuses: What `/readyz` reports on.
        guard: Checks host and origin.
        resources: Tells clients where they get tokens.
        lifespan: Entered before the first request and left after the last; it runs *mcp*.
        execute: Serves `/mcp/execute`, if anything does.
        api: Serves everything below `/api/`, if anything does.
        console: Serves `/console` and everything below, if anything does.
        metrics: Serves `/metrics`, if anything does.
    """
    return Application(
        mcp,
        _Health(authenticate, statuses),
        guard,
        lifespan,
        resources=resources,
        execute=execute,
        api=api,
        console=console,
        metrics=metrics,
    )


class Application:
    """The ASGI application; `answer` is for servers that know a shorter way than ASGI to `/mcp`."""

    def __init__(
        self,
        mcp: McpEndpoint,
        health: "_Health",
        guard: Guard,
        lifespan: Callable[[], AbstractAsyncContextManager[object]],
        *,
        resources: ProtectedResources,
        execute: ExecuteEndpoint | None,
        api: App | None,
        console: App | None,
        metrics: Metrics | None,
    ) -> None:
        self._mcp = mcp
        self._health = health
        self._guard = guard
        self._resources = resources
        self._lifespan = lifespan
        self._execute = execute
        self._api = api
        self._console = console
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer over ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            exchange = Exchange(scope, receive, send)
            if exchange.method == "OPTIONS" and await self._is_preflight(exchange):
                return
            if self._api is not None and exchange.path.startswith(API):
                came_from(partial(self._resources.caller, exchange))
                await self._api(scope, receive, send)
            elif self._console is not None and _is_of_console(exchange.path):
                came_from(partial(self._resources.caller, exchange))
                await self._console(scope, receive, send)
            else:
                await self.answer(exchange)
        else:
            await send({"type": "websocket.close", "code": 1000})

    def answer(self, exchange: Exchange) -> Awaitable[None]:
        """Return what answers one request."""
        path = exchange.head.path
        came_from(partial(self._resources.caller, exchange))
        if path == ROOT:
            return self._mcp(exchange)
        if self._execute is not None and is_execute(path):
            return self._execute(exchange)
        return self._mcp(exchange) if path.startswith(ROOT + "/") else self._other(exchange)

    async def _is_preflight(self, exchange: Exchange) -> bool:
        """Answer the preflight of a page that may call; anything else is for the doors."""
        try:
            headers = self._guard.preflight(exchange)
        except HttpRefusal:
            return False  # the door refuses it in its own form
        if headers is None:
            return False
        await exchange.begin(204, headers)
        await exchange.end()
        return True

    async def _other(self, exchange: Exchange) -> None:
        try:
            await self._respond(exchange)
        except HttpRefusal as refusal:
            await _problem(exchange, refusal, self._resources.headers(exchange, refusal))
        except Exception:
            log.exception("request failed", path=exchange.path)
            if exchange.started:
                raise
            await _problem(exchange, HttpRefusal(500, "an internal error; the log says more"), ())

    async def _respond(self, exchange: Exchange) -> None:
        path = exchange.path
        if path == "/healthz":  # asked by machines that know no host name
            _need_get(exchange)
            await exchange.respond(200, b"ok", kind=b"text/plain; charset=utf-8")
            return
        self._guard.check(exchange)
        if path == WELL_KNOWN or path.startswith(WELL_KNOWN + "/"):
            _need_get(exchange)
            await self._resources.respond(exchange, path)
        elif path == "/readyz":
            _need_get(exchange)
            await self._health.respond(exchange)
        elif path == METRICS and self._metrics is not None:
            _need_get(exchange)
            await self._metrics.respond(exchange)
        else:
            raise HttpRefusal(
                404, "there is nothing at this path; MCP is at /mcp, the console at /console"
            )

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._lifespan())
            except RemitError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


class _Health:
    """Readiness: with the state of their tenant's servers for administrators and auditors."""

    def __init__(self, authenticate: Authenticate, statuses: Statuses) -> None:
        self._authenticate = authenticate
        self._statuses = statuses

    async def respond(self, exchange: Exchange) -> None:
        ready = is_ready(self._statuses(None))
        body: dict[str, object] = {"status": "ready" if ready else "starting"}
        caller = await self._caller(exchange)
        if caller is not None and (caller.admin or caller.auditor):
            body["servers"] = self._statuses(caller.tenant)
        await exchange.respond(200 if ready else 503, msgspec.json.encode(body))

    async def _caller(self, exchange: Exchange) -> Principal | None:
        credential = credential_of(exchange.head)
        if credential is None:
            return None
        try:
            return await admitted(self._authenticate, credential, exchange.path)
        except RemitError:
            return None


def is_ready(statuses: Sequence[ServerStatus]) -> bool:
    """Whether to send callers here: unless every server that should run is still starting.

    A server that failed makes nobody wait, since it is left out and the list says so.
    """
    wanted = [status for status in statuses if status.state is not ServerState.STOPPED]
    return not wanted or any(status.state is not ServerState.STARTING for status in wanted)


def _is_of_console(path: str) -> bool:
    return path == CONSOLE or path.startswith(CONSOLE + "/")


def _need_get(exchange: Exchange) -> None:
    if exchange.method not in {"GET", "HEAD"}:
        raise HttpRefusal(405, "read this with GET", [(b"allow", b"GET, HEAD")])


async def _problem(exchange: Exchange, refusal: HttpRefusal, headers: Headers) -> None:
    """Answer with a problem document (RFC 9457)."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(refusal.status).phrase,
        "status": refusal.status,
        "detail": str(refusal),
    }
    await exchange.respond(
        refusal.status, msgspec.json.encode(document), kind=PROBLEM, headers=headers
    )
