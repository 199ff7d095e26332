"""`identity.jwt`: whose tokens are accepted, and what an entry may not say (T14)."""

from pathlib import Path

import pytest

from remit.admin.check import check_declaration
from remit.admin.declaration import parse_document
from remit.errors import DeclarationError, Problem
from remit.model.grants import JwtIssuer

GOOD: dict[str, object] = {
    "issuer": "https://idp.example.test",
    "audience": "https://remit.example.test/mcp",
    "jwks_url": "https://idp.example.test/keys",
}


def read(*entries: dict[str, object]) -> tuple[JwtIssuer, ...]:
    return parse_document({"identity": {"jwt": list(entries)}}).declaration.issuers


def problems(*entries: dict[str, object]) -> list[Problem]:
    with pytest.raises(DeclarationError) as caught:
        read(*entries)
    return list(caught.value.problems)


def test_an_issuer_is_read_and_what_is_left_out_has_the_models_defaults() -> None:
    assert read(GOOD) == (
        JwtIssuer(
            issuer="https://idp.example.test",
            audience=("https://remit.example.test/mcp",),
            jwks_url="https://idp.example.test/keys",
        ),
    )


def test_every_key_of_an_issuer_is_taken_over() -> None:
    entry: dict[str, object] = {
        "issuer": "i",
        "audience": ["a", "b"],
        "jwks_url": "http://127.0.0.1:9/keys",
        "algorithms": ["ES256", "EdDSA"],
        "leeway": 5,
        "default_user_role": "user",
        "allow_private_url": True,
        "claims": {"roles": "r", "userRoles": "u", "groups": "g", "tenant": "t"},
    }

    assert read(entry) == (
        JwtIssuer(
            issuer="i",
            audience=("a", "b"),
            jwks_url="http://127.0.0.1:9/keys",
            algorithms=("ES256", "EdDSA"),
            leeway=5,
            default_user_role="user",
            allow_private_url=True,
            claims={"roles": "r", "user_roles": "u", "groups": "g", "tenant": "t"},
        ),
    )


@pytest.mark.parametrize(
    "source",
    [{"jwks_file": "keys.json"}, {"secret_env": "IDP_SECRET", "algorithms": ["HS256"]}],
)
def test_keys_come_from_a_url_a_file_or_a_secret(source: dict[str, object]) -> None:
    (issuer,) = read({"issuer": "i", "audience": "a", **source})

    assert (issuer.jwks_file, issuer.secret_env) in {("keys.json", ""), ("", "IDP_SECRET")}


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"issuer": " "}, "missing-key", "needs `issuer`"),
        ({"audience": []}, "missing-key", "needs `audience`"),
        ({"audience": ["a", ""]}, "missing-key", "needs `audience`"),
        ({"audience": 3}, "wrong-type", "audience' must be a list"),
        ({"jwks_url": ""}, "missing-key", "needs one of `jwks_url`"),
        ({"jwks_file": "f"}, "conflicting-keys", "has jwks_url and jwks_file"),
        ({"secret_env": "S"}, "conflicting-keys", "has jwks_url and secret_env"),
        ({"jwks_url": "", "secret_env": "not a name"}, "bad-value", "environment variable"),
        ({"jwks_url": "http://idp.example.test/keys"}, "bad-value", "begin with https"),
        ({"jwks_url": "idp.example.test"}, "bad-value", "must be an address"),
        ({"jwks_url": "https://[bad"}, "bad-value", "must be an address"),
        ({"jwks_url": "file:///etc/keys"}, "bad-value", "must be an address"),
        ({"algorithms": ["HS256"]}, "bad-value", "needs a secret"),
        ({"algorithms": ["none"]}, "bad-value", "no algorithm that remit accepts"),
        ({"algorithms": ["rs256"]}, "bad-value", "no algorithm that remit accepts"),
        (
            {"jwks_url": "", "secret_env": "S", "algorithms": ["RS256"]},
            "bad-value",
            "needs public keys",
        ),
        ({"leeway": True}, "wrong-type", "leeway' must be a number"),
        ({"leeway": -1}, "bad-value", "greater than or equal to 0"),
        ({"leeway": 3600}, "bad-value", "less than or equal to 300"),
        ({"default_user_role": "root"}, "bad-value", "must be one of user, admin"),
        ({"claims": {"roles": ""}}, "bad-name", "is an empty name"),
        ({"claims": {"role": "x"}}, "unknown-key", "'role' in"),
    ],
)
def test_an_issuer_that_could_not_be_trusted_is_refused(
    change: dict[str, object], code: str, told: str
) -> None:
    found = problems({**GOOD, **change})

    assert [problem.code for problem in found] == [code]
    assert told in found[0].message
    assert "identity.jwt[0]" in found[0].message


def test_keys_that_are_not_there_are_told_by_check(tmp_path: Path) -> None:
    base = {key: value for key, value in GOOD.items() if not key.startswith(("jwks", "secret"))}
    issuers = [
        {**base, "issuer": "secret", "secret_env": "SECRET_OF_I"},
        {**base, "issuer": "file", "jwks_file": "keys.json"},
        {**base, "issuer": "far", "jwks_file": str(tmp_path / "keys.json")},
    ]
    loaded = parse_document({"identity": {"jwt": issuers}})

    def codes(*, folder: Path | None, **environ: str) -> list[str]:
        return [
            each.code for each in check_declaration(loaded, environ=environ, folder=folder).warnings
        ]

    assert codes(folder=tmp_path) == ["missing-variable", "missing-file", "missing-file"]
    assert codes(folder=None, SECRET_OF_I="x") == ["missing-file"]
    (tmp_path / "keys.json").write_text('{"keys": []}')
    assert codes(folder=tmp_path, SECRET_OF_I="x") == []


def test_an_issuer_has_one_entry() -> None:
    (problem,) = problems(GOOD, {**GOOD, "audience": "another"})

    assert (problem.code, problem.message) == (
        "duplicate-issuer",
        "'identity.jwt[1].issuer' repeats an issuer",
    )
