"""Where a gateway is, and how one presents oneself to it."""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit

from remit.errors import ClientError, CredentialRefused
from remit.model.endpoints import ROOT, UUID

KEY_VARIABLE: Final = "REMIT_KEY"
"""Where the key is looked for when none is given."""

_LONGEST_SHOWN: Final = 200
_UUID: Final = re.compile(UUID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A gateway, a key for it, and perhaps a tenant.

    Attributes:
        base: Root of every path, without a slash at its end.
        tenant: Whose things are asked for; None for the tenant of the key.
    """

    base: str
    key: str = field(repr=False)
    tenant: str | None = None

    @staticmethod
    def parse(url: str, *, key: str | None = None, tenant: str | None = None) -> "Address":
        """Read an address; the key comes from `$REMIT_KEY` when *key* is None.

        Raises:
            ClientError: It is no address of a gateway.
            CredentialRefused: There is no key, or it is none.
        """
        base = url.rstrip("/")
        if not _is_base(base):
            raise ClientError(
                f"{url[:_LONGEST_SHOWN]!r} is no address of a gateway; give its root,"
                " such as http://127.0.0.1:8400, without /mcp, user or query"
            )
        held = key or os.environ.get(KEY_VARIABLE)
        if not held:
            raise CredentialRefused(f"a gateway wants a key: set {KEY_VARIABLE}, or give one")
        if not (held.isascii() and held.isprintable()):
            raise CredentialRefused("the key is none: a key is one line of printable ASCII")
        return Address(base=base, key=held, tenant=tenant)

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries; an answer comes as it is, so that its size is known."""
        return {"Authorization": f"Bearer {self.key}", "Accept-Encoding": "identity"}

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine, where no proxy of the environment is meant."""
        host = urlsplit(self.base).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def mcp(self, server: str | None) -> str:
        """Return the endpoint of *server*, or that of all servers.

        Raises:
            ClientError: The tenant is not named by its UUID; a name would be that of a server.
        """
        if self.tenant is not None and not _UUID.fullmatch(self.tenant):
            raise ClientError(
                f"the tenant {self.tenant[:_LONGEST_SHOWN]!r} has no tools by its name; give its"
                " UUID, which `remit tenants list` shows"
            )
        parts = [part for part in (self.tenant, server) if part is not None]
        return "".join((ROOT, *(f"/{quoted(part)}" for part in parts)))


def quoted(name: str) -> str:
    """Return *name* as one part of a path, also where it is `..`."""
    if not name.strip("."):
        return name.replace(".", "%2E")
    return quote(name, safe="", errors="surrogatepass")


def _is_base(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return bool(
        parts.scheme in {"http", "https"}
        and parts.hostname
        and has_port
        and parts.username is None  # it would take the key's place
        and not parts.query
        and not parts.fragment
        and not parts.path.endswith(ROOT)
        and url.isascii()
        and url.isprintable()
        and " " not in url
    )
