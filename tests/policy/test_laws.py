"""Laws of policy: what holds whatever the rules are (R8-R12)."""

import re
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.callers import standing_of
from remit.policy.engine import decide, explain, roles_that_can
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

law = settings(deadline=None)

# Few names, so that rules meet tools often; `a` and `a_` read alike in one spelling.
SERVERS = ("a", "a_", "b", "ghost")
TOOLS = [ToolId(server, name) for server in SERVERS for name in ("x", "_x", "X", "drop_x")]
ROLES = ("r", "s", "t")

server_parts = st.sampled_from((*SERVERS, "*", "a*"))
tool_parts = st.sampled_from(("x", "_x", "*", "drop_*", "*x", "_*", "X"))
patterns = st.one_of(
    st.builds("{}/{}".format, server_parts, tool_parts),
    st.builds("mcp__{}__{}".format, server_parts, tool_parts),
)
pattern_lists = st.lists(patterns, max_size=4).map(tuple)
tool_lists = st.lists(st.sampled_from(("x", "_x", "X", "*")), max_size=3).map(tuple)
roles = st.builds(
    Role,
    name=st.just("r"),
    mcp_servers=st.lists(st.sampled_from(SERVERS), max_size=2).map(tuple),
    tools=st.dictionaries(st.sampled_from(SERVERS), tool_lists, max_size=2),
    allow=pattern_lists,
    deny=st.one_of(st.just(()), st.just(()), pattern_lists),
)
role_tables = st.fixed_dictionaries({"r": roles, "s": roles}, optional={"t": roles}).map(
    lambda table: {name: replace(role, name=name) for name, role in table.items()}
)
declared_servers = {
    name: st.builds(
        ServerConfig,
        name=st.just(name),
        enabled=st.sampled_from((True, True, True, True, True, False)),
        default_access=st.sampled_from(("allow", "deny")),
    )
    for name in SERVERS
    if name != "ghost"
}
server_tables = st.fixed_dictionaries(
    {name: declared_servers[name] for name in ("a", "a_")}, optional={"b": declared_servers["b"]}
)
declarations = st.builds(Declaration, servers=server_tables, roles=role_tables)
held_roles = st.lists(st.sampled_from((*ROLES, *ROLES, "unknown")), min_size=1, max_size=3).map(
    tuple
) | st.just(())
tools = st.sampled_from([*(tool for tool in TOOLS if tool.server != "ghost"), TOOLS[-1]])


def caller(held: tuple[str, ...], tenant: str = "default") -> Principal:
    return Principal(kind=PrincipalKind.KEY, name="k", tenant=tenant, roles=held)


def compiled(declaration: Declaration, tenant: str = "default") -> PolicySnapshot:
    return compile_snapshot(declaration, tenant=tenant, revision=1)


def may(declaration: Declaration, held: tuple[str, ...]) -> set[ToolId]:
    snapshot = compiled(declaration)
    return {tool for tool in TOOLS if decide(snapshot, caller(held), tool).allowed}


def with_role(declaration: Declaration, role: Role) -> Declaration:
    return replace(declaration, roles={**declaration.roles, role.name: role})


def fits(pattern: str, tool: ToolId) -> bool:
    """Read a pattern naively."""
    text = f"mcp__{tool.server}__{tool.name}" if pattern.startswith("mcp__") else str(tool)
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None


def names(role: Role, server: str) -> bool:
    """Read R11 naively; `mcp__a___x` names `a`, which no server's name can contradict."""
    literally = any(
        pattern.startswith(f"{server}/")
        or (pattern.startswith(f"mcp__{server}__") and not server.endswith("_"))
        for pattern in role.allow
    )
    return literally or server in role.mcp_servers or server in role.tools


def naive(servers: Mapping[str, ServerConfig], held: list[Role], tool: ToolId) -> bool:
    """Read R8, R9 and R11 without an index."""
    server = servers.get(tool.server)
    if server is None or not server.enabled:
        return False
    if any(fits(pattern, tool) for role in held for pattern in role.deny):
        return False
    granted = any(
        tool.name in role.tools.get(tool.server, ())
        or any(fits(pattern, tool) for pattern in role.allow)
        for role in held
    )
    opened = server.default_access == "allow" or any(names(role, tool.server) for role in held)
    return granted and opened


@law
@given(declaration=declarations, held=held_roles, tool=tools)
def test_the_index_changes_no_answer(
    declaration: Declaration, held: tuple[str, ...], tool: ToolId
) -> None:
    known = [declaration.roles[name] for name in held if name in declaration.roles]

    answer = decide(compiled(declaration), caller(held), tool).allowed

    assert answer == naive(declaration.servers, known, tool)


@law
@given(declaration=declarations, held=held_roles, tool=tools)
def test_explain_agrees_with_decide(
    declaration: Declaration, held: tuple[str, ...], tool: ToolId
) -> None:
    snapshot = compiled(declaration)
    decision = decide(snapshot, caller(held), tool)

    explanation = explain(snapshot, caller(held), tool)

    assert explanation.decision == decision == decide(snapshot, caller(held), tool)
    assert any(
        (verdict.layer, verdict.rule, verdict.reason)
        == (decision.layer, decision.rule, decision.reason)
        for verdict in explanation.layers
    )


@law
@given(servers=server_tables, held=held_roles)
def test_no_rules_say_no(servers: dict[str, ServerConfig], held: tuple[str, ...]) -> None:
    empty = {name: Role(name=name, mcp_servers=SERVERS) for name in ROLES}

    assert may(Declaration(servers=servers), held) == set()
    assert may(Declaration(servers=servers, roles=empty), held) == set()


@law
@given(declaration=declarations, held=held_roles)
def test_no_roles_say_no(declaration: Declaration, held: tuple[str, ...]) -> None:
    assert may(declaration, ()) == set()
    assert may(declaration, tuple("unknown" for _ in held)) == set()


@law
@given(declaration=declarations, held=held_roles, role=roles, deny=patterns)
def test_adding_a_deny_never_lets_more_through(
    declaration: Declaration, held: tuple[str, ...], role: Role, deny: str
) -> None:
    before = with_role(declaration, role)
    after = with_role(declaration, replace(role, deny=(*role.deny, deny)))

    assert may(after, held) <= may(before, held)


@law
@given(declaration=declarations, held=held_roles, role=roles, allow=patterns)
def test_removing_an_allow_never_lets_more_through(
    declaration: Declaration, held: tuple[str, ...], role: Role, allow: str
) -> None:
    before = with_role(declaration, replace(role, allow=(*role.allow, allow)))
    without = with_role(declaration, replace(role, allow=role.allow[:-1]))

    assert may(with_role(declaration, role), held) <= may(before, held)
    assert may(without, held) <= may(with_role(declaration, role), held)


@law
@given(declaration=declarations, held=held_roles)
def test_order_does_not_matter(declaration: Declaration, held: tuple[str, ...]) -> None:
    turned = {
        name: replace(
            role,
            allow=role.allow[::-1],
            deny=role.deny[::-1],
            mcp_servers=role.mcp_servers[::-1],
            tools={server: names[::-1] for server, names in reversed(list(role.tools.items()))},
        )
        for name, role in reversed(list(declaration.roles.items()))
    }

    assert may(replace(declaration, roles=turned), held[::-1]) == may(declaration, held)


@law
@given(declaration=declarations, other=declarations, held=held_roles, tool=tools)
def test_another_tenants_rules_do_not_matter(
    declaration: Declaration, other: Declaration, held: tuple[str, ...], tool: ToolId
) -> None:
    theirs = compiled(other, tenant="other")

    assert not decide(theirs, caller(held), tool).allowed
    assert not decide(compiled(declaration), caller(held, tenant="other"), tool).allowed


@law
@given(declaration=declarations, held=held_roles)
def test_an_unknown_role_is_nothing(declaration: Declaration, held: tuple[str, ...]) -> None:
    assert may(declaration, (*held, "unknown")) == may(declaration, held)


@law
@given(declaration=declarations, held=held_roles)
def test_roles_that_deny_nothing_are_a_union_where_servers_are_open(
    declaration: Declaration, held: tuple[str, ...]
) -> None:
    harmless = replace(
        declaration,
        servers={
            name: replace(server, default_access="allow")
            for name, server in declaration.servers.items()
        },
        roles={name: replace(role, deny=()) for name, role in declaration.roles.items()},
    )
    alone = [may(harmless, (name,)) for name in held]

    assert may(harmless, held) == set[ToolId]().union(*alone)


@law
@given(declaration=declarations, held=held_roles, tool=tools)
def test_nothing_is_allowed_of_a_server_that_a_caller_may_not_reach(
    declaration: Declaration, held: tuple[str, ...], tool: ToolId
) -> None:
    snapshot = compiled(declaration)
    standing = standing_of(snapshot, caller(held))

    assert standing.may_reach(tool.server) or not decide(snapshot, caller(held), tool).allowed


@law
@given(declaration=declarations, held=held_roles)
def test_the_order_of_asking_does_not_matter(
    declaration: Declaration, held: tuple[str, ...]
) -> None:
    snapshot = compiled(declaration)
    forwards = [decide(snapshot, caller(held), tool) for tool in TOOLS]

    fresh = compiled(declaration)
    backwards = [decide(fresh, caller(held), tool) for tool in reversed(TOOLS)]

    assert forwards == backwards[::-1]


@law
@given(declaration=declarations, tool=tools)
def test_who_can_are_the_roles_that_may_alone(declaration: Declaration, tool: ToolId) -> None:
    alone = tuple(name for name in declaration.roles if tool in may(declaration, (name,)))

    assert roles_that_can(compiled(declaration), tool) == alone


@law
@given(declaration=declarations, held=held_roles, tool=tools)
def test_administering_changes_no_answer(
    declaration: Declaration, held: tuple[str, ...], tool: ToolId
) -> None:
    # R12
    plain, admin = caller(held), replace(caller(held), admin=True)

    answers = {decide(compiled(declaration), who, tool).allowed for who in (plain, admin)}

    assert len(answers) == 1
