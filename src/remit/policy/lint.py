"""What is wrong or suspicious in the rules: whatever can never match, or never grants (R8, R16).

code                    severity  what it means
empty-allow-list        warning   a role, or a server in it, allows nothing (R8)
server-without-tools    warning   a role names a server and none of its tools (R11)
unknown-server          error     a role names a server that exists nowhere
                        warning   ... that exists but is not declared, or that only a pattern names
unknown-tool            warning   a granted tool that its server does not offer (R16)
unserved-name           warning   a granted tool that a shipped map of names leaves out (R30)
star-in-tools           warning   `tools` takes exact names, so a star there is no pattern (S0.17)
pattern-matches-nothing warning   no offered tool fits the pattern (R16)
shadowed-allow          warning   the same role's own deny covers the grant
confusable-servers      warning   names that read alike in `mcp__server__tool`
granted-to-nobody       info      offered tools that no role, user role or agent type may use (R16)
not-governed-by-roles   warning   a role grants tools of a server that it does not govern (R9)
role-without-callers    info      a role that no key and no agent has
                                  (grants, agent types and toolsets: `lint_layers.py`;
                                  limits: `lint_limits.py`)
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from remit.model.contents import kind_of
from remit.model.declaration import Declaration
from remit.model.principals import DEFAULT_TENANT
from remit.model.roles import Role
from remit.model.tools import ToolId
from remit.policy.engine import is_for_somebody
from remit.policy.findings import (
    Finding,
    Offered,
    Severity,
    did_you_mean,
    listed,
    may_be_unlisted,
    tools_known,
)
from remit.policy.grants import ROLE
from remit.policy.lint_layers import layer_findings
from remit.policy.lint_limits import limit_findings
from remit.policy.patterns import Pattern
from remit.policy.snapshot import Domain, compile_snapshot, domain_of


def lint(
    declaration: Declaration,
    offered: Offered,
    *,
    now: datetime | None = None,
    in_use: Collection[str] | None = None,
) -> tuple[Finding, ...]:
    """Find what is wrong or suspicious, role by role in the order of the declaration.

    Args:
        declaration: What is declared.
        offered: What servers offer. What a server that is absent may offer is not known, so nothing
            that depends on it is reported.
        now: The moment at which grants are judged as ended or not; None to judge none.
        in_use: Keys, agents and the roles that they have, in SUBJECT spelling; None where that is
            not known.

    Raises:
        DeclarationError: A pattern cannot be one (`check_pattern`).
    """
    findings = list(_confusable_servers(declaration))
    for role in declaration.roles.values():
        findings += _empty_lists(role)
        findings += _unknown_servers(role, declaration, offered)
        findings += _servers_without_tools(role)
        findings += _unknown_tools(role, declaration, offered)
        findings += _idle_patterns(role, declaration, offered)
        findings += _shadowed_grants(role)
        findings += _wrong_hats(role, declaration)
        findings += _without_callers(role, declaration, in_use)
    findings += layer_findings(declaration, offered, now, in_use)
    findings += limit_findings(declaration, offered)
    findings += _granted_to_nobody(declaration, offered)
    return tuple(findings)


def _confusable_servers(declaration: Declaration) -> Iterator[Finding]:
    for name in declaration.servers:
        if (longer := f"{name}_") in declaration.servers:
            yield Finding(
                code="confusable-servers",
                message=f"servers {name!r} and {longer!r} read alike in 'mcp__server__tool'",
                path=f"mcp_servers.{longer}",
                remedy="rename one of them, or write patterns as 'server/tool'",
            )


def _empty_lists(role: Role) -> Iterator[Finding]:
    path = f"roles.{role.name}"
    if not role.tools and not role.allow:
        yield Finding(
            code="empty-allow-list",
            message=f"role {role.name!r} allows nothing: it has neither tools nor allow",
            path=path,
            remedy="name what it may use under 'tools' or 'allow', or remove the role",
        )
    for server, names in role.tools.items():
        if not names:
            yield Finding(
                code="empty-allow-list",
                message=f"role {role.name!r} has an empty list for server {server!r}, "
                "which allows nothing",
                path=f"{path}.tools.{server}",
                remedy="name the tools it may use there, or remove the server from the role",
            )


def _unknown_servers(role: Role, declaration: Declaration, offered: Offered) -> Iterator[Finding]:
    path = f"roles.{role.name}"
    places = [(f"{path}.mcp_servers[{at}]", name) for at, name in enumerate(role.mcp_servers)]
    places += [(f"{path}.tools.{name}", name) for name in role.tools]
    for place, name in places:
        if name not in declaration.servers:
            severity = Severity.WARNING if name in offered else Severity.ERROR
            yield _unknown_server(role, name, place, severity, declaration)


def _unknown_server(
    role: Role, name: str, path: str, severity: Severity, declaration: Declaration
) -> Finding:
    return Finding(
        code="unknown-server",
        severity=severity,
        message=f"role {role.name!r} names server {name!r}, which is not declared",
        path=path,
        remedy=did_you_mean(name, declaration.servers, "declare it under 'mcp_servers'"),
    )


def _servers_without_tools(role: Role) -> Iterator[Finding]:
    reached = {Pattern.parse(text).literal_server for text in role.allow} | role.tools.keys()
    if None in reached:  # a pattern over several servers may reach any of them
        return
    for at, server in enumerate(role.mcp_servers):
        if server not in reached:
            yield Finding(
                code="server-without-tools",
                message=f"role {role.name!r} names server {server!r} and none of its tools, "
                "which gives it nothing",
                path=f"roles.{role.name}.mcp_servers[{at}]",
                remedy=f"add tools.{server} or '{server}/*' under 'allow', or remove the server",
            )


def _unknown_tools(role: Role, declaration: Declaration, offered: Offered) -> Iterator[Finding]:
    for server, names in role.tools.items():
        left_out = _left_out(server, declaration, offered)
        for at, name in enumerate(names):
            path = f"roles.{role.name}.tools.{server}[{at}]"
            if "*" in name:
                yield Finding(
                    code="star-in-tools",
                    message=f"{name!r} is taken as an exact name: 'tools' has no patterns",
                    path=path,
                    remedy=f"write '{server}/{name}' under 'allow'",
                )
            elif name in left_out:
                yield Finding(
                    code="unserved-name",
                    message=f"role {role.name!r} is granted {name!r}, "
                    f"which the names of server {server!r} leave out: {left_out[name]}",
                    path=path,
                    remedy="grant the server's own tools, or declare remit's own server instead",
                    server=server,
                )
            elif (
                server in offered
                and name not in offered[server]
                and not may_be_unlisted(kind_of(name), offered[server])
            ):
                yield Finding(
                    code="unknown-tool",
                    message=f"role {role.name!r} is granted {name!r}, "
                    f"which server {server!r} does not offer",
                    path=path,
                    remedy=did_you_mean(
                        name, offered[server], "remove it, or map it under 'tool_names'"
                    ),
                    server=server,
                    tool=name,
                )


def _left_out(server: str, declaration: Declaration, offered: Offered) -> Mapping[str, str]:
    """Return the names that a shipped map leaves out, and that the server has not by itself."""
    config = declaration.servers.get(server)
    if config is None or config.names is None:
        return {}
    there = offered.get(server, frozenset())
    return {name: why for name, why in config.names.left_out.items() if name not in there}


def _idle_patterns(role: Role, declaration: Declaration, offered: Offered) -> Iterator[Finding]:
    for key, texts in (("allow", role.allow), ("deny", role.deny)):
        for at, text in enumerate(texts):
            pattern = Pattern.parse(text)
            path = f"roles.{role.name}.{key}[{at}]"
            server = pattern.literal_server
            if server is not None and server not in declaration.servers:
                yield _unknown_server(role, server, path, Severity.WARNING, declaration)
            elif (tools := tools_known(server, declaration, offered)) is None:
                continue
            elif not any(pattern.matches(tool) for tool in tools) and not may_be_unlisted(
                pattern.kind, (tool.name for tool in tools)
            ):
                yield Finding(
                    code="pattern-matches-nothing",
                    message=f"{key} {text!r} of role {role.name!r} matches no offered tool",
                    path=path,
                    remedy=did_you_mean(text, map(pattern.spell, tools), "correct or remove it"),
                    server=server or "",
                )


def _shadowed_grants(role: Role) -> Iterator[Finding]:
    path = f"roles.{role.name}"
    denies = [Pattern.parse(text) for text in role.deny]
    for server, names in role.tools.items():
        for at, name in enumerate(names):
            tool = ToolId(server, name)
            covering = [deny.matches(tool) for deny in denies]
            if any(covering):
                yield _shadowed(role, str(tool), f"{path}.tools.{server}[{at}]", covering)
    for at, text in enumerate(role.allow):
        allow = Pattern.parse(text)
        covering = [deny.covers(allow) for deny in denies]
        if any(covering):
            yield _shadowed(role, text, f"{path}.allow[{at}]", covering)


def _shadowed(role: Role, grant: str, path: str, covering: list[bool]) -> Finding:
    at = covering.index(True)
    return Finding(
        code="shadowed-allow",
        message=f"role {role.name!r} allows {grant!r} and denies it all by {role.deny[at]!r}",
        path=path,
        remedy=f"remove it, or narrow roles.{role.name}.deny[{at}]",
    )


def _wrong_hats(role: Role, declaration: Declaration) -> Iterator[Finding]:
    """Give what a role grants of servers that roles do not govern (R9)."""
    path = f"roles.{role.name}"
    literal = [Pattern.parse(text).literal_server for text in role.allow]
    places = [(f"{path}.tools.{name}", name) for name in role.tools]
    places += [(f"{path}.allow[{at}]", name) for at, name in enumerate(literal) if name is not None]
    for place, name in places:
        config = declaration.servers.get(name)
        domain = domain_of(name, config.builtin) if config is not None else Domain.ROLES
        if domain is not Domain.ROLES:
            yield Finding(
                code="not-governed-by-roles",
                message=f"role {role.name!r} grants tools of server {name!r}, "
                f"which {domain.value} govern, so it grants nothing there",
                path=place,
                remedy="remove it; user roles open 'data', and agent types the crew's servers",
            )


def _without_callers(
    role: Role, declaration: Declaration, in_use: Collection[str] | None
) -> Iterator[Finding]:
    # With an issuer of tokens nobody can know who comes in which role.
    if in_use is not None and f"{ROLE}{role.name}" not in in_use and not declaration.issuers:
        yield Finding(
            code="role-without-callers",
            severity=Severity.INFO,
            message=f"no key and no agent has role {role.name!r}",
            path=f"roles.{role.name}",
            remedy="give it to a caller, such as by 'remit keys create', or leave it so",
        )


def _granted_to_nobody(declaration: Declaration, offered: Offered) -> Iterator[Finding]:
    snapshot = compile_snapshot(declaration, tenant=DEFAULT_TENANT, revision=0)
    for name, server in declaration.servers.items():
        tools = offered.get(name, frozenset[str]()) if server.enabled else frozenset[str]()
        idle = [tool for tool in sorted(tools) if not is_for_somebody(snapshot, ToolId(name, tool))]
        if idle:
            yield Finding(
                code="granted-to-nobody",
                severity=Severity.INFO,
                message=f"no role may use {len(idle)} of the tools of server {name!r}: "
                + listed(idle),
                path=f"mcp_servers.{name}",
                remedy="grant them to a role, or leave it so",
                server=name,
            )
