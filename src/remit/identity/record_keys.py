"""Keys that sign the markers of the record: Ed25519, each marker a compact JWS (RFC 7515).

The public side needs the public key alone: any JOSE library verifies a marker with it.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from remit.errors import StartupError

_ALGORITHM: Final = "Ed25519"
_TYPE: Final = "remit-record+json"
_PURPOSE: Final = b"remit: markers of the record"
_PKCS8: Final = bytes.fromhex("302e020100300506032b657004220420")
"""What stands before the 32 secret bytes in RFC 8410's form of such a key."""


def make_record_key() -> str:
    """Return a new private key, as the text of a JWK."""
    return _text(OKPKey.generate_key(_ALGORITHM), private=True)


def derived_record_key(master: str) -> str:
    """Return the private key that every installation with this master key has."""
    secret = hmac.digest(master.encode(), _PURPOSE, hashlib.sha256)
    body = base64.b64encode(_PKCS8 + secret).decode()
    pem = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    return _text(OKPKey.import_key(pem), private=True)


def public_part(key: str) -> Mapping[str, object]:
    """Return the public JWK of a private one.

    Raises:
        StartupError: It is no such key.
    """
    return json.loads(_text(_read(json.loads(key)), private=False))


class RecordKeys:
    """Signs with one key, and opens what any of several has signed.

    Args:
        signing: A private JWK as text, or None to open only.
        trusted: Public JWKs.

    Raises:
        StartupError: One of them is no such key.
    """

    def __init__(self, signing: str | None, trusted: Iterable[Mapping[str, object]] = ()) -> None:
        self._signing = None if signing is None else _read(json.loads(signing))
        own = () if self._signing is None else (self._signing,)
        self._known = {key.thumbprint(): key for key in (*map(_read, trusted), *own)}

    @property
    def known(self) -> Sequence[str]:
        """Thumbprints (RFC 7638) of the keys that are trusted."""
        return list(self._known)

    def sign(self, payload: bytes) -> str:
        """Return *payload* in a compact JWS.

        Raises:
            StartupError: There is no key to sign with.
        """
        if self._signing is None:
            raise StartupError("there is no key to sign the record's markers with")
        header = {"alg": _ALGORITHM, "kid": self._signing.thumbprint(), "typ": _TYPE}
        return jws.serialize_compact(header, payload, self._signing, algorithms=[_ALGORITHM])

    def open(self, signed: str) -> bytes | None:
        """Return what was signed, or None when no trusted key has signed it so."""
        try:
            kid = jws.extract_compact(signed.encode()).headers().get("kid")
            key = self._known.get(str(kid))
            if key is None:
                return None
            return jws.deserialize_compact(signed, key, algorithms=[_ALGORITHM]).payload
        except (JoseError, ValueError, UnicodeError):
            return None


def _read(key: Mapping[str, object]) -> OKPKey:
    try:
        return OKPKey.import_key(cast("dict[str, str | list[str]]", dict(key)))
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise StartupError("a key of the record's markers is no Ed25519 key in JWK form") from error


def _text(key: OKPKey, *, private: bool) -> str:
    members = {**key.as_dict(private=private), "kid": key.thumbprint(), "alg": _ALGORITHM}
    return json.dumps(members)
