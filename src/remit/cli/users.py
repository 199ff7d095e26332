"""`remit users`: people come with a token of their issuer; here they can be kept out."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer

from remit.app.installation import open_installation
from remit.cli.changes import making
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    fail,
    print_entries,
    run,
)
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.client import users
from remit.errors import Conflict
from remit.identity.claims import is_name
from remit.settings import Settings

users_app = typer.Typer(help="Keep users out, and let them in again.", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The subject of the user's token (`sub`).")
]


@users_app.command()
def disable(
    name: NameArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Refuse a user's tokens, whoever issued them, and their keys; in force within 2 seconds."""
    if not is_name(name):
        fail(f"{name[:80]!r} can be no user's name", EXIT_USAGE)
    if (remote := reach(url, key, tenant)) is not None:
        since = remote.ask(users.disable(name)).disabled
    else:
        since = run(lambda: _disable(Settings.read(config, tenant=tenant), name))
    if as_json:
        print_json(_entry(name, since))
    else:
        say(f"user {name!r} is disabled; a running gateway refuses it within 2 s")


@users_app.command()
def enable(
    name: NameArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Accept a disabled user's tokens and keys again."""
    if (remote := reach(url, key, tenant)) is not None:
        remote.ask(users.enable(name))
    else:
        run(lambda: _enable(Settings.read(config, tenant=tenant), name))
    if as_json:
        print_json(_entry(name, None))
    else:
        say(f"user {name!r} is enabled")


@users_app.command("list")
def list_users(
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every disabled user."""
    if (remote := reach(url, key, tenant)) is not None:
        shown = remote.all_items(users.list_all())
        found = {one.name: one.disabled for one in shown}
    else:
        found = run(lambda: _all(Settings.read(config, tenant=tenant)))
    entries = [_entry(name, since) for name, since in found.items()]
    print_entries(entries, ("name", "disabled"), empty="no user is disabled", as_json=as_json)


async def _disable(settings: Settings, name: str) -> datetime:
    async with (
        open_installation(settings, author="") as installation,
        making(installation, "users.disable", {"name": name}),
    ):
        users, tenant, now = installation.users, installation.tenant.name, datetime.now(UTC)
        await users.disable(tenant, name, now)
        return (await users.all_disabled(tenant)).get(name, now)


async def _enable(settings: Settings, name: str) -> None:
    async with (
        open_installation(settings, author="") as installation,
        making(installation, "users.enable", {"name": name}),
    ):
        if not await installation.users.enable(installation.tenant.name, name):
            raise Conflict(f"user {name[:80]!r} is not disabled")


async def _all(settings: Settings) -> Mapping[str, datetime]:
    async with open_installation(settings, author="") as installation:
        return await installation.users.all_disabled(installation.tenant.name)


def _entry(name: str, since: datetime | None) -> dict[str, object]:
    shown = None if since is None else since.isoformat(timespec="seconds")
    return {"name": name, "disabled": shown}
