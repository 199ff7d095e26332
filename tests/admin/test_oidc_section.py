"""`identity.oidc`: where people sign in to the console, and what a section may not say."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from remit.admin.check import check_declaration
from remit.admin.declaration import parse_document
from remit.errors import DeclarationError, Problem
from remit.model.oidc import OidcProvider
from remit.model.principals import UserRole

GOOD: dict[str, object] = {
    "issuer": "https://idp.example.test/realms/staff",
    "client_id": "remit",
    "administrators": ["platform"],
}


def read(section: Mapping[str, object]) -> OidcProvider | None:
    return parse_document({"identity": {"oidc": section}}).declaration.oidc


def problems(section: Mapping[str, object]) -> list[Problem]:
    with pytest.raises(DeclarationError) as caught:
        read(section)
    return list(caught.value.problems)


def test_a_provider_is_read_and_what_is_left_out_has_a_default() -> None:
    assert read(GOOD) == OidcProvider(
        issuer="https://idp.example.test/realms/staff",
        client_id="remit",
        scopes=("openid", "profile", "email"),
        administrators=("platform",),
    )
    assert read({}) is None


def test_every_key_of_the_section_is_taken_over() -> None:
    assert read(
        {
            "issuer": "http://127.0.0.1:9",
            "clientId": "c",
            "client_secret_env": "SECRET_OF_C",
            "scopes": "openid",
            "allow_private_url": True,
            "claims": {"roles": "realm_access.roles", "tenant": "org", "name": "nick"},
            "administrators": "a",
            "auditors": ["b"],
            "reviewers": ["c"],
            "users": ["d", "e"],
        }
    ) == OidcProvider(
        issuer="http://127.0.0.1:9",
        client_id="c",
        client_secret_env="SECRET_OF_C",
        scopes=("openid",),
        allow_private_url=True,
        claims={"roles": "realm_access.roles", "tenant": "org", "name": "nick"},
        administrators=("a",),
        auditors=("b",),
        reviewers=("c",),
        users=("d", "e"),
    )


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ({"issuer": ""}, "missing-key", "identity.oidc"),
        ({"client_id": " "}, "missing-key", "identity.oidc"),
        ({"issuer": "idp.example.test"}, "bad-value", "identity.oidc.issuer"),
        ({"issuer": "https://idp.example.test:x"}, "bad-value", "identity.oidc.issuer"),
        ({"issuer": "http://idp.example.test"}, "bad-value", "identity.oidc.issuer"),
        ({"issuer": "https://idp.example.test?a=b"}, "bad-value", "identity.oidc.issuer"),
        ({"client_id": "rémit"}, "bad-value", "identity.oidc.client_id"),
        ({"client_secret_env": "a b"}, "bad-value", "identity.oidc.client_secret_env"),
        ({"scopes": ["profile"]}, "bad-value", "identity.oidc.scopes"),
        ({"scopes": ["openid profile"]}, "bad-value", "identity.oidc.scopes[0]"),
        ({"claims": {"roles": ""}}, "bad-name", "identity.oidc.claims.roles"),
        ({"auditors": ["x", " "]}, "bad-name", "identity.oidc.auditors[1]"),
        ({"client_secret": "s3cr3t"}, "unknown-key", "identity.oidc"),
        ({"administrators": 3}, "wrong-type", "identity.oidc.administrators"),
        ({"claims": {"groups": "g"}}, "unknown-key", "identity.oidc.claims"),
    ],
)
def test_what_a_section_may_not_say_is_told_at_its_place(
    change: dict[str, object], code: str, where: str
) -> None:
    found = problems(GOOD | change)

    assert any(each.code == code and where in each.message for each in found), found
    assert all(each.remedy for each in found)
    assert "s3cr3t" not in str(found)


def test_a_provider_that_lets_nobody_in_is_warned_of() -> None:
    # R8: an empty allow list allows nothing, and says so
    section = {key: value for key, value in GOOD.items() if key != "administrators"}

    warnings = parse_document({"identity": {"oidc": section}}).warnings

    assert [each.code for each in warnings] == ["no-effect"]
    assert "lets nobody in" in warnings[0].message
    assert parse_document({"identity": {"oidc": GOOD}}).warnings == ()


def test_a_secret_that_is_not_there_is_told_by_check() -> None:
    loaded = parse_document({"identity": {"oidc": GOOD | {"client_secret_env": "SECRET_OF_C"}}})
    now = datetime(2026, 11, 29, tzinfo=UTC)

    missing = check_declaration(loaded, environ={}, now=now).warnings
    there = check_declaration(loaded, environ={"SECRET_OF_C": "x"}, now=now).warnings

    assert [each.code for each in missing] == ["missing-variable"]
    assert "SECRET_OF_C" in missing[0].remedy
    assert there == ()


@pytest.mark.parametrize(
    ("roles", "made"),
    [
        ((), (False, False, ())),
        (("stranger",), (False, False, ())),
        (("platform",), (True, False, ())),
        (("audit",), (False, True, ())),
        (("platform", "audit"), (True, False, ())),
        (("data",), (False, False, (UserRole.DATA,))),
        (("data", "audit", "staff"), (False, True, (UserRole.USER, UserRole.DATA))),
        (("Platform",), (False, False, ())),
    ],
)
def test_roles_of_the_provider_make_people_what_the_section_says(
    roles: tuple[str, ...], made: tuple[object, ...]
) -> None:
    provider = read(GOOD | {"auditors": ["audit"], "reviewers": ["data"], "users": ["staff"]})
    assert provider is not None

    assert (
        provider.makes_administrator(roles),
        provider.makes_auditor(roles),
        provider.user_roles_of(roles),
    ) == made
