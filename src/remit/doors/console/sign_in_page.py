"""The page of the sign-in: shown to whoever is not signed in, with what went wrong."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from remit.doors.console.cookies import FORM, PREFIX
from remit.doors.console.forms import is_token_of, token_of
from remit.doors.console.guesses import Guesses
from remit.doors.console.rendering import Rendering
from remit.doors.console.sessions import Sessions

log = structlog.get_logger(__name__)

SIGN_IN: Final = f"{PREFIX}/sign-in"
SIGN_OUT: Final = f"{PREFIX}/sign-out"

AWAY: Final = "nobody can be signed in at the moment, since the database is away; try again soon"

_RETRY_AFTER: Final = 2  # seconds after which a store that is away may be back
_LONGEST_NEXT: Final = 2000
_PATH: Final = re.compile(r"[!-\[\]-~]*")  # visible ASCII; browsers read a backslash as a slash


class SignInPage:
    """Answers what concerns the sign-in, in one form and with one line in the log.

    Args:
        sessions: How we are called, and by whom.
        rendering: Makes pages of templates.
        has_provider: Says whether people can sign in at an OpenID provider.
        guesses: Counts sign-ins that failed.
    """

    def __init__(
        self,
        sessions: Sessions,
        rendering: Rendering,
        *,
        has_provider: Callable[[], bool],
        guesses: Guesses | None = None,
    ) -> None:
        self._sessions = sessions
        self._rendering = rendering
        self._has_provider = has_provider
        self._guesses = guesses or Guesses()

    def show(
        self,
        request: Request,
        problem: str = "",
        *,
        note: str = "",
        wanted: str = "",
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
        cookies: Sequence[str] = (),
    ) -> Response:
        """Return the page, with a form that is bound to this browser.

        Args:
            request: What is answered.
            problem: What went wrong and what to do, in a line.
            note: What else there is to know, likewise.
            wanted: Where to go after the sign-in, as `safe_next` gives it.
            status: HTTP status.
            headers: More headers.
            cookies: More `Set-Cookie`s.
        """
        base = self._sessions.base(request)
        bound = FORM.read(request.cookies, base)
        own = [] if bound else [FORM.set_to(bound := secrets.token_urlsafe(32), base)]
        response = self._rendering.plain(
            request,
            "sign_in.html",
            base=base,
            status=status,
            problem=problem,
            note=note,
            next=wanted or f"{PREFIX}/",
            oidc=self._has_provider(),
            csrf=token_of(bound),
        )
        response.headers.update(headers or {})
        return _with_cookies(response, [*own, *cookies])

    def is_own_form(self, request: Request, token: str) -> bool:
        """Whether a form with that token was shown to this browser."""
        return is_token_of(FORM.read(request.cookies, self._sessions.base(request)), token)

    def refuse(
        self,
        request: Request,
        reason: str,
        problem: str,
        *,
        wanted: str = "",
        status: int = HTTPStatus.FORBIDDEN,
        is_guess: bool = False,
        cookies: Sequence[str] = (),
    ) -> Response:
        """Return the page to somebody who is not signed in, and log why.

        Args:
            request: What is answered.
            reason: For the log; a constant, without anything that was sent.
            problem: For the page.
            wanted: As `show` says.
            status: HTTP status.
            is_guess: Whether it counts among the failures of its address.
            cookies: As `show` says.
        """
        address = self._sessions.caller(request)
        if is_guess:
            self._guesses.note(address)
        log.warning("sign-in refused", reason=reason, address=address)
        return self.show(request, problem, wanted=wanted, status=status, cookies=cookies)

    def away(self, request: Request, *, wanted: str = "", cookies: Sequence[str] = ()) -> Response:
        """Return the page while the store is away."""
        return self.show(
            request,
            AWAY,
            wanted=wanted,
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            headers={"Retry-After": str(_RETRY_AFTER)},
            cookies=cookies,
        )

    def hold_off(self, request: Request, wanted: str) -> Response | None:
        """Return the page that lets an address wait that failed too often; else None."""
        address = self._sessions.caller(request)
        wait = self._guesses.wait_of(address)
        if not wait:
            return None
        log.warning("sign-in refused", reason="too many failures", address=address)
        return self.show(
            request,
            f"too many sign-ins from here have failed; try again in {wait} seconds",
            wanted=wanted,
            status=HTTPStatus.TOO_MANY_REQUESTS,
            headers={"Retry-After": str(wait)},
        )

    def go(self, request: Request, path: str, *cookies: str) -> Response:
        """Return what leads to a path of ours."""
        public = urlsplit(self._sessions.base(request)).path
        return leading_to(public + path, *cookies)


def leading_to(url: str, *cookies: str) -> Response:
    """Return what leads a browser to *url*."""
    return _with_cookies(RedirectResponse(url, HTTPStatus.SEE_OTHER), cookies)


def safe_next(text: str) -> str:
    """Return where to go after the sign-in: a page of the console, or its first one."""
    first = f"{PREFIX}/"
    if len(text) > _LONGEST_NEXT or _PATH.fullmatch(text) is None:
        return first
    parts = urlsplit(text)
    is_here = not parts.scheme and not parts.netloc and parts.path.startswith(first)
    is_sign_in = parts.path.startswith((SIGN_IN, SIGN_OUT))
    # a browser reads `%2e` as a dot, and goes up at two of them
    steps = parts.path.lower().replace("%2e", ".").removeprefix(first).split("/")
    is_plain = not {".", ".."} & set(steps) and "" not in steps[:-1]
    return text if is_here and is_plain and not is_sign_in else first


def _with_cookies(response: Response, cookies: Sequence[str]) -> Response:
    response.headers["Cache-Control"] = "no-store"
    for cookie in cookies:
        response.headers.append("Set-Cookie", cookie)
    return response
