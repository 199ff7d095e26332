"""Tokens of the development issuer, made and signed here."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from remit.errors import StartupError
from remit.identity.development import ALGORITHM, ISSUER, KEY_FILE


def make_signing_key() -> str:
    """Return a new private key, as the text of a JWK."""
    key = OKPKey.generate_key(ALGORITHM, auto_kid=True)
    return json.dumps(key.as_dict(private=True))


def sign_token(
    key_text: str,
    *,
    subject: str,
    claims: Mapping[str, object],
    issued: datetime,
    expires: datetime,
) -> str:
    """Return a token of the development issuer.

    Raises:
        StartupError: The text is no such key.
    """
    body = {
        **claims,
        "iss": ISSUER,
        "aud": ISSUER,
        "sub": subject,
        "iat": int(issued.timestamp()),
        "exp": int(expires.timestamp()),
    }
    try:
        key = OKPKey.import_key(cast("dict[str, str | list[str]]", json.loads(key_text)))
        header = {"alg": ALGORITHM, "kid": key.kid, "typ": "JWT"}
        return jws.serialize_compact(header, json.dumps(body), key, algorithms=[ALGORITHM])
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise StartupError(
            f"the key in {KEY_FILE} cannot be used: remove it to have it made anew"
        ) from error
