"""A JSON Web Token, read strictly and verified with a key; what it claims is not looked at here.

Every member must be there once, every segment is strict base64url, and the length is bounded
before anything is parsed. `alg` never chooses what is allowed: the issuer's list does. Members that
point at keys (`jku`, `jwk`, `x5u`, `x5c`) are ignored, extensions (`crit`, `b64`) are refused.
"""

import binascii
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

from remit.identity.credentials import LONGEST_TOKEN, SEGMENTS, CredentialRefused
from remit.model.members import members_once, no_constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token that was read and not yet verified; its repr shows nothing of it."""

    algorithm: str
    kid: str | None = field(repr=False)
    claims: Mapping[str, object] = field(repr=False)
    text: str = field(repr=False)


class _Algorithms(JWSRegistry):
    """The algorithms that one issuer may use; `none` is never among them."""

    max_header_length = LONGEST_TOKEN
    max_payload_length = LONGEST_TOKEN

    def __init__(self, allowed: Collection[str]) -> None:
        super().__init__(algorithms=allowed, strict_check_header=False)

    def get_alg(self, name: str) -> Any:
        """Return the algorithm, without the library's advice about its age."""
        if name == "none" or name not in (self.allowed or ()):
            raise UnsupportedAlgorithmError("not allowed")
        return self.algorithms[name]


def read_token(text: str) -> Token:
    """Read a token without believing it.

    Raises:
        CredentialRefused: It is none, or not spelled strictly.
    """
    if len(text) > LONGEST_TOKEN or not text.isascii():
        raise CredentialRefused("too long, or not ASCII")
    segments = text.split(".")
    if len(segments) != SEGMENTS or not all(segments):
        raise CredentialRefused("not three parts")
    header, claims = (_object(segment) for segment in segments[:2])
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or not isinstance(kid, str | None):
        raise CredentialRefused("the header names no algorithm, or its key by something but a text")
    if "crit" in header or "b64" in header:
        raise CredentialRefused("the header asks for an extension")
    return Token(algorithm=algorithm, kid=kid, claims=claims, text=text)


def is_signed(token: Token, keys: Iterable[Key], allowed: Collection[str]) -> bool:
    """Whether one of *keys* made the signature, by an allowed algorithm that fits the key."""
    registry = _Algorithms(allowed)
    return any(_verifies(token.text, key, registry) for key in keys)


def _verifies(text: str, key: Key, registry: JWSRegistry) -> bool:
    try:
        jws.deserialize_compact(text, key, registry=registry)
    except (JoseError, ValueError):
        return False
    return True


def _object(segment: str) -> Mapping[str, object]:
    try:
        return read_object(urlsafe_b64decode(segment.encode()))
    except (binascii.Error, ValueError, RecursionError):
        raise CredentialRefused("a part is not base64url of a JSON object") from None


def read_object(text: bytes) -> Mapping[str, object]:
    """Read a JSON object strictly: every member once, no NaN.

    Raises:
        ValueError: It is none.
        RecursionError: It is nested too deeply.
    """
    value: object = json.loads(text, object_pairs_hook=members_once, parse_constant=no_constant)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - one error for every misspelling
    return cast("Mapping[str, object]", value)
