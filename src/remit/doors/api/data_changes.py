"""The schema of a datasource, and what was found in it that waits for a decision (S2.44)."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from remit.data.engines.allowing import declared
from remit.doors.api.access import ByProjectReviewer, Reason, Reviewer
from remit.doors.api.audit_shapes import ChangeShape
from remit.doors.api.camel import CamelBody, CamelShape
from remit.doors.api.data_desk import IN_DATASOURCE, DatasourceName, desk_of, use_tool
from remit.doors.api.envelope import Envelope
from remit.doors.api.ontology import Named
from remit.doors.api.ontology_shapes import Names
from remit.doors.api.paging import Cursor, Limit, Page, cut, place_by_age
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import ChangeStatus, PendingChange, Schema, SchemaTable

router = APIRouter(prefix=IN_DATASOURCE, tags=["ontology"])


class SchemaColumnShape(CamelShape):
    """A column, as the database has it."""

    name: str
    type: str
    nullable: bool
    is_primary_key: bool
    default: str


class ForeignKeyShape(CamelShape):
    """A foreign key of one column."""

    column: str
    to_table: str = Field(description="`schema.table`.")
    to_column: str


class TableShape(CamelShape):
    """A table or view, as the database has it."""

    name: str = Field(description="`schema.table`.")
    is_view: bool
    is_selected: bool = Field(description="Whether tools may use it.")
    rows: int | None = Field(description="As the database estimates it.")
    columns: list[SchemaColumnShape]
    foreign_keys: list[ForeignKeyShape]

    @classmethod
    def of(cls, table: SchemaTable) -> "TableShape":
        """Show a table."""
        return cls(
            name=table.full_name,
            is_view=table.is_view,
            is_selected=table.is_selected,
            rows=table.rows,
            columns=[
                SchemaColumnShape(
                    name=each.name,
                    type=each.type,
                    nullable=each.nullable,
                    is_primary_key=each.is_primary_key,
                    default=each.default,
                )
                for each in table.columns
            ],
            foreign_keys=[
                ForeignKeyShape(
                    column=key.column,
                    to_table=f"{key.to_schema}.{key.to_table}",
                    to_column=key.to_column,
                )
                for key in table.foreign_keys
            ],
        )


class SchemaShape(CamelShape):
    """What a datasource was seen to hold, within what is declared for it."""

    refreshed: datetime | None = Field(description="Null before the first look.")
    version: int
    tables: list[TableShape]
    pending_changes: int = Field(description="How many wait for a decision.")


class Refresh(CamelBody):
    """How to look at a database anew."""

    auto_select: bool = Field(default=True, description="Whether tools may use new tables at once.")


class Scan(CamelBody):
    """What to look at."""

    tables: Names | None = Field(default=None, description="All that may be used if none.")


class DecidedShape(CamelShape):
    """What became of all changes that waited."""

    approved: list[ChangeShape]
    skipped: list[ChangeShape] = Field(description="That what is stated already outweighs.")


@router.get("/schema", operation_id="data_schema.get")
async def get_schema(by: ByProjectReviewer, datasource: DatasourceName) -> Envelope[SchemaShape]:
    """Show what the datasource was seen to hold, tables that tools may not use too."""
    return Envelope(data=await _schema_of(by, datasource))


@router.post("/schema/refresh", operation_id="data_schema.refresh")
async def refresh_schema(
    by: ByProjectReviewer, datasource: DatasourceName, how: Refresh, reason: Reason = ""
) -> Envelope[SchemaShape]:
    """Look at the database anew; what differs from what is known waits for a decision."""
    async with by.making(reason, datasource=datasource):
        await use_tool(by, "refresh_schema", datasource=datasource, auto_select=how.auto_select)
    return Envelope(data=await _schema_of(by, datasource))


@router.get("/ontology/changes", operation_id="data_changes.list")
async def list_changes(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    status: Annotated[ChangeStatus, Query()] = ChangeStatus.PENDING,
    *,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Envelope[Page[ChangeShape]]:
    """Show what was found to differ, oldest first: what waits for a decision, if nothing else."""
    found = await _changes(by, datasource, status)
    page = cut(found, _place, of="changes", cursor=cursor, limit=limit)
    shown = [ChangeShape.of(each) for each in page.items]
    return Envelope(data=Page(items=shown, next=page.next))


@router.post("/ontology/changes/scan", operation_id="data_changes.scan")
async def scan_data(
    by: ByProjectReviewer, datasource: DatasourceName, scan: Scan, reason: Reason = ""
) -> Envelope[Page[ChangeShape]]:
    """Look for new values and likely foreign keys; show what it found that was not known."""
    async with by.making(reason, datasource=datasource):
        known = {each.id for each in await _changes(by, datasource, None)}
        tables = None if scan.tables is None else ",".join(scan.tables)
        await use_tool(by, "scan_data_changes", datasource=datasource, tables=tables)
    found = [each for each in await _changes(by, datasource, None) if each.id not in known]
    return Envelope(data=Page(items=[ChangeShape.of(each) for each in found]))


@router.post("/ontology/changes/approve-all", operation_id="data_changes.approve_all")
async def approve_all(
    by: ByProjectReviewer, datasource: DatasourceName, reason: Reason = ""
) -> Envelope[DecidedShape]:
    """Apply everything that waits and that nothing outweighs."""
    async with by.making(reason, datasource=datasource):
        waiting = {each.id for each in await _changes(by, datasource, ChangeStatus.PENDING)}
        await use_tool(by, "approve_all_changes", datasource=datasource)
    after = [each for each in await _changes(by, datasource, None) if each.id in waiting]
    done = DecidedShape(
        approved=[ChangeShape.of(c) for c in after if c.status is ChangeStatus.APPROVED],
        skipped=[ChangeShape.of(c) for c in after if c.status is ChangeStatus.PENDING],
    )
    return Envelope(data=done)


@router.get("/ontology/changes/{change}", operation_id="data_changes.get")
async def get_change(
    by: ByProjectReviewer, datasource: DatasourceName, change: Named
) -> Envelope[ChangeShape]:
    """Show one."""
    return Envelope(data=ChangeShape.of(await _change(by, datasource, change)))


@router.post("/ontology/changes/{change}/approve", operation_id="data_changes.approve")
async def approve_change(
    by: ByProjectReviewer, datasource: DatasourceName, change: Named, reason: Reason = ""
) -> Envelope[ChangeShape]:
    """Apply a change, unless what is stated already outweighs it."""
    return await _decide(by, datasource, change, reason, "approve_change")


@router.post("/ontology/changes/{change}/reject", operation_id="data_changes.reject")
async def reject_change(
    by: ByProjectReviewer, datasource: DatasourceName, change: Named, reason: Reason = ""
) -> Envelope[ChangeShape]:
    """Drop a change."""
    return await _decide(by, datasource, change, reason, "reject_change")


async def _decide(
    by: Reviewer, datasource: str, change: str, reason: str, tool: str
) -> Envelope[ChangeShape]:
    async with by.making(reason, datasource=datasource, id=change):
        await _change(by, datasource, change)
        await use_tool(by, tool, change_id=change)
    return Envelope(data=ChangeShape.of(await _change(by, datasource, change)))


async def _change(by: Reviewer, datasource: str, change_id: str) -> PendingChange:
    """Return a change of that datasource.

    Raises:
        DataFailure: `no_datasource` or `not_found`.
    """
    desk = desk_of(by, "list_pending_changes")
    source = await desk.datasource(datasource)
    found = await desk.stores.ontology.find_change(desk.tenant, change_id)
    if found is None or found.datasource != source.id:
        raise DataFailure(DataCode.NOT_FOUND, f"there is no change {change_id[:80]!r}")
    return found


async def _changes(
    by: Reviewer, datasource: str, status: ChangeStatus | None
) -> list[PendingChange]:
    desk = desk_of(by, "list_pending_changes")
    source = await desk.datasource(datasource)
    return list(await desk.stores.ontology.changes(desk.tenant, source.id, status=status))


async def _schema_of(by: Reviewer, datasource: str) -> SchemaShape:
    desk = desk_of(by, "get_schema")
    source = await desk.datasource(datasource)
    schema: Schema | None = await desk.stores.ontology.find_schema(desk.tenant, source.id)
    is_declared = declared(source)
    tables = () if schema is None else schema.tables
    return SchemaShape(
        refreshed=None if schema is None else schema.refreshed,
        version=0 if schema is None else schema.version,
        tables=[TableShape.of(each) for each in tables if is_declared(each.schema, each.name)],
        pending_changes=len(await _changes(by, datasource, ChangeStatus.PENDING)),
    )


def _place(change: PendingChange) -> str:
    return place_by_age(change.created, change.id)
