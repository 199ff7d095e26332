"""SUBJECT and TOOL on the command line (contract, product.md): `role:NAME`, `key:NAME`; R2."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from remit.app import Installation
from remit.cli.output import EXIT_USAGE, fail
from remit.identity.authenticate import principal_of
from remit.model.principals import DEFAULT_TENANT, Principal, PrincipalKind

SubjectFlag = Annotated[
    str, typer.Option("--as", metavar="SUBJECT", help="The caller: role:NAME or key:NAME.")
]

ToolArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOOL", help="git/git_commit, or another spelling such as git__git_commit."
    ),
]


async def find_subject(installation: Installation, text: str) -> Principal:
    """Return the principal that *text* means; leave with status 2 when it means none."""
    kind, colon, name = text.partition(":")
    if not colon or not name:
        fail(f"{text!r} is no subject: write role:NAME or key:NAME", EXIT_USAGE)
    if kind not in {"role", "key"}:
        fail(f"callers of the kind {kind!r} are not in this version: use role or key", EXIT_USAGE)
    return _role(installation, name) if kind == "role" else await _key(installation, name)


def _role(installation: Installation, name: str) -> Principal:
    roles = installation.policy.declaration.roles
    if name not in roles:
        known = ", ".join(roles) or "none"
        fail(f"no role {name!r} is declared; declared roles: {known}", EXIT_USAGE)
    return Principal(kind=PrincipalKind.ROLE, name=name, roles=(name,))


async def _key(installation: Installation, name: str) -> Principal:
    keys = await installation.keys.all_keys(DEFAULT_TENANT)
    held = {key.name: key for key in keys if key.holds_at(datetime.now(UTC))}
    if name not in held:
        known = ", ".join(held) or "none"
        fail(f"no key {name!r} holds; keys that do: {known}", EXIT_USAGE)
    return principal_of(held[name])
