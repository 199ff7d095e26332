"""The crew at `POST /mcp/execute`: its own codes and texts, its doors' promises (S3.1-S3.5)."""

from collections.abc import Callable
from typing import Any

from tests.conformance.tables import rows

from remit.model.principals import AgentType
from remit.testing.crew_gateway import CrewFolk, CrewGateway, open_folk

Name = Callable[[str], str]


def golden() -> list[tuple[AgentType, str, bool]]:
    return [
        (AgentType(row["type"]), f"mcp__{row['server']}__{row['tool']}", row["verdict"] == "allow")
        for row in rows("agent_types.csv")
    ]


async def test_each_type_can_call_exactly_its_tools(crew_gateway: CrewGateway, name: Name) -> None:
    """S3.6-S3.10, and the exact text of a refusal."""
    async with open_folk(crew_gateway) as folk:
        agents = {each: await folk.agent(name(each.value), each) for each in AgentType}
        for agent_type, tool, allowed in golden():
            error = (await agents[agent_type].executes(tool, nonsense=1))["error"]

            if allowed:  # it got as far as its arguments
                assert error["code"] == "INVALID_INPUT", (agent_type, tool)
            else:
                assert error["code"] == "PERMISSION_DENIED", (agent_type, tool)
                assert error["message"] == (
                    f"Tool '{tool}' is not allowed for agent type '{agent_type.value}'"
                )


async def test_every_code_of_the_source_is_told(crew_gateway: CrewGateway, name: Name) -> None:
    """S3.24; TRANSIENT_ERROR and INTERNAL_ERROR are in test_failing_tools.py."""
    async with open_folk(crew_gateway) as folk:
        worker = await folk.worker(name("w"))
        boss = await folk.supervisor(name("boss"))
        other = await boss.executes(
            "mcp__mail__send", toAgentId=boss.id, subject="s", body="for the boss alone"
        )

        def code(answer: dict[str, Any]) -> str:
            assert answer["success"] is False
            assert isinstance(answer["error"]["details"], dict)
            return str(answer["error"]["code"])

        assert [
            code(await worker.executes("mcp__mail__read", mailId=other["data"]["mailId"])),
            code(await worker.executes("mcp__mail__nothing")),
            code(await worker.executes("mcp__mail__send", subject="s", body="b")),
            code(await boss.executes_for(name("nobody"), "mcp__mail__list_inbox")),
            code(await worker.executes("mcp__mail__read", mailId="none")),
            code(await worker.executes("mcp__agent__get_task")),
            code(await worker.executes("mcp__agent__get_epic")),
            code(await boss.executes("mcp__agent__get_task")),
        ] == [
            "PERMISSION_DENIED",
            "TOOL_NOT_FOUND",
            "INVALID_INPUT",
            "AGENT_NOT_FOUND",
            "RESOURCE_NOT_FOUND",
            "INVALID_AGENT_STATE",
            "INVALID_AGENT_STATE",
            "INVALID_AGENT_STATE",
        ]


async def test_a_supervisor_sends_mail_as_the_agent_that_it_acts_for(
    crew_gateway: CrewGateway, name: Name
) -> None:
    """R26: the agent acted for is the acting agent, whose mail it is."""
    async with open_folk(crew_gateway) as folk:
        worker = await folk.worker(name("w"))
        boss = await folk.supervisor(name("boss"))

        sent = await boss.executes_for(
            worker.id, "mcp__mail__send", toAgentId=boss.id, subject="s", body="b"
        )

        assert sent["success"], sent
        (mail,) = (await boss.executes("mcp__mail__list_inbox"))["data"]["mails"]
        assert (mail["fromAgentId"], mail["fromAgentType"]) == (worker.id, "WORKER")
        status = await boss.executes_for(worker.id, "mcp__agent__get_status")
        assert status["data"]["id"] == worker.id


async def test_the_same_idempotency_key_sends_once(crew_gateway: CrewGateway, name: Name) -> None:
    """S3.28."""
    async with open_folk(crew_gateway) as folk:
        worker = await folk.worker(name("w"))
        given = {"toAgentId": worker.id, "subject": "s", "body": "b"}

        sent = [await worker.executes("mcp__mail__send", "k1", **given) for _ in range(2)]
        other = await worker.executes("mcp__mail__send", "k1", **{**given, "body": "other"})

        assert sent[0]["data"]["mailId"] == sent[1]["data"]["mailId"]
        assert other["error"]["code"] == "INVALID_INPUT"
        assert (await worker.executes("mcp__mail__list_inbox"))["data"]["count"] == 1


async def test_both_doors_see_one_crew(folk: CrewFolk, name: Name) -> None:
    worker = await folk.worker(name("w"))
    await worker.does("mail__send", toAgentId=worker.id, subject="s", body="b")

    by_json = (await worker.executes("mcp__mail__list_inbox"))["data"]
    by_mcp = (await worker.answer("mail__list_inbox"))["result"]["structuredContent"]

    assert by_json == by_mcp


async def test_a_name_that_goes_on_and_on_is_not_repeated(
    crew_gateway: CrewGateway, name: Name
) -> None:
    async with open_folk(crew_gateway) as folk:
        worker = await folk.worker(name("w"))
        endless = "x" * 1_000_000

        tool = await worker.executes(f"mcp__mail__{endless}")
        agent = await worker.executes_for(endless, "mcp__mail__list_inbox")

        for told, member in ((tool, "toolName"), (agent, "agentId")):
            assert told["error"]["code"] == "INVALID_INPUT"
            assert told["error"]["message"] == f"{member} is longer than 4096 characters"
