"""The credential that an HTTP request carries, and the answer to one that carries none."""

from typing import Final, Protocol

from remit.doors.asgi import Exchange, HttpRefusal
from remit.errors import Unauthenticated
from remit.model.principals import Principal

HOW_TO: Final = (
    "this gateway needs a key: send 'Authorization: Bearer rmt_…' or 'X-API-Key: rmt_…'; "
    "an administrator makes one with 'remit keys create'"
)
"""Said alike to a missing and to a wrong credential."""

_SCHEMES: Final = ("bearer ", "api-key:")
"""What may stand before a key or token in `Authorization` (S2.27)."""

_HEADERS: Final = frozenset({b"authorization", b"x-api-key"})


class Authenticate(Protocol):
    """From the text of a credential to a principal."""

    async def __call__(self, credential: str | None, /) -> Principal:
        """Return who it is.

        Raises:
            Unauthenticated: There is no credential, or it does not hold.
        """
        ...


def credential_of(exchange: Exchange) -> str | None:
    """Return the text of the credential, or None when there is none.

    Raises:
        HttpRefusal: Two credentials that differ (400).
    """
    if exchange.repeated & _HEADERS:
        raise HttpRefusal(400, "the request carries several credentials; send one")
    bearer = exchange.text(b"authorization")
    for scheme in _SCHEMES:
        if bearer is not None and bearer[: len(scheme)].lower() == scheme:
            bearer = bearer[len(scheme) :].strip()
            break
    key = exchange.text(b"x-api-key")
    if bearer and key and bearer != key:
        raise HttpRefusal(400, "the request carries two different credentials; send one")
    return bearer or key or None


async def principal_of(authenticate: Authenticate, credential: str | None) -> Principal:
    """Return who sent the request.

    Raises:
        HttpRefusal: Nobody that is known (401); the text is the same for every reason.
    """
    try:
        return await authenticate(credential)
    except Unauthenticated:
        # RFC 6750: an error attribute only for a credential that was there.
        challenge = b"Bearer" if credential is None else b'Bearer error="invalid_token"'
        raise HttpRefusal(401, HOW_TO, [(b"www-authenticate", challenge)]) from None
