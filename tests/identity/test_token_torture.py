"""T14: which tokens pass, against an issuer with RS256 keys that counts how often it is asked."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import structlog.testing
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from tests.identity.conftest import Setting

from remit.errors import Unauthenticated
from remit.identity.credentials import LONGEST_TOKEN, CredentialRefused
from remit.identity.jwt import FILE_EVERY, URL_EVERY
from remit.identity.tokens import is_signed, read_token
from remit.model.principals import PrincipalKind, ServerPolicy, UserRole
from remit.testing.issuer import AUDIENCE, FakeIssuer, sign

Make = Callable[[Setting], str]
REFUSAL = "this credential does not hold: unknown, wrong, expired or revoked"


async def is_refused(setting: Setting, token: str) -> bool:
    """Whether it is, in the one sentence that every refusal has."""
    try:
        await setting.authenticator()(token)
    except Unauthenticated as refused:
        return str(refused) == REFUSAL
    return False


async def reason_of(setting: Setting, token: str) -> str:
    """Return what the log says of it."""
    with pytest.raises(CredentialRefused) as refused:
        await setting.verifier()(token)
    return str(refused.value)


def unsigned(setting: Setting, algorithm: str) -> str:
    header, claims, _ = setting.token(header={"alg": algorithm}).split(".")
    return f"{header}.{claims}."


def with_public_key_as_secret(setting: Setting) -> str:
    """Sign with what everybody knows: the text of the public key, as HMAC would take it."""
    public = setting.issuer.keys["k1"].as_dict(private=False)
    secret = OctKey.import_key({"kty": "oct", "k": str(public["n"])})
    header = json.dumps({"alg": "HS256", "kid": "k1"})
    claims = {"iss": setting.issuer.name, "aud": AUDIENCE, "sub": "eve", "exp": setting.at(60)}
    return sign(header, json.dumps(claims), secret)


def with_attackers_key(setting: Setting, **header: Any) -> str:
    attacker = FakeIssuer()
    attacker.keys = {"k1": RSAKey.generate_key(2048)}
    members = {
        name: attacker.keys["k1"].as_dict(private=False) if value is Ellipsis else value
        for name, value in header.items()
    }
    return attacker.token({"exp": setting.at(60)}, header=members)


def twice(setting: Setting, *, in_header: bool = False) -> str:
    header = '{"alg":"RS256","kid":"k1"}'
    claims = (
        f'{{"iss":"{setting.issuer.name}","aud":"{AUDIENCE}","sub":"ann","exp":{setting.at(60)}}}'
    )
    if in_header:
        header = header[:-1] + ',"kid":"k1"}'
    else:
        claims = claims[:-1] + ',"sub":"root"}'
    return sign(header, claims, setting.issuer.keys["k1"])


def odd_claims(setting: Setting, text: str) -> str:
    return sign('{"alg":"RS256","kid":"k1"}', text, setting.issuer.keys["k1"])


REFUSED: dict[str, Make] = {
    "alg none": lambda s: unsigned(s, "none"),
    "alg None": lambda s: unsigned(s, "None"),
    "alg NONE": lambda s: unsigned(s, "NONE"),
    "alg none, with the old signature": lambda s: s.token(header={"alg": "none"}),
    "alg is no text": lambda s: s.token(header={"alg": ["RS256"]}),
    "alg is absent": lambda s: s.token(header={"alg": ...}),
    "alg does not fit the key": lambda s: s.token(header={"alg": "ES256"}),
    "HS256 with the public key": with_public_key_as_secret,
    "wrong aud": lambda s: s.token({"aud": "https://elsewhere.example.test"}),
    "aud in other letters": lambda s: s.token({"aud": AUDIENCE.upper()}),
    "aud is absent": lambda s: s.token({"aud": ...}),
    "aud is an empty list": lambda s: s.token({"aud": []}),
    "aud is an object": lambda s: s.token({"aud": {AUDIENCE: True}}),
    "iss with a slash more": lambda s: s.token({"iss": s.issuer.name + "/"}),
    "iss is absent": lambda s: s.token({"iss": ...}),
    "iss is a list": lambda s: s.token({"iss": [s.issuer.name]}),
    "no exp": lambda s: s.token({"exp": ...}),
    "exp as text": lambda s: s.token({"exp": str(s.at(60))}),
    "exp is null": lambda s: s.token({"exp": None}),
    "exp is true": lambda s: s.token({"exp": True}),
    "exp is beyond the calendar": lambda s: s.token({"exp": 10**400}),
    "exp = now - leeway - 1": lambda s: s.token({"exp": s.at(-31)}),
    "exp = now - leeway": lambda s: s.token({"exp": s.at(-30)}),
    "nbf = now + leeway + 1": lambda s: s.token({"nbf": s.at(31)}),
    "iat = now + leeway + 1": lambda s: s.token({"iat": s.at(31)}),
    "nbf as text": lambda s: s.token({"nbf": "0"}),
    "nbf is true": lambda s: s.token({"nbf": True}),
    "iat is true": lambda s: s.token({"iat": True}),
    "iat is null": lambda s: s.token({"iat": None}),
    "kid is unknown": lambda s: s.token(header={"kid": "k9"}),
    "kid is a number": lambda s: s.token(header={"kid": 1}),
    "jku points at an attacker": lambda s: with_attackers_key(s, jku="http://127.0.0.1:9/keys"),
    "x5u points at an attacker": lambda s: with_attackers_key(s, x5u="http://127.0.0.1:9/cert"),
    "jwk is an attacker's": lambda s: with_attackers_key(s, jwk=...),
    "jwk is an attacker's, without kid": lambda s: with_attackers_key(s, jwk=..., kid=...),
    "crit": lambda s: s.token(header={"crit": ["exp"], "exp": 1}),
    "b64": lambda s: s.token(header={"b64": False, "crit": ["b64"]}),
    "duplicate sub": twice,
    "duplicate kid": lambda s: twice(s, in_header=True),
    "sub is absent": lambda s: s.token({"sub": ...}),
    "sub is empty": lambda s: s.token({"sub": ""}),
    "sub is a number": lambda s: s.token({"sub": 7}),
    "sub is not printable": lambda s: s.token({"sub": "ann\nroot"}),
    "sub begins with a blank": lambda s: s.token({"sub": " ann"}),
    "sub ends with a blank": lambda s: s.token({"sub": "ann "}),
    "sub is endless": lambda s: s.token({"sub": "a" * 257}),
    "tenant is a list": lambda s: s.token({"tenant": ["default"]}),
    "mcpServerDenyIds is a text": lambda s: s.token({"mcpServerDenyIds": "files"}),
    "mcpServerDenyIds is null": lambda s: s.token({"mcpServerDenyIds": None}),
    "mcpServerAllowIds holds a number": lambda s: s.token({"mcpServerAllowIds": ["a", 1]}),
    "claims are a list": lambda s: odd_claims(s, "[]"),
    "claims are nested endlessly": lambda s: odd_claims(s, "[" * 5000),
    "claims hold NaN": lambda s: s.token({"more": float("nan")}),
    "claims hold Infinity": lambda s: s.token({"more": -float("inf")}),
    "claims are no JSON": lambda s: odd_claims(s, "exp"),
    "signature of another token": lambda s: (
        s.token().rpartition(".")[0] + "." + s.token({"sub": "bob"}).rpartition(".")[2]
    ),
    "signature cut off": lambda s: s.token()[:-4],
    "padding": lambda s: s.token() + "=",
    "a blank before": lambda s: " " + s.token(),
    "two parts": lambda s: s.token().rpartition(".")[0],
    "five parts": lambda s: s.token() + ".a.b",
    "empty parts": lambda _: "..",
    "too long": lambda s: s.token({"more": "x" * LONGEST_TOKEN}),
    "5 MB": lambda s: s.token() + "A" * 5_000_000,
    "5 MB of dots": lambda _: "." * 5_000_000,
}

HELD: dict[str, Make] = {
    "plain": lambda s: s.token(),
    "aud is a list that holds it": lambda s: s.token({"aud": ["else", AUDIENCE, 7]}),
    "exp = now - leeway + 1": lambda s: s.token({"exp": s.at(-29)}),
    "exp is a fraction": lambda s: s.token({"exp": s.at(0.5)}),
    "nbf and iat = now + leeway": lambda s: s.token({"nbf": s.at(30), "iat": s.at(30)}),
    "kid is absent": lambda s: s.token(header={"kid": ...}),
    "jku is there and ignored": lambda s: s.token(header={"jku": "http://127.0.0.1:9/keys"}),
    "jwk is there and ignored": lambda s: s.token(header={"jwk": {"kty": "oct", "k": "AAAA"}}),
    "an unknown header": lambda s: s.token(header={"ver": 2}),
    "a certificate in the header": lambda s: s.token(header={"x5c": ["M" * 2000]}),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
async def test_a_token_that_does_not_hold_is_refused(make: Make, setting: Setting) -> None:
    assert await is_refused(setting, make(setting))


@pytest.mark.parametrize("make", HELD.values(), ids=HELD.keys())
async def test_a_token_that_holds_passes(make: Make, setting: Setting) -> None:
    principal = await setting.authenticator()(make(setting))

    assert (principal.subject, principal.issuer) == ("user:ann", setting.issuer.name)


async def test_a_subject_may_have_as_many_characters_as_a_name(setting: Setting) -> None:
    assert (await setting.verifier()(setting.token({"sub": "a" * 256}))).principal.name == "a" * 256


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ECKey.generate_key("P-256"), "ES256"),
        (ECKey.generate_key("P-384"), "ES384"),
        (OKPKey.generate_key("Ed25519"), "EdDSA"),
        (OKPKey.generate_key("Ed25519"), "Ed25519"),
    ],
    ids=["ES256", "ES384", "EdDSA", "Ed25519"],
)
async def test_the_usual_algorithms_are_allowed(
    key: ECKey | OKPKey, algorithm: str, setting: Setting
) -> None:
    setting.issuer.keys = {"e1": key}
    claims = {"iss": setting.issuer.name, "aud": AUDIENCE, "sub": "ann", "exp": setting.at(60)}
    header = json.dumps({"alg": algorithm, "kid": "e1"})

    token = sign(header, json.dumps(claims), key, algorithm=algorithm)

    assert not await is_refused(setting, token)


async def test_an_issuers_list_of_algorithms_is_a_limit(setting: Setting) -> None:
    setting.declare(algorithms=("ES256", "none", "HS256"))

    assert await is_refused(setting, setting.token())
    assert await is_refused(setting, unsigned(setting, "none"))
    assert await is_refused(setting, with_public_key_as_secret(setting))
    assert setting.issuer.fetches == 0  # nobody is asked about what cannot hold


async def test_hs256_needs_a_secret_and_a_secret_allows_nothing_else(setting: Setting) -> None:
    secret = OctKey.import_key("s" * 32)
    rs256 = setting.token()
    setting.issuer.keys = {"k1": secret}
    setting.environ["IDP_SECRET"] = "s" * 32
    setting.declare(secret_env="IDP_SECRET", jwks_url="")

    assert not await is_refused(setting, setting.token())
    assert await is_refused(setting, rs256)
    setting.environ["IDP_SECRET"] = "another secret of more than 32 bytes"
    assert await is_refused(setting, setting.token())


@pytest.mark.parametrize("secret", [None, "", "s" * 31], ids=["unset", "empty", "short"])
async def test_without_a_secret_worth_the_name_nothing_holds(
    secret: str | None, setting: Setting
) -> None:
    setting.issuer.keys = {"k1": OctKey.import_key("s" * 31)}
    if secret is not None:
        setting.environ["IDP_SECRET"] = secret
    setting.declare(secret_env="IDP_SECRET", jwks_url="")

    with structlog.testing.capture_logs() as logged:
        assert await is_refused(setting, setting.token())

    told = [each for each in logged if each["log_level"] == "warning"]
    assert [(each["variable"], each["least_bytes"]) for each in told] == [("IDP_SECRET", 32)]


async def test_the_leeway_is_the_issuers(setting: Setting) -> None:
    setting.declare(leeway=2.0)

    assert not await is_refused(setting, setting.token({"exp": setting.at(-1)}))
    assert await is_refused(setting, setting.token({"exp": setting.at(-3)}))
    assert await is_refused(setting, setting.token({"nbf": setting.at(4)}))


NAMES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text": ("designer", ("designer",)),
    "list": (["designer", "reviewer"], ("designer", "reviewer")),
    "repeated": (["designer", "designer"], ("designer",)),
    "unknown": ("no_such_role", ("no_such_role",)),  # policy says what it is worth: nothing
    "no name": (["designer ", "reviewer"], ("reviewer",)),
    "null": (None, ()),
    "absent": (..., ()),
    "empty": ("", ()),
}


@pytest.mark.parametrize(("claim", "roles"), NAMES.values(), ids=NAMES.keys())
async def test_a_roles_claim_is_a_text_or_a_list_of_texts(
    claim: Any, roles: tuple[str, ...], setting: Setting
) -> None:
    principal = await setting.authenticator()(setting.token({"roles": claim, "groups": claim}))

    assert principal.roles == principal.groups == roles


ODD_NAMES: dict[str, Any] = {
    "nested": {"name": "designer"},
    "nested list": [["designer"]],
    "mixed": ["designer", 7],
    "with a null": ["designer", None],
    "number": 7,
    "true": True,
}


@pytest.mark.parametrize("claim", ODD_NAMES.values(), ids=ODD_NAMES.keys())
async def test_an_odd_claim_of_roles_is_none_and_one_of_groups_refuses_the_token(
    claim: Any, setting: Setting
) -> None:
    # Roles open (T14); a deny may be about a group, and would not hold with none at all.
    assert (await setting.authenticator()(setting.token({"roles": claim}))).roles == ()
    reason = await reason_of(setting, setting.token({"groups": claim}))
    assert reason == "groups are neither a text nor a list of texts"


async def test_groups_that_are_to_be_fetched_elsewhere_refuse_the_token(setting: Setting) -> None:
    # Entra ID says so of whoever is in too many groups (OIDC Core §5.6.2).
    setting.declare(claims={"groups": "memberOf"})
    elsewhere = {
        "_claim_names": {"memberOf": "src1"},
        "_claim_sources": {"src1": {"endpoint": "x"}},
    }

    reason = await reason_of(setting, setting.token(elsewhere))

    assert reason == "groups are elsewhere, as _claim_names says"
    assert not await is_refused(setting, setting.token({"_claim_names": {"address": "src1"}}))
    assert not await is_refused(setting, setting.token({**elsewhere, "memberOf": ["one"]}))


async def test_a_group_may_have_a_comma_and_a_role_may_not(setting: Setting) -> None:
    # The record joins roles with commas; groups of a directory are called so.
    claim = ["CN=ops,OU=groups,DC=example", "c"]

    principal = await setting.authenticator()(setting.token({"roles": claim, "groups": claim}))

    assert principal.groups == ("CN=ops,OU=groups,DC=example", "c")
    assert principal.roles == ("c",)


USER_ROLES: dict[str, tuple[Any, tuple[UserRole, ...]]] = {
    "absent": (..., (UserRole.DATA,)),
    "null": (None, ()),
    "empty list": ([], ()),
    "unknown": ("superuser", ()),
    "other letters": ("Admin", ()),
    "number": (1, ()),
    "two": (["developer", "user"], (UserRole.USER, UserRole.DEVELOPER)),
}


@pytest.mark.parametrize(("claim", "roles"), USER_ROLES.values(), ids=USER_ROLES.keys())
async def test_the_default_user_role_is_for_tokens_that_say_nothing(
    claim: Any, roles: tuple[UserRole, ...], setting: Setting
) -> None:
    # R11
    setting.declare(default_user_role="data")

    principal = await setting.authenticator()(setting.token({"user_roles": claim}))

    assert principal.user_roles == roles


async def test_without_a_default_a_token_without_user_roles_has_none(setting: Setting) -> None:
    assert (await setting.authenticator()(setting.token())).user_roles == ()


@pytest.mark.parametrize("groups", ["no.such.path", "sub.ann", "aud.0"])
async def test_claims_are_where_the_issuer_says(groups: str, setting: Setting) -> None:
    setting.declare(
        claims={
            "roles": "realm_access.roles",
            "user_roles": "https://idp.example.test/role",
            "groups": groups,
            "tenant": "org.id",
        }
    )
    token = setting.token(
        {
            "realm_access": {"roles": ["designer"]},
            "https://idp.example.test/role": "admin",
            "org": {"id": "acme"},
            "roles": ["not this one"],
            "groups": ["nor this one"],
            "no": {"such": "end"},
        }
    )

    principal = await setting.authenticator()(token)

    assert principal.roles == ("designer",)
    assert principal.user_roles == (UserRole.ADMIN,)
    assert principal.groups == ()
    assert principal.tenant == "acme"


async def test_the_policy_claims_are_taken_as_they_are(setting: Setting) -> None:
    # S4.3, S4.4
    claims = {"mcpServerAllowIds": ["research"], "mcpServerDenyIds": ["files"], "isAdmin": False}

    principal = await setting.authenticator()(setting.token(claims))

    assert principal.servers == ServerPolicy(
        allow=frozenset({"research"}), deny=frozenset({"files"}), admin=False
    )
    assert not principal.admin


@pytest.mark.parametrize("value", [True, "true", 1, None, [True]], ids=str)
async def test_is_admin_is_true_and_nothing_like_it(value: Any, setting: Setting) -> None:
    principal = await setting.authenticator()(setting.token({"isAdmin": value}))

    assert principal.servers == ServerPolicy(admin=value is True)
    assert principal.admin is (value is True)


@pytest.mark.parametrize("value", [True, "true", 1, None, [True]], ids=str)
async def test_is_auditor_is_true_and_nothing_like_it(value: Any, setting: Setting) -> None:
    principal = await setting.authenticator()(setting.token({"isAuditor": value}))

    assert principal.auditor is (value is True)
    assert (principal.admin, principal.servers) == (False, None)


async def test_a_token_that_claims_both_is_an_administrators(setting: Setting) -> None:
    token = setting.token({"isAuditor": True, "isAdmin": True})

    principal = await setting.authenticator()(token)

    assert (principal.admin, principal.auditor) == (True, False)


async def test_a_token_whose_subject_is_agent_is_a_user(setting: Setting) -> None:
    # R6
    principal = await setting.authenticator()(
        setting.token({"sub": "agent", "agent_type": "SUPERVISOR", "service": True})
    )

    assert principal.kind is PrincipalKind.USER
    assert principal.agent_type is None
    assert not principal.service
    assert principal.servers is None  # S4.3: no verified policy


MISSPELLED: dict[str, tuple[Make, str]] = {
    "a character too long": (lambda s: of_length(s, LONGEST_TOKEN + 1), "too long"),
    "not ASCII": (lambda s: s.token() + "é", "not ASCII"),
    "two parts": (lambda s: s.token().rpartition(".")[0], "three parts"),
    "four parts": (lambda s: s.token() + ".a", "three parts"),
    "no signature": (lambda s: unsigned(s, "RS256"), "three parts"),
    "no base64": (lambda s: "e30!" + s.token(), "not base64url of a JSON object"),
    "alg is no text": (lambda s: s.token(header={"alg": ["RS256"]}), "no algorithm"),
    "kid is a number": (lambda s: s.token(header={"kid": 1}), "but a text"),
    "crit alone": (lambda s: s.token(header={"crit": ["exp"]}), "an extension"),
    "b64 alone": (lambda s: s.token(header={"b64": True}), "an extension"),
}


def of_length(setting: Setting, characters: int) -> str:
    return setting.token().ljust(characters, "A")


@pytest.mark.parametrize(("make", "reason"), MISSPELLED.values(), ids=MISSPELLED.keys())
def test_a_misspelled_token_is_refused_before_a_key_is_asked_for(
    make: Make, reason: str, setting: Setting
) -> None:
    with pytest.raises(CredentialRefused, match=reason):
        read_token(make(setting))


def test_what_was_read_of_a_token_is_not_shown(setting: Setting) -> None:
    token = read_token(of_length(setting, LONGEST_TOKEN))

    assert repr(token) == "Token(algorithm='RS256')"


def test_a_signature_counts_only_by_an_algorithm_that_is_allowed(setting: Setting) -> None:
    key = setting.issuer.keys["k1"]
    token = read_token(setting.token())
    nobody = read_token(unsigned(setting, "none") + "AA")

    assert is_signed(token, [key], ["RS256"])
    assert not is_signed(token, [key], [])
    assert not is_signed(token, [], ["RS256"])
    assert not is_signed(nobody, [key], ["none"])


def test_the_bounds_of_looking_for_newer_keys_are_as_documented() -> None:
    assert (URL_EVERY, FILE_EVERY, LONGEST_TOKEN) == (30.0, 1.0, 16384)


async def test_a_refusal_of_the_verifier_says_nothing_of_the_token(setting: Setting) -> None:
    for name, make in REFUSED.items():
        token = make(setting)
        with pytest.raises(CredentialRefused) as refused:
            await setting.verifier()(token)
        for part in ("ann", "k1", "root", AUDIENCE, *token.split(".")[:3]):
            assert not part or part not in str(refused.value), name
