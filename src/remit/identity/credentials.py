"""What is said of credentials without reading one: the words that keys and tokens share.

Apart from what reads tokens, since that takes 10 MB of cryptography, which a gateway whose callers
all have keys need not import.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from remit.errors import Unauthenticated
from remit.model.grants import JwtIssuer
from remit.model.principals import Principal

LONGEST_TOKEN: Final = 16 * 1024
"""Characters beyond which a text is not read as a token."""

SEGMENTS: Final = 3


class CredentialRefused(Unauthenticated):
    """It does not hold.

    The text is for the debug log: a constant, with nothing of the credential in it.
    """


class HolderRefused(CredentialRefused):
    """It holds, and whom it stands for may not come in: no guess at anything."""


def looks_like_token(text: str) -> bool:
    """Whether *text* has the shape of a token: three parts between dots (S2.27)."""
    return text.count(".") == SEGMENTS - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedToken:
    """A token that was verified.

    Attributes:
        ends: When it holds no more, the leeway included.
    """

    principal: Principal
    ends: datetime

    def holds_at(self, now: datetime) -> bool:
        """Whether it may be used at *now*."""
        return now < self.ends


class TenantNames(Protocol):
    """Which tenants there are."""

    def name_of(self, text: str) -> str | None:
        """Return the name of the tenant whose name or UUID *text* is, or None."""
        ...


class Issuers:
    """The issuers in force: those that are declared, and our own.

    Gives the same object while nothing changes.
    """

    def __init__(
        self, declared: Callable[[], Sequence[JwtIssuer]], own: Sequence[JwtIssuer]
    ) -> None:
        self._declared = declared
        self._own = own
        self._last: Sequence[JwtIssuer] = ()
        self._all: Sequence[JwtIssuer] = own

    def __call__(self) -> Sequence[JwtIssuer]:
        """Return them all."""
        declared = self._declared()
        if declared is not self._last:
            self._last, self._all = declared, (*declared, *self._own)
        return self._all
