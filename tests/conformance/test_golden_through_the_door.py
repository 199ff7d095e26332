"""The golden tables by list and by call, through the MCP door over HTTP (S2.9, S3.6-S3.10)."""

import csv
from pathlib import Path

import aiohttp
import pytest
from tests.doors.worlds import Wire, World, build_world, serving, tool

from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole

GOLDEN = Path(__file__).parent / "golden"

CALLERS = {
    "user": Principal(kind=PrincipalKind.USER, name="u", user_roles=(UserRole.USER,)),
    "developer": Principal(kind=PrincipalKind.USER, name="d", user_roles=(UserRole.DATA,)),
    "service-key": Principal(kind=PrincipalKind.KEY, name="s", service=True),
    **{
        kind.value: Principal(kind=PrincipalKind.AGENT, name=kind.value, agent_type=kind)
        for kind in AgentType
    },
}


def rows(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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


@pytest.mark.parametrize("caller", DEFAULT_TOOLSETS)
async def test_a_toolset_is_what_is_listed_in_canonical_order_and_what_runs(
    crew_and_data: World, caller: str
) -> None:
    right = DEFAULT_TOOLSETS[caller]
    async with serving(crew_and_data) as url, aiohttp.ClientSession() as http:
        wire = Wire(http, url, f"{caller}-key")

        assert await listed(wire, "/mcp/data") == right
        assert await listed(wire, "/mcp") == [f"data__{name}" for name in right]
        names = DEFAULT_TOOLSETS["developer"]
        for name in names:
            await wire.call(name, {"path": "x"}, path="/mcp/data")

    assert crew_and_data.fleet.ran == {f"data/{name}": 1 for name in right}


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
