"""Users, agents and service keys at the one entry (R5, R6, R17), and what the log tells of them."""

import time
import tracemalloc
from dataclasses import replace
from datetime import timedelta

import pytest
import structlog.testing
from tests.identity.conftest import NOON, Setting

from remit.errors import StorageUnavailable, Unauthenticated
from remit.identity.api_keys import KeyText, hash_secret
from remit.identity.authenticate import Authenticator, principal_of
from remit.identity.credentials import CredentialRefused
from remit.identity.sessions import People, SignIns
from remit.model.agents import Agent, may_act_as
from remit.model.keys import Key
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole
from remit.model.sessions import ByIssuer
from remit.storage.console_sessions import ConsoleSessions
from remit.storage.database import default_url, open_database
from remit.testing.fakes import InMemoryKeys, InMemoryUsers

TEXT = KeyText("abcd2345", "a-secret-that-nobody-guesses")
WORKER = Agent(
    id="w1", tenant="default", type=AgentType.WORKER, role="designer", epic="E1", created=NOON
)


def key(**changes: object) -> Key:
    plain = Key(
        id=TEXT.id,
        name="ci",
        tenant="default",
        secret_hash=hash_secret(TEXT.secret),
        created=NOON - timedelta(days=1),
    )
    return replace(plain, **changes)


class FailingUsers(InMemoryUsers):
    """Users that cannot be looked up."""

    async def is_disabled(self, tenant: str, name: str) -> bool:
        raise StorageUnavailable(f"the database is away for {tenant}/{name}")


class OneTenant:
    """No tenants but the first."""

    def name_of(self, text: str) -> str | None:
        return text if text == "default" else None


async def is_refused(authenticate: Authenticator, credential: str) -> bool:
    try:
        await authenticate(credential)
    except Unauthenticated:
        return True
    return False


async def test_a_disabled_user_is_refused_once_what_was_remembered_is_forgotten(
    setting: Setting,
) -> None:
    # R17
    authenticate = setting.authenticator()
    token = setting.token()
    await authenticate(token)
    await setting.users.disable("default", "ann", NOON)
    await setting.users.disable("default", "bob", NOON)
    authenticate.forget()

    assert await is_refused(authenticate, token)
    assert not await is_refused(authenticate, setting.token({"sub": "eve"}))
    assert not await is_refused(authenticate, setting.token({"sub": "bob", "tenant": "acme"}))
    await setting.users.enable("default", "ann")
    assert not await is_refused(authenticate, token)


async def test_a_disabled_user_is_kept_out_with_keys_of_theirs_and_no_others(
    setting: Setting,
) -> None:
    # R17
    authenticate = setting.authenticator()
    await setting.keys.add(key(owner="ann"))
    await authenticate(TEXT.reveal())
    await setting.users.disable("acme", "ann", NOON)
    await setting.users.disable("default", "bob", NOON)
    authenticate.forget()
    await authenticate(TEXT.reveal())

    await setting.users.disable("default", "ann", NOON)
    authenticate.forget()

    assert await is_refused(authenticate, TEXT.reveal())
    with pytest.raises(CredentialRefused, match="disabled"):  # as a console session asks
        await authenticate.bearer_of(TEXT.id, hash_secret(TEXT.secret))
    await setting.users.enable("default", "ann")
    assert not await is_refused(authenticate, TEXT.reveal())


async def test_a_store_of_users_that_cannot_be_read_opens_no_door(setting: Setting) -> None:
    setting.users = FailingUsers()
    await setting.keys.add(key(owner="ann"))

    for credential in (setting.token(), TEXT.reveal()):
        with pytest.raises(StorageUnavailable):
            await setting.authenticator()(credential)


async def test_a_remembered_token_ends_when_it_says(setting: Setting) -> None:
    authenticate = setting.authenticator()
    token = setting.token({"exp": setting.at(10)})
    principal = await authenticate(token)
    assert principal.expires == NOON + timedelta(seconds=40)

    setting.now = NOON + timedelta(seconds=39)
    await authenticate(token)
    setting.now = NOON + timedelta(seconds=40)

    assert await is_refused(authenticate, token)


async def test_without_issuers_no_token_holds(setting: Setting) -> None:
    assert await is_refused(Authenticator(setting.keys), setting.token())


async def test_an_agents_key_is_the_agent_as_it_is_now(setting: Setting) -> None:
    setting.keys = InMemoryKeys(key(agent="w1"))
    await setting.agents.add(WORKER)
    authenticate = setting.authenticator()

    before = await authenticate(TEXT.reveal())
    changed = replace(WORKER, type=AgentType.ORCHESTRATOR, role="")
    await setting.agents.change(changed, seen=WORKER)
    authenticate.forget()
    after = await authenticate(TEXT.reveal())

    assert before == Principal(
        kind=PrincipalKind.AGENT,
        name="w1",
        agent_type=AgentType.WORKER,
        roles=("designer",),
    )
    assert (after.agent_type, after.roles) == (AgentType.ORCHESTRATOR, ())


async def test_a_key_of_an_agent_that_does_not_exist_is_refused(setting: Setting) -> None:
    setting.keys = InMemoryKeys(key(agent="w1"))
    await setting.agents.add(replace(WORKER, tenant="acme"))

    assert await is_refused(setting.authenticator(), TEXT.reveal())
    assert await is_refused(Authenticator(setting.keys), TEXT.reveal())


def test_an_agents_key_without_its_agent_has_no_power() -> None:
    held = key(agent="w1", tenant="acme", roles=("designer",), act_for=("w2",))

    assert principal_of(held) == Principal(kind=PrincipalKind.AGENT, name="w1", tenant="acme")


def test_a_principal_wears_every_hat_of_its_key() -> None:
    held = key(roles=("designer",), user_roles=(UserRole.DATA,), expires=NOON)
    limited = key(service=True, queries=("q1",))

    hats = principal_of(held)

    assert (hats.roles, hats.user_roles, hats.expires) == (("designer",), (UserRole.DATA,), NOON)
    assert (principal_of(limited).service, principal_of(limited).queries) == (True, ("q1",))


async def test_a_key_acts_for_the_agents_that_its_scope_names(setting: Setting) -> None:
    # R26: whatever else its bearer is
    await setting.agents.add(WORKER)
    for hat in ({"roles": ("designer",)}, {"service": True}, {"agent": "w1"}):
        setting.keys = InMemoryKeys(key(act_for=("w2",), **hat))
        bearer = await setting.authenticator()(TEXT.reveal())

        assert [may_act_as(bearer, other) for other in ("w2", "w3")] == [True, False]


@pytest.mark.parametrize("leave", [0, 60])
async def test_a_replaced_key_holds_until_its_overlap_ends(leave: int, setting: Setting) -> None:
    end = NOON + timedelta(seconds=leave)
    setting.keys = InMemoryKeys(key(revoked=end))
    authenticate = setting.authenticator()

    assert await is_refused(authenticate, TEXT.reveal()) is (leave == 0)
    setting.now = end
    assert await is_refused(authenticate, TEXT.reveal())


def test_an_agent_acts_for_itself_and_a_supervisor_for_those_of_its_tenant() -> None:
    # R26
    boss = replace(WORKER, id="s1", type=AgentType.SUPERVISOR)

    assert may_act_as(WORKER.principal, WORKER.id)
    assert not may_act_as(WORKER.principal, "w2")
    assert may_act_as(boss.principal, "w2")
    assert not may_act_as(Principal(kind=PrincipalKind.USER, name="w1"), WORKER.id)
    assert not may_act_as(Principal(kind=PrincipalKind.KEY, name="w1"), WORKER.id)


async def test_the_log_tells_why_beside_a_hash_and_nothing_of_the_credential(
    setting: Setting,
) -> None:
    setting.keys = InMemoryKeys(key())
    credentials = {
        setting.token({"sub": "annabel", "exp": setting.at(-100)}): "expired",
        setting.token({"aud": "elsewhere"}): "meant for another audience",
        KeyText(TEXT.id, "wrong").reveal(): "an unknown key, or a wrong secret",
        "garbage": "neither a key nor a token",
    }

    with structlog.testing.capture_logs() as logged:
        for credential in credentials:
            assert await is_refused(setting.authenticator(), credential)

    assert [entry["reason"] for entry in logged] == list(credentials.values())
    assert {entry["log_level"] for entry in logged} == {"debug"}
    assert {len(entry["hash"]) for entry in logged} == {12}
    for credential in credentials:
        for part in (*credential.split("."), "annabel", "elsewhere", "wrong_", TEXT.id):
            assert part not in repr(logged)


async def test_ten_thousand_random_credentials_leave_no_trace_in_memory(setting: Setting) -> None:
    began = time.monotonic()
    setting.keys = InMemoryKeys(key())
    authenticate = setting.authenticator()
    await authenticate(TEXT.reveal())
    await authenticate(setting.token())
    content = setting.token().rpartition(".")[0]

    async def attack(numbers: range) -> None:
        for number in numbers:
            assert await is_refused(authenticate, f"rmt_{number}_guess")
            assert await is_refused(authenticate, f"{content}.{number:08d}")

    with structlog.testing.capture_logs():
        await attack(range(200))
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        for start in range(0, 10_000, 1000):
            with structlog.testing.capture_logs():
                await attack(range(start, start + 1000))
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()

    kept = [
        change
        for change in after.compare_to(before, "filename")
        if "remit/identity" in change.traceback[0].filename
    ]
    # The smallest object for each of the twenty thousand would be a megabyte.
    assert sum(change.size_diff for change in kept) < 500_000
    # The first, one for keys that might be newer, and one more each 30 s that this machine took.
    assert setting.issuer.fetches <= 2 + (time.monotonic() - began) // 30


async def test_a_token_that_holds_begins_no_session(setting: Setting) -> None:
    await setting.keys.add(key())
    people = People(lambda: None, users=setting.users, tenants=OneTenant())
    async with open_database(default_url(setting.folder / ".remit")) as database:
        sign_ins = SignIns(ConsoleSessions(database), setting.authenticator(), people)

        with pytest.raises(Unauthenticated, match="no key that holds"):
            await sign_ins.whose_key(setting.token())
        assert (await sign_ins.whose_key(TEXT.reveal()))[0].name == "ci"


async def test_nobody_is_vouched_for_where_no_provider_is_declared(setting: Setting) -> None:
    people = People(lambda: None, users=setting.users, tenants=OneTenant())
    came = ByIssuer(
        issuer=setting.issuer.name, client_id="remit", subject="ann", shown="Ann", roles=("boss",)
    )

    with pytest.raises(CredentialRefused, match="its provider is not declared"):
        await people.principal("default", came)
