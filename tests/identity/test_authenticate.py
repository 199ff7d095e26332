"""The caller's view: which credential holds, and what a refusal tells."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from remit.errors import StorageUnavailable, Unauthenticated
from remit.identity.api_keys import KeyText, hash_secret, make_key_text
from remit.identity.authenticate import MOST_VERIFIED, Authenticator, principal_of
from remit.identity.credentials import CredentialRefused, VerifiedToken
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import AgentType, Principal, PrincipalKind
from remit.testing.fakes import InMemoryKeys

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
TEXT = KeyText("abcd2345", "a-secret-that-nobody-guesses")


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


class CountingKeys(InMemoryKeys):
    """Keys that count what they are asked, and fail when told to."""

    def __init__(self, *keys: Key) -> None:
        super().__init__(*keys)
        self.finds: list[str] = []
        self.finding_fails = False

    async def find(self, key_id: str) -> Key | None:
        self.finds.append(key_id)
        if self.finding_fails:
            raise StorageUnavailable("the database is away")
        return await super().find(key_id)


class Tokens:
    """Issuers that have changed as often as it is told; no token of theirs holds."""

    changes = 0

    def look_for_changes(self) -> int:
        return self.changes

    async def __call__(self, text: str) -> VerifiedToken:
        del text
        raise CredentialRefused("no token holds")


class SlowKeys(InMemoryKeys):
    """Keys whose rows are read at once and handed over later."""

    def __init__(self, *keys: Key) -> None:
        super().__init__(*keys)
        self.reading = anyio.Event()
        self.go_on = anyio.Event()

    async def find(self, key_id: str) -> Key | None:
        row = await super().find(key_id)
        self.reading.set()
        await self.go_on.wait()
        return row


def key(text: KeyText = TEXT, name: str = "ci") -> Key:
    return Key(
        id=text.id,
        name=name,
        tenant="default",
        secret_hash=hash_secret(text.secret),
        roles=("designer", "reviewer"),
        created=NOON - timedelta(days=1),
    )


async def refusal(authenticate: Authenticator, credential: str | None) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await authenticate(credential)
    return str(refused.value)


async def test_a_key_that_holds_is_a_principal_with_its_roles() -> None:
    authenticate = Authenticator(InMemoryKeys(replace(key(), admin=True)), now=Clock())

    principal = await authenticate(TEXT.reveal())

    assert principal == Principal(
        kind=PrincipalKind.KEY,
        name="ci",
        tenant="default",
        roles=("designer", "reviewer"),
        admin=True,
    )


def test_the_key_of_an_auditor_is_an_auditors_and_no_administrators() -> None:
    principal = principal_of(replace(key(), auditor=True))

    assert (principal.auditor, principal.admin) == (True, False)
    assert not principal_of(key()).auditor


@pytest.mark.parametrize(("expires", "revoked"), [(1, 2), (2, 1), (1, None), (None, 1)])
def test_a_principal_ends_with_its_key(expires: int | None, revoked: int | None) -> None:
    moments = {None: None, 1: NOON, 2: NOON + timedelta(hours=1)}
    held = replace(key(), expires=moments[expires], revoked=moments[revoked])

    agents = replace(held, agent="w1")
    agent = Agent(id="w1", tenant="default", type=AgentType.WORKER, created=NOON)

    assert principal_of(held).expires == NOON
    assert principal_of(agents, agent).expires == principal_of(agents).expires == NOON


async def test_the_bearer_of_a_key_is_asked_for_again_and_its_use_noted() -> None:
    uses: list[str] = []
    over = replace(key(), id="over", expires=NOON)
    authenticate = Authenticator(InMemoryKeys(key(), over), note_use=uses.append, now=Clock())
    for identifier, secret_hash in (
        (TEXT.id, hash_secret("another")),
        ("nosuchid", hash_secret(TEXT.secret)),
        (over.id, over.secret_hash),
    ):
        with pytest.raises(CredentialRefused):
            await authenticate.bearer_of(identifier, secret_hash)
    assert uses == []

    bearer = await authenticate.bearer_of(TEXT.id, hash_secret(TEXT.secret))

    assert (bearer.subject, uses) == ("key:ci", [TEXT.id])


def test_a_principal_has_the_tenant_of_its_key() -> None:
    assert principal_of(replace(key(), tenant="acme")).tenant == "acme"


async def test_the_clock_of_the_machine_is_the_default() -> None:
    gone = replace(key(), expires=datetime(2020, 1, 1, tzinfo=UTC))

    assert "does not hold" in await refusal(Authenticator(InMemoryKeys(gone)), TEXT.reveal())


@pytest.mark.parametrize("nothing", [None, ""])
async def test_a_missing_credential_is_told_how_to_send_one(nothing: str | None) -> None:
    text = await refusal(Authenticator(InMemoryKeys(key())), nothing)

    assert text == "send a key: 'Authorization: Bearer rmt_…' or 'X-API-Key: rmt_…'"


async def test_every_credential_that_does_not_hold_is_refused_in_the_same_words() -> None:
    expired, revoked = make_key_text(), make_key_text()
    keys = InMemoryKeys(
        key(),
        replace(key(expired, "expired"), expires=NOON),
        replace(key(revoked, "revoked"), revoked=NOON - timedelta(hours=1)),
    )
    authenticate = Authenticator(keys, now=Clock())
    credentials = [
        KeyText(TEXT.id, "wrong").reveal(),
        KeyText("nosuchid", TEXT.secret).reveal(),
        KeyText("nosuchid", "nobody").reveal(),
        expired.reveal(),
        revoked.reveal(),
        TEXT.secret,
        TEXT.reveal() + " ",
        "rmt__",
        "garbage",
        "gärbage",
        "\ud800",
        "\x00",
        "x" * 5_000_000,
        "rmt_abcd2345_" + "x" * 5_000_000,
    ]

    texts = {await refusal(authenticate, credential) for credential in credentials}

    assert texts == {"this credential does not hold: unknown, wrong, expired or revoked"}


async def test_text_that_cannot_be_a_key_never_reaches_the_store() -> None:
    keys = CountingKeys(key())

    await refusal(Authenticator(keys), "x" * 5_000_000)

    assert keys.finds == []


async def test_a_key_expires_while_it_is_remembered() -> None:
    clock = Clock()
    keys = CountingKeys(replace(key(), expires=NOON + timedelta(seconds=10)))
    authenticate = Authenticator(keys, now=clock)
    await authenticate(TEXT.reveal())

    clock.now += timedelta(seconds=10)

    assert "expired" in await refusal(authenticate, TEXT.reveal())
    assert len(keys.finds) == 1


async def test_a_key_that_holds_is_looked_up_once() -> None:
    keys = CountingKeys(key())
    authenticate = Authenticator(keys, now=Clock())

    first = await authenticate(TEXT.reveal())
    again = await authenticate(TEXT.reveal())

    assert first == again
    assert keys.finds == [TEXT.id]


async def test_a_change_of_the_issuers_is_looked_after_once() -> None:
    keys, tokens = CountingKeys(key()), Tokens()
    authenticate = Authenticator(keys, tokens=tokens, now=Clock())

    for tokens.changes in (1, 1, 2, 2):
        await authenticate(TEXT.reveal())

    assert keys.finds == [TEXT.id] * 2


async def test_a_wrong_secret_is_refused_while_the_right_one_is_remembered() -> None:
    authenticate = Authenticator(InMemoryKeys(key()), now=Clock())
    await authenticate(TEXT.reveal())

    assert "wrong" in await refusal(authenticate, KeyText(TEXT.id, "wrong").reveal())


async def test_a_revoked_key_is_refused_once_what_was_remembered_is_forgotten() -> None:
    # R17
    keys = InMemoryKeys(key())
    authenticate = Authenticator(keys, now=Clock())
    await authenticate(TEXT.reveal())
    await keys.revoke("default", "ci", NOON)

    authenticate.forget()

    assert "revoked" in await refusal(authenticate, TEXT.reveal())


async def test_whoever_waits_for_a_change_hears_of_it_at_once_or_afterwards() -> None:
    authenticate = Authenticator(InMemoryKeys())
    heard: list[int] = []

    async def wait(seen: int) -> None:
        heard.append(await authenticate.wait(seen))

    with anyio.fail_after(20):
        for seen in (0, 1):  # who has heard of a change waits for the next one, and does not spin
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, seen)
                await anyio.wait_all_tasks_blocked()
                assert len(heard) == seen
                authenticate.forget()
            assert heard[-1] == seen + 1
        authenticate.forget()
        assert await authenticate.wait(2) == 3


async def test_a_key_read_before_it_was_revoked_is_not_remembered_after_it() -> None:
    # R17: forget() falls between the reading of the row and its use
    keys = SlowKeys(key())
    authenticate = Authenticator(keys, now=Clock())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(authenticate, TEXT.reveal())
            await keys.reading.wait()
            await keys.revoke("default", "ci", NOON)
            authenticate.forget()
            keys.go_on.set()

    assert "revoked" in await refusal(authenticate, TEXT.reveal())


async def test_a_failure_is_not_remembered() -> None:
    keys = CountingKeys()
    authenticate = Authenticator(keys, now=Clock())
    await refusal(authenticate, TEXT.reveal())

    await keys.add(key())

    assert (await authenticate(TEXT.reveal())).name == "ci"
    assert len(keys.finds) == 2


async def test_a_revoked_key_is_not_remembered() -> None:
    keys = CountingKeys(replace(key(), revoked=NOON))
    authenticate = Authenticator(keys, now=Clock())

    await refusal(authenticate, TEXT.reveal())
    await refusal(authenticate, TEXT.reveal())

    assert len(keys.finds) == 2


async def test_ten_thousand_random_keys_leave_what_is_remembered_alone() -> None:
    keys = CountingKeys(key())
    authenticate = Authenticator(keys, now=Clock())
    await authenticate(TEXT.reveal())

    for number in range(10_000):
        await refusal(authenticate, f"rmt_{number}_guess")
    keys.finds.clear()

    await authenticate(TEXT.reveal())
    await refusal(authenticate, "rmt_1_guess")
    assert keys.finds == ["1"]


async def test_as_many_keys_are_remembered_as_the_bound_says_and_no_more() -> None:
    texts = [KeyText(f"id{number}", "secret") for number in range(MOST_VERIFIED + 1)]
    keys = CountingKeys(*(key(text, f"key-{text.id}") for text in texts))
    authenticate = Authenticator(keys, now=Clock())
    for text in texts[:-1]:
        await authenticate(text.reveal())
    keys.finds.clear()

    await authenticate(texts[0].reveal())
    assert keys.finds == []  # the memory is full, and holds the first

    await authenticate(texts[-1].reveal())
    await authenticate(texts[0].reveal())
    assert keys.finds == [texts[-1].id, texts[0].id]  # one more, and it began anew


async def test_every_use_of_a_key_that_holds_is_noted_by_its_id() -> None:
    other = make_key_text()
    noted: list[str] = []
    keys = InMemoryKeys(key(), replace(key(other, "other"), expires=NOON))
    authenticate = Authenticator(keys, note_use=noted.append, now=Clock())

    for _ in range(2):
        await authenticate(TEXT.reveal())
        await refusal(authenticate, other.reveal())

    assert noted == [TEXT.id, TEXT.id]


async def test_a_store_that_cannot_be_read_opens_no_door() -> None:
    # R17: a store that cannot be read never widens access
    keys = CountingKeys(key())
    keys.finding_fails = True
    authenticate = Authenticator(keys, now=Clock())

    with pytest.raises(StorageUnavailable):
        await authenticate(TEXT.reveal())

    keys.finding_fails = False
    assert (await authenticate(TEXT.reveal())).name == "ci"
