"""`remit keys`: credentials for callers."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from remit.admin.keys import MadeKey, make_key, parse_expiry
from remit.app import open_installation
from remit.cli.output import (
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    as_rows,
    fail,
    print_json,
    print_table,
    run,
)
from remit.model.keys import Key
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings

keys_app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name the key is known by, such as ci.")
]


@keys_app.command()
def create(
    name: NameArgument,
    *,
    role: Annotated[
        str | None,
        typer.Option(
            "--role", metavar="ROLE", help="The role of remit.yaml that its bearer acts in."
        ),
    ] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="For administration, such as /readyz; calls no tool.")
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="WHEN",
            help="A span such as 12h, 30d or 8w, or an ISO 8601 time; default never.",
        ),
    ] = None,
    config: ConfigFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key for --role or --admin and show it, once: only its hash is kept."""
    if (role is None) == (not admin):
        fail("say what the key is for: --role ROLE or --admin", EXIT_USAGE)
    made = run(lambda: _create(Settings.read(config), name, role, expires))
    if as_json:
        print_json({"id": made.key.id, "name": made.key.name, "key": made.text})
    else:
        typer.echo(made.text)
        typer.echo("Keep it now: it cannot be shown again.", err=True)


@keys_app.command("list")
def list_keys(config: ConfigFlag = None, as_json: JsonFlag = False) -> None:
    """Show every key, never its secret."""
    keys = run(lambda: _all(Settings.read(config)))
    entries = [_entry(key) for key in keys]
    if as_json:
        print_json(entries)
        return
    columns = ("id", "name", "role", "state", "created", "expires", "last_used")
    print_table(
        columns, as_rows(entries, columns), empty="no keys: make one with `remit keys create`"
    )


@keys_app.command()
def revoke(name: NameArgument, config: ConfigFlag = None) -> None:
    """End a key; a running gateway refuses it within 2 seconds."""
    key = run(lambda: _revoke(Settings.read(config), name))
    typer.echo(f"key {key.name!r} ({key.id}) is revoked; a running gateway refuses it within 2 s")


async def _create(settings: Settings, name: str, role: str | None, expires: str | None) -> MadeKey:
    now = datetime.now(UTC)
    async with open_installation(settings, author="cli") as installation:
        return await make_key(
            installation.keys,
            name,
            tenant=DEFAULT_TENANT,
            now=now,
            role=role,
            admin=role is None,
            expires=parse_expiry(expires, now) if expires is not None else None,
            roles=installation.policy.declaration.roles,
        )


async def _all(settings: Settings) -> list[Key]:
    async with open_installation(settings, author="") as installation:
        return list(await installation.keys.all_keys(DEFAULT_TENANT))


async def _revoke(settings: Settings, name: str) -> Key:
    async with open_installation(settings, author="") as installation:
        return await installation.keys.revoke(DEFAULT_TENANT, name, datetime.now(UTC))


def _entry(key: Key) -> dict[str, object]:
    state = (
        "revoked" if key.revoked else ("holds" if key.holds_at(datetime.now(UTC)) else "expired")
    )
    return {
        "id": key.id,
        "name": key.name,
        "role": ", ".join(key.roles) or ("(admin)" if key.admin else ""),
        "admin": key.admin,
        "state": state,
        "created": key.created.isoformat(timespec="seconds"),
        "expires": key.expires.isoformat(timespec="seconds") if key.expires else None,
        "last_used": key.last_used.isoformat(timespec="seconds") if key.last_used else None,
    }
