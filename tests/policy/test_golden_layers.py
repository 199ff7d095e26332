"""Toolsets, agent types and policy claims, against the golden tables (S2.9, S3.6-S3.10, S4.5)."""

import csv
from pathlib import Path

import pytest

from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule, PolicySettings, ToolsetOptions
from remit.model.principals import AgentType, Principal, PrincipalKind, ServerPolicy, UserRole
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.agent_types import CREW_TOOLS, DEFAULT_AGENT_TYPES
from remit.policy.engine import decide
from remit.policy.patterns import Pattern
from remit.policy.snapshot import PolicySnapshot, compile_snapshot, governed_tools, list_order
from remit.policy.toolsets import LOADOUTS, toolset_of

GOLDEN = Path(__file__).parents[1] / "conformance" / "golden"
DATA = ServerConfig(name="data")


def rows(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def user(*user_roles: UserRole, name: str = "ann") -> Principal:
    return Principal(kind=PrincipalKind.USER, name=name, user_roles=user_roles)


def service(name: str = "bot") -> Principal:
    return Principal(kind=PrincipalKind.KEY, name=name, service=True)


CALLERS = {
    "user": [user(UserRole.USER), user(UserRole.USER, name="agent")],
    # S2.2: one set for all three; S2.3: of several roles the most privileged counts.
    "developer": [
        user(UserRole.ADMIN),
        user(UserRole.DATA),
        user(UserRole.DEVELOPER),
        user(UserRole.USER, UserRole.DATA),
        user(UserRole.ADMIN, UserRole.USER),
    ],
    "service-key": [
        service(),
        Principal(kind=PrincipalKind.KEY, name="b", service=True, user_roles=(UserRole.ADMIN,)),
    ],
}
TABLES = {
    ("user", "allowOntologyMaintenance"): 42,
    ("user", ""): 20,
    ("developer", "addQueryTools+addOntologyMaintenance"): 49,
    ("developer", "addQueryTools"): 22,
    ("developer", "addOntologyMaintenance"): 30,
    ("developer", ""): 3,
    ("service-key", ""): 3,
}


def options_of(caller: str, text: str) -> ToolsetOptions:
    """Return options where those of other callers stand the other way: they have no say."""
    on = set(text.split("+"))
    return ToolsetOptions(
        allow_ontology_maintenance="allowOntologyMaintenance" in on or caller == "developer",
        add_query_tools="addQueryTools" in on or caller != "developer",
        add_ontology_maintenance="addOntologyMaintenance" in on or caller != "developer",
    )


@pytest.mark.parametrize("table", TABLES, ids=lambda table: "-".join(filter(None, table)))
def test_each_caller_has_exactly_its_rows_in_canonical_order(table: tuple[str, str]) -> None:
    caller, options = table
    golden = tuple(
        row["tool"]
        for row in rows("toolsets.csv")
        if (row["caller"], row["options"]) == (caller, options)
    )
    declaration = Declaration(servers={"data": DATA}, toolsets=options_of(*table))
    snapshot = compile_snapshot(declaration, tenant="default", revision=1)

    for principal in CALLERS[caller]:
        decided = tuple(
            name for name in LOADOUTS if decide(snapshot, principal, ToolId("data", name)).allowed
        )

        assert toolset_of(principal, declaration.toolsets) == decided == golden
    assert len(golden) == TABLES[table]


def test_the_table_has_49_names_and_the_golden_one_has_no_others() -> None:
    assert len(LOADOUTS) == 49
    assert {row["tool"] for row in rows("toolsets.csv")} == LOADOUTS.keys()
    assert governed_tools("data") == tuple(LOADOUTS)
    assert governed_tools("mail") == CREW_TOOLS["mail"]
    assert governed_tools("git") == ()


def test_lists_name_the_tools_of_data_in_canonical_order_and_all_others_by_name() -> None:
    names = ["zebra", "health", "approve_all_changes", "echo"]

    assert sorted((ToolId("data", name) for name in names), key=list_order) == [
        ToolId("data", name) for name in ("health", "echo", "approve_all_changes", "zebra")
    ]
    assert sorted((ToolId("d", name) for name in names), key=list_order) == [
        ToolId("d", name) for name in ("approve_all_changes", "echo", "health", "zebra")
    ]
    assert list_order(ToolId("a", "z")) < list_order(ToolId("data", "health"))


@pytest.mark.parametrize(
    "principal",
    [
        user(),
        Principal(kind=PrincipalKind.KEY, name="agent"),
        Principal(kind=PrincipalKind.USER, name="agent", roles=("everything",)),
    ],
)
def test_without_a_user_role_there_is_no_toolset(principal: Principal) -> None:
    # R6, R11: neither a name nor a squad role opens the data server.
    declaration = Declaration(
        servers={"data": DATA}, roles={"everything": Role(name="everything", allow=("*/*",))}
    )
    snapshot = compile_snapshot(declaration, tenant="default", revision=1)

    assert toolset_of(principal, declaration.toolsets) == ()
    assert not any(decide(snapshot, principal, ToolId("data", name)).allowed for name in LOADOUTS)


def crew_snapshot(*declared: AgentTypeRule) -> PolicySnapshot:
    names = (*CREW_TOOLS, "git")
    return compile_snapshot(
        Declaration(
            servers={name: ServerConfig(name=name) for name in names}, agent_types=declared
        ),
        tenant="default",
        revision=1,
    )


def agent(agent_type: AgentType) -> Principal:
    return Principal(kind=PrincipalKind.AGENT, name="a1", agent_type=agent_type)


def test_each_agent_type_may_use_exactly_its_rows() -> None:
    snapshot = crew_snapshot()
    golden = rows("agent_types.csv")

    for row in golden:
        decision = decide(
            snapshot, agent(AgentType(row["type"])), ToolId(row["server"], row["tool"])
        )

        assert decision.allowed is (row["verdict"] == "allow"), row
    assert {(row["server"], row["tool"]) for row in golden} == {
        (server, name) for server, names in CREW_TOOLS.items() for name in names
    }


def test_a_supervisors_star_is_every_crew_tool_and_governs_no_other_server() -> None:
    # S3.6, R9
    snapshot = crew_snapshot()
    supervisor = agent(AgentType.SUPERVISOR)

    assert decide(snapshot, supervisor, ToolId("mail", "of_a_later_release")).allowed
    refused = decide(snapshot, supervisor, ToolId("git", "git_log"))
    assert (refused.allowed, refused.reason) == (False, "no role allows it: the caller has none")


def test_a_declared_type_replaces_its_default_whole_and_no_other() -> None:
    snapshot = crew_snapshot(AgentTypeRule(type=AgentType.WORKER, allow=("mcp__mail__read",)))

    assert decide(snapshot, agent(AgentType.WORKER), ToolId("mail", "read")).allowed
    assert not decide(snapshot, agent(AgentType.WORKER), ToolId("mail", "send")).allowed
    assert not decide(snapshot, agent(AgentType.WORKER), ToolId("agent", "get_task")).allowed
    assert decide(snapshot, agent(AgentType.ORCHESTRATOR), ToolId("mail", "send")).allowed


def test_every_pattern_that_ships_fits_a_tool_that_exists() -> None:
    crew = [ToolId(server, name) for server, names in CREW_TOOLS.items() for name in names]

    for rule in DEFAULT_AGENT_TYPES.values():
        for text in (*rule.allow, *rule.deny):
            assert any(Pattern.parse(text).matches(tool) for tool in crew), text
    assert set(DEFAULT_AGENT_TYPES) == set(AgentType)


@pytest.mark.parametrize("way", ["gateway", "literal"])
def test_policy_claims_open_and_close_servers(way: str) -> None:
    # S4.5, R12: the literal way is `admin_bypass: true`.
    for row in rows("policy_claims.csv"):
        access = "allow" if row["default_access"] == "allow" else "deny"
        declaration = Declaration(
            servers={"wiki": ServerConfig(name="wiki", default_access=access)},
            roles={"reader": Role(name="reader", allow=("*/*",))},
            policy=PolicySettings(admin_bypass=way == "literal"),
        )
        policy = ServerPolicy(
            allow=frozenset({"wiki"} if "allow" in row["claim"] else ()),
            deny=frozenset({"wiki"} if "deny" in row["claim"] else ()),
            admin=row["admin"] == "true",
        )
        principal = Principal(
            kind=PrincipalKind.USER, name="ann", roles=("reader",), servers=policy
        )

        snapshot = compile_snapshot(declaration, tenant="default", revision=1)
        decision = decide(snapshot, principal, ToolId("wiki", "read"))

        assert decision.allowed is (row[way] == "allow"), row
