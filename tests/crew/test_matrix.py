"""Agent type x tool against the golden table, by list and by call, at a real door (S3.6-S3.10)."""

import json
import re
from collections.abc import Callable
from typing import Any

import jsonschema_rs
from tests.conformance.tables import rows

from remit.crew.servers import TOOLS
from remit.model.principals import AgentType
from remit.policy.agent_types import CREW_TOOLS
from remit.testing.crew_gateway import CrewFolk

Name = Callable[[str], str]
Rows = dict[AgentType, dict[str, bool]]


def _rows() -> Rows:
    found: Rows = {each: {} for each in AgentType}
    for row in rows("agent_types.csv"):
        name = f"{row['server']}__{row['tool']}"
        found[AgentType(row["type"])][name] = row["verdict"] == "allow"
    return found


async def test_each_type_is_shown_exactly_its_tools(folk: CrewFolk, name: Name) -> None:
    """S3.7, S3.40, R7: SUPERVISOR is the top, and ORCHESTRATOR has no tool of a supervisor."""
    for agent_type, verdicts in _rows().items():
        agent = await folk.agent(name(agent_type.value), agent_type)

        assert set(await agent.tools()) == {tool for tool, allowed in verdicts.items() if allowed}


async def test_each_type_can_call_exactly_its_tools(folk: CrewFolk, name: Name) -> None:
    """What is denied is answered as what does not exist (R14)."""
    for agent_type, verdicts in _rows().items():
        agent = await folk.agent(name(agent_type.value), agent_type)
        absent = await agent.answer("mail__no_such_tool")
        for tool, allowed in verdicts.items():
            answer = await agent.answer(tool, nonsense=1)

            if allowed:  # it got as far as its arguments
                assert answer["result"]["isError"] is True, (agent_type, tool)
            else:
                assert _alike(answer, tool) == _alike(absent, "mail__no_such_tool")


def _alike(answer: dict[str, Any], tool: str) -> str:
    """Return an error without what differs by request (R14)."""
    text = json.dumps({**answer["error"], "data": None})
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", text.replace(tool, "TOOL"))


async def test_with_aliases_of_either_door_a_type_can_no_more(folk: CrewFolk, name: Name) -> None:
    """S3.4, R2."""
    worker = await folk.worker(name("w1"))

    for tool in ("mcp__task__create", "mcp_task_create", "task/create", "task__create"):
        code = await worker.fails(tool, title="t", description="d")
        assert code == {"mcp": "-32602", "json": "PERMISSION_DENIED"}[folk.door]


async def test_in_an_older_era_an_agent_is_the_same_agent(folk: CrewFolk, name: Name) -> None:
    worker = await folk.worker(name("w1"))
    session = await worker.caller.begin()

    own = await session.call("agent__get_status")
    read = (await session.send("resources/read", {"uri": "mail://inbox"})).json()

    assert own["result"]["structuredContent"]["id"] == worker.id
    assert json.loads(read["result"]["contents"][0]["text"])["count"] == 0


def test_the_servers_offer_the_tools_that_rules_speak_of() -> None:
    offered = {name: tuple(tool.name for tool in tools) for name, tools in TOOLS.items()}

    assert offered == dict(CREW_TOOLS)


def test_every_tool_describes_what_it_takes_and_gives() -> None:
    for tools in TOOLS.values():
        for tool in tools:
            jsonschema_rs.validator_for(tool.takes)
            jsonschema_rs.validator_for(tool.gives)
            assert tool.takes["additionalProperties"] is False
            assert tool.gives["type"] == "object"
            assert not (tool.hints.read_only and tool.hints.destructive)
