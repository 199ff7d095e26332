"""`server` and `scopes`: what may stand there, and what is said of the rest."""

import pytest

from remit.admin.declaration import parse_document
from remit.errors import DeclarationError

ISSUER = {"issuer": "https://idp.example.test", "audience": "a", "jwks_file": "keys.json"}


def test_a_sound_section_is_taken_over() -> None:
    section = {
        "public_url": "https://remit.example.test:8443/tools/",
        "allowed_origins": ["https://app.example.test", "http://[::1]:3000"],
        "trusted_proxies": ["10.0.0.5", "10.1.0.0/16", "fd00::/8"],
    }

    loaded = parse_document({"server": section})

    assert loaded.declaration.http.public_url == section["public_url"]
    assert loaded.declaration.http.trusted_proxies == ("10.0.0.5", "10.1.0.0/16", "fd00::/8")
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("public_url", "remit.example.test"),
        ("public_url", "ftp://remit.example.test"),
        ("public_url", "https://"),
        ("public_url", "https://user:pw@remit.example.test"),
        ("public_url", "https://remit.example.test/?x=1"),
        ("public_url", "https://remit.example.test/#x"),
        ("public_url", 'https://remit.example.test/"'),
        ("public_url", "https://remit.example.test:99999"),
        ("public_url", "https://[::1"),
        ("allowed_origins", ["*"]),
        ("allowed_origins", ["null"]),
        ("allowed_origins", ["https://*.example.test"]),
        ("allowed_origins", ["https://app.example.test/page"]),
        ("allowed_origins", ["app.example.test"]),
        ("trusted_proxies", ["proxy.example.test"]),
        ("trusted_proxies", ["*"]),
        ("trusted_proxies", ["10.0.0.0/33"]),
        ("trusted_proxies", [""]),
    ],
)
def test_what_is_no_address_is_named_with_a_remedy(key: str, value: object) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse_document({"server": {key: value}})

    [problem] = caught.value.problems
    assert problem.code == "bad-value"
    assert f"server.{key}" in problem.message
    assert problem.remedy
    assert "pw" not in str(problem)


@pytest.mark.parametrize(
    ("written", "scopes"),
    [
        ({}, None),
        ({"scopes": []}, ()),
        ({"scopes": "remit"}, ("remit",)),
        ({"scopes": ["openid", "api://x/.default"]}, ("openid", "api://x/.default")),
    ],
)
def test_scopes_that_are_not_written_differ_from_none(
    written: dict[str, object], scopes: tuple[str, ...] | None
) -> None:
    document = {"identity": {"jwt": [{**ISSUER, **written}]}}

    assert parse_document(document).declaration.issuers[0].scopes == scopes


@pytest.mark.parametrize("scope", ["", "two words", 'a"b', "a\\b", "é", "a\n"])
def test_what_is_no_scope_is_named(scope: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse_document({"identity": {"jwt": [{**ISSUER, "scopes": ["ok", scope]}]}})

    [problem] = caught.value.problems
    assert problem.code == "bad-value"
    assert "identity.jwt[0].scopes[1]" in problem.message
