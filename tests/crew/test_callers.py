"""Callers that are no agents, and stores that fail: the servers alone, over work in memory."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from remit.crew.inbox import MailServer
from remit.crew.servers import TOOLS, CrewServer, list_only
from remit.errors import Outdated, StorageUnavailable, UpstreamProtocolError, UpstreamUnavailable
from remit.model.agents import Agent
from remit.model.crew import Change
from remit.model.principals import AgentType, Principal, PrincipalKind
from remit.servers.toolbox import ERROR
from remit.testing.crew import InMemoryCrew

NOW = datetime(2026, 11, 28, tzinfo=UTC)
WORKER = Agent(id="w1", tenant="default", type=AgentType.WORKER, created=NOW)
ANN = Principal(kind=PrincipalKind.USER, name="ann")
SOME_WORKER = Principal(kind=PrincipalKind.AGENT_TYPE, name="WORKER", agent_type=AgentType.WORKER)
GONE = Principal(kind=PrincipalKind.AGENT, name="gone", agent_type=AgentType.WORKER)


class Still:
    """Nothing changes."""

    told = 0

    async def changed(self, seen: int, *, within: float) -> int:
        del within
        return seen


class Crew:
    """The servers over one store."""

    def __init__(self, store: InMemoryCrew) -> None:
        self.store = store
        self._servers = {name: CrewServer(name, store, Still()) for name in TOOLS}

    async def does(self, caller: Principal, tool: str, **arguments: Any) -> Mapping[str, Any]:
        server, _, name = tool.partition("/")
        result: Any = await self._servers[server].call_for(caller, name, arguments, {})
        assert not result["isError"], result
        return result["structuredContent"]

    async def fails(self, caller: Principal, tool: str, **arguments: Any) -> str:
        server, _, name = tool.partition("/")
        result: Any = await self._servers[server].call_for(caller, name, arguments, {})
        assert result["isError"], result
        return result["_meta"][ERROR]["code"]


@pytest.fixture
def crew() -> Crew:
    return Crew(InMemoryCrew(WORKER))


async def test_a_human_plans_work_and_sends_mail(crew: Crew) -> None:
    epic = await crew.does(ANN, "epic/create", title="E", description="d")
    task = await crew.does(ANN, "task/create", title="T", description="d", epicId=epic["epicId"])
    await crew.does(ANN, "task/assign", taskId=task["taskId"], agentId="w1")
    await crew.does(ANN, "mail/send", toAgentId="w1", subject="s", body="b")

    inbox = await crew.does(WORKER.principal, "mail/list_inbox")
    assert inbox["mails"][0]["fromAgentId"] is None
    assert inbox["mails"][0]["fromAgentType"] is None
    assert (await crew.does(ANN, "task/list"))["count"] == 1
    assert (await crew.does(WORKER.principal, "agent/get_task"))["id"] == task["taskId"]


async def test_an_answer_to_a_human_is_mail_to_the_human(crew: Crew) -> None:
    """S3.16."""
    sent = await crew.does(ANN, "mail/send", toAgentId="w1", subject="s", body="b")

    await crew.does(WORKER.principal, "mail/reply", originalMailId=sent["mailId"], body="r")

    mails = await crew.store.inbox("default", "", include_read=False, limit=9)
    assert [(mail.subject, mail.sender) for mail in mails] == [("Re: s", "agent:w1")]


async def test_what_needs_an_agent_says_so(crew: Crew) -> None:
    for caller in (ANN, SOME_WORKER):
        for tool in ("mail/list_inbox", "agent/get_status", "agent/get_task", "agent/get_epic"):
            assert await crew.fails(caller, tool) == "INVALID_AGENT_STATE"
        assert await crew.fails(caller, "mail/read", mailId="m") == "INVALID_AGENT_STATE"
    assert await crew.fails(ANN, "task/create", title="t", description="d") == "INVALID_INPUT"
    assert await crew.fails(ANN, "task/update_status", state="PENDING") == "INVALID_INPUT"
    code = await crew.fails(SOME_WORKER, "task/update_status", state="PENDING", taskId="t")
    assert code == "INVALID_AGENT_STATE"
    assert await crew.fails(GONE, "agent/get_status") == "AGENT_NOT_FOUND"


async def test_work_of_another_tenant_is_not_there(crew: Crew) -> None:
    elsewhere = Principal(kind=PrincipalKind.USER, name="ann", tenant="acme")
    epic = await crew.does(ANN, "epic/create", title="E", description="d")
    sent = {"toAgentId": "w1", "subject": "s", "body": "b"}

    assert (await crew.does(elsewhere, "task/list"))["count"] == 0
    assert await crew.fails(elsewhere, "task/list", epicId=epic["epicId"]) == "RESOURCE_NOT_FOUND"
    assert await crew.fails(elsewhere, "mail/send", **sent) == "RESOURCE_NOT_FOUND"


class Away(InMemoryCrew):
    """Cannot be reached."""

    async def apply(self, change: Change) -> None:
        del change
        raise StorageUnavailable("the database is away")

    async def touch(self, tenant: str, agent_id: str, now: datetime) -> None:
        del tenant, agent_id, now
        raise StorageUnavailable("the database is away")


class Contended(InMemoryCrew):
    """Somebody else is always faster."""

    async def apply(self, change: Change) -> None:
        del change
        raise Outdated("changed meanwhile")


@pytest.mark.parametrize(("store", "sent"), [(Away(WORKER), True), (Contended(WORKER), False)])
async def test_a_failing_store_is_a_transient_fault(store: InMemoryCrew, sent: bool) -> None:
    """R23: repeated where that is safe, and unknown in its outcome where a commit may have been."""
    with pytest.raises(UpstreamUnavailable) as raised:
        await Crew(store).does(WORKER.principal, "mail/send", toHuman=True, subject="s", body="b")

    assert raised.value.transient
    assert raised.value.sent is sent


async def test_that_activity_cannot_be_noted_fails_nothing() -> None:
    assert (await Crew(Away(WORKER)).does(WORKER.principal, "agent/get_status"))["id"] == "w1"


async def test_without_a_gateway_tools_are_shown_and_not_run() -> None:
    server = list_only("mail")

    result: Any = await server.call_tool("list_inbox", {})

    assert next(tool["name"] for tool in server.tools()) == "list_inbox"
    assert result["isError"]
    assert "through a gateway" in result["content"][0]["text"]


async def test_a_key_too_long_is_refused() -> None:
    server = CrewServer("mail", InMemoryCrew(WORKER), Still())
    mail = {"toHuman": True, "subject": "s", "body": "b"}

    result: Any = await server.call_for(
        WORKER.principal, "send", mail, {"remit/idempotencyKey": "k" * 513}
    )

    assert result["_meta"][ERROR] == {"code": "INVALID_INPUT"}


async def test_an_inbox_of_nobody_cannot_be_read_or_followed() -> None:
    server = MailServer("mail", InMemoryCrew(WORKER), Still())

    for uri, caller in (("mail://inbox", ANN), ("mail://inbox", GONE), ("mail://x", ANN)):
        with pytest.raises(UpstreamProtocolError, match=r"no agent|no resource"):
            await server.read_for(caller, uri)
    with pytest.raises(UpstreamProtocolError, match="no updates"):
        await server.version_for("default", "user:ann", "mail://inbox")
