"""The credential that an HTTP request carries, and the answer to one that carries none."""

from collections.abc import Sequence
from typing import Final, Protocol

from remit.doors.asgi import HttpRefusal
from remit.doors.head import Head
from remit.errors import InsufficientScope, Unauthenticated
from remit.model.principals import Principal

HOW_TO: Final = (
    "this gateway needs a key: send 'Authorization: Bearer rmt_…' or 'X-API-Key: rmt_…'; "
    "an administrator makes one with 'remit keys create'"
)
"""Said alike to a missing and to a wrong credential."""

_SCHEMES: Final = ("bearer ", "api-key:")
"""What may stand before a key or token in `Authorization` (S2.27)."""

_HEADERS: Final = frozenset({b"authorization", b"x-api-key"})


class NotAdmitted(HttpRefusal):
    """A request whose credential does not open the door that it came to.

    Attributes:
        error: The error code of RFC 6750 §3.1, or empty where no credential was there.
        scopes: All scopes that would do, where one is lacking.
    """

    def __init__(
        self, status: int, message: str, *, error: str = "", scopes: Sequence[str] = ()
    ) -> None:
        super().__init__(status, message)
        self.error = error
        self.scopes = tuple(scopes)


class Authenticate(Protocol):
    """From the text of a credential to a principal."""

    async def __call__(self, credential: str | None, /) -> Principal:
        """Return who it is.

        Raises:
            Unauthenticated: There is no credential, or it does not hold.
            InsufficientScope: A token that holds, without a scope that it needs.
        """
        ...


def credential_of(head: Head) -> str | None:
    """Return the text of the credential, or None when there is none.

    Raises:
        NotAdmitted: Two credentials that differ (400).
    """
    if head.repeated & _HEADERS:
        raise _two("the request carries several credentials; send one")
    bearer = head.text(b"authorization")
    for scheme in _SCHEMES:
        if bearer is not None and bearer[: len(scheme)].lower() == scheme:
            bearer = bearer[len(scheme) :].strip()
            break
    key = head.text(b"x-api-key")
    if bearer and key and bearer != key:
        raise _two("the request carries two different credentials; send one")
    return bearer or key or None


def of_another_tenant() -> NotAdmitted:
    """Return what refuses a path with the UUID of another tenant, or of none: alike (S2.18)."""
    return NotAdmitted(403, "the credential is for another tenant", error="insufficient_scope")


def _two(message: str) -> NotAdmitted:
    return NotAdmitted(400, message, error="invalid_request")


async def principal_of(authenticate: Authenticate, credential: str | None, path: str) -> Principal:
    """Return who sent the request to *path*.

    Raises:
        NotAdmitted: Nobody that is known here (401); the text is the same for every reason. Or
            somebody whose token lacks a scope (403).
    """
    try:
        return _entering(await authenticate(credential), path)
    except Unauthenticated:
        # RFC 6750: an error attribute only for a credential that was there.
        error = "" if credential is None else "invalid_token"
        raise NotAdmitted(401, HOW_TO, error=error) from None
    except InsufficientScope as lacking:
        raise NotAdmitted(
            403, str(lacking), error="insufficient_scope", scopes=lacking.scopes
        ) from None


async def admitted(authenticate: Authenticate, credential: str | None, path: str) -> Principal:
    """Return whose credential it is, if it opens *path*.

    Raises:
        Unauthenticated: It does not hold, or was issued for another endpoint.
        InsufficientScope: It holds, without a scope that it needs.
    """
    return _entering(await authenticate(credential), path)


def _entering(principal: Principal, path: str) -> Principal:
    if principal.endpoints and not principal.may_enter(path):
        raise Unauthenticated("a token for another endpoint")
    return principal
