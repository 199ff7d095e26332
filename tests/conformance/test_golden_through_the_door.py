"""The golden tables by list and by call, through the MCP door over HTTP (S2.9, S3.6-S3.10)."""

from dataclasses import replace

import aiohttp
import pytest
from tests.conformance.tables import rows
from tests.doors.worlds import Wire, World, build_world, serving, tool
from tests.policy.test_golden_layers import TABLES, options_of

from remit.model.grants import PolicySettings
from remit.model.principals import AgentType, Principal, PrincipalKind, ServerPolicy, UserRole
from remit.model.roles import Role

CALLERS = {
    "user": Principal(kind=PrincipalKind.USER, name="u", user_roles=(UserRole.USER,)),
    "developer": Principal(kind=PrincipalKind.USER, name="d", user_roles=(UserRole.DATA,)),
    "service-key": Principal(kind=PrincipalKind.KEY, name="s", service=True),
    **{
        kind.value: Principal(kind=PrincipalKind.AGENT, name=kind.value, agent_type=kind)
        for kind in AgentType
    },
}


def toolset(caller: str, options: str) -> list[str]:
    return [
        row["tool"]
        for row in rows("toolsets.csv")
        if (row["caller"], row["options"]) == (caller, options)
    ]


DEFAULT_TOOLSETS = {
    "user": toolset("user", "allowOntologyMaintenance"),
    "developer": toolset("developer", "addQueryTools+addOntologyMaintenance"),
    "service-key": toolset("service-key", ""),
}
CREW = sorted({(row["server"], row["tool"]) for row in rows("agent_types.csv")})


@pytest.fixture
def crew_and_data() -> World:
    offers = {"data": [tool("data", name) for name in DEFAULT_TOOLSETS["developer"]]}
    for server, name in CREW:
        offers.setdefault(server, []).append(tool(server, name))
    return build_world(offers, [], {f"{name}-key": who for name, who in CALLERS.items()})


async def listed(wire: Wire, path: str) -> list[str]:
    reply = await wire.modern("tools/list", path=path)
    return [entry["name"] for entry in reply.result["tools"]]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: "-".join(filter(None, table)))
async def test_a_toolset_is_what_is_listed_in_canonical_order_and_what_runs(
    crew_and_data: World, table: tuple[str, str]
) -> None:
    # 42, 20, 49, 22, 30, 3 and 3 names (S2.9, S2.10)
    caller, right = table[0], toolset(*table)
    policy = crew_and_data.policy
    policy.swap(replace(policy.declaration, toolsets=options_of(*table)), revision=2)
    async with serving(crew_and_data) as url, aiohttp.ClientSession() as http:
        wire = Wire(http, url, f"{caller}-key")

        assert await listed(wire, "/mcp/data") == right
        assert await listed(wire, "/mcp") == [f"data__{name}" for name in right]
        for name in DEFAULT_TOOLSETS["developer"]:
            await wire.call(name, {"path": "x"}, path="/mcp/data")

    assert len(right) == TABLES[table]
    assert crew_and_data.fleet.ran == {f"data/{name}": 1 for name in right}


@pytest.mark.parametrize("way", ["gateway", "literal"])
async def test_policy_claims_are_what_is_listed_and_what_runs(way: str) -> None:
    # S4.5, R12: a server for each row of the table that one token has, so one token a kind.
    golden = rows("policy_claims.csv")
    names = [f"s{at}" for at in range(len(golden))]
    keys = {
        f"{admin}-key": Principal(
            kind=PrincipalKind.USER,
            name="ann",
            roles=("reader",),
            servers=ServerPolicy(
                allow=frozenset(n for n, row in zip(names, golden, strict=True) if allows(row)),
                deny=frozenset(n for n, row in zip(names, golden, strict=True) if denies(row)),
                admin=admin == "true",
            ),
        )
        for admin in ("true", "false")
    }
    offers = {name: [tool(name, "read")] for name in names}
    world = build_world(offers, [Role(name="reader", allow=("*/*",))], keys)
    closed = {
        name: replace(
            world.policy.declaration.servers[name],
            default_access="allow" if row["default_access"] == "allow" else "deny",
        )
        for name, row in zip(names, golden, strict=True)
    }
    bypass = PolicySettings(admin_bypass=way == "literal")
    world.policy.swap(replace(world.policy.declaration, servers=closed, policy=bypass), revision=2)

    async with serving(world) as url, aiohttp.ClientSession() as http:
        for admin in ("true", "false"):
            wire = Wire(http, url, f"{admin}-key")
            mine = {n: row for n, row in zip(names, golden, strict=True) if row["admin"] == admin}
            right = {f"{name}__read" for name, row in mine.items() if row[way] == "allow"}
            before = dict(world.fleet.ran)

            shown = {name for name in await listed(wire, "/mcp") if name.partition("__")[0] in mine}
            for name in mine:
                await wire.call(f"{name}__read", {"path": "x"})

            ran = {name.replace("/", "__") for name in world.fleet.ran.keys() - before.keys()}
            assert (shown, ran) == (right, right)


def allows(row: dict[str, str]) -> bool:
    return "allow" in row["claim"]


def denies(row: dict[str, str]) -> bool:
    return "deny" in row["claim"]


@pytest.mark.parametrize("caller", [kind.value for kind in AgentType])
async def test_an_agent_type_sees_and_runs_exactly_its_crew_tools(
    crew_and_data: World, caller: str
) -> None:
    verdicts = {
        f"{row['server']}__{row['tool']}": row["verdict"] == "allow"
        for row in rows("agent_types.csv")
        if row["type"] == caller
    }
    async with serving(crew_and_data) as url, aiohttp.ClientSession() as http:
        wire = Wire(http, url, f"{caller}-key")

        assert set(await listed(wire, "/mcp")) == {name for name, may in verdicts.items() if may}
        for name in verdicts:
            await wire.call(name, {"path": "x"})

    ran = {name.replace("/", "__") for name in crew_and_data.fleet.ran}
    assert ran == {name for name, may in verdicts.items() if may}
