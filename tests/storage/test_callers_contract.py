"""What every store of agents and of disabled users does, fakes included."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from remit.admin.agents import register
from remit.errors import Conflict, Outdated
from remit.model.agents import Agent, KnownAgent
from remit.model.crew import Change
from remit.model.keys import Key
from remit.model.principals import AgentType
from remit.storage.agents import Agents
from remit.storage.crew import Crew
from remit.storage.database import Database, open_database
from remit.storage.epochs import Epochs
from remit.storage.keys import Keys
from remit.storage.notices import Notices
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

    await agents.change(replace(changed, created=NOW + timedelta(days=1)), seen=WORKER)

    assert await agents.find("default", "w1") == changed
    assert await agents.find("acme", "w1") == replace(WORKER, tenant="acme")


async def test_an_agent_that_is_not_as_it_was_seen_stays_as_it_is(
    agents: Agents | InMemoryAgents,
) -> None:
    changed = replace(WORKER, epic="E2")
    await agents.add(WORKER)
    await agents.change(changed, seen=WORKER)

    for late in (replace(WORKER, role=""), replace(WORKER, id="w2")):
        with pytest.raises(Outdated, match=f"somebody changed agent '{late.id}' meanwhile"):
            await agents.change(late, seen=WORKER)

    assert await agents.all_agents("default") == [changed]


async def test_where_an_agents_program_runs_is_kept_with_it(
    agents: Agents | InMemoryAgents,
) -> None:
    """S3.31."""
    await agents.add(replace(WORKER, tmux_session="remit:1"))
    await agents.add(replace(WORKER, id="w2"))

    named = replace(WORKER, id="w2", tmux_session="remit:2")
    await agents.change(named, seen=replace(WORKER, id="w2"))
    with pytest.raises(Outdated):
        await agents.change(replace(named, epic="E2"), seen=replace(WORKER, id="w2"))
    found = {agent.id: agent.tmux_session for agent in await agents.all_agents("default")}
    await agents.change(WORKER, seen=replace(WORKER, tmux_session="remit:1"))

    assert found == {"w1": "remit:1", "w2": "remit:2"}
    assert await agents.find("default", "w1") == WORKER
    assert await agents.find("default", "w2") == named


async def test_an_epic_has_one_orchestrator(agents: Agents | InMemoryAgents) -> None:
    """S3.31: whoever registers them."""
    runner = replace(WORKER, id="o1", type=AgentType.ORCHESTRATOR)
    await agents.add(runner)
    for other in (
        WORKER,
        replace(runner, id="o2", epic="E2"),
        replace(runner, id="o3", epic=""),
        replace(runner, tenant="acme"),
    ):
        await agents.add(other)

    with pytest.raises(Conflict, match="epic 'E1' has an orchestrator already, 'o1'"):
        await agents.add(replace(runner, id="o4"))
    with pytest.raises(Conflict, match="epic 'E1' has an orchestrator already, 'o1'"):
        await agents.change(replace(runner, id="o2"), seen=replace(runner, id="o2", epic="E2"))
    await agents.change(replace(runner, role=""), seen=runner)

    assert await agents.find("default", "o4") is None
    assert await agents.find("default", "o2") == replace(runner, id="o2", epic="E2")


async def test_a_session_that_changes_is_a_change_of_the_agent_at_work(
    database: Database,
) -> None:
    """So that whoever saw it before looks again, and does not write the old one back."""
    agents, crew = Agents(database), Crew(database, Notices(database))
    await agents.add(WORKER)
    seen = await crew.find_member("default", "w1")
    assert seen is not None
    await crew.apply(Change(members=(seen,)))
    seen = replace(seen, version=1)

    named = replace(WORKER, tmux_session="remit:1")
    await agents.change(named, seen=WORKER)
    await agents.change(replace(named, role=""), seen=named)

    with pytest.raises(Outdated):
        await crew.apply(Change(members=(seen,)))
    now = await crew.find_member("default", "w1")
    assert now is not None
    assert (now.tmux_session, now.version) == ("remit:1", 2)


async def test_an_agent_is_told_of_with_its_registration(database: Database) -> None:
    """S3.30: both, or neither."""
    agents, crew = Agents(database), Crew(database, Notices(database))
    await register(agents, WORKER)

    with pytest.raises(Conflict):
        await register(agents, WORKER)

    ((_, event),) = await crew.events(after=0, limit=9)
    assert (event.topic, event.created) == ("agent.created", NOW)
    assert event.payload == {"agentId": "w1", "type": "WORKER", "epicId": "E1"}


async def test_all_agents_come_by_id(agents: Agents | InMemoryAgents) -> None:
    for name in ("w2", "W1", "w10"):
        await agents.add(replace(WORKER, id=name))

    assert [agent.id for agent in await agents.all_agents("default")] == ["W1", "w10", "w2"]
    assert await agents.all_agents("acme") == []


IDS = ["w2", "W1", "w10", "w1-a", "w1.a", "w1_a", "w1A", "w1a", "0"]


async def test_agents_come_in_parts_and_in_no_other_order(agents: Agents | InMemoryAgents) -> None:
    for name in IDS:
        await agents.add(replace(WORKER, id=name, epic="", tmux_session=f"of {name}"))
    await agents.add(replace(WORKER, tenant="acme"))
    everybody = await agents.all_agents("default")

    for after in (None, *sorted(IDS), "", "w", "zz"):
        behind = [each for each in everybody if after is None or each.id > after]
        for limit in (1, 3, len(IDS) + 1):
            assert await agents.agents_after("default", after, limit) == behind[:limit]
    await agents.agents_after("default", "\ud800\0", 1)  # in a cursor that nobody handed out
    assert await agents.count("default") == len(everybody) == len(IDS)
    assert await agents.known("default") == [
        KnownAgent(each.id, each.type, each.role) for each in everybody
    ]
    assert (await agents.count("none"), await agents.known("none")) == (0, [])


async def test_disabled_users_come_in_parts_and_in_no_other_order(
    users: Users | InMemoryUsers,
) -> None:
    names = ["bob", "Ann", "ann", "\u00e4nn", "an n", "ann@acme", "\N{GRINNING FACE}", "\uff21nn"]
    for number, name in enumerate(names):
        await users.disable("default", name, NOW + timedelta(hours=number))
    await users.disable("acme", "ann", NOW)
    everybody = list((await users.all_disabled("default")).items())

    for after in (None, *names, "", "b"):
        behind = [each for each in everybody if after is None or each[0] > after]
        for limit in (1, 3, len(names) + 1):
            found = await users.disabled_after("default", after, limit)
            assert list(found.items()) == behind[:limit]
    await users.disabled_after("default", "\ud800\0", 1)  # in a cursor that nobody handed out
    assert [name for name, _ in everybody] == sorted(names)
    assert await users.disabled_since("default", "Ann") == NOW + timedelta(hours=1)
    assert await users.disabled_since("acme", "Ann") is None


async def test_a_database_of_another_language_has_the_same_order(postgres_url: str) -> None:
    async with open_database(postgres_url) as database:
        await _speak_english(database)
        agents, users, crew = Agents(database), Users(database), Crew(database, Notices(database))
        for name in IDS:
            await agents.add(replace(WORKER, id=name))
            await users.disable("default", name, NOW)

        found = [
            [each.id for each in await agents.agents_after("default", None, 99)],
            [each.id for each in await crew.members_after("default", None, 99)],
            list(await users.disabled_after("default", None, 99)),
            [each.id for each in await agents.agents_after("default", "w1", 99)],
        ]

    assert found == [*[sorted(IDS)] * 3, [each for each in sorted(IDS) if each > "w1"]]


async def _speak_english(database: Database) -> None:
    """Sort ids and names as people do, small and capital letters side by side."""
    columns = ("agents", "id"), ("crew_agents", "id"), ("disabled_users", "name")
    async with database.writing() as connection:
        known = text("SELECT count(*) FROM pg_collation WHERE collname = 'en-x-icu'")
        if not (await connection.execute(known)).scalar_one():
            pytest.skip("this PostgreSQL knows no English")
        for table, column in columns:
            change = f'ALTER TABLE {table} ALTER COLUMN {column} TYPE text COLLATE "en-x-icu"'
            await connection.execute(text(change))


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
    await agents.change(replace(WORKER, role=""), seen=WORKER)
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
