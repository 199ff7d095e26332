"""The console as one ASGI application.

request ──▶ host and origin ──▶ who is signed in ──▶ page or action, by role ──▶ the API, in process
                                (else: sign-in)       a POST: token of the session
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import structlog
from anyio import Event
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from remit.doors.api.access import ONLY_ADMINISTRATORS, ONLY_REVIEWERS
from remit.doors.api.inside import Inside
from remit.doors.asgi import App, ClientGone, Exchange, HttpRefusal, Receive, Scope, Send
from remit.doors.console.cookies import PREFIX
from remit.doors.console.forms import Form, form_of, page_of
from remit.doors.console.page import Action, Page, Role
from remit.doors.console.pages import PAGES
from remit.doors.console.preferences import PREFERENCES
from remit.doors.console.recent import Recent
from remit.doors.console.rendering import HEADERS, Rendering
from remit.doors.console.sessions import Sessions, SignedIn
from remit.doors.console.sign_in_page import SIGN_IN
from remit.doors.console.signing_in import TYPED, SigningIn
from remit.doors.console.visitor import OF_TENANT, Visitor
from remit.doors.guard import Guard
from remit.errors import AuditUnavailable, ClientError, ProblemDetails, StorageUnavailable

log = structlog.get_logger(__name__)

FORBIDDEN: Final = 403
CONFLICT: Final = 409
UNAVAILABLE: Final = 503


class Console:
    """Serves `/console`.

    Args:
        inside: Asks the API.
        sessions: Who is signed in.
        guard: Checks host and origin.
        signing_in: The pages of those who are not.
        rendering: Makes pages of templates.
    """

    def __init__(
        self,
        inside: Inside,
        *,
        sessions: Sessions,
        signing_in: SigningIn,
        rendering: Rendering,
        guard: Guard,
    ) -> None:
        self._guard = guard
        self._stopping = Event()
        place = _Place(
            inside, sessions, rendering, self._stopping, PAGES, Recent(), signing_in.on_away
        )
        app = Starlette(
            routes=[*_static(), *signing_in.routes(), *place.routes()],
            exception_handlers={
                HTTPException: place.on_http_exception,
                HttpRefusal: place.on_bad_form,
                ClientGone: _on_gone,
                StorageUnavailable: signing_in.on_away,
                Exception: place.on_fault,
            },
        )
        # it would lead to whichever host the request names, which anybody may write
        app.router.redirect_slashes = False
        self._app: App = app

    def stop(self) -> None:
        """End open streams."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer over ASGI."""
        exchange = Exchange(scope, receive, send)
        try:
            self._guard.check(exchange)
        except HttpRefusal as refusal:
            await PlainTextResponse(str(refusal), refusal.status)(scope, receive, send)
            return
        await self._app(scope, receive, send)


@dataclass(frozen=True)
class _Place:
    """Where pages are shown and actions run."""

    inside: Inside
    sessions: Sessions
    rendering: Rendering
    stopping: Event
    pages: Sequence[Page] = field(repr=False)
    recent: Recent = field(repr=False)
    on_away: Callable[[Request, Exception], Awaitable[Response]] = field(repr=False)

    def routes(self) -> list[BaseRoute]:
        actions = [
            *(
                Action(path=page.path, run=page.show, who=page.who, method="GET")
                for page in self.pages
            ),
            *(action for page in self.pages for action in page.actions),
            *PREFERENCES,
        ]
        made: list[BaseRoute] = [
            Route(f"{PREFIX}{action.path}", self._serving(action), methods=[action.method])
            for action in actions
        ]
        return [*made, Route(PREFIX, self._first), Route(f"{PREFIX}/", self._first)]

    async def _first(self, request: Request) -> Response:
        """Lead to the first page that whoever asks may see."""
        visitor = await self._visitor(request)
        if visitor is None:
            return self._sign_in(request)
        seen = next(page for page in self.pages if visitor.is_one_of(page.who))
        return visitor.go(seen.path)

    def _serving(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            if action.method != "POST":
                visitor = await self._visitor(request, counts=action.counts)
                return self._sign_in(request) if visitor is None else await _run(action, visitor)
            form = await form_of(request)
            visitor = await self._visitor(request, form)
            if visitor is None:
                return self._sign_in(request)
            if not visitor.signed_in.is_own_form(form.get("csrf")):
                return _refusal(
                    visitor,
                    FORBIDDEN,
                    "This form is not of this session",
                    "it may have been open since before you signed in; go back, load the page"
                    " again and send it once more",
                )
            if action.is_of_tenant and visitor.is_elsewhere:
                return _refusal(
                    visitor,
                    CONFLICT,
                    "You look at another tenant since this page was loaded",
                    f"nothing was done: it was about the tenant {form.get(OF_TENANT)[:80]!r}, and"
                    f" you look at {visitor.tenant!r} now; choose the one that you mean on the"
                    " page Me, load the page again and send it once more",
                )
            return await _run(action, visitor)

        return serve

    async def _visitor(
        self, request: Request, form: Form | None = None, *, counts: bool = True
    ) -> Visitor | None:
        signed_in: SignedIn | None = await self.sessions.find(request, counts=counts)
        if signed_in is None:
            return None
        return Visitor(
            request=request,
            signed_in=signed_in,
            inside=self.inside,
            rendering=self.rendering,
            base=self.sessions.base(request),
            stopping=self.stopping,
            recent=self.recent,
            again=lambda: self._visitor(request, counts=False),
            form=form or Form(),
        )

    def _sign_in(self, request: Request) -> Response:
        if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
            return PlainTextResponse("sign in again", 401, headers=dict(HEADERS))
        base = self.sessions.base(request)
        asked = {"next": page_of(request, base)}
        if request.method == "POST":
            asked[TYPED] = "yes"
        tail = f"?{urlencode(asked, safe='/', quote_via=quote)}" if asked["next"] else ""
        where = f"{urlsplit(base).path}{SIGN_IN}{tail}"
        return RedirectResponse(where, 303, headers=dict(HEADERS))

    async def on_http_exception(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        return await self._told(
            request, status, "There is no such page", "the menu leads to those there are"
        )

    async def on_bad_form(self, request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, HttpRefusal) else 400
        return await self._told(request, status, "This form cannot be read", str(error))

    async def on_fault(self, request: Request, error: Exception) -> Response:
        log.error("request failed", path=request.url.path, exc_info=error)
        return await self._told(
            request, 500, "An internal error", "the log of the gateway says more"
        )

    async def _told(self, request: Request, status: int, title: str, detail: str) -> Response:
        """Tell whoever is signed in what is wrong; whom nobody can know, that."""
        try:
            visitor = await self._visitor(request)
        except StorageUnavailable as error:
            return await self.on_away(request, error)
        if visitor is None:
            return self._sign_in(request)
        return _refusal(visitor, status, title, detail)


async def _on_gone(_request: Request, _error: Exception) -> Response:
    """Answer whoever left before the whole request was sent, which nobody reads."""
    return Response(status_code=400)


async def _run(action: Action, visitor: Visitor) -> Response:
    if not visitor.is_one_of(action.who):
        return await _refused_to(action, visitor)
    try:
        return await action.run(visitor)
    except ClientError as error:
        if not isinstance(error, ProblemDetails):
            log.warning("the api's answer cannot be used", path=action.path, error=str(error))
        return visitor.refused(error)


async def _refused_to(action: Action, visitor: Visitor) -> Response:
    """Answer somebody for whom it is not meant; an attempt at a change is on record then."""
    needed = " or ".join(sorted(role.value for role in action.who - {Role.ANYBODY}))
    why = f"it needs the role {needed}"
    operation = action.makes if isinstance(action.makes, str) else action.makes(visitor)
    if operation:
        rule = ONLY_REVIEWERS if Role.REVIEWER in action.who else ONLY_ADMINISTRATORS
        try:
            why = str(await visitor.inside.refuse(visitor.principal, operation, rule))
        except AuditUnavailable as error:
            return _refusal(visitor, UNAVAILABLE, "This cannot be put on record", str(error))
    said = f"{why}, and you are signed in as {visitor.principal.subject}"
    return _refusal(visitor, FORBIDDEN, "This is not for you", said)


def _refusal(visitor: Visitor, status: int, title: str, detail: str) -> Response:
    return visitor.refused(ProblemDetails(detail, status=status, code="", title=title))


def _static() -> list[BaseRoute]:
    folder = Path(str(files("remit.doors.console").joinpath("static")))
    return [Mount(f"{PREFIX}/static", StaticFiles(directory=folder))]
