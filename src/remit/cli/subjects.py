"""SUBJECT on the command line: `role:NAME` or `key:NAME` (contract, product.md)."""

from typing import Annotated

import typer

from remit.app import Installation
from remit.identity.authenticate import principal_of
from remit.model.principals import DEFAULT_TENANT, Principal, PrincipalKind

SubjectFlag = Annotated[
    str, typer.Option("--as", metavar="SUBJECT", help="The caller: role:NAME or key:NAME.")
]


async def find_subject(installation: Installation, text: str) -> Principal:
    """Return the principal that *text* means.

    Raises:
        typer.BadParameter: It names nothing that is declared or stored (exit status 2).
    """
    kind, colon, name = text.partition(":")
    if not colon or not name:
        raise typer.BadParameter(f"{text!r} is no subject: write role:NAME or key:NAME")
    if kind == "role":
        return _role(installation, name)
    if kind == "key":
        return await _key(installation, name)
    raise typer.BadParameter(
        f"callers of the kind {kind!r} are not in this version: use role or key"
    )


def _role(installation: Installation, name: str) -> Principal:
    roles = installation.policy.declaration.roles
    if name not in roles:
        known = ", ".join(roles) or "none"
        raise typer.BadParameter(f"no role {name!r} is declared; declared roles: {known}")
    return Principal(kind=PrincipalKind.ROLE, name=name, roles=(name,))


async def _key(installation: Installation, name: str) -> Principal:
    keys = await installation.keys.all_keys(DEFAULT_TENANT)
    for key in keys:
        if key.name == name and key.revoked is None:
            return principal_of(key)
    known = ", ".join(key.name for key in keys if key.revoked is None) or "none"
    raise typer.BadParameter(f"no key {name!r} holds; keys that do: {known}")
