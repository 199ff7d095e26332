"""Signing in at an OpenID provider: between the browser and `identity/oidc.py`.

GET sign-in/oidc ──▶ cookie with what was begun, sealed ──▶ provider ──▶ GET sign-in/callback
                 ──▶ is it of this browser? whom does the provider vouch for? ──▶ session
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response

from remit.doors.console.begun import LIFETIME, BegunSeal
from remit.doors.console.cookies import Cookie
from remit.doors.console.sessions import Sessions
from remit.doors.console.sign_in_page import SignInPage, leading_to, safe_next
from remit.doors.console.signing_in import CALLBACK
from remit.errors import AuditUnavailable, StorageUnavailable
from remit.identity.credentials import CredentialRefused, HolderRefused
from remit.identity.oidc import OidcFlow, ProviderSaidNo
from remit.identity.oidc_metadata import ProviderUnavailable
from remit.identity.oidc_protocol import Begun
from remit.identity.sessions import KeptOut, NoRole, SignIns
from remit.model.oidc import OidcProvider

log = structlog.get_logger(__name__)

BEGUN: Final = Cookie("remit_sign_in_begun")
"""Holds what was begun, sealed, until the browser comes back."""

NO_PROVIDER: Final = "no OpenID provider is declared here (`identity.oidc`); sign in with a key"
UNAVAILABLE: Final = (
    "the OpenID provider cannot be asked at the moment; try again soon, or sign in with a key;"
    " the log of the gateway says more"
)
NOT_BEGUN: Final = (
    "this sign-in was begun in another browser, or too long ago, or another was begun here since;"
    " go on with that one, or begin again here"
)
NOT_HELD: Final = (
    "what the OpenID provider sent does not hold; please begin again,"
    " and if that does not help, ask an administrator: the log of the gateway says why"
)
NO_ROLE: Final = (
    "you are known to the OpenID provider, and nothing here is for you yet; ask an administrator"
    " to name one of your roles or groups in `identity.oidc`"
)
KEPT_OUT: Final = (
    "you are known to the OpenID provider, and an administrator keeps you out here; ask one to let"
    " you in again"
)
NO_TENANT: Final = (
    "you are known to the OpenID provider, which names no tenant of this gateway for you; ask an"
    " administrator to look at `identity.oidc.claims.tenant`: the log of the gateway says more"
)


class ProviderSignIn:
    """Sends browsers to the provider, and takes them back.

    Args:
        page: Answers.
        sessions: The sessions of browsers.
        sign_ins: Says what people are.
        flow: Returns the sign-in at the provider that is declared now, or None.
        seal: Seals what was begun.
    """

    def __init__(
        self,
        page: SignInPage,
        sessions: Sessions,
        sign_ins: SignIns,
        *,
        flow: Callable[[], OidcFlow | None],
        seal: BegunSeal,
    ) -> None:
        self._page = page
        self._sessions = sessions
        self._sign_ins = sign_ins
        self._flow = flow
        self._seal = seal

    async def begin(self, request: Request) -> Response:
        """Send a browser to the provider."""
        wanted = safe_next(request.query_params.get("next", ""))
        flow = self._flow()
        if flow is None:
            return self._page.show(request, NO_PROVIDER, status=HTTPStatus.NOT_FOUND)
        held_off = self._page.hold_off(request, wanted)
        if held_off is not None:
            return held_off
        base = self._sessions.base(request)
        try:
            url, begun = await flow.begin(base + CALLBACK)
        except ProviderUnavailable as error:
            return self._unavailable(request, error, wanted)
        kept = self._seal.seal(begun, wanted, _called(flow.provider))
        return leading_to(url, BEGUN.set_to(kept, base, seconds=LIFETIME))

    async def finish(self, request: Request) -> Response:
        """Take a browser back, and sign in whom the provider vouches for."""
        base, flow = self._sessions.base(request), self._flow()
        gone = BEGUN.gone(base)  # whatever comes of what was begun, it is not tried again
        if flow is None:
            return self._page.show(request, NO_PROVIDER, status=HTTPStatus.NOT_FOUND)
        kept = self._seal.open(BEGUN.read(request.cookies, base), _called(flow.provider))
        if kept is None or not kept[0].is_answered_by(request.query_params.get("state", "")):
            return self._page.refuse(
                request,
                "a response to nothing that this browser has begun, or not last",
                NOT_BEGUN,
                status=HTTPStatus.BAD_REQUEST,
                # what it began last, in another window, may still be answered
                cookies=[gone] if kept is None else [],
            )
        begun, wanted = kept
        held_off = self._page.hold_off(request, wanted)
        if held_off is not None:
            return held_off
        try:
            cookie = await self._signed_in(request, flow, begun)
        except CredentialRefused as refused:
            return self._page.refuse(
                request,
                str(refused),
                _said_of(refused),
                wanted=wanted,
                is_guess=not isinstance(refused, HolderRefused | ProviderSaidNo),
                cookies=[gone],
            )
        except ProviderUnavailable as error:
            return self._unavailable(request, error, wanted, gone)
        except (StorageUnavailable, AuditUnavailable):
            return self._page.away(request, wanted=wanted, cookies=[gone])
        return self._page.go(request, wanted, cookie, gone)

    async def _signed_in(self, request: Request, flow: OidcFlow, begun: Begun) -> str:
        person = await flow.finish(begun, _parameters(request))
        principal = await self._sign_ins.whose_person(person.tenant, person.came)
        return await self._sessions.begin(request, principal, person.came)

    def _unavailable(
        self, request: Request, error: ProviderUnavailable, wanted: str, *cookies: str
    ) -> Response:
        log.warning("the OpenID provider cannot be asked", error=str(error))
        return self._page.show(
            request,
            UNAVAILABLE,
            wanted=wanted,
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            cookies=cookies,
        )


def _parameters(request: Request) -> Mapping[str, str]:
    """Return the parameters of a response, each of which may be there once (RFC 6749 §3.1).

    Raises:
        CredentialRefused: One is there twice.
    """
    given = request.query_params.multi_items()
    parameters = dict(given)
    if len(parameters) != len(given):
        raise CredentialRefused("a response with a parameter that is there twice")
    return parameters


def _said_of(refused: CredentialRefused) -> str:
    match refused:
        case NoRole():
            return NO_ROLE
        case KeptOut():
            return KEPT_OUT
        case HolderRefused():
            return NO_TENANT
        case ProviderSaidNo(error=error):
            code = f" ({error})" if error else ""
            said = f"the OpenID provider did not sign you in{code}"
            return f"{said}; begin again, or sign in with a key"
        case _:
            return NOT_HELD


def _called(provider: OidcProvider) -> str:
    return f"{provider.issuer} {provider.client_id}"
