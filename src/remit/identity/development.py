"""The built-in issuer of `remit token issue`: for development, on this machine only.

Its key pair is made on first use. A gateway accepts its tokens only when it serves loopback and
finds the key beside its own declaration.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from remit.errors import StartupError
from remit.model.grants import JwtIssuer

ISSUER: Final = "remit-dev"
KEY_FILE: Final = "token-issuer.jwk"

_ALGORITHM: Final = "Ed25519"


def development_issuer(folder: Path) -> JwtIssuer:
    """Return the issuer whose key lies in *folder*, now or later."""
    return JwtIssuer(
        issuer=ISSUER,
        audience=(ISSUER,),
        jwks_file=str(folder.absolute() / KEY_FILE),
        algorithms=(_ALGORITHM,),
    )


def make_signing_key() -> str:
    """Return a new private key, as the text of a JWK."""
    key = OKPKey.generate_key(_ALGORITHM, auto_kid=True)
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
    try:
        key = OKPKey.import_key(cast("dict[str, str | list[str]]", json.loads(key_text)))
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise StartupError(
            f"the key in {KEY_FILE} cannot be read: remove it to have it made anew"
        ) from error
    body = {
        **claims,
        "iss": ISSUER,
        "aud": ISSUER,
        "sub": subject,
        "iat": int(issued.timestamp()),
        "exp": int(expires.timestamp()),
    }
    header = {"alg": _ALGORITHM, "kid": key.kid, "typ": "JWT"}
    return jws.serialize_compact(header, json.dumps(body), key, algorithms=[_ALGORITHM])
