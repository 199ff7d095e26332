"""What a key may be for, and how it is given a new secret (R5, R9)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remit.admin.agents import LONGEST_EPIC, check_agent, get_agent, registered
from remit.admin.keys import LONGEST_OVERLAP, MadeKey, make_key, rotate_key
from remit.admin.names import require_role
from remit.admin.subjects import Subjects
from remit.errors import BadCall, NotFound, Unauthenticated
from remit.identity.authenticate import Authenticator
from remit.model.agents import Agent
from remit.model.principals import AgentType, PrincipalKind, UserRole
from remit.model.roles import Role
from remit.testing.fakes import InMemoryAgents, InMemoryKeys, InMemoryUsers

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
ROLES = {name: Role(name=name) for name in ("tech_lead", "designer")}
QUERY, OTHER = "01a2251b-dda5-79c0-817b-0b7c51feb48b", "01a2251b-dda5-79c0-817b-0b7c51feb48c"
WORKER = Agent(id="w1", tenant="default", type=AgentType.WORKER, created=NOON)


async def made(store: InMemoryKeys, **purpose: Any) -> MadeKey:
    return await make_key(store, "ci", tenant="default", now=NOON, roles=ROLES, **purpose)


async def test_a_role_and_a_user_role_go_together() -> None:
    # R9: each governs its own domain
    new = await made(InMemoryKeys(), role="designer", user_role="developer")

    assert new.key.roles == ("designer",)
    assert new.key.user_roles == (UserRole.DEVELOPER,)


async def test_a_service_key_may_be_limited_to_queries() -> None:
    new = await made(InMemoryKeys(), service=True, queries=[QUERY, OTHER, QUERY.upper()])

    assert (new.key.service, new.key.queries) == (True, (QUERY, OTHER))


async def test_an_agents_key_opens_the_door_as_that_agent() -> None:
    store = InMemoryKeys()
    new = await made(store, agent=WORKER)

    authenticate = Authenticator(store, agents=InMemoryAgents(WORKER), now=lambda: NOON)
    principal = await authenticate(new.text)

    assert (principal.kind, principal.subject) == (PrincipalKind.AGENT, "agent:w1")


@pytest.mark.parametrize(
    "purpose", [{"role": "designer"}, {"service": True}, {"agent": WORKER}], ids=str
)
async def test_any_key_may_act_for_agents_beside_what_it_is(purpose: dict[str, Any]) -> None:
    # R26
    new = await made(InMemoryKeys(), **purpose, act_for=["w1", "w2", "w1"])

    assert new.key.act_for == ("w1", "w2")


async def test_acting_for_agents_alone_is_no_purpose() -> None:
    # R9: whoever acts for another may what both may
    with pytest.raises(BadCall, match=r"say what the key is for: .*--act-for goes beside it"):
        await made(InMemoryKeys(), act_for=["w1"])


async def test_a_key_acts_for_agents_that_there_are() -> None:
    agents = InMemoryAgents(WORKER, replace(WORKER, id="w2", tenant="acme"))

    assert await registered(agents, "default", ["w1", "w1"]) == ["w1"]
    for unknown in ("w2", "w3"):
        with pytest.raises(NotFound, match=f"'{unknown}'; agents: w1; `remit agents create`"):
            await registered(agents, "default", ["w1", unknown])


@pytest.mark.parametrize(
    "purpose",
    [
        {"role": "designer", "admin": True},
        {"role": "designer", "service": True},
        {"role": "designer", "agent": WORKER},
        {"user_role": "admin", "service": True},
        {"user_role": "admin", "admin": True},
        {"agent": WORKER, "admin": True},
        {"role": "designer", "auditor": True},
        {"admin": True, "auditor": True},
        {"service": True, "agent": WORKER},
    ],
    ids=" and ".join,
)
async def test_other_purposes_stand_alone(purpose: dict[str, Any]) -> None:
    store = InMemoryKeys()

    with pytest.raises(BadCall, match="only a role and a user role go together"):
        await made(store, **purpose)

    assert await store.all_keys("default") == []


async def test_only_a_service_key_is_limited_to_queries() -> None:
    with pytest.raises(BadCall, match="add --service"):
        await made(InMemoryKeys(), role="designer", queries=[QUERY])


@pytest.mark.parametrize("query", ["", "not-a-uuid", "q\n1", QUERY[:-1], QUERY.replace("-", "")])
async def test_what_is_no_id_of_a_query_is_refused(query: str) -> None:
    store = InMemoryKeys()

    with pytest.raises(BadCall, match="is no id of a query: that is a UUID"):
        await made(store, service=True, queries=[OTHER, query])

    assert await store.all_keys("default") == []


async def test_an_unknown_user_role_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(BadCall, match="one of user, admin, data, developer, not 'Admin'"):
        await made(InMemoryKeys(), user_role="Admin")


async def test_a_rotated_key_keeps_everything_but_its_secret() -> None:
    store = InMemoryKeys()
    old = await made(store, role="designer", act_for=["w1"], expires=NOON + timedelta(days=9))
    later = NOON + timedelta(hours=1)

    new = await rotate_key(store, "ci", tenant="default", now=later)

    assert new.text != old.text
    assert new.key == replace(
        old.key, id=new.key.id, secret_hash=new.key.secret_hash, created=later
    )
    authenticate = Authenticator(store, now=lambda: later)
    assert (await authenticate(new.text)).roles == ("designer",)
    with pytest.raises(Unauthenticated):
        await authenticate(old.text)


async def test_the_old_secret_holds_as_long_as_the_overlap_says() -> None:
    store = InMemoryKeys()
    old = await made(store, role="designer")
    await rotate_key(store, "ci", tenant="default", now=NOON, overlap=60)

    for seconds, holds in ((0, True), (59, True), (60, False)):
        moment = NOON + timedelta(seconds=seconds)
        authenticate = Authenticator(store, now=lambda moment=moment: moment)
        try:
            await authenticate(old.text)
        except Unauthenticated:
            assert not holds
        else:
            assert holds


@pytest.mark.parametrize("overlap", [-1.0, LONGEST_OVERLAP + 1, float("inf"), float("nan")])
async def test_an_overlap_is_no_way_to_keep_a_key_for_ever(overlap: float) -> None:
    store = InMemoryKeys()
    old = await made(store, role="designer")

    with pytest.raises(BadCall, match="an overlap is 0 to"):
        await rotate_key(store, "ci", tenant="default", now=NOON, overlap=overlap)

    assert await store.all_keys("default") == [old.key]


async def test_what_has_ended_cannot_be_rotated() -> None:
    store = InMemoryKeys()
    await made(store, role="designer", expires=NOON + timedelta(seconds=1))

    with pytest.raises(BadCall, match="has expired: revoke it"):
        await rotate_key(store, "ci", tenant="default", now=NOON + timedelta(seconds=1))
    await store.revoke("default", "ci", NOON)
    with pytest.raises(NotFound):
        await rotate_key(store, "ci", tenant="default", now=NOON)


def checked(agent_id: str = "w1", **changes: Any) -> Agent:
    plain: dict[str, Any] = {"tenant": "default", "type_name": "WORKER", "now": NOON}
    words: dict[str, Any] = {**plain, "roles": ROLES, **changes}
    return check_agent(agent_id, **words)


def test_an_agent_is_what_the_words_say() -> None:
    agent = checked("w-1.a_b", type_name="orchestrator", role="designer", epic="E 1")

    assert agent == Agent(
        id="w-1.a_b",
        tenant="default",
        type=AgentType.ORCHESTRATOR,
        role="designer",
        epic="E 1",
        created=NOON,
    )


@pytest.mark.parametrize("agent_id", ["", "-a", "a b", "a:b", "é", "a\n", "a" * 65])
def test_an_id_that_does_not_do_is_refused(agent_id: str) -> None:
    with pytest.raises(BadCall, match="an agent's id is"):
        checked(agent_id)


def test_types_roles_and_epics_are_checked() -> None:
    with pytest.raises(BadCall, match="one of SUPERVISOR, ORCHESTRATOR, WORKER, not 'BOSS'"):
        checked(type_name="BOSS")
    with pytest.raises(NotFound, match="declared roles: designer, tech_lead"):
        checked(role="desinger")
    with pytest.raises(BadCall, match="an epic is"):
        checked(epic="e" * (LONGEST_EPIC + 1))
    with pytest.raises(BadCall, match="an epic is"):
        checked(epic="e\n")


async def test_an_agent_that_does_not_exist_is_answered_with_those_that_do() -> None:
    store = InMemoryAgents(WORKER)

    assert await get_agent(store, "default", "w1") == WORKER
    with pytest.raises(NotFound, match="there is no agent 'w2'; agents: w1"):
        await get_agent(store, "default", "w2")


@pytest.mark.parametrize("kind", ["key", "agent", "role"])
async def test_of_thousands_a_message_names_a_few(kind: str) -> None:
    names = [f"n{number:04}" for number in range(1025)]
    keys, agents = InMemoryKeys(), InMemoryAgents(*(replace(WORKER, id=name) for name in names))
    for number, name in enumerate(names):
        made_at = NOON + timedelta(milliseconds=number)
        await make_key(keys, name, tenant="default", now=made_at, admin=True, roles={})
    subjects = Subjects(
        tenant="default", roles=names, keys=keys, agents=agents, users=InMemoryUsers(), now=NOON
    )

    with pytest.raises(NotFound, match=r"n0000, .*n0019 and 1,005 more$"):
        await subjects.find(f"{kind}:nobody")
    with pytest.raises(NotFound, match=r"n0000, .*n0019 and 1,005 more; `remit agents create`"):
        await get_agent(agents, "default", "nobody")
    with pytest.raises(NotFound, match=r"n0000, .*n0019 and 1,005 more$"):
        require_role("nobody", {name: Role(name=name) for name in names})
