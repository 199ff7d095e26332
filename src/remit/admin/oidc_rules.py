"""What must hold of the OpenID provider of the console beyond its types."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from remit.admin.complaints import Complaints, Location
from remit.admin.issuer_rules import (
    claim_problems,
    scope_problems,
    variable_problems,
    web_address,
)
from remit.admin.schema import OidcShape
from remit.errors import Problem
from remit.model.oidc import DEFAULT_SCOPES, OidcProvider

WHERE: Final[Location] = ("identity", "oidc")

_PEOPLE: Final = ("administrators", "auditors", "reviewers", "users")
_NEEDED: Final = {
    "issuer": "where the provider is, and what `iss` must be, to the letter",
    "client_id": "what this gateway is called at the provider",
}
_CLIENT: Final = re.compile(r"[\x20-\x7E]+")  # RFC 6749 appendix A


def provider_of(shape: OidcShape) -> OidcProvider:
    """Return the provider that a sound section states."""
    return OidcProvider(
        issuer=shape.issuer,
        client_id=shape.client_id,
        client_secret_env=shape.client_secret_env,
        scopes=tuple(dict.fromkeys(shape.scopes or DEFAULT_SCOPES)),
        allow_private_url=shape.allow_private_url,
        claims=shape.claims.model_dump(exclude_unset=True),
        administrators=tuple(shape.administrators),
        auditors=tuple(shape.auditors),
        reviewers=tuple(shape.reviewers),
        users=tuple(shape.users),
    )


def provider_problems(complaints: Complaints, shape: OidcShape) -> Iterator[Problem]:
    """Give what is wrong with a well-typed section."""
    for key, what in _NEEDED.items():
        if not getattr(shape, key).strip():
            yield complaints.at("missing-key", f"needs `{key}`: {what}", where=WHERE)
    if shape.issuer.strip() and (reason := _issuer_problem(shape)):
        yield complaints.at("bad-value", reason, where=(*WHERE, "issuer"))
    if shape.client_id and _CLIENT.fullmatch(shape.client_id) is None:
        yield complaints.at("bad-value", "must be visible ASCII", where=(*WHERE, "client_id"))
    if shape.client_secret_env:
        where = (*WHERE, "client_secret_env")
        yield from variable_problems(complaints, where, shape.client_secret_env)
    yield from _scope_problems(complaints, shape)
    yield from _name_problems(complaints, shape)


def nobody_problems(complaints: Complaints, provider: OidcProvider) -> Iterator[Problem]:
    """Give that the provider lets nobody in, if it does not: deny is the default (R8)."""
    if not any(getattr(provider, key) for key in _PEOPLE):
        yield complaints.at(
            "no-effect",
            "lets nobody in: nothing says which roles of the provider make somebody something",
            where=WHERE,
            remedy=f"write them into one of {', '.join(f'`{key}`' for key in _PEOPLE)}",
        )


def secret_problems(
    complaints: Complaints, provider: OidcProvider, environ: Mapping[str, str]
) -> Iterator[Problem]:
    """Give that the secret of the client is not there, if it should be."""
    variable = provider.client_secret_env
    if variable and not environ.get(variable):
        yield complaints.at(
            "missing-variable",
            f"needs {variable}, which is not set: nobody could sign in at the provider",
            where=(*WHERE, "client_secret_env"),
            remedy=f"set {variable} to the secret that the provider gave this client",
        )


def _name_problems(complaints: Complaints, shape: OidcShape) -> Iterator[Problem]:
    yield from claim_problems(complaints, WHERE, shape.claims.model_dump(exclude_unset=True))
    for key in _PEOPLE:
        for index, value in enumerate(getattr(shape, key)):
            if not value.strip():
                yield complaints.at("bad-name", "is an empty name", where=(*WHERE, key, index))


def _scope_problems(complaints: Complaints, shape: OidcShape) -> Iterator[Problem]:
    yield from scope_problems(complaints, WHERE, shape.scopes)
    if shape.scopes and "openid" not in shape.scopes:
        yield complaints.at(
            "bad-value",
            "lacks `openid`, without which a provider does not say who signed in",
            where=(*WHERE, "scopes"),
            remedy="add it",
        )


def _issuer_problem(shape: OidcShape) -> str:
    parts = web_address(shape.issuer)
    if parts is None:
        return "must be an address such as https://idp.example"
    if parts.query or parts.fragment:
        return "must have neither a query nor a fragment"
    if parts.scheme == "http" and not shape.allow_private_url:
        return "must begin with https: whoever changes its answers on the way signs people in"
    return ""
