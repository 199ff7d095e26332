"""What every store of tenants does, the fake included."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from remit.admin.tenants import find_tenant, make_tenant
from remit.errors import BadCall, Conflict, NotFound
from remit.storage.database import Database
from remit.storage.tenants import Tenants
from remit.testing.tenants import InMemoryTenants

LATER = datetime(2100, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)

AnyTenants = Tenants | InMemoryTenants


async def test_default_is_there_from_the_start(tenants: AnyTenants) -> None:
    (default,) = await tenants.all_tenants()

    assert default.name == "default"
    assert str(UUID(default.uuid)) == default.uuid


async def test_a_tenant_is_found_by_name_and_by_uuid_in_either_case(tenants: AnyTenants) -> None:
    made = await make_tenant(tenants, "acme", now=LATER)

    assert [tenant.name for tenant in await tenants.all_tenants()] == ["default", "acme"]
    for text in ("acme", made.uuid, made.uuid.upper()):
        assert await find_tenant(tenants, text) == made


async def test_a_name_is_given_once(tenants: AnyTenants) -> None:
    made = await make_tenant(tenants, "acme", now=LATER)

    for name in ("acme", "default"):
        with pytest.raises(Conflict, match=f"a tenant '{name}' exists already"):
            await make_tenant(tenants, name, now=LATER)

    assert await find_tenant(tenants, "acme") == made
    with pytest.raises(Conflict):
        await tenants.add(replace(made, uuid="00000000-0000-4000-8000-000000000001"))


async def test_letter_case_matters_in_names(tenants: AnyTenants) -> None:
    await make_tenant(tenants, "acme", now=LATER)

    with pytest.raises(NotFound, match="there is no tenant 'ACME'; tenants: default, acme"):
        await find_tenant(tenants, "ACME")


async def test_names_that_differ_only_in_letter_case_are_one(tenants: AnyTenants) -> None:
    await make_tenant(tenants, "acme", now=LATER)

    for name, taken in (("ACME", "acme"), ("Default", "default")):
        with pytest.raises(Conflict, match=f"'{taken}' exists already; .* more than letter case"):
            await make_tenant(tenants, name, now=LATER)

    assert [tenant.name for tenant in await tenants.all_tenants()] == ["default", "acme"]


@pytest.mark.parametrize(
    "name",
    [
        ".",
        "..",
        "",
        " ",
        "a b",
        "a/b",
        ".a",
        "a" * 65,
        "9d1f5a52-6a0e-4f0e-9d3c-1f2f8f2f7a11",
        "a\n",
        "ä",
    ],
)
async def test_a_name_that_fits_into_no_path_does_not_do(tenants: AnyTenants, name: str) -> None:
    with pytest.raises(BadCall, match="a tenant's name is"):
        await make_tenant(tenants, name, now=LATER)


async def test_two_installations_have_different_uuids_for_default(database: Database) -> None:
    (default,) = await Tenants(database).all_tenants()
    (fake,) = await InMemoryTenants().all_tenants()

    assert default.uuid != fake.uuid
