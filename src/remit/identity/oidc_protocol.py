"""What OAuth 2.0 and OpenID Connect fix, as Authlib spells it; typed, since Authlib is not."""
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc.errors import JoseError

from remit.identity.credentials import CredentialRefused
from remit.identity.tokens import Token

_FORM: Final = {
    "Accept": "application/json",
    "Content-Type": "application/x-www-form-urlencoded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """This gateway, as a provider knows it.

    Attributes:
        secret: Empty for a public client.
    """

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in that was begun; only the browser that began it may end it.

    Attributes:
        state: Comes back beside the code.
        nonce: Comes back in the ID token.
        verifier: Goes with the code (PKCE).
        redirect_uri: Where the provider sends the browser.
    """

    state: str
    nonce: str
    verifier: str = field(repr=False)
    redirect_uri: str

    def is_answered_by(self, state: str) -> bool:
        """Whether a response with that state is one to this sign-in; compared in constant time."""
        return hmac.compare_digest(state.encode(), self.state.encode())


def authorization_url(endpoint: str, client: Client, begun: Begun, scopes: str) -> str:
    """Return where a browser goes to have somebody signed in.

    Args:
        endpoint: The provider's authorization endpoint.
        client: Who sends it there.
        begun: What has to come back.
        scopes: Between spaces.
    """
    return prepare_grant_uri(
        endpoint,
        client_id=client.id,
        response_type="code",
        redirect_uri=begun.redirect_uri,
        scope=scopes,
        state=begun.state,
        nonce=begun.nonce,
        code_challenge=create_s256_code_challenge(begun.verifier),
        code_challenge_method="S256",
    )


def token_request(
    code: str, client: Client, begun: Begun, *, proves_itself: str
) -> tuple[bytes, Mapping[str, str]]:
    """Return body and headers of the request that gives a code for tokens.

    Args:
        code: As the browser brought it.
        client: Whose it is.
        begun: What was begun.
        proves_itself: How, such as `client_secret_basic`.
    """
    body = prepare_token_request(
        "authorization_code",
        code=code,
        redirect_uri=begun.redirect_uri,
        code_verifier=begun.verifier,
    )
    proof = ClientAuth(client.id, client.secret, proves_itself if client.secret else "none")
    _, headers, sent = proof.prepare("POST", "", dict(_FORM), body)
    return sent.encode(), headers


def check_id_token(
    token: Token, client: Client, begun: Begun, *, issuer: str, now: datetime, leeway: float
) -> None:
    """Return if an ID token whose signature holds is the answer to what was begun.

    Args:
        token: With issuer, audience, authorized party, nonce and times to be compared.
        client: For whom it must be.
        begun: What was begun.
        issuer: Who must have made it.
        now: Aware UTC.
        leeway: Seconds of clock difference that are forgiven.

    Raises:
        CredentialRefused: It is not; the reason names a claim at most.
    """
    wanted: dict[str, Any] = {
        "iss": {"essential": True, "value": issuer},
        "aud": {"essential": True, "value": client.id},
    }
    # `at_hash` binds an access token, and ours is thrown away
    beside = {"nonce": begun.nonce, "client_id": client.id}
    claims = CodeIDToken(dict(token.claims), {"alg": token.algorithm}, wanted, beside)
    try:
        claims.validate(int(now.timestamp()), int(leeway))
    except JoseError as error:
        raise CredentialRefused(f"an ID token that is not for this: {error}") from None
    except (TypeError, ValueError, AttributeError):
        raise CredentialRefused("an ID token with claims of an unexpected kind") from None
