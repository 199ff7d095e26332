"""This gateway as an OAuth 2.0 resource server: RFC 9728 metadata, RFC 6750 challenges.

    401 → resource_metadata → authorization server → token for this endpoint → the same request

Every endpoint is a resource of its own (MCP 2026-07-28, authorization). Whether a server of that
name exists is not looked at: the answer would tell. A tenant's UUID is looked up, since its callers
have to find its issuers; one that no tenant has is answered as a tenant's that declares none.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import structlog

from remit.doors.addresses import Addresses
from remit.doors.asgi import Exchange, HttpRefusal
from remit.doors.credentials import NotAdmitted
from remit.doors.head import Headers
from remit.model.endpoints import ENDPOINT, ROOT, tenant_of
from remit.model.grants import JwtIssuer

log = structlog.get_logger(__name__)

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"

DEFAULT_SCOPE: Final = "openid"
"""What clients are told to ask an issuer for that declares no `scopes`; no token needs it.

Every OpenID provider knows it, and refuses what it does not know.
"""

_PATH: Final = re.compile(ENDPOINT)


class ProtectedResources:
    """Describes the endpoints to clients that have no token for them yet.

    Without an issuer whose name is an address there is nobody to send clients to: no metadata is
    there then, and challenges name none.

    Args:
        issuers: Returns those whose tokens may open the endpoints of the tenant of that UUID,
            or the ones that name no tenant, the best address first.
        addresses: How we are called from outside.
    """

    def __init__(
        self, issuers: Callable[[str | None], Sequence[JwtIssuer]], addresses: Addresses
    ) -> None:
        self._issuers = issuers
        self._addresses = addresses

    def base(self, exchange: Exchange) -> str:
        """Return the root of our URLs for whoever sent this request."""
        return self._addresses.base(exchange)

    def caller(self, exchange: Exchange) -> str:
        """Return the address of whoever sent this request, before all trusted proxies."""
        return self._addresses.caller(exchange)

    async def respond(self, exchange: Exchange, path: str) -> None:
        """Answer with the metadata that is at *path*, which begins with `WELL_KNOWN`.

        Raises:
            HttpRefusal: There is none (404).
        """
        endpoint = self._endpoint_below(path.removeprefix(WELL_KNOWN).removesuffix("/"))
        servers = () if endpoint is None else self._authorization_servers(endpoint)
        if endpoint is None or not servers:
            raise HttpRefusal(404, "no such metadata; an issuer is declared in identity.jwt")
        document: dict[str, object] = {
            "resource": self._addresses.base(exchange) + endpoint,
            "authorization_servers": list(dict.fromkeys(each.issuer for each in servers)),
            "bearer_methods_supported": ["header"],
            "resource_name": "remit",
        }
        if scopes := _scopes(servers):
            document["scopes_supported"] = scopes
        await exchange.respond(200, msgspec.json.encode(document))

    def headers(self, exchange: Exchange, refusal: HttpRefusal) -> Headers:
        """Return the headers of the answer to what *refusal* refuses, with its challenge."""
        if not isinstance(refusal, NotAdmitted):
            return refusal.headers
        log.debug("not admitted", status=refusal.status, peer=self._addresses.caller(exchange))
        return (*refusal.headers, (b"www-authenticate", self._challenge(exchange, refusal)))

    def _challenge(self, exchange: Exchange, refusal: NotAdmitted) -> bytes:
        parts = [f'error="{refusal.error}"'] if refusal.error else []
        path = exchange.path.removesuffix("/")
        endpoint = path if _PATH.fullmatch(path) else ROOT
        servers = self._authorization_servers(endpoint)
        if servers:
            metadata = f"{self._addresses.base(exchange)}{WELL_KNOWN}{endpoint}"
            parts.append(f'resource_metadata="{metadata}"')
        scopes = refusal.scopes or _scopes(servers)
        if scopes:
            parts.append(f'scope="{" ".join(scopes)}"')
        return f"Bearer {', '.join(parts)}".rstrip().encode()

    def _endpoint_below(self, path: str) -> str | None:
        """Return the endpoint that the metadata at *path* describes."""
        if not path:
            return ROOT
        # RFC 9728 §3.1 puts the well-known part before the whole path of the resource, which
        # begins with that of `public_url` where a proxy serves us below a path of its own.
        path = path.removeprefix(self._addresses.public_path())
        return path if _PATH.fullmatch(path) else None

    def _authorization_servers(self, endpoint: str) -> Sequence[JwtIssuer]:
        issuers = self._issuers(tenant_of(endpoint))
        return [each for each in issuers if each.issuer.startswith(("https://", "http://"))]


def _scopes(servers: Sequence[JwtIssuer]) -> tuple[str, ...]:
    named = (
        scope
        for issuer in servers
        for scope in ((DEFAULT_SCOPE,) if issuer.scopes is None else issuer.scopes)
    )
    return tuple(dict.fromkeys(named))
