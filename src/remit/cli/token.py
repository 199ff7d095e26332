"""`remit token`: tokens for development, from an issuer of our own."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from remit.admin.keys import parse_expiry
from remit.admin.secret_files import write_secret
from remit.app.installation import Installation, open_installation
from remit.cli.lines import print_json, say
from remit.cli.output import EXIT_USAGE, ConfigFlag, JsonFlag, fail, run
from remit.errors import BadCall, StartupError
from remit.identity.claims import is_name
from remit.identity.development import ISSUER, KEY_FILE
from remit.identity.development_tokens import make_signing_key, sign_token
from remit.model.principals import DEFAULT_TENANT, UserRole
from remit.settings import Settings

token_app = typer.Typer(help="Make tokens for development, on this machine.", no_args_is_help=True)


@token_app.callback()
def token() -> None:
    """Make tokens for development, on this machine."""


@token_app.command()
def issue(
    *,
    subject: Annotated[str, typer.Option("--sub", metavar="NAME", help="Who the user is.")],
    roles: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="A squad role; repeatable.")
    ] = None,
    user_roles: Annotated[
        list[str] | None,
        typer.Option(
            "--user-role", metavar="ROLE", help="What it is to the data server; repeatable."
        ),
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option("--group", metavar="GROUP", help="Its group; repeatable.")
    ] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="TENANT", help="Its tenant.")
    ] = DEFAULT_TENANT,
    expires: Annotated[
        str, typer.Option("--expires", metavar="WHEN", help="A span such as 15m, or a time.")
    ] = "1h",
    config: ConfigFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a token that a gateway beside the same remit.yaml accepts while it serves loopback.

    The issuer's key pair is made on first use, in .remit/token-issuer.jwk.
    """
    for name in (subject, tenant):
        if not is_name(name):
            fail(f"{name[:80]!r} does not do as the name of a user or tenant", EXIT_USAGE)
    given = {"roles": roles, "user_roles": user_roles, "groups": groups}
    claims = {name: held for name, held in given.items() if held}
    text, ends = run(lambda: _issue(Settings.read(config, tenant=tenant), subject, claims, expires))
    if as_json:
        print_json({"token": text, "issuer": ISSUER, "expires": ends.isoformat(timespec="seconds")})
    else:
        say(text)


async def _issue(
    settings: Settings, subject: str, claims: Mapping[str, Sequence[str]], expires: str
) -> tuple[str, datetime]:
    now = datetime.now(UTC)
    ends = parse_expiry(expires, now)
    if ends <= now:
        raise BadCall(f"the token would already have expired at {ends.isoformat()}")
    async with open_installation(settings, author="", may_begin=True) as installation:
        _warn_of_unknown(installation, claims)
        text = sign_token(
            _signing_key(settings.state / KEY_FILE),
            subject=subject,
            claims={**claims, "tenant": installation.tenant.name},
            issued=now,
            expires=ends,
        )
    return text, ends


def _warn_of_unknown(installation: Installation, claims: Mapping[str, Sequence[str]]) -> None:
    """Say which roles give nothing: the token is made all the same, as an issuer would."""
    known: Mapping[str, Sequence[str]] = {
        "roles": list(installation.policy.declaration.roles),
        "user_roles": [role.value for role in UserRole],
    }
    for claim, names in known.items():
        for name in claims.get(claim, ()):
            if name not in names:
                say(f"note: {name!r} in {claim} is unknown here, so it gives nothing", err=True)


def _signing_key(path: Path) -> str:
    write_secret(path, make_signing_key() + "\n")
    try:
        return path.read_text()
    except OSError as error:
        raise StartupError(f"cannot read {path}: {error.strerror}") from error
