"""The administrator's questions: who can call what, and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from tests.calls.worlds import World, declared, tool

from remit.admin.authority import Answer, Authority, WhoCan
from remit.admin.subjects import NamedCaller, Rights
from remit.errors import BadCall, CallDenied
from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.keys import Key
from remit.model.limits import Limit
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.snapshot import compile_snapshot
from remit.upstreams.names import Names

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
PUSH, STATUS = ToolId("git", "push"), ToolId("git", "status")

ROLES = [
    Role(name="lead", tools={"git": ("status", "push")}),
    Role(name="clerk", tools={"git": ("status",), "vault": ("open",)}),
    Role(name="intern", allow=("git/*",), deny=("git/push",)),
]
SERVERS = [ServerConfig(name="git"), ServerConfig(name="vault", default_access="deny")]
SNAPSHOT = compile_snapshot(
    Declaration(
        servers={server.name: server for server in SERVERS},
        roles={role.name: role for role in ROLES},
        limits=(Limit(role="intern", calls=3, seconds=60), Limit(role="lead", calls=9, seconds=1)),
    ),
    tenant="default",
    revision=12,
)


def authority(*known: ToolId, available: Sequence[ToolId] = (STATUS,)) -> Authority:
    return Authority(SNAPSHOT, Names.build(known or (STATUS, PUSH)), available)


def acting(*roles: str) -> Principal:
    return Principal(kind=PrincipalKind.ROLE, name=roles[0], roles=roles)


def key(name: str, *roles: str, tenant: str = "default") -> Key:
    return Key(
        id=f"id-{name}",
        name=name,
        tenant=tenant,
        secret_hash="00",
        roles=roles,
        created=NOON - timedelta(days=1),
    )


def named(*keys: Key) -> Sequence[NamedCaller]:
    """Return who bears keys that are no agents'."""
    kind = PrincipalKind.KEY
    return [
        NamedCaller(
            kind,
            one.name,
            one.tenant,
            one.name,
            Rights(kind, roles=one.roles, user_roles=one.user_roles, service=one.service),
        )
        for one in keys
    ]


def test_the_limits_that_a_call_falls_under_are_shown_where_it_is_allowed() -> None:
    allowed = authority().explain(acting("intern", "lead"), "git__status").to_json()
    denied = authority().explain(acting("intern"), "git__push").to_json()

    assert allowed["limits"] == [
        {"rule": "limits[0]", "calls": 3, "seconds": 60, "used": None},
        {"rule": "limits[1]", "calls": 9, "seconds": 1, "used": None},
    ]
    assert denied["limits"] == []


def test_a_yes_has_the_shape_of_the_contract() -> None:
    # product.md, JSON shapes that stay fixed
    answer = authority().explain(acting("clerk"), "git__status").to_json()

    assert answer == {
        "allowed": True,
        "layer": "ceiling",
        "rule": "roles.clerk.tools.git[0]",
        "reason": "role 'clerk' names the tool",
        "revision": 12,
        "tool": "git/status",
        "available": True,
        "limits": [],
        "arguments": None,
        "layers": answer["layers"],
    }
    layers = cast("list[dict[str, str]]", answer["layers"])
    assert [(layer["layer"], layer["verdict"], layer["rule"]) for layer in layers] == [
        ("tenant", "allow", ""),
        ("server", "allow", "mcp_servers.git"),
        ("deny", "silent", ""),
        ("ceiling", "allow", "roles.clerk.tools.git[0]"),
        ("access", "allow", "mcp_servers.git.default_access"),
        ("tool", "silent", ""),
    ]
    assert layers[3]["reason"] == "role 'clerk' names the tool"


def test_a_no_names_layer_rule_and_revision() -> None:
    answer = authority().explain(acting("intern"), "git/push")

    assert answer.tool == PUSH
    assert not answer.available
    json = answer.to_json()
    assert (json["allowed"], json["layer"], json["rule"], json["revision"]) == (
        False,
        "deny",
        "roles.intern.deny[0]",
        12,
    )
    assert json["reason"] == "role 'intern' denies 'git/push'"


@pytest.mark.parametrize("role", ["lead", "clerk", "intern", "nosuch"])
@pytest.mark.parametrize("asked", [STATUS, PUSH, ToolId("vault", "open"), ToolId("x", "y")])
def test_what_is_explained_is_what_is_decided(role: str, asked: ToolId) -> None:
    # R10
    answer = authority(STATUS, PUSH).explain(acting(role), str(asked))

    assert answer.explanation.decision == decide(SNAPSHOT, acting(role), asked)


@pytest.mark.parametrize(
    "alias", ["git__status", "mcp__git__status", "mcp_git_status", "git/status"]
)
def test_any_spelling_of_a_tool_can_be_asked_about(alias: str) -> None:
    assert authority().find_tool(alias) == STATUS


def test_a_tool_that_was_never_seen_is_decided_on_by_its_declared_name() -> None:
    # product.md: explain decides on declared names even when a server has not been seen yet
    answer = authority().explain(acting("clerk"), "vault/open")

    assert answer.explanation.decision.allowed
    assert answer.tool == ToolId("vault", "open")
    assert answer.to_json()["available"] is False


def test_a_tool_that_is_seen_and_not_granted_is_available_and_denied() -> None:
    answer = authority(available=(STATUS, PUSH)).explain(acting("clerk"), "git/push")

    assert answer.available
    assert not answer.explanation.decision.allowed


@pytest.mark.parametrize("alias", ["status", "git__nosuch", "", "/", "git/", "/status"])
def test_a_name_that_means_nothing_is_a_no_that_says_how_to_ask(alias: str) -> None:
    answer = authority().explain(acting("lead"), alias)

    assert answer.to_json() == {
        "allowed": False,
        "layer": "server",
        "rule": "",
        "reason": f"no tool by the name {alias!r} is known; write server/tool to ask about one",
        "revision": 12,
        "tool": None,
        "available": False,
        "limits": [],
        "arguments": None,
        "layers": [],
    }


def test_a_name_that_fits_several_tools_lists_them_to_whoever_asks_who_can() -> None:
    # R2
    with pytest.raises(BadCall) as bad:
        authority(ToolId("a_", "x"), ToolId("a", "_x")).who_can("mcp__a___x")

    assert str(bad.value) == (
        "the name 'mcp__a___x' fits several tools: a/_x, a_/x; use one of them"
    )


NEAR, FAR = ToolId("a_b", "c"), ToolId("a", "b_c")


@pytest.mark.parametrize(
    ("granted", "meant"), [((), FAR), ((NEAR,), NEAR), ((FAR,), FAR), ((NEAR, FAR), None)]
)
def test_a_name_that_fits_several_tools_means_what_it_would_mean_in_a_call(
    granted: Sequence[ToolId], meant: ToolId | None
) -> None:
    # R10: there is no second path
    role = Role(name="one", tools={one.server: (one.name,) for one in granted})
    offers = {one.server: [tool(one.server, one.name)] for one in (NEAR, FAR)}
    world = World(declared([role], ["a", "a_b"]), offers)
    asked = Authority(world.snapshot, world.directory.names, ())

    if meant is None:
        with pytest.raises(BadCall, match="a/b_c, a_b/c; use one of them"):
            asked.explain(acting("one"), "mcp_a_b_c")
        return
    answer = asked.explain(acting("one"), "mcp_a_b_c")

    assert answer.tool == meant
    decision = answer.explanation.decision
    assert decision.allowed is bool(granted)
    call = world.call(acting("one"), "mcp_a_b_c")
    if decision.allowed:
        assert world.authorize(call).permit.tool_id == meant
    else:
        with pytest.raises(CallDenied) as denied:
            world.authorize(call)
        assert (denied.value.reason, denied.value.rule) == (decision.reason, decision.rule)


def test_everybody_who_can_is_named_in_the_shape_of_the_contract() -> None:
    keys = [key("ci", "clerk", "lead"), key("bot", "clerk"), key("root")]

    found = authority().who_can("git__push", named(*keys))

    assert (found.roles, found.keys) == (("lead",), ("ci",))
    assert found.to_json() == {
        "roles": ["lead"],
        "keys": ["ci"],
        "users": [],
        "agents": [],
        "user_roles": [],
        "agent_types": [],
        "service_keys": [],
        "hats": [],
        "available": False,
    }


def test_who_can_only_by_two_hats_is_told_as_a_pair() -> None:
    # R9: neither the grant nor the role is enough alone, and nobody else can.
    reader = Role(name="reader", allow=("*/read",))
    declaration = Declaration(
        servers={"wiki": ServerConfig(name="wiki", default_access="deny")},
        roles={
            "reader": reader,
            "opener": Role(name="opener", mcp_servers=("wiki",)),
            "able": Role(name="able", tools={"wiki": ("read",)}),
            "barred": Role(name="barred", allow=("*/read",), deny=("wiki/*",)),
            "idle": Role(name="idle", allow=("*/write",)),
        },
        grants=(
            Grant(subject="user:ann", effect="allow", server="wiki"),
            Grant(subject="user:bob", effect="allow", tool="wiki/re*"),
            Grant(subject="user:eve", effect="allow", server="wiki"),
            Grant(subject="user:eve", effect="deny", tool="wiki/read"),
            Grant(subject="user:out", effect="allow", server="wiki"),
            Grant(subject="user:late", effect="allow", server="wiki", until=NOON),
            Grant(subject="group:ops", effect="allow", server="wiki"),
            Grant(subject="role:idle", effect="allow", server="wiki"),
        ),
        groups={"ops": ("user:member", "key:k")},
    )
    asked = Authority(
        compile_snapshot(declaration, tenant="default", revision=1, now=NOON), Names.build(()), ()
    )

    found = asked.who_can("wiki/read", disabled={"out"})

    assert found.users == ("ann", "bob", "member")
    assert found.hats == (
        "user:ann + role:reader",
        "user:bob + role:reader",
        "group:ops + role:reader",
        "user:member + role:reader",
        "role:opener + role:reader",
        "role:idle + role:reader",
    )
    assert (found.roles, found.keys) == (("able",), ())
    assert found.rows()[1:] == [("only both", pair) for pair in found.hats]
    assert asked.who_can("wiki/delete").hats == ()
    assert asked.who_can("gone/read").hats == ()


def test_a_service_key_is_named_as_one() -> None:
    snapshot = compile_snapshot(
        Declaration(servers={"data": ServerConfig(name="data")}), tenant="default", revision=1
    )
    asked = Authority(snapshot, Names.build(()), ())
    keys = [replace(key("reports"), service=True), replace(key("ops"), user_roles=(UserRole.DATA,))]

    found = asked.who_can("data/list_queries", named(*keys))
    may = asked.who_can("data/health", named(*keys))

    assert {*found.keys, *may.keys} <= {"reports", "ops"}
    assert may.keys == ("reports", "ops")
    assert may.service_keys == ("reports",)
    assert ("service key", "reports") in may.rows()
    assert ("key", "reports") not in may.rows()


def test_who_is_barred_is_refused_by_the_first_layer_and_all_layers_are_told() -> None:
    answer = authority().explain(acting("lead"), "git/push", barred="user 'ann' is disabled")

    json = answer.to_json()
    assert (json["allowed"], json["layer"], json["rule"]) == (False, "tenant", "")
    assert (json["reason"], json["revision"]) == ("user 'ann' is disabled", 12)
    layers = answer.explanation.layers
    assert [one.layer.value for one in layers] == [
        *("tenant", "server", "deny", "ceiling", "access", "tool")
    ]
    assert [one.verdict.value for one in layers][:2] == ["deny", "allow"]
    assert answer.limits == ()


def test_roles_come_in_the_order_of_the_declaration_and_keys_in_their_own() -> None:
    keys = [key("z", "lead"), key("a", "intern")]

    assert authority().who_can("git/status", named(*keys)) == WhoCan(
        roles=("lead", "clerk", "intern"), keys=("z", "a"), available=True
    )


def test_whether_a_tool_is_offered_is_said_to_whoever_asks_who_can() -> None:
    found = authority(available=(ToolId("git", "push"),))

    assert found.who_can("git/push").available
    assert not found.who_can("git/pussh").available


def test_an_administrators_key_can_nothing_by_that_alone() -> None:
    # R12
    keys = [replace(key("admin"), admin=True), key("elsewhere", "lead", tenant="acme")]

    assert authority().who_can("git/push", named(*keys)).keys == ()


def test_another_spelling_of_a_resource_means_nothing_unless_it_is_listed() -> None:
    # R10: as in every call
    odd, listed = "git/resource:file:///a/../b", ToolId("git", "resource:FILE:///b")
    normal = authority().explain(acting("intern"), "git/resource:file:///b")
    asked = authority(available=(listed,))

    answer = asked.explain(acting("intern"), odd)

    assert normal.explanation.decision.allowed
    assert (answer.tool, answer.explanation.decision.allowed) == (None, False)
    assert answer.explanation.decision.reason.endswith("it holds a dot segment")
    assert asked.who_can(odd, named(key("ci", "intern"))) == WhoCan()
    assert asked.explain(acting("intern"), str(listed)).explanation.decision.allowed


def test_nobody_can_what_means_nothing() -> None:
    found = authority().who_can("nosuch", named(key("ci", "lead")))

    assert not any(found.to_json().values())
    assert found.rows() == []


def test_user_roles_agent_types_and_callers_known_by_name_are_named_too() -> None:
    snapshot = compile_snapshot(
        Declaration(servers={name: ServerConfig(name=name) for name in ("data", "mail")}),
        tenant="default",
        revision=1,
    )
    asked = Authority(snapshot, Names.build([ToolId("data", "execute")]), ())
    user, agent = PrincipalKind.USER, PrincipalKind.AGENT
    known = [
        NamedCaller(user, "ann", "default", "ann", Rights(user, user_roles=(UserRole.DATA,))),
        NamedCaller(user, "bob", "default", "bob", Rights(user, user_roles=(UserRole.USER,))),
        NamedCaller(agent, "w1", "default", "w1", Rights(agent, agent_type=AgentType.WORKER)),
    ]

    data = asked.who_can("data/execute", known)
    mail = asked.who_can("mail/send", known)

    assert data.rows() == [
        ("user", "ann"),
        ("user-role", "admin"),
        ("user-role", "data"),
        ("user-role", "developer"),
    ]
    assert (mail.agents, mail.users) == (("w1",), ())
    assert mail.agent_types == ("SUPERVISOR", "ORCHESTRATOR", "WORKER")


def test_an_answer_without_a_tool_still_names_its_decision() -> None:
    answer = authority().explain(acting("lead"), "nosuch")

    assert answer == Answer(tool=None, available=False, explanation=answer.explanation)
