"""What a worker opens only once somebody needs it."""

from datetime import UTC, datetime

import anyio
import pytest
from anyio.lowlevel import checkpoint

from remit.app.tokens import TokensWhenNeeded
from remit.app.when_needed import WhenNeeded
from remit.identity.credentials import CredentialRefused, VerifiedToken
from remit.model.principals import Principal, PrincipalKind

SOMEBODY = Principal(kind=PrincipalKind.USER, name="somebody")


class OneToken:
    """Knows one token, and counts."""

    def __init__(self) -> None:
        self.looks = 0
        self.fresh = anyio.Event()

    def look_for_changes(self) -> int:
        self.looks += 1
        return 7

    async def __call__(self, text: str) -> VerifiedToken:
        if text != "a.b.c":
            raise CredentialRefused("not that one")
        return VerifiedToken(principal=SOMEBODY, ends=datetime.max.replace(tzinfo=UTC))

    async def keep_fresh(self) -> None:
        self.fresh.set()


async def test_tokens_are_verified_by_one_verifier_that_the_first_of_them_opens() -> None:
    opened: list[OneToken] = []

    def open_verifier() -> OneToken:
        opened.append(OneToken())
        return opened[-1]

    tokens = TokensWhenNeeded(open_verifier)
    assert (tokens.look_for_changes(), opened) == (0, [])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens, "a.b.c")
        tasks.start_soon(tokens, "a.b.c")
    with pytest.raises(CredentialRefused):
        await tokens("d.e.f")

    assert len(opened) == 1
    assert (tokens.look_for_changes(), opened[0].looks) == (7, 1)


async def test_keys_are_kept_fresh_from_the_first_token_on() -> None:
    verifier = OneToken()
    tokens = TokensWhenNeeded(lambda: verifier)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tokens.keep_fresh)
            await checkpoint()
            assert not verifier.fresh.is_set()
            await tokens("a.b.c")
            await verifier.fresh.wait()


async def test_what_is_needed_is_opened_once_however_many_ask_at_first() -> None:
    opened: list[object] = []

    def open_it() -> object:
        opened.append(object())
        return opened[-1]

    needed, given = WhenNeeded(open_it), list[object]()
    assert opened == []

    async def ask() -> None:
        given.append(await needed.get())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)

    assert len(opened) == 1
    assert given == opened * 3
