"""Where a token may come in: what its `aud` says, held against what its issuer's entry says.

A declared audience stands for the whole gateway: a token that holds it opens every endpoint. If it
is the address of an endpoint (it ends in `/mcp`, `/mcp/git` or the like), the endpoints below it
are audiences as well, without being declared: `aud: …/mcp/git` opens `/mcp/git`, and no other
(RFC 8707; MCP 2026-07-28, authorization).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from remit.identity.credentials import CredentialRefused
from remit.model.endpoints import ENDPOINT, ROOT, tenant_of

_ADDRESS: Final = re.compile(rf"https?://[^/?#\s]+(?:/[^?#\s]*?)??({ENDPOINT})")
"""The address of an endpoint, and the path by which we know it."""


def endpoints_of(claim: object, declared: Sequence[str]) -> tuple[str, ...]:
    """Return the endpoints that `aud` opens, sorted; empty for all of them.

    Raises:
        CredentialRefused: It holds nothing that is meant for this gateway.
    """
    held = cast("Sequence[object]", claim) if isinstance(claim, list) else [claim]
    opened: set[str] = set()
    for audience in held:
        if isinstance(audience, str):
            opened.update(_opened(audience, declared))
    if not opened:
        raise CredentialRefused("meant for another audience")
    return () if ROOT in opened else tuple(sorted(opened))


def in_tenant(endpoints: Sequence[str], is_own: Callable[[str], bool]) -> tuple[str, ...]:
    """Return those *endpoints* that a caller of one tenant may enter; empty for all of them.

    Args:
        endpoints: As `endpoints_of` gives them.
        is_own: Whether a UUID, lower case, is that of the caller's tenant.

    Raises:
        CredentialRefused: All of them are another tenant's, so that another entry of the same
            issuer may be the one that is meant.
    """
    named = {path: tenant_of(path) for path in endpoints}
    own = tuple(path for path, uuid in named.items() if uuid is None or is_own(uuid))
    if endpoints and not own:
        raise CredentialRefused("meant for an endpoint of another tenant")
    return own


def _opened(audience: str, declared: Sequence[str]) -> Iterator[str]:
    """Give the endpoint that *audience* opens; `/mcp` stands for everything."""
    found = _ADDRESS.fullmatch(audience)
    if found is None:
        if audience in declared:
            yield ROOT
        return
    # The audience itself may be declared, or the address of an endpoint around it.
    around, path = audience, found[1]
    before = len(audience) - len(path)
    while len(around) > before:
        if around in declared:
            yield path
            return
        around = around.rpartition("/")[0]
