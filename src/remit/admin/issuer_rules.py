"""What must hold of an issuer of tokens beyond its types: keys, algorithms, audience."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from remit.admin.complaints import Complaints, Location
from remit.admin.schema import JwtShape
from remit.admin.spelling import nearest
from remit.errors import Problem
from remit.model.grants import PUBLIC_KEY_ALGORITHMS, SECRET_ALGORITHMS, JwtIssuer
from remit.model.principals import UserRole

_SCOPE: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")
"""A scope (RFC 6749 §3.3)."""

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The name of an environment variable."""

_SOURCES = ("jwks_url", "jwks_file", "secret_env")


def issuer_of(shape: JwtShape) -> JwtIssuer:
    """Return the issuer that a sound entry states; what was left out has the model's default."""
    given = shape.model_dump(
        exclude_unset=True, exclude={"claims", "audience", "algorithms", "scopes"}
    )
    return JwtIssuer(
        **given,
        audience=tuple(shape.audience),
        algorithms=tuple(shape.algorithms),
        scopes=tuple(shape.scopes) if "scopes" in shape.model_fields_set else None,
        claims=shape.claims.model_dump(exclude_unset=True),
    )


def issuer_problems(complaints: Complaints, where: Location, shape: JwtShape) -> Iterator[Problem]:
    """Give what is wrong with a well-typed issuer."""
    if not shape.issuer.strip():
        yield complaints.at(
            "missing-key", "needs `issuer`: what `iss` must be, to the letter", where=where
        )
    if not shape.audience or not all(text.strip() for text in shape.audience):
        yield complaints.at(
            "missing-key",
            "needs `audience`: without it a token meant for somebody else would do",
            where=where,
            remedy="write what the issuer puts into `aud` for this gateway",
        )
    yield from scope_problems(complaints, where, shape.scopes)
    yield from _source_problems(complaints, where, shape)
    yield from _algorithm_problems(complaints, where, shape)
    roles = tuple(role.value for role in UserRole)
    if shape.default_user_role and shape.default_user_role not in roles:
        meant = nearest(shape.default_user_role, roles)
        yield complaints.at(
            "bad-value",
            f"must be one of {', '.join(roles)}",
            where=(*where, "default_user_role"),
            remedy=f"did you mean {meant!r}?" if meant else "",
        )
    yield from claim_problems(complaints, where, shape.claims.model_dump(exclude_unset=True))


def scope_problems(
    complaints: Complaints, where: Location, scopes: Sequence[str]
) -> Iterator[Problem]:
    """Give the entries of `scopes` below *where* that are no scope."""
    for index, scope in enumerate(scopes):
        if _SCOPE.fullmatch(scope) is None:
            yield complaints.at(
                "bad-value",
                "is no scope: visible ASCII without spaces, quotes and backslashes",
                where=(*where, "scopes", index),
                remedy="write each scope as an entry of its own",
            )


def claim_problems(
    complaints: Complaints, where: Location, claims: Mapping[str, str]
) -> Iterator[Problem]:
    """Give the entries of `claims` below *where* that name none."""
    for claim, name in claims.items():
        if not name.strip():
            yield complaints.at("bad-name", "is an empty name", where=(*where, "claims", claim))


def variable_problems(complaints: Complaints, where: Location, name: str) -> Iterator[Problem]:
    """Give that *name*, which stands at *where*, is no name of an environment variable."""
    if _VARIABLE.fullmatch(name) is None:
        yield complaints.at("bad-value", "must be the name of an environment variable", where=where)


def web_address(text: str) -> SplitResult | None:
    """Return the parts of an address of the web, or None where *text* is none."""
    try:
        parts = urlsplit(text)
        is_address = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_address and parts.scheme in ("http", "https") else None


def repeated_issuers(complaints: Complaints, issuers: list[JwtIssuer]) -> Iterator[Problem]:
    """Give the entries whose issuer an earlier entry has: a token would have two readings."""
    seen: set[str] = set()
    for index, issuer in enumerate(issuers):
        if issuer.issuer in seen:
            yield complaints.at(
                "duplicate-issuer",
                "repeats an issuer",
                where=("identity", "jwt", index, "issuer"),
                remedy="put the audiences of both entries into one",
            )
        seen.add(issuer.issuer)


def key_problems(
    complaints: Complaints,
    issuers: Sequence[JwtIssuer],
    *,
    environ: Mapping[str, str],
    folder: Path | None,
) -> Iterator[Problem]:
    """Give the issuers whose keys are not there, so that none of their tokens would hold.

    Args:
        complaints: Of the declaration.
        issuers: In its order.
        environ: The environment the gateway would run with.
        folder: What a relative `jwks_file` is relative to; None where only an absolute one can be
            looked for.
    """
    for index, issuer in enumerate(issuers):
        where = ("identity", "jwt", index)
        if issuer.secret_env and not environ.get(issuer.secret_env):
            yield complaints.at(
                "missing-variable",
                f"needs {issuer.secret_env}, which is not set: no token of this issuer would hold",
                where=(*where, "secret_env"),
                remedy=f"set {issuer.secret_env} to the secret that the issuer signs with",
            )
        path = (folder or Path()) / issuer.jwks_file
        if issuer.jwks_file and (folder or path.is_absolute()) and not path.is_file():
            yield complaints.at(
                "missing-file",
                "names no file that is here: no token of this issuer would hold",
                where=(*where, "jwks_file"),
                remedy="put the issuer's JWK set there, or correct the path",
            )


def _source_problems(complaints: Complaints, where: Location, shape: JwtShape) -> Iterator[Problem]:
    ways = [way for way in _SOURCES if str(getattr(shape, way)).strip()]
    if len(ways) > 1:
        yield complaints.at(
            "conflicting-keys",
            f"has {' and '.join(ways)}, but an issuer's keys come from one place",
            where=where,
            remedy="keep one of them",
        )
    elif not ways:
        yield complaints.at(
            "missing-key", "needs one of `jwks_url`, `jwks_file` and `secret_env`", where=where
        )
    else:
        if shape.secret_env:
            yield from variable_problems(complaints, (*where, "secret_env"), shape.secret_env)
        if shape.jwks_url and (reason := _address_problem(shape)) is not None:
            yield complaints.at("bad-value", reason, where=(*where, "jwks_url"))


def _address_problem(shape: JwtShape) -> str | None:
    parts = web_address(shape.jwks_url)
    if parts is None:
        return "must be an address such as https://idp.example/keys"
    if parts.scheme == "http" and not shape.allow_private_url:
        return "must begin with https: whoever changes the keys on the way signs tokens"
    return None


def _algorithm_problems(
    complaints: Complaints, where: Location, shape: JwtShape
) -> Iterator[Problem]:
    allowed = SECRET_ALGORITHMS if shape.secret_env else PUBLIC_KEY_ALGORITHMS
    for index, name in enumerate(shape.algorithms):
        if name in allowed:
            continue
        place = (*where, "algorithms", index)
        if name in SECRET_ALGORITHMS:
            message = "needs a secret: without `secret_env` a public key would be taken for one"
            yield complaints.at("bad-value", message, where=place, remedy="remove it")
        elif name in PUBLIC_KEY_ALGORITHMS:
            message = "needs public keys, and this issuer has a secret"
            yield complaints.at("bad-value", message, where=place, remedy="write HS256")
        else:
            meant = nearest(name, allowed)
            yield complaints.at(
                "bad-value",
                "is no algorithm that remit accepts",
                where=place,
                remedy=f"did you mean {meant!r}?" if meant else f"accepted: {', '.join(allowed)}",
            )
