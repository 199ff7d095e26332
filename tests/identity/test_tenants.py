"""Whose tenant a caller is of, and who may say so."""

from datetime import timedelta

import pytest
from tests.identity.conftest import NOON, Setting

from remit.errors import InsufficientScope, Unauthenticated
from remit.identity.api_keys import KeyText, hash_secret
from remit.model.keys import Key
from remit.testing.issuer import AUDIENCE

ACME = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
TEXT = KeyText("abcd2345", "a-secret-that-nobody-guesses")


class TwoTenants:
    def name_of(self, text: str) -> str | None:
        names = {"default", "acme", "beta"}
        return text if text in names else {ACME: "acme"}.get(text.lower())


@pytest.fixture
def two(setting: Setting) -> Setting:
    setting.tenants = TwoTenants()
    return setting


@pytest.mark.parametrize(
    ("claims", "tenant"),
    [({}, "default"), ({"tenant": "acme"}, "acme"), ({"tenant": ACME}, "acme")],
    ids=["none", "name", "uuid"],
)
async def test_a_token_says_its_tenant_by_name_or_uuid(
    two: Setting, claims: dict[str, str], tenant: str
) -> None:
    principal = await two.authenticator()(two.token(claims))

    assert principal.tenant == tenant


@pytest.mark.parametrize("tenant", ["nobody", "ACME", "00000000-0000-4000-8000-000000000001"])
async def test_a_token_of_an_unknown_tenant_is_refused(two: Setting, tenant: str) -> None:
    with pytest.raises(Unauthenticated):
        await two.authenticator()(two.token({"tenant": tenant}))


@pytest.mark.parametrize("claims", [{}, {"tenant": "acme"}, {"tenant": ACME}])
async def test_a_tenants_own_issuer_speaks_for_it(two: Setting, claims: dict[str, str]) -> None:
    two.declare(tenant="acme")

    assert (await two.authenticator()(two.token(claims))).tenant == "acme"


async def test_a_tenants_own_issuer_speaks_for_no_other(two: Setting) -> None:
    two.declare(tenant="acme")

    with pytest.raises(Unauthenticated):
        await two.authenticator()(two.token({"tenant": "default"}))


@pytest.mark.parametrize("speaks_for", ["default", ""], ids=["default", "all"])
async def test_of_several_entries_of_one_issuer_that_of_the_tenant_counts(
    two: Setting, speaks_for: str
) -> None:
    two.declare(tenant=speaks_for)
    (first,) = two.issuers
    two.declare(tenant="acme")
    two.issuers = (first, *two.issuers)

    assert (await two.authenticator()(two.token({"tenant": "acme"}))).tenant == "acme"
    assert (await two.authenticator()(two.token())).tenant == "default"


async def test_what_one_entry_of_an_issuer_asks_for_closes_no_other(two: Setting) -> None:
    two.declare(scopes=("remit",))
    (defaults,) = two.issuers
    two.declare(tenant="acme")
    (acmes,) = two.issuers

    for two.issuers in ((defaults, acmes), (acmes, defaults)):
        authenticate = two.authenticator()
        assert (await authenticate(two.token({"tenant": "acme"}))).tenant == "acme"
        with pytest.raises(InsufficientScope) as caught:
            await authenticate(two.token({"tenant": "default"}))
        assert caught.value.scopes == ("remit",)


@pytest.mark.parametrize("path", [ACME, ACME.upper(), f"{ACME}/files"])
async def test_of_two_tenants_with_one_issuer_the_endpoint_says_which_is_meant(
    two: Setting, path: str
) -> None:
    two.declare(tenant="default")
    (first,) = two.issuers
    two.declare(tenant="acme")
    two.issuers = (first, *two.issuers)
    authenticate = two.authenticator()

    there = await authenticate(two.token({"aud": f"{AUDIENCE}/{path}"}))
    anywhere = await authenticate(two.token())

    assert (there.tenant, there.endpoints) == ("acme", (f"/mcp/{path}",))
    assert (anywhere.tenant, anywhere.endpoints) == ("default", ())


async def test_of_two_tenants_with_one_issuer_neither_takes_the_callers_of_the_other(
    two: Setting,
) -> None:
    two.declare(tenant="beta")
    (betas,) = two.issuers
    two.declare(tenant="acme")
    two.issuers = (*two.issuers, betas)
    authenticate = two.authenticator()

    with pytest.raises(Unauthenticated):
        await authenticate(two.token())
    named = await authenticate(two.token({"tenant": "beta"}))
    there = await authenticate(two.token({"aud": f"{AUDIENCE}/{ACME}"}))

    assert (named.tenant, there.tenant) == ("beta", "acme")


async def test_a_token_opens_no_endpoint_of_another_tenant(two: Setting) -> None:
    nowhere = "00000000-0000-4000-8000-000000000001"
    authenticate = two.authenticator()

    for uuid in (ACME, nowhere):
        with pytest.raises(Unauthenticated):
            await authenticate(two.token({"aud": f"{AUDIENCE}/{uuid}"}))
    held = await authenticate(two.token({"aud": [f"{AUDIENCE}/{ACME}", f"{AUDIENCE}/files"]}))

    assert held.endpoints == ("/mcp/files",)


async def test_a_disabled_user_is_kept_out_of_its_tenant_alone(two: Setting) -> None:
    await two.users.disable("acme", "ann", NOON)
    authenticate = two.authenticator()

    with pytest.raises(Unauthenticated):
        await authenticate(two.token({"tenant": ACME}))
    assert (await authenticate(two.token())).tenant == "default"


@pytest.mark.parametrize(("tenant", "holds"), [("acme", True), ("not-served", False)])
async def test_a_key_opens_only_a_tenant_that_is_served(
    two: Setting, tenant: str, holds: bool
) -> None:
    await two.keys.add(
        Key(
            id=TEXT.id,
            name="ci",
            tenant=tenant,
            secret_hash=hash_secret(TEXT.secret),
            roles=("designer",),
            created=NOON - timedelta(days=1),
        )
    )
    authenticate = two.authenticator()

    if holds:
        assert (await authenticate(TEXT.reveal())).tenant == tenant
    else:
        with pytest.raises(Unauthenticated):
            await authenticate(TEXT.reveal())
