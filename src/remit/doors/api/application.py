"""The API as one ASGI application: the edge, then the routes.

bytes ──▶ edge: host and origin, credential, size and kind of the body ──▶ routes
                              each route asks for its caller by a rule (access.py) ─┘
"""

import json
from collections.abc import Sequence
from typing import Any, Final, cast

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from remit.calls.current import begin
from remit.calls.ids import new_id
from remit.doors.api import (
    agents,
    alerts,
    audit,
    authority,
    bundled,
    crew,
    data_audit,
    data_changes,
    datasources,
    doctor,
    grants,
    inbox,
    keys,
    matrix,
    myself,
    ontology,
    overview,
    projects,
    queries,
    questions,
    revisions,
    roles,
    server_tools,
    servers,
    suggestions,
)
from remit.doors.api import tenants as tenants_routes
from remit.doors.api import users as users_routes
from remit.doors.api.access import rule_of
from remit.doors.api.needs import Services
from remit.doors.api.openapi import OPENAPI, PREFIX, document_of, path_of
from remit.doors.api.problems import (
    encoded,
    on_fault,
    on_invalid_request,
    on_remit_error,
    respond_to_http,
)
from remit.doors.asgi import (
    PROBLEM,
    App,
    Event,
    Exchange,
    HttpRefusal,
    Receive,
    Scope,
    Send,
    replay,
)
from remit.doors.credentials import Authenticate, credential_of, principal_of
from remit.doors.guard import Guard
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.errors import RemitError
from remit.model.members import RepeatedMember, members_once

log = structlog.get_logger(__name__)

ROUTERS: Final[Sequence[APIRouter]] = (
    myself.router,
    tenants_routes.router,
    bundled.router,
    server_tools.router,  # before what takes any path below `/servers`
    servers.router,
    roles.router,
    grants.router,
    users_routes.router,
    keys.router,
    agents.router,
    crew.router,
    revisions.router,
    authority.router,
    matrix.router,
    overview.router,
    audit.router,
    doctor.router,
    inbox.router,
    projects.router,
    queries.router,
    suggestions.router,
    questions.router,
    data_changes.router,
    ontology.router,
    data_audit.router,
    alerts.router,
    datasources.router,
)

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_JSON_KINDS: Final = frozenset({b"application/json", b"application/merge-patch+json"})


def build_edge(
    routes: App,
    services: Services,
    *,
    authenticate: Authenticate,
    guard: Guard,
    resources: ProtectedResources,
    refusals: Refusals,
) -> App:
    """Return what serves `/api/`.

    Args:
        routes: What `build_routes` returns.
        services: What the routes ask.
        authenticate: From a credential to its bearer.
        guard: Checks host and origin.
        resources: How this gateway is called, and its challenges.
        refusals: Counts whom it turns away.
    """
    return _Edge(routes, services, authenticate, guard, resources=resources, refusals=refusals)


def build_routes(routers: Sequence[APIRouter] = ROUTERS) -> "Routes":
    """Return the routes, behind no edge.

    Raises:
        TypeError: One has no rule for who may use it.
    """
    app = Routes(routers)
    app.require_rules()
    return app


NO_STORE: Final = (b"cache-control", b"no-store")
"""What is in force may change at any moment, and a new key must lie around nowhere."""


class Routes(FastAPI):
    """The routes and their document, in which each has the rule that it declares."""

    def __init__(self, routers: Sequence[APIRouter]) -> None:
        super().__init__(
            openapi_url=OPENAPI,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            strict_content_type=False,
        )
        self._declared = [
            route for router in routers for route in router.routes if isinstance(route, APIRoute)
        ]
        self.add_exception_handler(RemitError, on_remit_error)
        self.add_exception_handler(HTTPException, self._on_http_exception)
        self.add_exception_handler(RequestValidationError, on_invalid_request)
        self.add_exception_handler(Exception, on_fault)
        for router in routers:
            self.include_router(router, prefix=path_of(router.prefix).removesuffix(router.prefix))

    def require_rules(self) -> None:
        """Let only routes with a rule be served.

        Raises:
            TypeError: One has none, or several.
        """
        for route in self._declared:
            rule_of(route)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, made when it is first asked for."""
        if self.openapi_schema is None:
            self.openapi_schema = document_of(self._declared, self.routes)
        return self.openapi_schema

    async def _on_http_exception(self, request: Request, error: Exception) -> Response:
        """Answer what the framework refuses; it knows of one route's methods at a time."""
        path = request.scope["path"].removeprefix(PREFIX)
        found = [route for route in self._declared if route.path_regex.match(path)]
        # a name may have a slash: `/users/{name}` fits where `/users/{name}/disable` is meant
        meant = max((route.path_format for route in found), key=_exactness, default="")
        allowed = {
            method
            for route in found
            if route.path_format == meant
            for method in route.methods or ()
        }
        return respond_to_http(cast("HTTPException", error), request.scope["path"], allowed)


def _exactness(path: str) -> tuple[int, int]:
    """Return what is greater for a path that says more: `/queries/test`, not `/queries/{query}`."""
    return -path.count("{"), len(path)


class _Edge:
    """What happens to every request before a route is looked for."""

    def __init__(
        self,
        app: App,
        services: Services,
        authenticate: Authenticate,
        guard: Guard,
        *,
        resources: ProtectedResources,
        refusals: Refusals,
    ) -> None:
        self._app = app
        self._refusals = refusals
        self._resources = resources
        self._services = services
        self._authenticate = authenticate
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_and_note(event: Event) -> None:
            nonlocal started
            if event["type"] == "http.response.start":
                started = True
                request = scope.get("remit.request_id", "").encode()
                event["headers"] = [*event["headers"], NO_STORE, (b"x-request-id", request)]
            await send(event)

        exchange = Exchange(scope, receive, send_and_note)

        async def send_readable(event: Event) -> None:
            if event["type"] == "http.response.start":
                event["headers"] = [*event["headers"], *exchange.granted]
            await send_and_note(event)

        try:
            body = await self._admitted(exchange, scope)
            await self._app(scope, replay(body, receive), send_readable)
        except RemitError as error:
            status, text, headers = encoded(error, scope["path"])
            if isinstance(error, HttpRefusal):
                headers = self._resources.headers(exchange, error)
                self._refusals.note(error)
            await exchange.respond(status, text, kind=PROBLEM, headers=headers)
        except Exception:
            log.exception("request failed", path=scope["path"])
            if not started:
                raise
        finally:
            if "remit.current" in scope:
                scope["remit.current"].is_over = True

    async def _admitted(self, exchange: Exchange, scope: Scope) -> bytes:
        """Return the body of a request that may go on, with its sender in the scope.

        Raises:
            HttpRefusal: It may not.
        """
        self._guard.check(exchange)
        scope["remit.request_id"] = new_id()
        if exchange.path == OPENAPI:
            return b""
        credential = credential_of(exchange.head)
        principal = await principal_of(self._authenticate, credential, exchange.path)
        scope["remit.principal"] = principal
        scope["remit.current"] = begin(scope["remit.request_id"], principal)
        scope["remit.services"] = self._services
        scope["remit.base"] = self._resources.base(exchange)
        body = await exchange.body()
        if body and exchange.method in _WITH_BODY:
            _need_json(exchange)
            _refuse_repeats(body)
        return body


def _need_json(exchange: Exchange) -> None:
    kind = exchange.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind not in _JSON_KINDS:
        raise HttpRefusal(415, "send application/json", [(b"accept", b"application/json")])


def _refuse_repeats(body: bytes) -> None:
    """Refuse an object with two members of one name: whoever sent it may mean the other one.

    What is no JSON at all is told by what reads it for the route.

    Raises:
        HttpRefusal: There is one, at any depth.
    """
    try:
        json.loads(body, object_pairs_hook=members_once)
    except RepeatedMember as repeated:
        raise HttpRefusal(
            400, f"the body names {repeated.name!r} twice in one object; send it once"
        ) from None
    except (ValueError, RecursionError):
        return
