"""What is suspicious in limits: those that no call can ever count against (R16).

code                    severity  what it means
unknown-subject         warning   the role is not declared
unknown-server          warning   the pattern names a server that is not declared
pattern-matches-nothing warning   no tool that is known fits the pattern
idle-limit              warning   the role may call nothing that the pattern fits, or another limit
                                  is about the same calls and as strict
"""

from collections.abc import Iterator, Sequence

from remit.model.declaration import Declaration
from remit.model.limits import Limit
from remit.model.principals import DEFAULT_TENANT, Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.findings import Finding, Offered, did_you_mean, may_be_unlisted, tools_known
from remit.policy.lint_layers import pattern_findings
from remit.policy.patterns import Pattern
from remit.policy.snapshot import Domain, PolicySnapshot, compile_snapshot, domain_of


def limit_findings(declaration: Declaration, offered: Offered) -> Iterator[Finding]:
    """Find limits that match nothing, in the order of the declaration."""
    if not declaration.limits:
        return
    snapshot = compile_snapshot(declaration, tenant=DEFAULT_TENANT, revision=0)
    strictest = _strictest(declaration.limits)
    for at, limit in enumerate(declaration.limits):
        path = f"limits[{at}]"
        unknown = [*_unknown(path, limit, declaration, offered)]
        yield from unknown
        if limit.role and not unknown:
            yield from _idle(path, limit, declaration, offered, snapshot)
        if (other := strictest[limit.subject_matter]) != at:
            rate = declaration.limits[other].rate
            yield Finding(
                code="idle-limit",
                message=f"limits[{other}] is about the same calls and allows {rate}",
                path=path,
                remedy="remove one of them",
            )


def _unknown(
    path: str, limit: Limit, declaration: Declaration, offered: Offered
) -> Iterator[Finding]:
    if limit.role and limit.role not in declaration.roles:
        yield Finding(
            code="unknown-subject",
            message=f"role {limit.role!r} is not declared, so the limit binds nobody",
            path=f"{path}.role",
            remedy=did_you_mean(limit.role, declaration.roles, "declare it under 'roles'"),
        )
    if limit.tool:
        yield from pattern_findings(
            limit.tool, "`tool` of the limit", f"{path}.tool", declaration, offered
        )


def _idle(
    path: str,
    limit: Limit,
    declaration: Declaration,
    offered: Offered,
    snapshot: PolicySnapshot,
) -> Iterator[Finding]:
    pattern = Pattern.parse(limit.tool or "*/*")
    known = tools_known(pattern.literal_server, declaration, offered)
    if known is None or may_be_unlisted(pattern.kind, (tool.name for tool in known)):
        return
    met = [tool for tool in known if pattern.matches(tool)]
    holder = Principal(kind=PrincipalKind.ROLE, name=limit.role, roles=(limit.role,))
    # What roles do not govern, whoever holds this one may call by another hat (R9).
    if all(_is_of_roles(tool, declaration) for tool in met) and not any(
        decide(snapshot, holder, tool).allowed for tool in met
    ):
        yield Finding(
            code="idle-limit",
            message=f"role {limit.role!r} may call nothing that the limit is about",
            path=path,
            remedy="correct `role` or `tool`, or remove it",
        )


def _is_of_roles(tool: ToolId, declaration: Declaration) -> bool:
    config = declaration.servers.get(tool.server)
    return config is None or domain_of(tool.server, config.builtin) is Domain.ROLES


def _strictest(limits: Sequence[Limit]) -> dict[tuple[object, ...], int]:
    """Map what limits are about to the place of the one that counts."""
    found: dict[tuple[object, ...], int] = {}
    for at, limit in enumerate(limits):
        known = found.setdefault(limit.subject_matter, at)
        if limit.calls < limits[known].calls:
            found[limit.subject_matter] = at
    return found
