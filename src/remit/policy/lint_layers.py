"""What is wrong or suspicious in grants, agent types and toolsets (R8, R9, R11, R16).

code                    severity  what it means
unknown-subject         warning   a grant to a role that is not declared, or to a key or an agent
                                  that does not exist
unknown-server          warning   a grant or an agent type names a server that is not declared
pattern-matches-nothing warning   no tool that is known fits the pattern
expired-grant           warning   its end has passed
idle-grant              warning   an allow of what is open already, or of what its role governs not
shadowed-allow          warning   a deny to the same subject or to everybody covers the allow
empty-allow-list        warning   an agent type that allows nothing
idle-toolsets           warning   options are set, and no server is under a toolset
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule, Grant, ToolsetOptions
from remit.model.tools import ToolId
from remit.policy.agent_types import CREW_TOOLS
from remit.policy.findings import Finding, Offered, did_you_mean, may_be_unlisted, tools_known
from remit.policy.grants import EVERYBODY, ROLE
from remit.policy.patterns import Pattern
from remit.policy.snapshot import DATA, Domain, domain_of, governed_tools


def layer_findings(
    declaration: Declaration,
    offered: Offered,
    now: datetime | None,
    in_use: Collection[str] | None = None,
) -> Iterator[Finding]:
    """Find what is wrong or suspicious beside roles, in the order of the declaration.

    Arguments are those of `lint`.
    """
    for rule in declaration.agent_types:
        yield from _agent_type_findings(rule, declaration, offered)
    if declaration.toolsets != ToolsetOptions() and not _has_toolset_server(declaration):
        yield Finding(
            code="idle-toolsets",
            message="options of toolsets are set, and no server is under a toolset",
            path="toolsets",
            remedy=f"declare the server {DATA!r}, or remove them",
        )
    for at, grant in enumerate(declaration.grants):
        if grant.enabled:
            yield from _unknown_subject(f"grants[{at}]", grant.subject, declaration, in_use)
            yield from _grant_findings(f"grants[{at}]", grant, declaration, offered, now)


def _has_toolset_server(declaration: Declaration) -> bool:
    return any(
        domain_of(name, config.builtin) is Domain.TOOLSETS
        for name, config in declaration.servers.items()
    )


def _agent_type_findings(
    rule: AgentTypeRule, declaration: Declaration, offered: Offered
) -> Iterator[Finding]:
    path, whose = f"agent_types.{rule.type.value}", f"agent type {rule.type.value}"
    if not rule.allow:
        yield Finding(
            code="empty-allow-list",
            message=f"{whose} allows nothing",
            path=path,
            remedy="name what it may use under 'allow', or remove it to have its default",
        )
    for key, texts in (("allow", rule.allow), ("deny", rule.deny)):
        for at, text in enumerate(texts):
            place = f"{path}.{key}[{at}]"
            yield from pattern_findings(text, f"{key} of {whose}", place, declaration, offered)
    denies = [Pattern.parse(text) for text in rule.deny]
    for at, text in enumerate(rule.allow):
        covering = [deny.covers(Pattern.parse(text)) for deny in denies]
        if any(covering):
            yield _shadowed(text, f"{path}.allow[{at}]", f"{path}.deny[{covering.index(True)}]")


def _unknown_subject(
    path: str, subject: str, declaration: Declaration, in_use: Collection[str] | None
) -> Iterator[Finding]:
    kind, _, name = subject.partition(":")
    known: Iterable[str]
    if kind == "role":
        known, why = declaration.roles, "is not declared"
        otherwise = "declare it under 'roles'"
    elif kind in ("key", "agent") and in_use is not None:
        of_kind = (one.partition(":") for one in in_use if one.startswith(f"{kind}:"))
        known, why = [one for _, _, one in of_kind], "does not exist"
        otherwise = f"make it, such as by 'remit {kind}s create'"
    else:
        return
    if name not in known:
        yield Finding(
            code="unknown-subject",
            message=f"{kind} {name!r} {why}",
            path=path,
            remedy=did_you_mean(name, known, otherwise),
        )


def _grant_findings(
    path: str, grant: Grant, declaration: Declaration, offered: Offered, now: datetime | None
) -> Iterator[Finding]:
    if grant.server and grant.server not in declaration.servers:
        yield _unknown_server("the grant", grant.server, path, declaration)
    if grant.tool:
        yield from pattern_findings(grant.tool, "the grant", path, declaration, offered)
    if now is not None and grant.until is not None and grant.until <= now:
        yield Finding(
            code="expired-grant",
            message=f"the grant ended at {grant.until.isoformat()}",
            path=path,
            remedy="remove it, or give it a later end",
        )
    if grant.effect == "allow":
        yield from _idle_allow(path, grant, declaration)
        yield from _shadowed_allow(path, grant, declaration)


def _idle_allow(path: str, grant: Grant, declaration: Declaration) -> Iterator[Finding]:
    server = _server_of(grant)
    if server is None or server not in declaration.servers:
        return
    config = declaration.servers[server]
    domain = domain_of(config.name, config.builtin)
    if config.default_access == "allow":
        yield Finding(
            code="idle-grant",
            message=f"server {server!r} is open by default, so the grant opens nothing; "
            "no grant widens what a role, a toolset or an agent type allows",
            path=path,
            remedy="remove it, or set 'default_access: deny' on the server",
        )
    elif grant.subject.startswith(ROLE) and domain is not Domain.ROLES:
        yield Finding(
            code="idle-grant",
            message=f"{domain.value} govern server {server!r}, so a grant to a role opens "
            "nothing there",
            path=path,
            remedy="grant it to a user, a group, an agent, a key or everybody",
        )


def _shadowed_allow(path: str, grant: Grant, declaration: Declaration) -> Iterator[Finding]:
    for at, deny in enumerate(declaration.grants):
        if (
            deny.effect == "deny"
            and deny.enabled
            and deny.until is None
            and deny.subject in (grant.subject, EVERYBODY)
            and _covers(deny, grant)
        ):
            yield _shadowed(grant.server or grant.tool, path, f"grants[{at}]")
            return


def _covers(deny: Grant, allow: Grant) -> bool:
    if deny.server:
        return deny.server in (allow.server, _server_of(allow))
    wanted = Pattern.parse(allow.tool or f"{allow.server}/*")
    return Pattern.parse(deny.tool).covers(wanted)


def _server_of(grant: Grant) -> str | None:
    return Pattern.parse(grant.tool).literal_server if grant.tool else grant.server


def _shadowed(grant: str, path: str, deny: str) -> Finding:
    return Finding(
        code="shadowed-allow",
        message=f"it allows {grant!r}, and {deny} denies it all",
        path=path,
        remedy=f"remove it, or narrow {deny}",
    )


def pattern_findings(
    text: str, whose: str, path: str, declaration: Declaration, offered: Offered
) -> Iterator[Finding]:
    """Give what is wrong with the pattern *text* of *whose* rule at *path*."""
    pattern = Pattern.parse(text)
    server = pattern.literal_server
    if server is not None and server not in declaration.servers and server not in CREW_TOOLS:
        yield _unknown_server(whose, server, path, declaration)
        return
    tools = _known(server, declaration, offered)
    if tools is None or may_be_unlisted(pattern.kind, (tool.name for tool in tools)):
        return
    if not any(pattern.matches(tool) for tool in tools):
        yield Finding(
            code="pattern-matches-nothing",
            message=f"{text!r}, {whose}, matches no tool that is known",
            path=path,
            remedy=did_you_mean(text, map(pattern.spell, tools), "correct or remove it"),
            server=server or "",
        )


def _known(server: str | None, declaration: Declaration, offered: Offered) -> list[ToolId] | None:
    """List what a pattern can meet: what is offered, and what data says of governed servers."""
    governed = [ToolId(name, tool) for name in (*CREW_TOOLS, DATA) for tool in governed_tools(name)]
    if server is None:
        known = tools_known(None, declaration, offered)
        return None if known is None else [*known, *governed]
    if server in offered:
        return tools_known(server, declaration, offered)
    return [tool for tool in governed if tool.server == server] or None


def _unknown_server(whose: str, name: str, path: str, declaration: Declaration) -> Finding:
    known = (*declaration.servers, *CREW_TOOLS)
    return Finding(
        code="unknown-server",
        message=f"{whose} names server {name!r}, which is not declared",
        path=path,
        remedy=did_you_mean(name, known, "declare it under 'mcp_servers'"),
    )
