"""SUBJECT and TOOL on the command line (contract, product.md); R2, R5."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final, NoReturn

import typer

from remit.app.installation import Installation
from remit.cli.output import EXIT_USAGE, fail
from remit.identity.authenticate import principal_of
from remit.model.principals import (
    AgentType,
    Principal,
    PrincipalKind,
    UserRole,
)

SPELLINGS: Final = "role:NAME, user:NAME, user-role:NAME, agent:ID, agent-type:TYPE or key:NAME"

SubjectFlag = Annotated[
    str, typer.Option("--as", metavar="SUBJECT", help=f"The caller: {SPELLINGS}.")
]

ToolArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOOL", help="git/git_commit, or another spelling such as git__git_commit."
    ),
]


async def find_subject(installation: Installation, text: str) -> Principal:
    """Return the principal that *text* means; leave with status 2 when it means none."""
    kind, _, name = text.partition(":")
    if kind not in _FINDERS or not name:
        fail(f"{text!r} is no subject: write {SPELLINGS}", EXIT_USAGE)
    return await _FINDERS[kind](installation, name)


async def _role(installation: Installation, name: str) -> Principal:
    roles = installation.policy.declaration.roles
    if name not in roles:
        _unknown("role", name, roles, "declared roles")
    return Principal(
        kind=PrincipalKind.ROLE, name=name, tenant=installation.tenant.name, roles=(name,)
    )


async def _user(installation: Installation, name: str) -> Principal:
    if await installation.users.is_disabled(installation.tenant.name, name):
        fail(f"user {name!r} is disabled: `remit users enable {name}` lets it in again")
    typer.echo(
        f"note: user:{name} stands here without the claims of a token, so it has no roles and no"
        " groups; grants to the user itself count",
        err=True,
    )
    return Principal(kind=PrincipalKind.USER, name=name, tenant=installation.tenant.name)


async def _user_role(installation: Installation, name: str) -> Principal:
    known = [role.value for role in UserRole]
    if name not in known:
        _unknown("user role", name, known, "user roles")
    return Principal(
        kind=PrincipalKind.USER_ROLE,
        name=name,
        tenant=installation.tenant.name,
        user_roles=(UserRole(name),),
    )


async def _agent(installation: Installation, name: str) -> Principal:
    agents = {
        each.id: each for each in await installation.agents.all_agents(installation.tenant.name)
    }
    if name not in agents:
        _unknown("agent", name, agents, "agents")
    return agents[name].principal


async def _agent_type(installation: Installation, name: str) -> Principal:
    known = [each.value for each in AgentType]
    if name not in known:
        _unknown("agent type", name, known, "agent types")
    return Principal(
        kind=PrincipalKind.AGENT_TYPE,
        name=name,
        tenant=installation.tenant.name,
        agent_type=AgentType(name),
    )


async def _key(installation: Installation, name: str) -> Principal:
    keys = await installation.keys.all_keys(installation.tenant.name)
    held = {key.name: key for key in keys if key.holds_at(datetime.now(UTC))}
    if name not in held:
        known = ", ".join(held) or "none"
        fail(f"no key {name!r} holds; keys that do: {known}", EXIT_USAGE)
    key = held[name]
    agent = await installation.agents.find(key.tenant, key.agent) if key.agent else None
    return principal_of(key, agent)


def _unknown(noun: str, name: str, known: Iterable[str], title: str) -> NoReturn:
    verb = "is declared" if noun == "role" else "is known"
    fail(f"no {noun} {name!r} {verb}; {title}: {', '.join(known) or 'none'}", EXIT_USAGE)


_FINDERS: Mapping[str, Callable[[Installation, str], Awaitable[Principal]]] = {
    PrincipalKind.ROLE: _role,
    PrincipalKind.USER: _user,
    PrincipalKind.USER_ROLE: _user_role,
    PrincipalKind.AGENT: _agent,
    PrincipalKind.AGENT_TYPE: _agent_type,
    PrincipalKind.KEY: _key,
}
