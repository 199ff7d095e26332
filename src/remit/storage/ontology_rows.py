"""What is known of a datasource as rows, and rows as what is known of it."""

import json
from typing import Any

import msgspec
from sqlalchemy import Row

from remit.model.ontology import (
    ChangeSource,
    ChangeStatus,
    ChangeType,
    Item,
    ItemKind,
    PendingChange,
    Provenance,
    Schema,
    SchemaTable,
    Source,
)

_TABLES = msgspec.json.Decoder(tuple[SchemaTable, ...])


def item_values(item: Item) -> dict[str, object]:
    """Return what `data_items` holds of *item*, with the version that follows the one seen."""
    return {
        "tenant": item.tenant,
        "datasource": item.datasource,
        "kind": item.kind.value,
        "key": item.key,
        "body": json.dumps(dict(item.body)),
        "created_source": item.provenance.created_source.value,
        "created_by": item.provenance.created_by,
        "created": item.provenance.created,
        "edited_source": item.provenance.edited_source.value,
        "edited_by": item.provenance.edited_by,
        "edited": item.provenance.edited,
        "version": item.version + 1,
    }


def item_of(row: Row[Any]) -> Item:
    """Return the item of a row of `data_items`."""
    return Item(
        tenant=row.tenant,
        datasource=row.datasource,
        kind=ItemKind(row.kind),
        key=row.key,
        body=json.loads(row.body),
        provenance=Provenance(
            created_source=Source(row.created_source),
            created_by=row.created_by,
            created=row.created,
            edited_source=Source(row.edited_source),
            edited_by=row.edited_by,
            edited=row.edited,
        ),
        version=row.version,
    )


def schema_values(schema: Schema) -> dict[str, object]:
    """Return what `data_schemas` holds of *schema*, with the version that follows the one seen."""
    return {
        "tenant": schema.tenant,
        "datasource": schema.datasource,
        # json, and not msgspec, writes what a database may hold and UTF-8 may not
        "document": json.dumps(msgspec.to_builtins(tuple(schema.tables))),
        "refreshed": schema.refreshed,
        "version": schema.version + 1,
    }


def schema_of(row: Row[Any]) -> Schema:
    """Return the schema of a row of `data_schemas`."""
    return Schema(
        tenant=row.tenant,
        datasource=row.datasource,
        tables=_TABLES.decode(row.document),
        refreshed=row.refreshed,
        version=row.version,
    )


def change_values(change: PendingChange) -> dict[str, object]:
    """Return what `data_changes` holds of *change*, with the version that follows the one seen."""
    return {
        "tenant": change.tenant,
        "id": change.id,
        "datasource": change.datasource,
        "type": change.type.value,
        "source": change.source.value,
        "table": change.table,
        "column": change.column,
        "old": json.dumps(change.old),
        "new": json.dumps(change.new),
        "action": change.action,
        "payload": json.dumps(dict(change.payload)),
        "status": change.status.value,
        "created": change.created,
        "decided": change.decided,
        "decided_by": change.decided_by,
        "version": change.version + 1,
    }


def change_of(row: Row[Any]) -> PendingChange:
    """Return the change of a row of `data_changes`."""
    return PendingChange(
        id=row.id,
        tenant=row.tenant,
        datasource=row.datasource,
        type=ChangeType(row.type),
        source=ChangeSource(row.source),
        table=row.table,
        column=row.column,
        old=json.loads(row.old),
        new=json.loads(row.new),
        action=row.action,
        payload=json.loads(row.payload),
        status=ChangeStatus(row.status),
        created=row.created,
        decided=row.decided,
        decided_by=row.decided_by,
        version=row.version,
    )
