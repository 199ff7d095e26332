"""Signing people in at an OpenID provider: authorization code, PKCE, and an ID token.

    begin ──▶ browser goes to the provider and comes back with a code ──▶ whose response is it?
          ──▶ code and verifier for an ID token ──▶ signature, audience, nonce, times ──▶ person

Nothing is kept here between the two halves: what was begun travels sealed in the browser's cookie.
The access token is thrown away; nothing is asked with it.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from remit.identity.claims import ABSENT, claim_at, is_name, names_in
from remit.identity.clock import utc_now
from remit.identity.credentials import CredentialRefused, HolderRefused
from remit.identity.jwt import end_of, need_signature
from remit.identity.oidc_metadata import Description, Metadata, ProviderUnavailable
from remit.identity.oidc_protocol import (
    Begun,
    Client,
    authorization_url,
    check_id_token,
    token_request,
)
from remit.identity.tokens import read_object, read_token
from remit.identity.web import OK, Web, WebUnavailable
from remit.model.grants import PUBLIC_KEY_ALGORITHMS
from remit.model.oidc import OidcProvider
from remit.model.principals import DEFAULT_TENANT
from remit.model.sessions import ByIssuer

LEEWAY: Final = 30.0
"""Seconds of clock difference that are forgiven."""

_ROLES: Final = ("roles", "groups")
_NAMES: Final = ("name", "preferred_username", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody whom a provider vouched for.

    Attributes:
        tenant: What the ID token says, or the default where no claim is to say it.
    """

    tenant: str
    came: ByIssuer


class ProviderSaidNo(CredentialRefused):
    """The provider did not sign anybody in.

    Attributes:
        error: Its code, such as `access_denied` (RFC 6749 §4.1.2.1); empty for one that is none.
    """

    def __init__(self, error: str) -> None:
        known = error if error.isascii() and error.replace("_", "").isalpha() else ""
        super().__init__("the provider said no")
        self.error = known[:64]


class OidcFlow:
    """The sign-in at one provider.

    Args:
        provider: As it is declared.
        secret: Of this gateway as a client; empty for a public one.
        now: The time, aware UTC.
    """

    def __init__(
        self,
        provider: OidcProvider,
        *,
        secret: str,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.provider = provider
        self._client = Client(id=provider.client_id, secret=secret)
        self._web = Web(allow_private=provider.allow_private_url)
        self._description = Description(provider, self._web)
        self._now = now

    async def begin(self, redirect_uri: str) -> tuple[str, Begun]:
        """Return where to send a browser, and what it has to bring back.

        Raises:
            ProviderUnavailable: Nobody knows where.
        """
        self._need_secret()
        metadata = await self._description.metadata()
        begun = Begun(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            redirect_uri=redirect_uri,
        )
        url = authorization_url(
            metadata.authorization, self._client, begun, " ".join(self.provider.scopes)
        )
        return url, begun

    async def finish(self, begun: Begun, response: Mapping[str, str]) -> Person:
        """Return whom the provider vouches for.

        Args:
            begun: What the same browser has begun.
            response: The parameters that it came back with, each once.

        Raises:
            ProviderSaidNo: It vouches for nobody.
            CredentialRefused: What came back does not hold; the reason is for the log.
            ProviderUnavailable: It cannot be asked.
        """
        metadata = await self._description.metadata()
        code = self._code_in(begun, response, metadata)
        answer = await self._exchange(code, begun, metadata)
        text = answer.get("id_token")
        if not isinstance(text, str):
            raise CredentialRefused("no ID token came with the access token")
        token = read_token(text)
        if token.algorithm not in PUBLIC_KEY_ALGORITHMS:
            raise CredentialRefused("an ID token by an algorithm without public keys")
        await need_signature(token, metadata.keys, PUBLIC_KEY_ALGORITHMS)
        now, issuer = self._now(), self.provider.issuer
        end_of(token.claims, now, LEEWAY)
        check_id_token(token, self._client, begun, issuer=issuer, now=now, leeway=LEEWAY)
        return _person(token.claims, self.provider)

    def _need_secret(self) -> None:
        variable, secret = self.provider.client_secret_env, self._client.secret
        if variable and not (secret and secret.isascii()):
            raise ProviderUnavailable(f"the variable {variable} holds no secret of the client")

    def _code_in(self, begun: Begun, response: Mapping[str, str], metadata: Metadata) -> str:
        """Return the code of a response that is one to what was begun."""
        if not begun.is_answered_by(response.get("state", "")):
            raise CredentialRefused("a response to another sign-in: the state differs")
        named = response.get("iss")
        if named != self.provider.issuer and (named is not None or metadata.names_itself):
            raise CredentialRefused("a response of another provider: iss differs, or is not there")
        if "error" in response:
            raise ProviderSaidNo(response["error"])
        if not response.get("code"):
            raise CredentialRefused("a response without a code")
        return response["code"]

    async def _exchange(self, code: str, begun: Begun, metadata: Metadata) -> Mapping[str, object]:
        body, headers = token_request(code, self._client, begun, proves_itself=metadata.takes)
        try:
            answer = await self._web.post(metadata.token, body, headers)
            if answer.status != OK:
                raise CredentialRefused(f"the code was not taken: status {answer.status}")
            return read_object(answer.body)
        except WebUnavailable as error:
            raise ProviderUnavailable(f"its token endpoint: {error}") from None
        except (ValueError, RecursionError):
            raise CredentialRefused("the answer to the code is no JSON object") from None


def _person(claims: Mapping[str, object], provider: OidcProvider) -> Person:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not is_name(subject):
        raise CredentialRefused("sub is no printable text")
    places = [provider.claims["roles"]] if "roles" in provider.claims else _ROLES
    roles = [role for place in places for role in names_in(claim_at(claims, place))]
    return Person(
        tenant=_tenant(claims, provider),
        came=ByIssuer(
            issuer=provider.issuer,
            client_id=provider.client_id,
            subject=subject,
            shown=_shown(claims, provider) or subject,
            roles=tuple(dict.fromkeys(roles)),
        ),
    )


def _tenant(claims: Mapping[str, object], provider: OidcProvider) -> str:
    """Return the tenant; where a claim is to say it, a token without it is for none.

    Else it would be for the default one, whose administrators administer every tenant.
    """
    if "tenant" not in provider.claims:
        return DEFAULT_TENANT
    tenant = claim_at(claims, provider.claims["tenant"])
    if tenant is ABSENT or not isinstance(tenant, str) or not is_name(tenant):
        raise HolderRefused("the claim of the tenant is no printable text, or is not there")
    return tenant


def _shown(claims: Mapping[str, object], provider: OidcProvider) -> str:
    places = [provider.claims["name"]] if "name" in provider.claims else _NAMES
    found = (claim_at(claims, place) for place in places)
    return next((text for text in found if isinstance(text, str) and is_name(text)), "")


class Flows:
    """The sign-in at the provider that is declared now, whatever is declared next.

    Args:
        provider: Returns the one in force, or None; the same object while nothing changes.
        environ: Where the secret of the client is looked up.
        now: The time, aware UTC.
    """

    def __init__(
        self,
        provider: Callable[[], OidcProvider | None],
        environ: Mapping[str, str],
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._provider = provider
        self._environ = environ
        self._now = now
        self._flow: OidcFlow | None = None

    def __call__(self) -> OidcFlow | None:
        """Return it; what it knows of the provider is kept while nothing changes."""
        provider = self._provider()
        if provider is None:
            self._flow = None
        elif self._flow is None or self._flow.provider != provider:
            secret = self._environ.get(provider.client_secret_env, "")
            self._flow = OidcFlow(provider, secret=secret, now=self._now)
        return self._flow
