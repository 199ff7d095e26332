"""The tenants of an installation."""

from contextlib import suppress
from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from remit.admin.tenants import make_tenant
from remit.doors.api.access import ByOperator, Reason
from remit.doors.api.needs import Tenant
from remit.doors.api.paging import Cursor, Limit, Page, cut
from remit.errors import NotFound, StorageUnavailable

router = APIRouter(tags=["tenants"])


class TenantShape(BaseModel):
    """A tenant."""

    id: str = Field(description="Its UUID; paths and `?tenant=` take either.")
    name: str
    revision: int = Field(description="The revision of its declaration that is in force.")
    created: datetime

    @classmethod
    def of(cls, tenant: Tenant) -> "TenantShape":
        """Show a tenant."""
        return cls(
            id=tenant.id,
            name=tenant.key,
            revision=tenant.policy.revision,
            created=tenant.created,
        )


class NewTenant(BaseModel):
    """A tenant to be made; its name is for good."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str


@router.get("/tenants", operation_id="tenants.list")
async def list_tenants(
    by: ByOperator, limit: Limit = 100, cursor: Cursor = None
) -> Page[TenantShape]:
    """Show every tenant."""
    page = cut(
        by.services.tenants.all_tenants(),
        lambda tenant: tenant.key,
        of="tenants",
        cursor=cursor,
        limit=limit,
    )
    return Page(items=[TenantShape.of(tenant) for tenant in page.items], next=page.next)


@router.post("/tenants", operation_id="tenants.create", status_code=201)
async def create_tenant(by: ByOperator, new: NewTenant, reason: Reason = "") -> TenantShape:
    """Make a tenant, in which nothing is declared yet.

    It is served here when the answer comes, elsewhere within 2 seconds.
    """
    async with by.making(reason, name=new.name):
        made = await make_tenant(by.services.tenant_store, new.name, now=by.services.now())
    with suppress(StorageUnavailable):  # it is made, and served once the database is back
        await by.services.tenants.serve_all()
    return TenantShape(id=made.uuid, name=made.name, revision=0, created=made.created)


@router.get("/tenants/{name:path}", operation_id="tenants.get")
async def get_tenant(by: ByOperator, name: str) -> TenantShape:
    """Show one tenant, by name or UUID."""
    tenant = by.services.tenants.find(name)
    if tenant is None:
        raise NotFound(f"there is no tenant {name[:80]!r}")
    return TenantShape.of(tenant)
