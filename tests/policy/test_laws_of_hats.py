"""Laws of policy for callers with several hats, grants and tokens (R8-R12; issue 3, must show 5).

`HYPOTHESIS_PROFILE=full` draws 10,000 callers for each law.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule, Grant, PolicySettings, ToolsetOptions
from remit.model.principals import AgentType, Principal, PrincipalKind, ServerPolicy, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.agent_types import DEFAULT_AGENT_TYPES
from remit.policy.engine import decide, decide_for, explain
from remit.policy.patterns import Pattern
from remit.policy.snapshot import PolicySnapshot, compile_snapshot
from remit.policy.toolsets import toolset_of

IS_FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
law = settings(deadline=None, max_examples=10_000 if IS_FULL else 100)
pytestmark = pytest.mark.timeout(1800 if IS_FULL else 60)

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
SERVERS = ("git", "wiki", "data", "mail", "task", "ghost")
NAMES = {
    "git": ("log", "push"),
    "wiki": ("read", "log"),
    "data": ("health", "query", "execute", "approve_change", "list_ontology_questions", "log"),
    "mail": ("send", "read"),
    "task": ("create", "update_status"),
    "ghost": ("log",),
}
TOOLS = [ToolId(server, name) for server, names in NAMES.items() for name in names]
ROLES = ("r", "s")
SUBJECTS = (
    *("user:ann", "key:ann", "agent:ann", "user:bob", "role:r", "role:s", "role:unknown"),
    *("group:g", "group:h", "*"),
)

server_parts = st.sampled_from((*SERVERS, "*", "ma*"))
tool_parts = st.sampled_from(("log", "read", "*", "*e*", "s*", "*d", "update_status", "query"))
patterns = st.one_of(
    st.builds("{}/{}".format, server_parts, tool_parts),
    st.builds("mcp__{}__{}".format, server_parts, tool_parts),
)
pattern_lists = st.lists(patterns, max_size=3).map(tuple)
few_patterns = st.one_of(st.just(()), st.lists(patterns, max_size=1).map(tuple))
role_tables = st.fixed_dictionaries(
    {
        name: st.builds(
            Role,
            name=st.just(name),
            mcp_servers=st.lists(st.sampled_from(SERVERS), max_size=2).map(tuple),
            tools=st.dictionaries(
                st.sampled_from(SERVERS),
                st.lists(st.sampled_from(("log", "read", "query", "send")), max_size=2).map(tuple),
                max_size=2,
            ),
            allow=pattern_lists,
            deny=few_patterns,
        )
        for name in ROLES
    }
)
server_tables = st.fixed_dictionaries(
    {
        name: st.builds(
            ServerConfig,
            name=st.just(name),
            enabled=st.sampled_from((True, True, True, True, True, False)),
            default_access=st.sampled_from(("allow", "deny")),
        )
        for name in SERVERS
        if name != "ghost"
    },
)
agent_types = st.lists(
    st.builds(
        AgentTypeRule,
        type=st.sampled_from(list(AgentType)),
        allow=pattern_lists,
        deny=few_patterns,
    ),
    max_size=2,
    unique_by=lambda rule: rule.type,
).map(tuple)
effects = st.sampled_from(("allow", "allow", "deny"))
ends = st.sampled_from((None, None, NOON - timedelta(hours=1), NOON, NOON + timedelta(hours=1)))
grants = st.one_of(
    st.builds(
        Grant,
        subject=st.sampled_from(SUBJECTS),
        effect=effects,
        server=st.sampled_from(SERVERS),
        until=ends,
        enabled=st.sampled_from((True, True, False)),
    ),
    st.builds(Grant, subject=st.sampled_from(SUBJECTS), effect=effects, tool=patterns, until=ends),
)
members = st.lists(st.sampled_from(("user:ann", "key:ann", "agent:ann")), max_size=2).map(tuple)
declarations = st.builds(
    Declaration,
    servers=server_tables,
    roles=role_tables,
    agent_types=agent_types,
    toolsets=st.builds(
        ToolsetOptions,
        allow_ontology_maintenance=st.booleans(),
        add_query_tools=st.booleans(),
        add_ontology_maintenance=st.booleans(),
    ),
    grants=st.lists(grants, max_size=4).map(tuple),
    groups=st.dictionaries(st.sampled_from(("g", "h")), members, max_size=2),
    policy=st.builds(PolicySettings, admin_bypass=st.sampled_from((False, False, True))),
)
some_servers = st.frozensets(st.sampled_from(SERVERS), max_size=2)
principals = st.builds(
    Principal,
    kind=st.sampled_from((PrincipalKind.USER, PrincipalKind.KEY, PrincipalKind.AGENT)),
    name=st.sampled_from(("ann", "agent", "eve")),
    roles=st.lists(st.sampled_from((*ROLES, "unknown")), max_size=2, unique=True).map(tuple),
    user_roles=st.lists(st.sampled_from(list(UserRole)), max_size=2).map(tuple),
    agent_type=st.none() | st.sampled_from(list(AgentType)),
    groups=st.lists(st.sampled_from(("g", "h", "other")), max_size=2).map(tuple),
    servers=st.none()
    | st.builds(ServerPolicy, allow=some_servers, deny=some_servers, admin=st.booleans()),
    service=st.sampled_from((False, False, False, True)),
    admin=st.booleans(),
)
tools = st.sampled_from(TOOLS)


def compiled(declaration: Declaration) -> PolicySnapshot:
    return compile_snapshot(declaration, tenant="default", revision=1, now=NOON)


def may(declaration: Declaration, principal: Principal) -> set[ToolId]:
    snapshot = compiled(declaration)
    return {tool for tool in TOOLS if decide(snapshot, principal, tool).allowed}


class Naive:
    """R8 to R12 read without an index: one caller, one tool, every rule in turn."""

    def __init__(self, declaration: Declaration, principal: Principal, tool: ToolId) -> None:
        self.declaration, self.who, self.tool = declaration, principal, tool
        self.roles = [declaration.roles[n] for n in principal.roles if n in declaration.roles]
        rules = {**DEFAULT_AGENT_TYPES, **{rule.type: rule for rule in declaration.agent_types}}
        self.type = None if principal.agent_type is None else rules[principal.agent_type]
        self.bypass = (
            declaration.policy.admin_bypass
            and principal.servers is not None
            and principal.servers.admin
        )

    def allowed(self) -> bool:
        server = self.declaration.servers.get(self.tool.server)
        if server is None or not server.enabled or self.denied():
            return False
        return self.bypass or (self.within() and self.open(server))

    def fits(self, texts: tuple[str, ...]) -> bool:
        return any(Pattern.parse(text).matches(self.tool) for text in texts)

    def named_by_type(self) -> bool:
        return self.type is not None and any(
            Pattern.parse(text).literal_server == self.tool.server for text in self.type.allow
        )

    def by_type(self) -> bool:
        return self.tool.server in ("mail", "task") or self.named_by_type()

    def by_roles(self) -> bool:
        return not self.who.service and self.tool.server != "data" and not self.by_type()

    def grants(self, effect: str) -> list[Grant]:
        subjects = {f"{self.who.kind}:{self.who.name}", "*"}
        subjects |= {f"group:{name}" for name in self.who.groups}
        subjects |= {f"role:{name}" for name in self.who.roles}
        for group, listed in self.declaration.groups.items():
            if f"{self.who.kind}:{self.who.name}" in listed:
                subjects.add(f"group:{group}")
        return [
            grant
            for grant in self.declaration.grants
            if grant.enabled
            and grant.effect == effect
            and grant.subject in subjects
            and (grant.until is None or grant.until > NOON)
        ]

    def denied(self) -> bool:
        by_type = self.type is not None and self.by_type() and self.fits(self.type.deny)
        of_tools = tuple(grant.tool for grant in self.grants("deny") if grant.tool)
        if by_type or any(self.fits(role.deny) for role in self.roles) or self.fits(of_tools):
            return True
        token = self.who.servers is not None and self.tool.server in self.who.servers.deny
        of_server = any(grant.server == self.tool.server for grant in self.grants("deny"))
        return not self.bypass and (token or of_server)

    def within(self) -> bool:
        """Ask every ceiling whose domain holds the tool."""
        said: list[bool] = []
        if self.who.service:
            said.append(self.tool.server == "data")
        if self.tool.server == "data":
            said.append(self.tool.name in toolset_of(self.who, self.declaration.toolsets))
        if self.by_type():
            said.append(self.type is not None and self.fits(self.type.allow))
        if self.by_roles():
            said.append(
                any(
                    self.tool.name in role.tools.get(self.tool.server, ()) or self.fits(role.allow)
                    for role in self.roles
                )
            )
        return all(said)

    def open(self, server: ServerConfig) -> bool:
        if server.default_access == "allow":
            return True
        token = self.who.servers is not None and server.name in self.who.servers.allow
        granted = any(
            grant.server == server.name or (bool(grant.tool) and self.fits((grant.tool,)))
            for grant in self.grants("allow")
            if self.by_roles() or not grant.subject.startswith("role:")
        )
        named = self.by_roles() and any(
            server.name in role.mcp_servers
            or server.name in role.tools
            or any(Pattern.parse(text).literal_server == server.name for text in role.allow)
            for role in self.roles
        )
        return token or granted or named or (not self.by_roles() and self.named_by_type())


@law
@given(declaration=declarations, principal=principals, tool=tools)
def test_the_index_changes_no_answer(
    declaration: Declaration, principal: Principal, tool: ToolId
) -> None:
    answer = decide(compiled(declaration), principal, tool).allowed

    assert answer == Naive(declaration, principal, tool).allowed()


@law
@given(declaration=declarations, principal=principals, tool=tools)
def test_explain_agrees_with_decide(
    declaration: Declaration, principal: Principal, tool: ToolId
) -> None:
    snapshot = compiled(declaration)
    decision = decide(snapshot, principal, tool)

    explanation = explain(snapshot, principal, tool)

    assert explanation.decision == decision == decide(snapshot, principal, tool)


@law
@given(
    declaration=declarations,
    principal=principals,
    deny=patterns,
    grant=grants,
    closed=st.sampled_from(SERVERS),
)
def test_adding_a_deny_of_any_kind_never_lets_more_through(
    declaration: Declaration, principal: Principal, deny: str, grant: Grant, closed: str
) -> None:
    role = declaration.roles["r"]
    policy = principal.servers or ServerPolicy()
    before = may(declaration, principal)

    with_role = {**declaration.roles, "r": replace(role, deny=(*role.deny, deny))}
    with_types = tuple(replace(rule, deny=(*rule.deny, deny)) for rule in declaration.agent_types)
    with_grant = (*declaration.grants, replace(grant, effect="deny"))
    with_token = replace(principal, servers=replace(policy, deny=policy.deny | {closed}))

    assert may(replace(declaration, roles=with_role), principal) <= before
    assert may(replace(declaration, agent_types=with_types), principal) <= before
    assert may(replace(declaration, grants=with_grant), principal) <= before
    assert may(declaration, with_token) <= before


@law
@given(declaration=declarations, principal=principals, grant=grants)
def test_a_grant_never_widens_a_ceiling(
    declaration: Declaration, principal: Principal, grant: Grant
) -> None:
    # R11
    opened = {
        name: replace(server, default_access="allow")
        for name, server in declaration.servers.items()
    }
    with_grant = (*declaration.grants, replace(grant, effect="allow"))

    assert may(replace(declaration, grants=with_grant), principal) <= may(
        replace(declaration, servers=opened), principal
    )


@law
@given(declaration=declarations, principal=principals)
def test_the_order_of_rules_and_hats_never_matters(
    declaration: Declaration, principal: Principal
) -> None:
    turned = replace(
        declaration,
        servers=dict(reversed(list(declaration.servers.items()))),
        roles=dict(reversed(list(declaration.roles.items()))),
        agent_types=tuple(
            replace(rule, allow=rule.allow[::-1], deny=rule.deny[::-1])
            for rule in reversed(declaration.agent_types)
        ),
        grants=declaration.grants[::-1],
        groups=dict(reversed(list(declaration.groups.items()))),
    )
    other = replace(
        principal,
        roles=principal.roles[::-1],
        user_roles=principal.user_roles[::-1],
        groups=principal.groups[::-1],
    )

    assert may(turned, other) == may(declaration, principal)


@law
@given(declaration=declarations, principal=principals, tool=tools)
def test_another_tenants_rules_never_matter(
    declaration: Declaration, principal: Principal, tool: ToolId
) -> None:
    theirs = compile_snapshot(declaration, tenant="other", revision=1, now=NOON)

    assert not decide(theirs, principal, tool).allowed
    assert not decide(compiled(declaration), replace(principal, tenant="other"), tool).allowed


HATS: dict[str, Callable[[Principal], Principal]] = {
    "role": lambda p: replace(p, user_roles=(), agent_type=None),
    "agent type": lambda p: replace(p, user_roles=(), roles=()),
    "toolset": lambda p: replace(p, roles=(), agent_type=None),
}


@law
@given(declaration=declarations, principal=principals, tool=tools)
def test_within_a_hats_domain_several_hats_never_exceed_that_hat(
    declaration: Declaration, principal: Principal, tool: ToolId
) -> None:
    # R9
    naive = Naive(declaration, principal, tool)
    governing = [
        hat
        for hat, governs in (
            ("role", naive.by_roles()),
            ("agent type", naive.by_type()),
            ("toolset", tool.server == "data"),
        )
        if governs
    ]
    snapshot = compiled(declaration)
    if decide(snapshot, principal, tool).allowed and not naive.bypass:
        two_ceilings = len(governing) > 1
        if two_ceilings:
            # Alone an agent type has no toolset, so what is compared with is its own rules.
            governing.remove("agent type")
            assert naive.type is not None
            assert naive.fits(naive.type.allow)
            assert not naive.fits(naive.type.deny)
        for hat in governing:
            alone = HATS[hat](principal)
            opened = {
                name: replace(server, default_access="allow")
                for name, server in declaration.servers.items()
            }
            # Where two ceilings are asked, the hat alone lacks what the other names to open.
            asked = replace(declaration, servers=opened) if two_ceilings else declaration
            assert decide(compiled(asked), alone, tool).allowed


@law
@given(declaration=declarations, actor=principals, other=principals, tool=tools)
def test_acting_for_another_never_exceeds_either(
    declaration: Declaration, actor: Principal, other: Principal, tool: ToolId
) -> None:
    # R9
    snapshot = compiled(declaration)

    both = decide_for(snapshot, actor, other, tool)

    own, theirs = decide(snapshot, actor, tool), decide(snapshot, other, tool)
    assert both.allowed == (own.allowed and theirs.allowed)
    assert both == (theirs if own.allowed else own)


@law
@given(declaration=declarations, principal=principals)
def test_without_a_hat_nothing_opens_but_by_the_administrators_bypass(
    declaration: Declaration, principal: Principal
) -> None:
    # R8, R11
    bare = replace(principal, roles=("unknown",), user_roles=(), agent_type=None, service=False)
    off = replace(declaration, policy=PolicySettings())

    assert may(off, bare) == set()


@law
@given(declaration=declarations, principal=principals, tool=tools)
def test_a_snapshot_moved_on_decides_as_one_compiled_then(
    declaration: Declaration, principal: Principal, tool: ToolId
) -> None:
    early = compile_snapshot(
        declaration, tenant="default", revision=1, now=NOON - timedelta(days=1)
    )
    decide(early, principal, tool)

    for moment in (NOON - timedelta(hours=1), NOON, NOON + timedelta(hours=1)):
        moved = early.at(moment)
        fresh = compile_snapshot(declaration, tenant="default", revision=1, now=moment)

        assert moved.good_until == fresh.good_until
        assert decide(moved, principal, tool) == decide(fresh, principal, tool)
        assert moved.at(moment) is moved
