"""Signing in at an OpenID provider: who gets in as what, and every answer that does not hold."""

import base64
import json
from collections.abc import Generator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import structlog.testing
from joserfc.jwk import OctKey, RSAKey
from tests.console.worlds import Browser, World, problem_in

from remit.doors.console.provider import (
    KEPT_OUT,
    NO_PROVIDER,
    NO_ROLE,
    NO_TENANT,
    NOT_BEGUN,
    NOT_HELD,
    UNAVAILABLE,
)
from remit.doors.console.sign_in_page import AWAY
from remit.model.oidc import OidcProvider
from remit.storage.users import Users
from remit.testing.authorization_server import FakeAuthorizationServer, open_authorization_server

SECRET = "s3cr3t-of-the-client-that-is-long-enough"


@pytest.fixture(scope="module")
def one_idp() -> Generator[FakeAuthorizationServer]:
    with open_authorization_server() as idp:
        yield idp


@pytest.fixture
def idp(one_idp: FakeAuthorizationServer, world: World) -> FakeAuthorizationServer:
    """A provider that vouches for an administrator, and that the world declares."""
    one_idp.clock = world.seconds
    one_idp.status, one_idp.described, one_idp.responds = 200, {}, {}
    one_idp.says = {"sub": "00u1", "name": "Ann Admin", "roles": ["platform"]}
    one_idp.asked_for.clear()
    world.oidc = OidcProvider(
        issuer=one_idp.name,
        client_id="remit",
        allow_private_url=True,
        administrators=("platform",),
        auditors=("audit",),
        reviewers=("data", "cn=data,dc=example"),
        users=("staff",),
    )
    return one_idp


def unsigned(token: str) -> str:
    """Return what a token says, signed by nobody."""
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    return f"{header}.{token.split('.')[1]}.AA"


def declare(world: World, **changes: Any) -> None:
    assert world.oidc is not None
    world.oidc = replace(world.oidc, **changes)


async def test_somebody_whom_the_provider_vouches_for_is_signed_in(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    done = await browser.sign_in_at_provider("/console/servers")

    assert (done.status_code, done.headers["location"]) == (303, "/console/servers")
    me = await browser.me()
    assert me is not None
    assert (me["subject"], me["shown"], me["tenant"]) == ("user:00u1", "Ann Admin", "default")
    assert (me["admin"], me["auditor"], me["user_roles"]) == (True, False, [])
    recorded = [event for event in world.audit.events if event.tool == "console.sign_in"]
    assert {event.principal for event in recorded} == {"user:00u1"}
    assert json.loads(recorded[0].arguments or "")["by"] == me["issuer"] == idp.name


async def test_the_browser_is_sent_with_pkce_state_and_nonce(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    sent = await browser.client.get("/console/sign-in/oidc")

    asked = dict(parse_qsl(urlsplit(sent.headers["location"]).query))
    assert sent.headers["location"].startswith(f"{idp.name}/authorize?")
    assert asked["response_type"] == "code"
    assert asked["client_id"] == "remit"
    assert asked["scope"] == "openid profile email"
    assert asked["redirect_uri"] == "http://127.0.0.1:8080/console/sign-in/callback"
    assert asked["code_challenge_method"] == "S256"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    assert all(len(asked[name]) == 43 for name in ("state", "nonce", "code_challenge"))
    name, *attributes = sent.headers["set-cookie"].split("; ")
    assert name.startswith("remit_sign_in_begun=")
    assert attributes == ["Path=/console", "Max-Age=600", "HttpOnly", "SameSite=Lax"]
    assert asked["state"] not in sent.headers["set-cookie"]


@pytest.mark.parametrize(
    ("claims", "made"),
    [
        ({"roles": ["audit"]}, {"auditor"}),
        ({"roles": ["platform", "audit"]}, {"admin"}),
        ({"roles": "data"}, {"data"}),
        ({"roles": ["x"], "groups": ["staff"]}, {"user"}),
        ({"roles": [], "groups": ["cn=data,dc=example"]}, {"data"}),
    ],
)
async def test_roles_and_groups_make_people_what_is_declared(
    browser: Browser, idp: FakeAuthorizationServer, claims: dict[str, Any], made: set[str]
) -> None:
    idp.says |= claims

    await browser.sign_in_at_provider()

    me = await browser.me()
    assert me is not None
    assert {name for name in ("admin", "auditor") if me[name]} | {*me["user_roles"]} == made


async def test_claims_stand_where_the_declaration_says(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    declare(world, claims={"roles": "realm.roles", "tenant": "org", "name": "nick"})
    idp.says = {"sub": "u", "realm": {"roles": ["data"]}, "org": "acme", "nick": "Änn"}

    await browser.sign_in_at_provider()

    me = await browser.me()
    assert me is not None
    assert (me["tenant"], me["shown"], me["user_roles"]) == ("acme", "Änn", ["data"])


@pytest.mark.parametrize("roles", [..., [], ["stranger"], ["Platform"], [3], {"a": 1}, None])
async def test_whoever_has_no_role_here_stays_out_and_is_told_whom_to_ask(
    world: World, browser: Browser, idp: FakeAuthorizationServer, roles: Any
) -> None:
    # R8: deny by default
    idp.says["roles"] = roles

    refused = await browser.sign_in_at_provider()

    assert (refused.status_code, problem_in(refused.text)) == (403, NO_ROLE)
    assert await browser.me() is None
    assert world.audit.events == []


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"nonce": ...}, "nonce"),
        ({"aud": "another"}, "aud"),
        ({"aud": ...}, "aud"),
        ({"aud": ["remit", "another"]}, "azp"),
        ({"aud": ["remit", "another"], "azp": "another"}, "azp"),
        ({"iss": "https://elsewhere.example.test"}, "iss"),
        ({"iss": ...}, "iss"),
        ({"exp": 1_000_000_000}, "expired"),
        ({"exp": ...}, "exp"),
        ({"exp": "soon"}, "exp"),
        ({"iat": 4_000_000_000}, "iat"),
        ({"iat": ...}, "iat"),
        ({"nbf": 4_000_000_000}, "nbf"),
        ({"sub": ...}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": 3}, "sub"),
        ({"sub": "a\nb"}, "sub"),
    ],
    ids=str,
)
async def test_an_id_token_that_does_not_hold_signs_nobody_in(
    browser: Browser, idp: FakeAuthorizationServer, claims: dict[str, Any], why: str
) -> None:
    idp.says |= claims

    with structlog.testing.capture_logs() as logged:
        refused = await browser.sign_in_at_provider()

    assert (refused.status_code, problem_in(refused.text)) == (403, NOT_HELD)
    assert await browser.me() is None
    reasons = [each["reason"] for each in logged if each["event"] == "sign-in refused"]
    assert len(reasons) == 1
    assert why in reasons[0]


async def test_an_id_token_for_several_that_names_us_as_its_party_holds(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    idp.says |= {"aud": ["another", "remit"], "azp": "remit"}

    assert (await browser.sign_in_at_provider()).status_code == 303


@pytest.mark.parametrize("kind", ["another key", "a secret that both have", "no key"])
async def test_a_signature_that_is_not_the_providers_signs_nobody_in(
    browser: Browser, idp: FakeAuthorizationServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    idp.published = idp.jwks()
    own = idp.keys["k1"]
    if kind == "another key":
        idp.keys["k1"] = RSAKey.generate_key(2048)
    elif kind == "a secret that both have":
        idp.keys["k1"] = OctKey.import_key(SECRET)
    else:
        signed = idp.token

        def token(claims: Mapping[str, Any]) -> str:
            return unsigned(signed(claims))

        monkeypatch.setattr(idp, "token", token)
    try:
        refused = await browser.sign_in_at_provider()
    finally:
        idp.keys["k1"], idp.published = own, None

    assert (refused.status_code, problem_in(refused.text)) == (403, NOT_HELD)


@pytest.mark.parametrize(
    "response",
    [
        {"iss": "https://elsewhere.example.test"},
        {"iss": ...},  # it said that it names itself (RFC 9207)
        {"code": ...},
        {"code": ""},
        {"code": "invented"},
    ],
    ids=str,
)
async def test_a_response_that_does_not_hold_signs_nobody_in(
    browser: Browser, idp: FakeAuthorizationServer, response: dict[str, Any]
) -> None:
    idp.responds = response

    refused = await browser.sign_in_at_provider()

    assert (refused.status_code, problem_in(refused.text)) == (403, NOT_HELD)
    assert await browser.me() is None


@pytest.mark.parametrize("state", ["another", ..., "é", ""], ids=str)
async def test_a_response_to_another_sign_in_signs_nobody_in_and_ends_nothing(
    browser: Browser, idp: FakeAuthorizationServer, state: object
) -> None:
    idp.responds = {"state": state}
    refused = await browser.sign_in_at_provider()
    idp.responds = {}
    before = await browser.at_provider()
    last = await browser.at_provider()  # in another window

    early = await browser.client.get(before)
    done = await browser.client.get(last)

    for each in (refused, early):
        assert (each.status_code, problem_in(each.text)) == (400, NOT_BEGUN)
    assert done.status_code == 303
    assert await browser.me() is not None


async def test_a_parameter_that_is_there_twice_signs_nobody_in(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp
    back = await browser.at_provider()

    refused = await browser.client.get(f"{back}&code=another")

    assert (refused.status_code, problem_in(refused.text)) == (403, NOT_HELD)


async def test_a_provider_that_never_names_itself_in_responses_need_not(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    idp.described = {"authorization_response_iss_parameter_supported": ...}
    idp.responds = {"iss": ...}

    assert (await browser.sign_in_at_provider()).status_code == 303


async def test_a_response_is_taken_once(browser: Browser, idp: FakeAuthorizationServer) -> None:
    back = await browser.at_provider()
    kept = browser.client.cookies["remit_sign_in_begun"]
    await browser.client.get(back)

    again = await browser.client.get(back)
    browser.client.cookies.set("remit_sign_in_begun", kept, path="/console")
    replayed = await browser.client.get(back)

    assert (again.status_code, problem_in(again.text)) == (400, NOT_BEGUN)
    assert (replayed.status_code, problem_in(replayed.text)) == (403, NOT_HELD)
    assert len(idp.asked_for) == 2  # the provider knows a code that was used


async def test_a_sign_in_ends_in_the_browser_that_began_it(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    # login CSRF: a visitor follows the address that an attacker was sent back to
    back = await browser.at_provider()
    visitor = world.worker().browser()

    refused = await visitor.client.get(back)
    await visitor.at_provider()
    crossed = await visitor.client.get(back)

    for each in (refused, crossed):
        assert (each.status_code, problem_in(each.text)) == (400, NOT_BEGUN)
    assert await visitor.me() is None
    assert idp.asked_for == []


async def test_another_worker_ends_what_one_began(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp
    back = await browser.at_provider()
    other = world.worker().browser()
    other.client.cookies = browser.client.cookies

    assert (await other.client.get(back)).status_code == 303
    assert await other.me() is not None


async def test_whoever_comes_back_late_begins_again(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp
    back = await browser.at_provider()
    world.pass_time(minutes=10)

    refused = await browser.client.get(back)

    assert (refused.status_code, problem_in(refused.text)) == (400, NOT_BEGUN)


@pytest.mark.parametrize("cookie", ["", "x", "A" * 400])
async def test_an_invented_cookie_begins_nothing(
    browser: Browser, idp: FakeAuthorizationServer, cookie: str
) -> None:
    del idp
    back = await browser.at_provider()
    browser.client.cookies.clear()

    refused = await browser.client.get(back, headers={"Cookie": f"remit_sign_in_begun={cookie}"})

    assert (refused.status_code, problem_in(refused.text)) == (400, NOT_BEGUN)


@pytest.mark.parametrize(
    ("error", "shown"),
    [("access_denied", " (access_denied)"), ("<script>", ""), ("x" * 5000, f" ({'x' * 64})")],
)
async def test_what_the_provider_refuses_is_told(
    browser: Browser, idp: FakeAuthorizationServer, error: str, shown: str
) -> None:
    idp.responds = {"code": ..., "error": error, "error_description": "<b>a</b>"}

    refused = await browser.sign_in_at_provider()

    assert refused.status_code == 403
    assert f"did not sign you in{shown};" in problem_in(refused.text)
    assert "<b>" not in refused.text


async def test_a_foreign_page_is_not_gone_to_afterwards(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp

    done = await browser.sign_in_at_provider("https://evil.example.test/console/")

    assert done.headers["location"] == "/console/"


@pytest.mark.parametrize(
    ("methods", "in_header"),
    [(..., True), (["client_secret_post", "client_secret_basic"], True),
     (["client_secret_post"], False)],
)  # fmt: skip
async def test_the_secret_of_the_client_goes_to_the_provider_alone(
    world: World, browser: Browser, idp: FakeAuthorizationServer, methods: Any, in_header: bool
) -> None:
    declare(world, client_secret_env="CLIENT_SECRET")
    world.environ["CLIENT_SECRET"] = SECRET
    idp.described = {"token_endpoint_auth_methods_supported": methods}

    with structlog.testing.capture_logs() as logged:
        done = await browser.sign_in_at_provider()

    assert done.status_code == 303
    assert idp.proof.startswith("Basic ") is in_header
    assert ("client_secret" in idp.asked_for[0]) is not in_header
    assert SECRET not in f"{logged}{done.headers}{world.audit.events}"


async def test_a_secret_that_is_not_there_lets_nobody_begin(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp
    declare(world, client_secret_env="CLIENT_SECRET")

    refused = await browser.client.get("/console/sign-in/oidc")

    assert (refused.status_code, problem_in(refused.text)) == (503, UNAVAILABLE)


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://elsewhere.example.test"},
        {"token_endpoint": ...},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": 3},
        {"code_challenge_methods_supported": ["plain"]},
    ],
    ids=str,
)
async def test_a_description_of_no_use_is_told_with_a_page(
    browser: Browser, idp: FakeAuthorizationServer, described: dict[str, Any]
) -> None:
    idp.described = described

    refused = await browser.client.get("/console/sign-in/oidc")

    assert (refused.status_code, problem_in(refused.text)) == (503, UNAVAILABLE)


async def test_a_provider_at_an_inner_address_is_not_asked_unless_that_is_allowed(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    declare(world, allow_private_url=False)
    idp.fetches = 0

    refused = await browser.client.get("/console/sign-in/oidc")

    assert refused.status_code == 503
    assert idp.fetches == 0


async def test_without_a_provider_there_is_no_way_to_one(world: World, browser: Browser) -> None:
    shown = (await browser.form()).text
    refused = [
        await browser.client.get(f"/console/sign-in/{path}") for path in ("oidc", "callback?code=x")
    ]

    assert "/sign-in/oidc" not in shown
    assert {(reply.status_code, problem_in(reply.text)) for reply in refused} == {
        (404, NO_PROVIDER)
    }
    assert world.audit.events == []


async def test_the_page_leads_to_a_provider_that_is_declared(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp

    shown = (await browser.form("/console/servers?page=2")).text

    assert "/console/sign-in/oidc?next=/console/servers%3Fpage%3D2" in shown


async def test_a_disabled_user_is_out_at_once_and_stays_out(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    # R17
    del idp
    await browser.sign_in_at_provider()
    users = Users(world.database)

    await users.disable("default", "00u1", world.now)
    after = await browser.me()
    again = await browser.sign_in_at_provider()
    await users.enable("default", "00u1")

    assert after is None
    assert (again.status_code, problem_in(again.text)) == (403, KEPT_OUT)
    assert await browser.me() is None


async def test_a_change_of_the_declaration_counts_at_the_next_request(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    # R17
    idp.says["roles"] = ["platform", "audit"]
    await browser.sign_in_at_provider()

    declare(world, administrators=("others",))
    demoted = await browser.me()
    declare(world, auditors=())

    assert demoted is not None
    assert (demoted["admin"], demoted["auditor"]) == (False, True)
    assert await browser.me() is None


@pytest.mark.parametrize(
    "change", [{"issuer": "https://idp.example.test"}, {"client_id": "another"}], ids=str
)
async def test_a_session_and_a_sign_in_end_with_the_declaration_of_their_provider(
    world: World, browser: Browser, idp: FakeAuthorizationServer, change: dict[str, Any]
) -> None:
    await browser.sign_in_at_provider()
    back, before = await browser.at_provider(), world.oidc
    idp.asked_for.clear()

    declare(world, **change)
    after, refused = await browser.me(), await browser.client.get(back)
    world.oidc = before

    assert (after, await browser.me()) == (None, None)
    assert (refused.status_code, idp.asked_for) == (400, [])  # mix-up (RFC 9207)


async def test_a_tenant_that_is_to_be_claimed_and_is_not_is_none(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    declare(world, claims={"tenant": "org"})

    for org in (..., "", 3, "unserved"):
        idp.says["org"] = org
        refused = await browser.sign_in_at_provider()
        assert refused.status_code == 403

    assert await browser.me() is None


async def test_a_session_from_a_provider_idles_out_and_ends_as_any_other(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp
    await browser.sign_in_at_provider()
    me = await browser.me()
    assert me is not None
    assert me["expires"] == (world.now + timedelta(hours=12)).isoformat()

    world.pass_time(hours=1)

    assert await browser.me() is None


async def test_responses_that_do_not_hold_count_as_guesses(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    idp.responds = {"code": "invented"}
    for _ in range(10):
        assert (await browser.sign_in_at_provider()).status_code == 403

    refused = await browser.client.get("/console/sign-in/oidc")

    assert refused.status_code == 429


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"sub": "out"}, KEPT_OUT),
        ({"org": "nowhere"}, NO_TENANT),
        ({"org": ...}, NO_TENANT),
    ],
)
async def test_whoever_the_provider_vouches_for_closes_the_sign_in_to_nobody(
    world: World, browser: Browser, idp: FakeAuthorizationServer, claims: dict[str, Any], told: str
) -> None:
    declare(world, claims={"tenant": "org"})
    await Users(world.database).disable("default", "out", world.now)
    idp.says |= {"org": "default", **claims}

    for _ in range(10):
        refused = await browser.sign_in_at_provider()
        assert (refused.status_code, problem_in(refused.text)) == (403, told)

    assert (await browser.client.get("/console/sign-in/oidc")).status_code == 303


async def test_nobody_is_signed_in_while_that_cannot_be_put_on_record(
    world: World, browser: Browser, idp: FakeAuthorizationServer
) -> None:
    del idp
    world.audit.available = False

    refused = await browser.sign_in_at_provider()

    assert (refused.status_code, problem_in(refused.text)) == (503, AWAY)
    assert await browser.me() is None


async def test_a_provider_that_goes_away_half_way_is_told_with_a_page(
    browser: Browser, idp: FakeAuthorizationServer
) -> None:
    idp.described = {"token_endpoint": "http://127.0.0.1:9/token"}

    refused = await browser.sign_in_at_provider()

    assert (refused.status_code, problem_in(refused.text)) == (503, UNAVAILABLE)
