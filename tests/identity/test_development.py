"""The built-in issuer of development, issuers without keys to fetch, renewal unasked."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.identity.conftest import NOON, Setting

from remit.errors import StartupError, Unauthenticated
from remit.identity.credentials import Issuers
from remit.identity.development import (
    ISSUER,
    KEY_FILE,
    development_issuer,
)
from remit.identity.development_tokens import make_signing_key, sign_token
from remit.identity.jwks_fetch import UrlKeys
from remit.model.grants import JwtIssuer


def signed(key_text: str) -> str:
    claims = {"roles": ["designer"], "tenant": "default", "iss": "somebody else"}
    return sign_token(
        key_text, subject="dev", claims=claims, issued=NOON, expires=NOON + timedelta(hours=1)
    )


async def is_refused(setting: Setting, token: str) -> bool:
    try:
        await setting.authenticator()(token)
    except Unauthenticated:
        return True
    return False


async def test_a_token_of_the_key_beside_the_declaration_holds(setting: Setting) -> None:
    key = make_signing_key()
    (setting.folder / KEY_FILE).write_text(key)
    setting.issuers = (development_issuer(setting.folder),)

    principal = await setting.authenticator()(signed(key))

    assert (principal.subject, principal.issuer) == ("user:dev", ISSUER)
    assert principal.roles == ("designer",)
    assert await is_refused(setting, signed(make_signing_key()))


async def test_without_the_issuer_or_without_its_file_no_such_token_holds(
    setting: Setting,
) -> None:
    key = make_signing_key()
    assert await is_refused(setting, signed(key))

    setting.issuers = (development_issuer(setting.folder),)
    assert await is_refused(setting, signed(key))


async def test_a_key_that_is_made_while_the_gateway_runs_is_found(setting: Setting) -> None:
    key = make_signing_key()
    setting.issuers = (development_issuer(setting.folder),)
    authenticate = setting.authenticator()
    with pytest.raises(Unauthenticated):
        await authenticate("e30.e30.e30")
    (setting.folder / KEY_FILE).write_text(key)

    assert (await authenticate(signed(key))).name == "dev"


@pytest.mark.parametrize("text", ["", "{}", "[]", "key", '{"kty":"OKP","crv":"Ed25519"}'])
def test_a_file_that_holds_no_key_is_said_to(text: str) -> None:
    with pytest.raises(StartupError, match="remove it to have it made anew"):
        signed(text)


@pytest.mark.parametrize(
    "changes",
    [{"crv": "X25519"}, {"d": ...}, {"kid": ...}, {"use": "enc"}],
    ids=["another curve", "no private part", "no id", "for something else"],
)
def test_a_key_that_cannot_sign_is_said_to(changes: dict[str, Any]) -> None:
    key = {**json.loads(make_signing_key()), **changes}
    text = json.dumps({name: value for name, value in key.items() if value is not ...})

    with pytest.raises(StartupError, match="remove it to have it made anew"):
        signed(text)


def test_our_own_issuer_stands_beside_those_that_are_declared(setting: Setting) -> None:
    own = development_issuer(setting.folder)
    declared: Sequence[JwtIssuer] = ()
    issuers = Issuers(lambda: declared, (own,))
    assert list(issuers()) == [own]

    declared = setting.issuers
    both = issuers()

    assert list(both) == [*setting.issuers, own]
    assert issuers() is both  # the same object, until something changes


async def test_keys_are_renewed_unasked_while_the_gateway_runs(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.identity.jwt.REFRESH_EVERY", 0.02)
    setting.environ["IDP_SECRET"] = "s" * 32
    (trusted,) = setting.issuers
    setting.declare(issuer="https://other.example.test", secret_env="IDP_SECRET", jwks_url="")
    setting.issuers = (*setting.issuers, trusted)
    tokens = setting.verifier()
    authenticate = setting.authenticator(tokens)
    token = setting.token()
    await authenticate(token)
    setting.issuer.keys = {}

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tokens.keep_fresh)
            while True:
                await anyio.sleep(0.01)
                try:
                    await authenticate(token)
                except Unauthenticated:
                    break
            tasks.cancel_scope.cancel()


async def test_keys_are_not_renewed_unasked_before_it_is_time(setting: Setting) -> None:
    tokens = setting.verifier()
    await tokens(setting.token())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.keep_fresh)
        await UrlKeys(setting.issuer.url, allow_private=True)()
        tasks.cancel_scope.cancel()

    assert setting.issuer.fetches == 2  # the token's, and ours
