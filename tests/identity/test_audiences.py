"""Where a token may come in: `aud` against what the issuer's entry declares (issue 3)."""

from collections.abc import Sequence

import pytest
from tests.identity.conftest import Setting

from remit.errors import InsufficientScope, Unauthenticated
from remit.identity.audiences import endpoints_of
from remit.identity.credentials import CredentialRefused
from remit.model.principals import Principal, PrincipalKind
from remit.testing.issuer import AUDIENCE

MCP = "https://remit.example.test/mcp"
BELOW_A_PATH = "https://example.test/tools/mcp/git"
NO_ENDPOINT = "https://other.example.test"
DECLARED = (MCP, "api://remit", BELOW_A_PATH, NO_ENDPOINT)
TENANT = "/mcp/2f6c1f3e-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("claim", "endpoints"),
    [
        (MCP, ()),
        ("api://remit", ()),
        (NO_ENDPOINT, ()),
        (["https://elsewhere.example.test", MCP], ()),
        (f"{MCP}/git", ("/mcp/git",)),
        ([f"{MCP}/git", f"{MCP}/wiki"], ("/mcp/git", "/mcp/wiki")),
        ([f"{MCP}/git", "api://remit"], ()),
        ([f"{MCP}/git", 5, None], ("/mcp/git",)),
        (f"https://remit.example.test{TENANT}/git", (f"{TENANT}/git",)),
        (f"{MCP}/mcp", ("/mcp/mcp",)),
        (BELOW_A_PATH, ("/mcp/git",)),
    ],
)
def test_an_audience_opens_the_gateway_or_one_endpoint(
    claim: object, endpoints: Sequence[str]
) -> None:
    assert endpoints_of(claim, DECLARED) == endpoints


@pytest.mark.parametrize(
    "claim",
    [
        None,
        [],
        5,
        "",
        {MCP: 1},
        [[MCP]],
        "https://remit.example.test",
        f"{MCP}/",
        f"{MCP}/git/",
        f"{MCP}/../wiki",
        f"{MCP}/git?x=1",
        f"{MCP}/git#x",
        f"{MCP}/a/b/c",
        f"{MCP}-other/git",
        MCP.upper(),
        "https://evil.example.test/mcp",
        "https://evil.example.test/https://remit.example.test/mcp/git",
        "https://example.test/tools/mcp",
        "https://example.test/tools/mcp/wiki",
        "api://remit/git",
        f"{NO_ENDPOINT}/mcp",
        f"{NO_ENDPOINT}/mcp/git",
    ],
)
def test_what_is_not_declared_and_no_endpoint_below_it_is_somebody_elses(claim: object) -> None:
    with pytest.raises(CredentialRefused, match="another audience"):
        endpoints_of(claim, DECLARED)


@pytest.mark.parametrize(
    ("endpoints", "path", "opens"),
    [
        ((), "/mcp", True),
        ((), "/readyz", True),
        (("/mcp/git",), "/mcp/git", True),
        (("/mcp/git",), "/mcp/git/", True),
        (("/mcp/git",), "/mcp", False),
        (("/mcp/git",), "/mcp/github", False),
        (("/mcp/git",), "/mcp/GIT", False),
        (("/mcp/git",), "/mcp/wiki", False),
        (("/mcp/git",), "/readyz", False),
        (("/mcp/git",), "/", False),
        ((TENANT,), f"{TENANT}/git", True),
        ((f"{TENANT}/git",), TENANT, False),
        (("/mcp/git", "/mcp/wiki"), "/mcp/wiki", True),
    ],
)
def test_a_credential_for_an_endpoint_opens_it_and_what_is_below_it(
    endpoints: tuple[str, ...], path: str, *, opens: bool
) -> None:
    principal = Principal(kind=PrincipalKind.USER, name="ann", endpoints=endpoints)

    assert principal.may_enter(path) is opens


async def test_a_tokens_principal_knows_which_endpoints_it_opens(setting: Setting) -> None:
    authenticate = setting.authenticator()

    everywhere = await authenticate(setting.token({"aud": AUDIENCE}))
    confined = await authenticate(setting.token({"aud": [f"{AUDIENCE}/git"]}))
    below = await authenticate(setting.token({"aud": f"https://remit.example.test{TENANT}/git"}))

    assert everywhere.endpoints == ()
    assert confined.endpoints == ("/mcp/git",)
    assert below.endpoints == (f"{TENANT}/git",)


@pytest.mark.parametrize(
    "given",
    [
        {"scope": "openid remit"},
        {"scope": ["openid", "remit"]},
        {"scp": "remit openid"},
        {"scp": ["remit", "openid", 5, ["x"]]},
        {"scope": "openid", "scp": "remit"},
    ],
)
async def test_a_token_with_every_scope_that_its_issuer_declares_comes_in(
    setting: Setting, given: dict[str, object]
) -> None:
    setting.declare(scopes=("openid", "remit"))

    assert (await setting.authenticator()(setting.token(given))).name == "ann"


@pytest.mark.parametrize(
    "given", [{}, {"scope": "openid"}, {"scope": "remit2 openid"}, {"scope": 5}, {"scp": None}]
)
async def test_a_sound_token_without_a_scope_is_told_all_that_it_needs(
    setting: Setting, given: dict[str, object]
) -> None:
    setting.declare(scopes=("openid", "remit"))

    with pytest.raises(InsufficientScope) as caught:
        await setting.authenticator()(setting.token(given))

    assert caught.value.scopes == ("openid", "remit")
    assert "openid remit" in str(caught.value)


async def test_only_a_sound_token_is_told_of_scopes(setting: Setting) -> None:
    setting.declare(scopes=("remit",))

    with pytest.raises(Unauthenticated):
        await setting.authenticator()(setting.token()[:-4] + "AAAA")


@pytest.mark.parametrize("declared", [None, ()])
async def test_without_declared_scopes_none_is_needed(
    setting: Setting, declared: tuple[str, ...] | None
) -> None:
    setting.declare(scopes=declared)

    for given in ({}, {"scope": "anything"}):
        assert (await setting.authenticator()(setting.token(given))).name == "ann"
