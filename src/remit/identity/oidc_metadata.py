"""What an OpenID provider says of itself (OpenID Connect Discovery, RFC 9207)."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import anyio

from remit.identity.jwks import REFRESH_EVERY, KeySource
from remit.identity.jwks_fetch import UrlKeys
from remit.identity.jwt import URL_EVERY
from remit.identity.tokens import read_object
from remit.identity.web import Web, WebUnavailable
from remit.model.oidc import OidcProvider

WELL_KNOWN: Final = "/.well-known/openid-configuration"

BASIC: Final = "client_secret_basic"
POST: Final = "client_secret_post"


AGAIN_AFTER: Final = 5.0
"""Seconds in which a provider that gave nothing of use is not asked again."""


class ProviderUnavailable(Exception):
    """The provider cannot be asked now, or says nothing of use; the text names no address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Where a provider is asked what.

    Attributes:
        authorization: Where browsers are sent.
        token: Where codes are exchanged.
        keys: What its ID tokens are signed with.
        takes: How a client with a secret proves itself there: `BASIC` or `POST`.
        names_itself: Whether every response that a browser brings says whose it is (RFC 9207).
    """

    authorization: str
    token: str
    keys: KeySource
    takes: str
    names_itself: bool


class Description:
    """The description of one provider, read when it is needed, and anew after ten minutes.

    Args:
        provider: As it is declared.
        web: Asks it.
        clock: Seconds that never go back.
    """

    def __init__(
        self, provider: OidcProvider, web: Web, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._provider = provider
        self._web = web
        self._clock = clock
        self._lock = anyio.Lock()
        self._known: Metadata | None = None
        self._keys: tuple[str, KeySource] | None = None
        self._problem = ""
        self._due = -math.inf

    async def metadata(self) -> Metadata:
        """Return what the provider says of itself; what it said before, while it is away.

        Raises:
            ProviderUnavailable: It has never said anything of use.
        """
        async with self._lock:
            if self._clock() >= self._due:
                await self._read()
            if self._known is None:
                raise ProviderUnavailable(self._problem)
            return self._known

    async def _read(self) -> None:
        """Take over what the provider says now, and drop keys that it has withdrawn."""
        try:
            self._known = self._parse(await self._document())
            every = REFRESH_EVERY
        except ProviderUnavailable as error:
            self._problem = str(error)
            every = AGAIN_AFTER if self._known is None else REFRESH_EVERY
        self._due = self._clock() + every
        if self._known is not None:
            await self._known.keys.refresh()

    async def _document(self) -> Mapping[str, object]:
        try:
            body = await self._web.get(self._provider.issuer.removesuffix("/") + WELL_KNOWN)
            return read_object(body)
        except WebUnavailable as error:
            raise ProviderUnavailable(f"its description: {error}") from None
        except (ValueError, RecursionError):
            raise ProviderUnavailable("its description is no JSON object") from None

    def _parse(self, document: Mapping[str, object]) -> Metadata:
        if document.get("issuer") != self._provider.issuer:
            raise ProviderUnavailable("it calls itself by another name than `issuer`")
        challenges = document.get("code_challenge_methods_supported", ["S256"])
        if not isinstance(challenges, list) or "S256" not in challenges:
            raise ProviderUnavailable("it does not take PKCE with S256")
        methods = document.get("token_endpoint_auth_methods_supported", [BASIC])
        takes_basic = not isinstance(methods, list) or BASIC in methods or POST not in methods
        return Metadata(
            authorization=self._address(document, "authorization_endpoint"),
            token=self._address(document, "token_endpoint"),
            keys=self._keys_at(self._address(document, "jwks_uri")),
            takes=BASIC if takes_basic else POST,
            names_itself=document.get("authorization_response_iss_parameter_supported") is True,
        )

    def _keys_at(self, url: str) -> KeySource:
        if self._keys is not None and self._keys[0] == url:
            return self._keys[1]
        source = KeySource(
            UrlKeys(url, allow_private=self._provider.allow_private_url),
            issuer=self._provider.issuer,
            every=URL_EVERY,
            changed=lambda: None,
        )
        self._keys = url, source
        return source

    def _address(self, document: Mapping[str, object], name: str) -> str:
        """Return an endpoint; whether its address may be asked is seen when it is."""
        value = document.get(name)
        allowed = ("https", "http") if self._provider.allow_private_url else ("https",)
        try:
            if isinstance(value, str) and urlsplit(value).scheme in allowed:
                return value
        except ValueError:
            pass
        raise ProviderUnavailable(f"it names no usable `{name}`")
