"""What every store of agents and of disabled users does, fakes included."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.errors import Conflict, NotFound
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import AgentType
from remit.storage.agents import Agents
from remit.storage.database import Database
from remit.storage.epochs import Epochs
from remit.storage.keys import Keys
from remit.storage.users import Users
from remit.testing.fakes import InMemoryAgents, InMemoryUsers

NOW = datetime(2026, 11, 27, 12, 0, 0, 123456, tzinfo=UTC)
WORKER = Agent(
    id="w1", tenant="default", type=AgentType.WORKER, role="designer", epic="E1", created=NOW
)


async def test_an_agent_is_found_by_its_id_in_its_tenant(agents: Agents | InMemoryAgents) -> None:
    await agents.add(WORKER)

    assert await agents.find("default", "w1") == WORKER
    assert await agents.find("acme", "w1") is None
    assert await agents.find("default", "w2") is None


async def test_an_id_is_given_once_in_a_tenant(agents: Agents | InMemoryAgents) -> None:
    await agents.add(WORKER)
    await agents.add(replace(WORKER, tenant="acme"))

    with pytest.raises(Conflict, match="an agent 'w1' exists already"):
        await agents.add(replace(WORKER, role=""))

    assert await agents.find("default", "w1") == WORKER


async def test_an_agent_changes_and_stays_as_old_as_it_is(agents: Agents | InMemoryAgents) -> None:
    changed = replace(WORKER, type=AgentType.ORCHESTRATOR, role="", epic="E2")
    await agents.add(WORKER)
    await agents.add(replace(WORKER, tenant="acme"))

    await agents.change(replace(changed, created=NOW + timedelta(days=1)))

    assert await agents.find("default", "w1") == changed
    assert await agents.find("acme", "w1") == replace(WORKER, tenant="acme")
    with pytest.raises(NotFound, match="there is no agent 'w2'"):
        await agents.change(replace(WORKER, id="w2"))


async def test_all_agents_come_by_id(agents: Agents | InMemoryAgents) -> None:
    for name in ("w2", "W1", "w10"):
        await agents.add(replace(WORKER, id=name))

    assert [agent.id for agent in await agents.all_agents("default")] == ["W1", "w10", "w2"]
    assert await agents.all_agents("acme") == []


async def test_a_user_is_kept_out_of_one_tenant_until_it_is_let_in(
    users: Users | InMemoryUsers,
) -> None:
    await users.disable("default", "bob", NOW)
    await users.disable("default", "ann", NOW)
    await users.disable("default", "ann", NOW + timedelta(days=1))

    assert await users.is_disabled("default", "ann")
    assert not await users.is_disabled("acme", "ann")
    assert not await users.is_disabled("default", "Ann")
    assert list((await users.all_disabled("default")).items()) == [("ann", NOW), ("bob", NOW)]

    assert await users.enable("default", "ann")
    assert not await users.enable("default", "ann")
    assert not await users.is_disabled("default", "ann")


async def test_every_change_of_callers_is_told_to_running_gateways(database: Database) -> None:
    # R17
    epochs, agents, users = Epochs(database), Agents(database), Users(database)
    counts: list[int] = []

    async def count() -> None:
        counts.append((await epochs.current())["default", "keys"])

    await agents.add(WORKER)
    await count()
    await agents.change(replace(WORKER, role=""))
    await count()
    await users.disable("default", "ann", NOW)
    await count()
    await users.enable("default", "ann")
    await users.enable("default", "ann")
    await count()
    await Keys(database).add(
        Key(id="1", name="ci", tenant="default", secret_hash="0f", created=NOW)
    )
    await Keys(database).replace("default", "ci", lambda key: replace(key, id="2"), NOW)
    await count()

    assert counts == [1, 2, 3, 4, 6]
