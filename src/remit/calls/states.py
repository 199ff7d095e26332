"""The state of a call in several rounds, sealed while its caller keeps it (2026-07-28).

    server's requestState ──seal──▶ caller ──the same request once more──open──▶ server

What a caller brings back opens only for the same caller, server, method, tool and arguments, and
not for long; the server behind us sees its own state, byte for byte.
"""

import base64
import hashlib
import time
from collections.abc import Callable
from functools import cached_property
from typing import Final, Protocol

import msgspec

from remit.errors import InvalidState
from remit.model.calls import AuthorizedCall
from remit.upstreams.wire import Malformed, joined, json_bytes, members, value_of

LIFETIME: Final = 3600.0
"""Seconds in which a caller may come back: people take their time over a form."""

INPUT_REQUIRED: Final = b'"input_required"'

_FORM: Final = "r1."
_CLOCK: Final = 8


class Cipher(Protocol):
    """What seals; `cipher.py` has it."""

    def seal(self, plain: bytes, bound: bytes) -> bytes:
        """Return *plain* so that it opens only beside the same *bound*."""
        ...

    def open(self, sealed: bytes, bound: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            ValueError: It was not sealed so.
        """
        ...


class States:
    """Seals and opens.

    Args:
        key: Secret bytes of the installation, the same on every worker.
        now: Seconds since the epoch.
    """

    def __init__(self, key: bytes, *, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._now = now

    def open(self, sealed: bytes, call: AuthorizedCall) -> bytes:
        """Return the server's own state, raw JSON as it sent it.

        Args:
            sealed: Raw JSON as the caller sent it.
            call: The call that brings it back.

        Raises:
            InvalidState: It is none that was given to this caller for this call, not long ago.
        """
        try:
            token = value_of(sealed)
            text = token if isinstance(token, str) and token.startswith(_FORM) else ""
            raw = base64.b64decode(text.removeprefix(_FORM), b"-_", validate=True)
            plain = self._cipher.open(raw, _bound(call))
        except (Malformed, ValueError) as error:
            raise InvalidState("Invalid or expired requestState") from error
        if not 0 <= self._now() - int.from_bytes(plain[:_CLOCK]) <= LIFETIME:
            raise InvalidState("Invalid or expired requestState")
        return plain[_CLOCK:]

    def sealed(self, result: bytes, call: AuthorizedCall) -> bytes:
        """Return a raw *result* with its state sealed, if it has one; else the same bytes."""
        if INPUT_REQUIRED not in result:
            return result
        try:
            parts = members(result)
        except Malformed:
            return result
        if parts.get("resultType") != INPUT_REQUIRED or "requestState" not in parts:
            return result
        plain = int(self._now()).to_bytes(_CLOCK) + parts["requestState"]
        raw = self._cipher.seal(plain, _bound(call))
        text = _FORM + base64.urlsafe_b64encode(raw).decode()
        return joined({**parts, "requestState": json_bytes(text)})

    @cached_property
    def _cipher(self) -> Cipher:
        # Deferred: it takes 10 MB of cryptography, and few tools ever ask their callers anything.
        from remit.calls import cipher  # noqa: PLC0415 - see above

        return cipher.Cipher(self._key, b"remit request state")


def _bound(authorized: AuthorizedCall) -> bytes:
    """Return what a state belongs to."""
    call = authorized.call
    who = call.principal
    return msgspec.json.encode(
        [
            who.tenant,
            who.issuer,
            who.subject,
            str(authorized.permit.tool_id),
            hashlib.sha256(_canonical(call.arguments)).hexdigest(),
        ]
    )


def _canonical(arguments: bytes) -> bytes:
    """Return the same for arguments that only differ in spacing or order."""
    try:
        return msgspec.json.encode(value_of(arguments), order="sorted")
    except (Malformed, ValueError, TypeError, RecursionError):
        return arguments
