"""What an agent may do by acting for another one: no more than either may (R9, R26)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.crew.work import make_epic

from remit.model.agents import active_agent
from remit.model.principals import AgentType, Principal, PrincipalKind
from remit.testing.crew_gateway import CrewCaller, CrewFolk, CrewGateway, open_folk

Name = Callable[[str], str]


def _code(envelope: dict[str, Any]) -> str:
    assert not envelope["success"], envelope
    return envelope["error"]["code"]


async def _task_of(boss: CrewCaller, worker: CrewCaller, epic: str) -> str:
    made = await boss.does("task__create", title="Cart", description="d", epicId=epic)
    await boss.does("task__assign", taskId=made["taskId"], agentId=worker.id)
    return made["taskId"]


async def test_who_is_paused_changes_nothing_as_another_either(
    crew_gateway: CrewGateway, name: Name
) -> None:
    async with open_folk(crew_gateway) as folk:
        boss, wild = await folk.supervisor(name("s1")), await folk.supervisor(name("s2"))
        o1 = await folk.orchestrator(name("o1"))
        await boss.does("supervisor__pause_agent", agentId=wild.id, reason="runs wild")

        codes = [
            _code(await wild.executes_for(o1.id, "mcp__epic__create", title="t", description="d")),
            _code(
                await wild.executes_for(boss.id, "mcp__supervisor__resume_agent", agentId=wild.id)
            ),
        ]
        mail = await wild.executes_for(
            o1.id, "mcp__mail__send", toAgentId=boss.id, subject="s", body="b"
        )

        assert codes == ["INVALID_AGENT_STATE"] * 2
        assert mail["success"], mail
        assert (await boss.does("supervisor__pause_agent", agentId=wild.id, reason="runs wild"))[
            "paused"
        ]


async def test_nobody_pauses_itself_as_another(crew_gateway: CrewGateway, name: Name) -> None:
    async with open_folk(crew_gateway) as folk:
        boss, other = await folk.supervisor(name("s1")), await folk.supervisor(name("s2"))

        refused = await boss.executes_for(
            other.id, "mcp__supervisor__pause_agent", agentId=boss.id, reason="r"
        )

        assert _code(refused) == "INVALID_INPUT"


async def test_nobody_approves_its_own_work_as_its_orchestrator(
    crew_gateway: CrewGateway, name: Name
) -> None:
    async with open_folk(crew_gateway) as folk:
        boss = await folk.supervisor(name("s1"))
        epic = await make_epic(boss)
        o1 = await folk.orchestrator(name("o1"), epic=epic)
        w1 = await folk.agent(name("w1"), AgentType.WORKER, act_for=(o1.id,))
        task = await _task_of(boss, w1, epic)
        for state in ("IN_PROGRESS", "REVIEW"):
            await w1.does("task__update_status", state=state)

        own = await w1.executes_for(
            o1.id, "mcp__task__update_status", taskId=task, state="COMPLETED"
        )

        assert _code(own) == "PERMISSION_DENIED"
        assert (await o1.does("task__update_status", taskId=task, state="COMPLETED"))[
            "state"
        ] == "COMPLETED"


async def test_whoever_looks_after_an_agent_does_not_make_it_active(
    crew_gateway: CrewGateway, name: Name
) -> None:
    """S3.38: what is gone stays gone."""
    async with open_folk(crew_gateway) as folk:
        boss, w1 = await folk.supervisor(name("s1")), await folk.worker(name("w1"))

        seen = await boss.executes_for(w1.id, "mcp__mail__list_inbox")

        assert seen["success"], seen
        assert await _last_active(folk, w1.id) is None
        assert await _last_active(folk, boss.id) is not None


def test_of_an_agent_and_who_acts_for_it_one_is_active() -> None:
    """S3.38: a key that is no agent may run the agent's program."""
    worker = Principal(kind=PrincipalKind.AGENT, name="w1", agent_type=AgentType.WORKER)
    boss = Principal(kind=PrincipalKind.AGENT, name="s1", agent_type=AgentType.SUPERVISOR)
    runner = Principal(kind=PrincipalKind.KEY, name="runner", act_for=("w1",))

    assert active_agent(worker) == worker
    assert active_agent(replace(worker, caller=boss)) == boss
    assert active_agent(replace(worker, caller=runner)) == worker
    assert active_agent(runner) is None


async def _last_active(folk: CrewFolk, agent_id: str) -> object:
    member = await folk.crew.find_member("default", agent_id)
    assert member is not None
    return member.last_active
