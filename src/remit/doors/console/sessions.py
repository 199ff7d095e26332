"""Who is signed in at the console: between the cookie of a browser and `identity/sessions.py`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

import structlog
from starlette.requests import Request

from remit.admin.change_record import Change, ChangeRecord
from remit.calls.ids import new_id
from remit.doors.asgi import Event, Exchange
from remit.doors.console.cookies import SESSION
from remit.doors.console.forms import is_token_of, token_of
from remit.identity.sessions import SignIns
from remit.model.principals import Principal
from remit.model.sessions import ByIssuer, ByKey

log = structlog.get_logger(__name__)

SIGN_IN: Final = "console.sign_in"
"""What the record calls a sign-in."""


class Addresses(Protocol):
    """How we are called from outside, and who asks."""

    def base(self, exchange: Exchange, /) -> str:
        """Return the root of our URLs, without a slash at its end."""
        ...

    def caller(self, exchange: Exchange, /) -> str:
        """Return the address of whoever sent the request."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """Somebody who is signed in, and what its pages need.

    Attributes:
        csrf: Stands in the field `csrf` of every form of its pages.
        shown: A name for people; it decides nothing.
        expires: When the session ends at the latest, aware UTC.
    """

    principal: Principal
    shown: str
    expires: datetime
    csrf: str = field(repr=False)
    _secret: str = field(repr=False)

    def is_own_form(self, token: str) -> bool:
        """Whether a form with that token is one of its own pages'; another site's is not."""
        return is_token_of(self._secret, token)


class Sessions:
    """The sessions of browsers.

    Args:
        sign_ins: Begins, finds and ends them.
        addresses: How we are called from outside, which decides about the cookies.
        changes: Where a sign-in is put on record.
        revision: Returns the revision in force of the tenant of that name.
    """

    def __init__(
        self,
        sign_ins: SignIns,
        *,
        addresses: Addresses,
        changes: ChangeRecord,
        revision: Callable[[str], int],
    ) -> None:
        self._sign_ins = sign_ins
        self._addresses = addresses
        self._changes = changes
        self._revision = revision

    def base(self, request: Request) -> str:
        """Return the root of our URLs as the browser knows it, without a slash at its end."""
        return self._addresses.base(_exchange(request))

    def caller(self, request: Request) -> str:
        """Return the address of whoever sent the request."""
        return self._addresses.caller(_exchange(request))

    async def find(self, request: Request, *, counts: bool = True) -> SignedIn | None:
        """Return who is signed in; None for nobody, or nobody any more.

        Args:
            request: Of the browser.
            counts: Whether somebody did something, so that the session goes on.

        Raises:
            StorageUnavailable: Nobody can say.
        """
        secret = SESSION.read(request.cookies, self.base(request))
        visitor = await self._sign_ins.find(secret, counts=counts) if secret else None
        if visitor is None:
            return None
        return SignedIn(
            principal=visitor.principal,
            shown=visitor.shown,
            expires=visitor.expires,
            csrf=token_of(secret),
            _secret=secret,
        )

    async def begin(self, request: Request, principal: Principal, began: ByKey | ByIssuer) -> str:
        """Begin a session, which is put on record, and return the `Set-Cookie` of it.

        Whatever session the browser had before is over.

        Raises:
            AuditUnavailable: It cannot be put on record, so nobody is signed in.
            StorageUnavailable: It cannot be kept.
        """
        base, address = self.base(request), self.caller(request)
        by = "key" if isinstance(began, ByKey) else began.issuer
        change = Change(
            id=new_id(),
            tenant=principal.tenant,
            author=principal.subject,
            operation=SIGN_IN,
            what={"by": by, "address": address},
            revision=self._revision(principal.tenant),
        )
        async with self._changes.making(change):
            before = SESSION.read(request.cookies, base)
            if before:
                await self._sign_ins.end(before)
            secret = await self._sign_ins.begin(principal.tenant, began)
        log.info(
            "signed in",
            principal=principal.subject,
            tenant=principal.tenant,
            by=by,
            address=address,
        )
        return SESSION.set_to(secret, base)

    async def end(self, request: Request) -> str:
        """End the session of a browser, if it has one, and return the `Set-Cookie` of that.

        Raises:
            StorageUnavailable: It cannot be ended; it still holds.
        """
        base = self.base(request)
        secret = SESSION.read(request.cookies, base)
        visitor = await self._sign_ins.find(secret) if secret else None
        if visitor is not None:
            await self._sign_ins.end(secret)
            principal = visitor.principal
            log.info(
                "signed out",
                principal=principal.subject,
                tenant=principal.tenant,
                address=self.caller(request),
            )
        return SESSION.gone(base)


def _exchange(request: Request) -> Exchange:
    return Exchange(request.scope, request.receive, _answer_nothing)


async def _answer_nothing(event: Event) -> None:
    raise TypeError(f"looking at a request answers nothing: {event['type']}")
