"""What `remit doctor` looks at, of a gateway that runs and of one that does not."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from remit.admin.check import Report, check_declaration
from remit.admin.declaration import Loaded
from remit.admin.doctor import Patient, Premises, examine
from remit.admin.tenants import find_tenant
from remit.app.data import DataPlace
from remit.app.gateway import Gateway
from remit.app.installation import url_of
from remit.app.looks import of_file, of_limits
from remit.errors import NotFound, StartupError, StorageUnavailable
from remit.model.declaration import Declaration
from remit.model.health import DatabaseHealth, DatasourceHealth, Examination
from remit.policy.snapshot import DATA
from remit.settings import Settings
from remit.storage.database import database_file, files_beside, is_missing, open_as_it_is
from remit.storage.health import examine as examine_database
from remit.storage.journal import FOLDER
from remit.storage.tenants import Tenants


async def examine_gateway(gateway: Gateway, tenant: str, *, whole: bool) -> Examination:
    """Examine a tenant of a gateway that runs.

    Args:
        gateway: Open.
        tenant: Its name.
        whole: Whether what all tenants share is examined, too.

    Raises:
        NotFound: It is not served.
    """
    served = gateway.tenants.find(tenant)
    if served is None:
        raise NotFound(f"there is no tenant {tenant[:80]!r}")
    declaration = served.policy.declaration
    settings = gateway.installation.settings

    def check(offered: Mapping[str, frozenset[str]]) -> Report:
        return checked(settings, Loaded(declaration=declaration), offered)

    has_data = has_data_server(declaration)
    patient = Patient(
        servers=declaration.servers,
        try_out=served.fleet.try_out,
        check=check,
        look_at_data=partial(_data_of, gateway.tenants.data, tenant) if has_data else None,
    )
    return await examine(patient, premises_of(settings) if whole else None)


async def data_without_gateway(settings: Settings) -> Sequence[DatasourceHealth]:
    """Connect to the datasources of a tenant where no gateway runs; the database stays as it is."""
    url = url_of(settings)
    try:
        if is_missing(url):
            return ()
        async with open_as_it_is(url) as database:
            tenant = await find_tenant(Tenants(database), settings.tenant)
            place = DataPlace(settings, database, lambda _: "refuse")
            return await place.examine(tenant.name)
    except (StorageUnavailable, StartupError, NotFound):  # the database's own finding says so
        return ()


def has_data_server(declaration: Declaration) -> bool:
    """Whether a server of a declaration works on datasources."""
    return any(each.enabled and each.builtin == DATA for each in declaration.servers.values())


async def _data_of(place: DataPlace, tenant: str) -> Sequence[DatasourceHealth]:
    try:
        return await place.examine(tenant)
    except StorageUnavailable:  # the database's own finding says so
        return ()


def checked(settings: Settings, loaded: Loaded, offered: Mapping[str, frozenset[str]]) -> Report:
    """Return what `remit check` says when servers offer this."""
    return check_declaration(
        loaded,
        offered=offered,
        environ=os.environ,
        now=datetime.now(UTC),
        folder=settings.config.absolute().parent,
    )


def premises_of(settings: Settings) -> Premises:
    """Return where database, journal and keys are."""
    url = url_of(settings)

    async def look() -> DatabaseHealth:
        return await examine_database(url, settings.state / FOLDER)

    return Premises(
        state=settings.state,
        files=_files_of(url),
        look_at_database=look,
        looks=(partial(of_file, settings), partial(of_limits, settings)),
    )


def _files_of(url: str) -> tuple[Path, ...]:
    try:
        file = database_file(url)
    except StartupError:  # the database's own finding says so
        return ()
    return () if file is None else files_beside(file)
