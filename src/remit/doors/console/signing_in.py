"""Signing in and out at the console.

    GET sign-in ──▶ the form, bound to the browser by a cookie of its own ──▶ POST sign-in
                    ──▶ is it our form? too many guesses? does the key hold? ──▶ session, next page

No other site can sign a browser in as somebody else, since it has no form that is bound to it.
"""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.doors.asgi import HttpRefusal
from remit.doors.console.forms import form_of
from remit.doors.console.sessions import Sessions
from remit.doors.console.sign_in_page import SIGN_IN, SIGN_OUT, SignInPage, safe_next
from remit.errors import AuditUnavailable, StorageUnavailable, Unauthenticated
from remit.identity.sessions import SignIns

AT_PROVIDER: Final = f"{SIGN_IN}/oidc"
CALLBACK: Final = f"{SIGN_IN}/callback"
TYPED: Final = "typed"
"""Parameter of the sign-in: whoever comes has sent a form after the session had ended."""

WRONG_KEY: Final = (
    "this key does not hold: it is unknown, mistyped, expired or revoked;"
    " an administrator makes one with 'remit keys create'"
)
STALE_FORM: Final = "this form is not from this browser, or an old one; please sign in here"
ENDED: Final = (
    "your session has ended, so nothing was done; most of what you typed is still in the history of"
    " this browser: sign in, and then go back to it"
)
FOREIGN_SIGN_OUT: Final = "you are still signed in: another page asked for this sign-out, not yours"


class AtProvider(Protocol):
    """The sign-in at an OpenID provider."""

    async def begin(self, request: Request) -> Response:
        """Send the browser there."""
        ...

    async def finish(self, request: Request) -> Response:
        """Take it back."""
        ...


class SigningIn:
    """The routes of the sign-in.

    Args:
        page: Answers.
        sessions: The sessions of browsers.
        sign_ins: What verifies keys.
        at_provider: Gives what signs people in at a provider, made when it is first needed.
    """

    def __init__(
        self,
        page: SignInPage,
        sessions: Sessions,
        sign_ins: SignIns,
        at_provider: Callable[[], Awaitable[AtProvider]],
    ) -> None:
        self._page = page
        self._sessions = sessions
        self._sign_ins = sign_ins
        self._at_provider = at_provider

    def routes(self) -> Sequence[Route]:
        """Return them, with whole paths."""
        return [
            Route(SIGN_IN, self.ask, methods=["GET"]),
            Route(SIGN_IN, self.take_key, methods=["POST"]),
            Route(SIGN_OUT, self.sign_out, methods=["POST"]),
            Route(AT_PROVIDER, self._begin_at_provider, methods=["GET"]),
            Route(CALLBACK, self._finish_at_provider, methods=["GET"]),
        ]

    async def ask(self, request: Request) -> Response:
        """Show the form, or go on where somebody is signed in already."""
        wanted = safe_next(request.query_params.get("next", ""))
        try:
            signed_in = await self._sessions.find(request)
        except StorageUnavailable:
            return self._page.away(request, wanted=wanted)
        if signed_in is not None:
            return self._page.go(request, wanted)
        note = ENDED if TYPED in request.query_params else ""
        return self._page.show(request, wanted=wanted, note=note)

    async def take_key(self, request: Request) -> Response:
        """Sign somebody in who has a key."""
        try:
            form = await form_of(request)
        except HttpRefusal as refused:
            return self._page.show(request, str(refused), status=refused.status)
        wanted = safe_next(form.get("next", ""))
        if not self._page.is_own_form(request, form.get("csrf", "")):
            return self._page.refuse(
                request,
                "a form of another browser",
                STALE_FORM,
                wanted=wanted,
                status=HTTPStatus.BAD_REQUEST,
            )
        held_off = self._page.hold_off(request, wanted)
        return held_off or await self._begin(request, form.get("key", "").strip(), wanted)

    async def sign_out(self, request: Request) -> Response:
        """End the session, if the form is one of its own pages'."""
        try:
            form = await form_of(request)
            signed_in = await self._sessions.find(request)
            if signed_in is not None and not signed_in.is_own_form(form.get("csrf", "")):
                reason = "a sign-out that another page asked for"
                return self._page.refuse(request, reason, FOREIGN_SIGN_OUT)
            gone = await self._sessions.end(request)
        except HttpRefusal as refused:
            return self._page.show(request, str(refused), status=refused.status)
        except StorageUnavailable:
            return self._page.away(request)
        return self._page.go(request, SIGN_IN, gone)

    async def on_away(self, request: Request, _error: Exception) -> Response:
        """Answer whoever cannot be known while the store is away (an exception handler)."""
        return self._page.away(request)

    async def _begin(self, request: Request, key: str, wanted: str) -> Response:
        try:
            principal, began = await self._sign_ins.whose_key(key)
            cookie = await self._sessions.begin(request, principal, began)
        except Unauthenticated:
            reason = "a key that does not hold"
            return self._page.refuse(request, reason, WRONG_KEY, wanted=wanted, is_guess=True)
        except (StorageUnavailable, AuditUnavailable):
            return self._page.away(request, wanted=wanted)
        return self._page.go(request, wanted, cookie)

    async def _begin_at_provider(self, request: Request) -> Response:
        return await (await self._at_provider()).begin(request)

    async def _finish_at_provider(self, request: Request) -> Response:
        return await (await self._at_provider()).finish(request)
