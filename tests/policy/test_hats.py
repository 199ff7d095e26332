"""The decision table of callers with hats, grants and tokens: layer, rule and reason (R9, R11)."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.errors import DeclarationError
from remit.model.decisions import Decision, Layer, Verdict
from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule, Grant, PolicySettings, ToolsetOptions
from remit.model.principals import AgentType, Principal, PrincipalKind, ServerPolicy, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Transport
from remit.model.tools import ToolId
from remit.policy.engine import (
    agent_types_that_can,
    decide,
    decide_for,
    explain,
    user_roles_that_can,
)
from remit.policy.reach import named_servers, reaches_any_server
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)

DECLARATION = Declaration(
    servers={
        "git": ServerConfig(name="git"),
        "ci": ServerConfig(name="ci"),
        "wiki": ServerConfig(name="wiki", default_access="deny"),
        "data": ServerConfig(name="data"),
        "warehouse": ServerConfig(
            name="warehouse", transport=Transport.BUILTIN, builtin="data", default_access="deny"
        ),
        "mail": ServerConfig(name="mail"),
        "post": ServerConfig(name="post", transport=Transport.BUILTIN, builtin="mail"),
        "task": ServerConfig(name="task", default_access="deny"),
    },
    roles={
        "dev": Role(
            name="dev",
            mcp_servers=("git", "task", "warehouse"),
            allow=("git/*", "ci/*", "*/read", "mail/*", "data/*"),
            deny=("mail/forward",),
        ),
        "clerk": Role(name="clerk", tools={"ci": ("run",)}),
    },
    agent_types=(
        AgentTypeRule(
            type=AgentType.WORKER,
            allow=("mcp__mail__*", "ci/log", "data/query", "task/*", "mail/send"),
            deny=("mail/shout", "ci/l*", "git/*", "post/lost"),
        ),
    ),
    toolsets=ToolsetOptions(allow_ontology_maintenance=False),
    grants=(
        Grant(subject="group:night", effect="allow", server="wiki"),  # 0
        Grant(subject="user:ann", effect="allow", tool="wiki/read"),  # 1
        Grant(subject="*", effect="deny", tool="git/push*"),  # 2
        Grant(subject="user:bob", effect="deny", server="git"),  # 3
        Grant(subject="role:clerk", effect="deny", server="git"),  # 4
        Grant(subject="key:ci", effect="allow", server="wiki", until=NOON),  # 5
        Grant(subject="agent:w1", effect="deny", tool="mail/list"),  # 6
        Grant(subject="role:dev", effect="allow", server="task"),  # 7
        Grant(subject="role:dev", effect="allow", tool="wiki/rea*"),  # 8
        Grant(subject="user:ann", effect="allow", server="warehouse"),  # 9
        Grant(subject="user:off", effect="deny", server="git", enabled=False),  # 10
        Grant(subject="user:bob", effect="deny", server="git"),  # 11
        Grant(subject="group:gone", effect="deny", server="git"),  # 12
    ),
    groups={"night": ("user:eve", "key:k"), "gone": ("user:eve2", "user:cid"), "x": ("user:cid",)},
)


def snapshot(declaration: Declaration = DECLARATION) -> PolicySnapshot:
    early = NOON - timedelta(hours=1)
    return compile_snapshot(declaration, tenant="default", revision=5, now=early)


def user(name: str, *roles: str, **hats: object) -> Principal:
    principal = Principal(kind=PrincipalKind.USER, name=name, roles=roles)
    return replace(principal, **hats)


def agent(name: str, *roles: str) -> Principal:
    return Principal(kind=PrincipalKind.AGENT, name=name, roles=roles, agent_type=AgentType.WORKER)


SERVICE = Principal(kind=PrincipalKind.KEY, name="svc", service=True, roles=("dev",))
KEY = Principal(kind=PrincipalKind.KEY, name="ci", roles=("dev",))
OWNER = ServerPolicy(allow=frozenset({"wiki"}), deny=frozenset({"ci"}), admin=True)


@dataclass(frozen=True, kw_only=True)
class Row:
    who: Principal
    tool: str
    allowed: bool = False
    layer: Layer = Layer.CEILING
    rule: str = ""
    reason: str


ROWS = {
    # Toolsets govern `data`, by name or as remit's own server; roles have no say there.
    "toolset": Row(
        who=user("x", user_roles=(UserRole.USER,)),
        tool="data/query",
        allowed=True,
        rule="toolsets.user",
        reason="toolset 'user' holds the tool",
    ),
    "toolset, by an option": Row(
        who=user("x", user_roles=(UserRole.USER, UserRole.DATA)),
        tool="data/approve_change",
        allowed=True,
        rule="toolsets.developer.addOntologyMaintenance",
        reason="toolset 'developer' holds the tool",
    ),
    "toolset, option off": Row(
        who=user("x", user_roles=(UserRole.USER,)),
        tool="data/approve_change",
        rule="toolsets.user.allowOntologyMaintenance",
        reason="toolset 'user' holds the tool only with allowOntologyMaintenance, which is off",
    ),
    "toolset of others": Row(
        who=user("x", user_roles=(UserRole.USER,)),
        tool="data/execute",
        reason="toolset 'user' does not hold 'execute'",
    ),
    "a role opens no data": Row(
        who=user("x", "dev"),
        tool="data/query",
        reason="toolsets govern server 'data', and the caller has no user role",
    ),
    "remit's own server under another name": Row(
        who=user("ann", "dev"),
        tool="warehouse/read",
        reason="toolsets govern server 'warehouse', and the caller has no user role",
    ),
    "data, opened by a grant": Row(
        who=user("ann", user_roles=(UserRole.USER,)),
        tool="warehouse/query",
        allowed=True,
        rule="toolsets.user",
        reason="toolset 'user' holds the tool",
    ),
    "data, not opened by a role that names it": Row(
        who=user("bob", "dev", user_roles=(UserRole.USER,)),
        tool="warehouse/query",
        layer=Layer.ACCESS,
        reason="server 'warehouse' is not open by default, and nothing opens it to the caller",
    ),
    # A service key's scope governs everything (R6: it is one by how it authenticated).
    "service key": Row(
        who=SERVICE,
        tool="data/health",
        allowed=True,
        rule="toolsets.agent_tools",
        reason="toolset 'agent_tools' holds the tool",
    ),
    "service key, other data": Row(
        who=SERVICE, tool="data/query", reason="toolset 'agent_tools' does not hold 'query'"
    ),
    "service key, elsewhere": Row(
        who=SERVICE, tool="git/log", reason="a service key opens nothing of server 'git'"
    ),
    "a key of that name": Row(
        who=replace(KEY, name="agent"),
        tool="data/health",
        reason="toolsets govern server 'data', and the caller has no user role",
    ),
    # Agent types govern the crew, and what an allow names literally.
    "agent type": Row(
        who=agent("w2"),
        tool="mail/send",
        allowed=True,
        rule="agent_types.WORKER.allow[0]",
        reason="agent type WORKER allows 'mcp__mail__*'",
    ),
    "agent type, the crew under another name": Row(
        who=agent("w2", "dev"), tool="post/read", reason="agent type WORKER does not allow it"
    ),
    "a type's deny, of the crew under another name": Row(
        who=agent("w2"),
        tool="post/lost",
        layer=Layer.DENY,
        rule="agent_types.WORKER.deny[3]",
        reason="agent type WORKER denies 'post/lost'",
    ),
    "no agent": Row(
        who=user("x", "dev"),
        tool="mail/send",
        reason="agent types govern server 'mail', and the caller has none",
    ),
    "agent type governs what it names, and roles do not": Row(
        who=agent("w2", "dev"), tool="ci/run", reason="agent type WORKER does not allow it"
    ),
    "a type's deny, where it governs": Row(
        who=agent("w2", "dev"),
        tool="ci/log",
        layer=Layer.DENY,
        rule="agent_types.WORKER.deny[1]",
        reason="agent type WORKER denies 'ci/l*'",
    ),
    "a type's deny, where roles govern": Row(
        who=agent("w2", "dev"),
        tool="git/log",
        allowed=True,
        rule="roles.dev.allow[0]",
        reason="role 'dev' allows 'git/*'",
    ),
    "a role governs for everybody else": Row(
        who=user("x", "dev"),
        tool="ci/log",
        allowed=True,
        rule="roles.dev.allow[1]",
        reason="role 'dev' allows 'ci/*'",
    ),
    "two ceilings: one says no": Row(
        who=agent("w2"),
        tool="data/query",
        reason="toolsets govern server 'data', and the caller has no user role",
    ),
    "two ceilings: the other says no": Row(
        who=replace(agent("w2"), user_roles=(UserRole.USER,)),
        tool="data/sample",
        reason="agent type WORKER does not allow it",
    ),
    "two ceilings: both say yes": Row(
        who=replace(agent("w2"), user_roles=(UserRole.USER,)),
        tool="data/query",
        allowed=True,
        rule="toolsets.user",
        reason="toolset 'user' holds the tool",
    ),
    "a type opens what it names": Row(
        who=agent("w2"),
        tool="task/list",
        allowed=True,
        rule="agent_types.WORKER.allow[3]",
        reason="agent type WORKER allows 'task/*'",
    ),
    "a role opens no server that a type governs": Row(
        who=replace(agent("w2", "dev"), agent_type=AgentType.SUPERVISOR),
        tool="task/list",
        layer=Layer.ACCESS,
        reason="server 'task' is not open by default, and nothing opens it to the caller",
    ),
    "a role's deny binds everywhere": Row(
        who=agent("w2", "dev"),
        tool="mail/forward",
        layer=Layer.DENY,
        rule="roles.dev.deny[0]",
        reason="role 'dev' denies 'mail/forward'",
    ),
    # Grants.
    "denied to everybody": Row(
        who=user("bob", "dev"),
        tool="git/push_all",
        layer=Layer.DENY,
        rule="grants[2]",
        reason="'git/push*' is denied to everybody",
    ),
    "denied to a user": Row(
        who=user("bob", "clerk", "dev"),
        tool="git/log",
        layer=Layer.DENY,
        rule="grants[3]",
        reason="server 'git' is denied to user:bob",
    ),
    "a key of a user's name is not the user": Row(
        who=replace(KEY, name="bob"),
        tool="git/log",
        allowed=True,
        rule="roles.dev.allow[0]",
        reason="role 'dev' allows 'git/*'",
    ),
    "denied to a role": Row(
        who=user("x", "dev", "clerk"),
        tool="git/log",
        layer=Layer.DENY,
        rule="grants[4]",
        reason="server 'git' is denied to role:clerk",
    ),
    "denied to a group of the declaration": Row(
        who=user("cid", "dev"),
        tool="git/log",
        layer=Layer.DENY,
        rule="grants[12]",
        reason="server 'git' is denied to group:gone",
    ),
    "denied to a group of the token": Row(
        who=user("x", "dev", groups=("gone",)),
        tool="git/log",
        layer=Layer.DENY,
        rule="grants[12]",
        reason="server 'git' is denied to group:gone",
    ),
    "denied to an agent": Row(
        who=agent("w1"),
        tool="mail/list",
        layer=Layer.DENY,
        rule="grants[6]",
        reason="'mail/list' is denied to agent:w1",
    ),
    "a deny that is switched off": Row(
        who=user("off", "dev"),
        tool="git/log",
        allowed=True,
        rule="roles.dev.allow[0]",
        reason="role 'dev' allows 'git/*'",
    ),
    "a grant of what no ceiling allows": Row(
        who=user("eve"), tool="wiki/read", reason="no role allows it: the caller has none"
    ),
    # Tokens.
    "denied by the token": Row(
        who=user("x", "dev", servers=replace(OWNER, admin=False)),
        tool="ci/log",
        layer=Layer.DENY,
        rule="token.mcpServerDenyIds",
        reason="the caller's token denies server 'ci'",
    ),
    "denied by an administrator's token, without the bypass": Row(
        who=user("x", "dev", servers=OWNER),
        tool="ci/log",
        layer=Layer.DENY,
        rule="token.mcpServerDenyIds",
        reason="the caller's token denies server 'ci'",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_decision_and_its_rule_are_exactly(name: str) -> None:
    row = ROWS[name]
    server, _, tool = row.tool.partition("/")

    assert decide(snapshot(), row.who, ToolId(server, tool)) == Decision(
        allowed=row.allowed, layer=row.layer, rule=row.rule, reason=row.reason, revision=5
    )
    said = {
        one.layer: one.verdict for one in explain(snapshot(), row.who, ToolId(server, tool)).layers
    }
    assert all(isinstance(verdict, Verdict) for verdict in said.values())
    assert said[row.layer] is (Verdict.ALLOW if row.allowed else Verdict.DENY)


ACCESS = {
    "a role that names it": (
        replace(KEY, name="y", roles=("namer",)),
        "roles.namer.mcp_servers[0]",
        "role 'namer' names server 'wiki'",
    ),
    "a group of the declaration": (
        user("eve"),
        "grants[0]",
        "server 'wiki' is granted to group:night",
    ),
    "a group of the token": (
        user("x", groups=("night",)),
        "grants[0]",
        "server 'wiki' is granted to group:night",
    ),
    "a user, by a pattern": (
        user("ann"),
        "grants[1]",
        "'wiki/read' is granted to user:ann",
    ),
    "the first of several": (
        user("ann", groups=("night",)),
        "grants[0]",
        "server 'wiki' is granted to group:night",
    ),
    "a key": (replace(KEY, roles=()), "grants[5]", "server 'wiki' is granted to key:ci"),
    "a role, by a pattern": (
        user("x", "dev"),
        "grants[8]",
        "'wiki/rea*' is granted to role:dev",
    ),
    "a token": (
        user("x", servers=OWNER),
        "token.mcpServerAllowIds",
        "the caller's token opens server 'wiki'",
    ),
}


@pytest.mark.parametrize("name", ACCESS)
def test_a_server_that_is_not_open_is_opened_by(name: str) -> None:
    who, rule, reason = ACCESS[name]
    namer = Role(name="namer", mcp_servers=("wiki",))
    declaration = replace(DECLARATION, roles={**DECLARATION.roles, "namer": namer})

    said = explain(snapshot(declaration), who, ToolId("wiki", "read")).layers[4]

    assert (said.layer, said.verdict, said.rule, said.reason) == (
        Layer.ACCESS,
        Verdict.ALLOW,
        rule,
        reason,
    )


def test_a_type_that_names_a_server_literally_opens_it() -> None:
    said = explain(snapshot(), agent("w2"), ToolId("task", "list")).layers[4]

    assert (said.rule, said.reason) == (
        "agent_types.WORKER.allow[3]",
        "agent type WORKER names server 'task'",
    )
    assert (said.layer, said.verdict) == (Layer.ACCESS, Verdict.ALLOW)


def test_a_server_that_is_not_declared_is_explained_by_the_hat_that_would_govern_it() -> None:
    empty = snapshot(replace(DECLARATION, servers={}))

    def reason(who: Principal, tool: ToolId, layer: int) -> str:
        return explain(empty, who, tool).layers[layer].reason

    assert reason(user("x"), ToolId("data", "query"), 3).startswith("toolsets govern")
    assert reason(user("x"), ToolId("mail", "send"), 3).startswith("agent types govern")
    assert reason(user("x"), ToolId("git", "log"), 3).startswith("no role allows it")
    assert reason(SERVICE, ToolId("mail", "send"), 3).startswith("a service key opens nothing")
    assert (
        reason(agent("w2"), ToolId("mail", "shout"), 2) == "agent type WORKER denies 'mail/shout'"
    )


@pytest.mark.parametrize("other", ["user:ann", "group:day"])
def test_a_tool_granted_to_somebody_else_stays_closed(other: str) -> None:
    grants = (Grant(subject=other, effect="allow", server="wiki"),)
    declaration = replace(DECLARATION, grants=grants)

    assert not decide(snapshot(declaration), user("x", "dev"), ToolId("wiki", "read")).allowed


BYPASS = replace(DECLARATION, policy=PolicySettings(admin_bypass=True))


@pytest.mark.parametrize(
    ("tool", "layer", "rule"),
    [
        ("wiki/anything", Layer.CEILING, "policy.admin_bypass"),
        ("data/execute", Layer.CEILING, "policy.admin_bypass"),
        ("mail/send", Layer.CEILING, "policy.admin_bypass"),
        ("ci/log", Layer.CEILING, "policy.admin_bypass"),
        # Denies of tools are not in the source's rule, and bind everybody.
        ("git/push", Layer.DENY, "grants[2]"),
        ("mail/forward", Layer.DENY, "roles.dev.deny[0]"),
    ],
)
def test_with_the_bypass_an_administrators_token_gets_every_server(
    tool: str, layer: Layer, rule: str
) -> None:
    # R12, S4.5
    server, _, name = tool.partition("/")
    bob = user("bob", "dev", servers=OWNER)

    decision = decide(snapshot(BYPASS), bob, ToolId(server, name))

    assert (decision.layer, decision.rule) == (layer, rule)
    assert decision.allowed is (layer is Layer.CEILING)


def test_what_the_bypass_lets_through_says_so_in_every_layer() -> None:
    layers = explain(snapshot(BYPASS), user("bob", servers=OWNER), ToolId("wiki", "x")).layers

    assert [(said.layer, said.verdict, said.rule, said.reason) for said in layers[2:5]] == [
        (
            Layer.DENY,
            Verdict.SILENT,
            "policy.admin_bypass",
            "no deny of a tool fits, and those of servers do not bind this administrator",
        ),
        (
            Layer.CEILING,
            Verdict.ALLOW,
            "policy.admin_bypass",
            "an administrator gets every server (S4.5)",
        ),
        (
            Layer.ACCESS,
            Verdict.ALLOW,
            "policy.admin_bypass",
            "an administrator gets every server (S4.5)",
        ),
    ]


@pytest.mark.parametrize(
    "principal",
    [
        user("x", admin=True),
        user("x", servers=replace(OWNER, admin=False)),
        user("x", servers=OWNER, tenant="other"),
    ],
)
def test_the_bypass_is_for_administrators_tokens_of_the_tenant_alone(principal: Principal) -> None:
    assert not decide(snapshot(BYPASS), principal, ToolId("git", "log")).allowed


@pytest.mark.parametrize(
    "declaration",
    [
        Declaration(grants=(Grant(subject="*", effect="deny", tool="bare"),)),
        Declaration(agent_types=(AgentTypeRule(type=AgentType.WORKER, allow=("*",)),)),
        Declaration(agent_types=(AgentTypeRule(type=AgentType.WORKER, deny=("*",)),)),
    ],
)
def test_a_bad_pattern_anywhere_makes_no_snapshot(declaration: Declaration) -> None:
    with pytest.raises(DeclarationError, match="names no server"):
        snapshot(declaration)


def test_acting_for_another_takes_what_both_may() -> None:
    # R9
    rules = snapshot()
    dev, clerk = user("d", "dev"), user("c", "clerk")

    assert decide_for(rules, dev, clerk, ToolId("ci", "run")).rule == "roles.clerk.tools.ci[0]"
    assert not decide_for(rules, dev, clerk, ToolId("ci", "log")).allowed
    refused = decide_for(rules, clerk, dev, ToolId("ci", "log"))
    assert (refused.allowed, refused.reason) == (
        False,
        "no role allows it: the caller has 'clerk'",
    )


def test_who_can_by_user_role_and_agent_type() -> None:
    rules = snapshot()

    assert user_roles_that_can(rules, ToolId("data", "execute")) == (
        UserRole.ADMIN,
        UserRole.DATA,
        UserRole.DEVELOPER,
    )
    assert user_roles_that_can(rules, ToolId("data", "query")) == tuple(UserRole)
    assert user_roles_that_can(rules, ToolId("git", "log")) == ()
    assert agent_types_that_can(rules, ToolId("mail", "send")) == tuple(AgentType)
    assert agent_types_that_can(rules, ToolId("task", "create")) == (
        AgentType.ORCHESTRATOR,
        AgentType.WORKER,
    )
    assert agent_types_that_can(rules, ToolId("git", "log")) == ()
    other = compile_snapshot(DECLARATION, tenant="other", revision=1)
    assert user_roles_that_can(other, ToolId("data", "query")) == tuple(UserRole)
    assert agent_types_that_can(other, ToolId("mail", "send")) == tuple(AgentType)


def test_the_memo_tells_callers_apart_by_what_matters_alone() -> None:
    rules = snapshot()
    push = ToolId("git", "log")
    for who in (
        user("x", "dev"),
        user("y", "dev"),
        user("z", "dev", groups=("unheard",), admin=True),
        user("w", "dev", issuer="https://idp.example", expires=NOON),
    ):
        assert decide(rules, who, push).allowed
    assert len(rules.decisions) == 1

    assert not decide(rules, user("bob", "dev"), push).allowed
    assert len(rules.decisions) == 2


def test_what_a_callers_rules_name_is_told_hat_by_hat() -> None:
    # R14: for the words about a list that is empty.
    rules = snapshot()
    namer = user("x", "clerk", user_roles=(UserRole.USER,))

    assert named_servers(rules, namer) == ("ci", "data", "warehouse")
    assert named_servers(rules, agent("w1", "clerk")) == ("ci", "mail", "data", "task")
    assert named_servers(rules, SERVICE) == ("data", "warehouse")
    assert named_servers(rules, replace(namer, tenant="other")) == ()
    assert reaches_any_server(rules, user("x", "dev"))
    assert reaches_any_server(rules, replace(agent("w"), agent_type=AgentType.SUPERVISOR))
    assert not reaches_any_server(rules, agent("w", "clerk"))
    assert not reaches_any_server(rules, replace(user("x", "dev"), tenant="other"))


def test_a_key_that_acts_for_an_agent_may_what_both_may() -> None:
    # R26, R9: what its scope names opens no tool to the key, nor to the agent
    rules = snapshot()
    agent = Principal(kind=PrincipalKind.AGENT, name="w1", roles=("clerk",))
    plain = Principal(kind=PrincipalKind.KEY, name="ci", roles=("dev",))
    scoped = replace(plain, act_for=("w1",))
    run, log = ToolId("ci", "run"), ToolId("ci", "log")

    for tool in (run, log, ToolId("git", "push"), ToolId("mail", "forward")):
        assert decide(rules, scoped, tool) == decide(rules, plain, tool)
    assert decide_for(rules, scoped, agent, run).allowed
    assert decide(rules, scoped, log).allowed
    assert not decide_for(rules, scoped, agent, log).allowed
    assert not decide_for(rules, replace(scoped, roles=()), agent, run).allowed
