"""The built-in issuer of `remit token issue`: for development, on this machine only.

Its key pair is made on first use. A gateway accepts its tokens only when it serves loopback and
finds the key beside its own declaration.
"""

from pathlib import Path
from typing import Final

from remit.model.grants import JwtIssuer

ISSUER: Final = "remit-dev"
KEY_FILE: Final = "token-issuer.jwk"

ALGORITHM: Final = "Ed25519"


def development_issuer(folder: Path) -> JwtIssuer:
    """Return the issuer whose key lies in *folder*, now or later."""
    return JwtIssuer(
        issuer=ISSUER,
        audience=(ISSUER,),
        jwks_file=str(folder.absolute() / KEY_FILE),
        algorithms=(ALGORITHM,),
    )
