"""`remit tenants`: projects that share a gateway and nothing else."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from remit.admin.tenants import make_tenant
from remit.app.installation import open_state
from remit.cli.changes import making
from remit.cli.lines import print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, print_entries, run
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.client import tenants as client_tenants
from remit.model.tenants import Tenant
from remit.settings import Settings
from remit.storage.tenants import Tenants

tenants_app = typer.Typer(help="Make and list tenants.", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name the tenant is known by, for good.")
]


@tenants_app.command()
def create(
    name: NameArgument,
    *,
    config: ConfigFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a tenant; a running gateway serves it within 2 seconds.

    It declares nothing at first: `remit apply FILE --tenant NAME` changes that.
    """
    if (remote := reach(url, key, None)) is not None:
        tenant = _tenant_of(remote.ask(client_tenants.create(name)))
    else:
        tenant = run(lambda: _create(Settings.read(config), name))
    if as_json:
        print_json(_entry(tenant))
    else:
        say(f"tenant {tenant.name!r} is made; its callers' endpoint is /mcp/{tenant.uuid}")


@tenants_app.command("list")
def list_tenants(
    config: ConfigFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every tenant, oldest first."""
    if (remote := reach(url, key, None)) is not None:
        shown = map(_tenant_of, remote.all_items(client_tenants.list_all()))
        found = sorted(shown, key=lambda tenant: tenant.created)
    else:
        found = run(lambda: _all(Settings.read(config)))
    entries = [_entry(tenant) for tenant in found]
    print_entries(entries, ("name", "id", "created"), empty="no tenants", as_json=as_json)


async def _create(settings: Settings, name: str) -> Tenant:
    async with (
        open_state(settings, may_begin=True) as state,
        making(state, "tenants.create", {"name": name}),
    ):
        return await make_tenant(Tenants(state.database), name, now=datetime.now(UTC))


async def _all(settings: Settings) -> list[Tenant]:
    async with open_state(settings) as state:
        return list(await Tenants(state.database).all_tenants())


def _tenant_of(shown: client_tenants.Tenant) -> Tenant:
    return Tenant(uuid=shown.id, name=shown.name, created=shown.created)


def _entry(tenant: Tenant) -> dict[str, object]:
    return {
        "id": tenant.uuid,
        "name": tenant.name,
        "created": tenant.created.astimezone(UTC).isoformat(timespec="seconds"),
    }
